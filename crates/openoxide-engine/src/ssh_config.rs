//! The configuration of `ssh` (ssh_config(5)): whether it only connects to the host that is named.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, matches_host_pattern};
use openoxide_store::read_regular_file;

/// The maximum depth of included files, and the maximum size of one.
const MAX_DEPTH: usize = 8;
const MAX_CONFIG_BYTES: u64 = 1 << 20;
const SYSTEM_CONFIG: &str = "/etc/ssh/ssh_config";

/// Keywords that run nothing, load nothing, and lead to no other host.
const HARMLESS_KEYWORDS: &str = "addkeystoagent addressfamily batchmode challengeresponseauthentication \
    checkhostip ciphers clearallforwardings compression connectionattempts connecttimeout controlmaster \
    controlpath controlpersist escapechar exitonforwardfailure fingerprinthash forwardagent forwardx11 \
    forwardx11timeout forwardx11trusted gatewayports gssapiauthentication gssapidelegatecredentials \
    hashknownhosts hostbasedauthentication hostkeyalgorithms identitiesonly identityfile ignoreunknown ipqos \
    kbdinteractiveauthentication kexalgorithms loglevel macs numberofpasswordprompts passwordauthentication \
    port preferredauthentications pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication \
    rekeylimit requesttty sendenv serveralivecountmax serveraliveinterval stricthostkeychecking tcpkeepalive \
    updatehostkeys usekeychain user userknownhostsfile globalknownhostsfile verifyhostkeydns visualhostkey";

/// Returns whether the configuration of a user with this home directory, and that of the system,
/// contain only harmless keywords for a host.
pub(crate) fn is_plain(home: &AbsPath, host: &str) -> bool {
    let directory = Path::new(home.as_str()).join(".ssh");
    is_plain_file(&directory.join("config"), &directory, host, MAX_DEPTH)
        && is_plain_file(SYSTEM_CONFIG.as_ref(), "/etc/ssh".as_ref(), host, MAX_DEPTH)
}

/// Checks a file, if it exists. Relative paths in it begin in `directory`.
fn is_plain_file(file: &Path, directory: &Path, host: &str, depth: usize) -> bool {
    if fs::symlink_metadata(file).is_err() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let Ok(bytes) = read_regular_file(file, MAX_CONFIG_BYTES) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let mut applies = true;
    for line in text.lines() {
        let Some((keyword, value)) = split_line(line) else { continue };
        match keyword.as_str() {
            "host" => applies = matches_host(value, host),
            _ if !applies => {}
            "include" => {
                let Some(files) = included_files(value, directory) else { return false };
                if !files.iter().all(|file| is_plain_file(file, directory, host, depth - 1)) {
                    return false;
                }
            }
            _ if HARMLESS_KEYWORDS.split_whitespace().any(|known| known == keyword) => {}
            // `Match` can run a program, too.
            _ => return false,
        }
        if keyword == "match" {
            return false;
        }
    }
    true
}

/// Returns the keyword in lower case, and the rest of a line.
fn split_line(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || c == '=';
    let (keyword, value) = line.split_once(is_end).unwrap_or((line, ""));
    let value = value.trim_start_matches(is_end);
    Some((keyword.trim_matches('"').to_ascii_lowercase(), value))
}

/// Returns whether a `Host` line may apply to a host. A pattern that is not plain may.
fn matches_host(patterns: &str, host: &str) -> bool {
    patterns.split_whitespace().any(|pattern| {
        let pattern = pattern.trim_matches('"').to_ascii_lowercase();
        pattern.contains(['!', '"', '\\', '#']) || matches_host_pattern(&pattern, host)
    })
}

/// Returns the files of an `Include` line. Returns `None` if they are not known.
fn included_files(value: &str, directory: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    for word in value.split_whitespace() {
        let word = word.trim_matches('"');
        let is_odd = word.contains(['~', '%', '$', '?', '[', '"', '\\']);
        let path = directory.join(word);
        let (above, name) = (path.parent()?, path.file_name()?.to_str()?);
        if is_odd || above.to_str()?.contains('*') {
            return None;
        }
        match name.split_once('*') {
            None => files.push(path),
            Some((_, rest)) if rest.contains('*') => return None,
            Some((start, end)) => files.extend(matching_files(above, start, end)),
        }
    }
    Some(files)
}

fn matching_files(directory: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    });
    matching.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_plain_text(text: &str) -> bool {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("more")).unwrap();
        fs::write(dir.path().join("more/a.conf"), "LocalCommand touch x\n").unwrap();
        fs::write(dir.path().join("more/b.txt"), "Port 2222\n").unwrap();
        let file = dir.path().join("config");
        fs::write(&file, text).unwrap();
        is_plain_file(&file, dir.path(), "x.io", MAX_DEPTH)
    }

    /// Every keyword of ssh_config(5) of OpenSSH 9.2 that names a program, a library or a host.
    #[test]
    fn only_harmless_keywords_are_plain() {
        for line in [
            "ProxyCommand nc %h %p",
            "PROXYCOMMAND=nc %h %p",
            "\"ProxyCommand\" nc",
            "ProxyJump evil.io",
            "LocalCommand touch x",
            "PermitLocalCommand yes",
            "KnownHostsCommand /x",
            "PKCS11Provider ./x.so",
            "SecurityKeyProvider ./x.so",
            "Match exec \"touch x\"",
            "Match all",
            "HostName evil.io",
            "XAuthLocation ./x",
            "IdentityAgent ./x",
            "CanonicalDomains evil.io",
            "Include more/*.conf",
            "Include more/a.conf",
            "Include ~/x",
            "Host *\n  ProxyCommand x",
            "Host *.io\n  ProxyCommand x",
            "Host y.io x.io\n  ProxyCommand x",
            "Host y.io\n  Port 1\nMatch host z\n",
        ] {
            assert!(!is_plain_text(line), "{line}");
        }
        for line in [
            "",
            "# ProxyCommand x",
            "Host x.io\n  User git\n  Port 2222\n  IdentityFile ~/.ssh/id\n  IdentitiesOnly yes",
            "Host y.io\n  ProxyCommand x\n  HostName z",
            // A file of systemd.
            "Host unix/* vsock/* machine/*\n  ProxyCommand /usr/lib/systemd/systemd-ssh-proxy %h %p",
            "Host *.org y?.io\n  ProxyCommand x",
            "Include more/*.txt",
            "Include none",
            "SendEnv LANG LC_*",
        ] {
            assert!(is_plain_text(line), "{line}");
        }
    }
}
