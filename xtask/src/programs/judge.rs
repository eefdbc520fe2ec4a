//! The check of a strace record against a promise: the programs that were started, the files that
//! were written and the hosts that were contacted.

use std::path::Path;

use super::{
    installation::Installation,
    machine::Record,
    strace::{calls, dns_name, quoted, strings},
    trap::{HOME_MARK, LIKE_OPTIONS, MARK, SECRET, Trap},
};

/// One thing that a program did and that a harmless one does not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deed {
    pub(super) kind: Kind,
    pub(super) what: String,
}

/// Kinds of deeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Started or contacted something that the project provides.
    Trap,
    /// Started another program of the machine.
    Starts,
    /// Created, changed or removed a file.
    Writes,
    /// Contacted a host, or a service of this machine.
    Contacts,
    /// Could not be run.
    Failed,
    /// Started or contacted something that the settings of the user name.
    Home,
    /// Printed a secret of the home directory.
    Secret,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Starts => "starts",
            Self::Writes => "writes",
            Self::Contacts => "contacts",
            Self::Failed => "failed",
            Self::Home => "obeys",
            Self::Secret => "prints",
        }
    }
}

impl Deed {
    pub(super) fn failed(why: &str) -> Self {
        Self { kind: Kind::Failed, what: why.replace(['\t', '\n'], " ") }
    }
}

/// The context in which the actions of a command line are checked.
pub(super) struct Bench<'b> {
    pub(super) trap: &'b Trap,
    pub(super) installation: &'b Installation,
    /// Returns whether the analysis calls a command that the program starts harmless.
    pub(super) is_harmless: &'b dyn Fn(&str) -> bool,
}

/// Returns the deeds that a record shows, each once.
pub(super) fn deeds(record: &Record, script: &str, bench: &Bench<'_>) -> Vec<Deed> {
    let place = Places { directory: bench.trap.directory().display().to_string() };
    // The first program is the shell that reads the script.
    let calls = calls(&record.trace);
    let mut calls = calls.iter();
    let _ = calls.by_ref().find(|call| call.starts_with("execve("));
    let mut deeds: Vec<Deed> = calls.filter_map(|call| place.deed(call, script, bench)).collect();
    deeds.extend(secrets(&record.output));
    deeds.sort();
    deeds.dedup();
    deeds
}

/// Returns the secrets of the home directory that a program printed.
fn secrets(output: &str) -> impl Iterator<Item = Deed> {
    let start = concat_dash(SECRET);
    let found: Vec<Deed> = output
        .split(start.as_str())
        .skip(1)
        .map(|rest| {
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            Deed { kind: Kind::Secret, what: format!("the secret `{name}`") }
        })
        .collect();
    found.into_iter()
}

fn concat_dash(text: &str) -> String {
    format!("{text}-")
}

/// The directories of the trap.
struct Places {
    directory: String,
}

impl Places {
    fn deed(&self, line: &str, script: &str, bench: &Bench<'_>) -> Option<Deed> {
        let (name, rest) = line.split_once('(')?;
        let failed = rest.rsplit_once(" = ").is_some_and(|(_, result)| result.starts_with('-'));
        match name {
            "execve" | "execveat" => self.started(rest, failed, script, bench),
            "connect" | "sendto" | "sendmsg" | "sendmmsg" | "write" => contacted(name, rest),
            "open" | "openat" | "openat2" => self.opened(rest),
            "chdir" => None,
            _ => self.written(rest),
        }
    }

    /// Returns the rest of a path that begins with the directory of the trap.
    fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.directory).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn started(&self, rest: &str, failed: bool, script: &str, bench: &Bench<'_>) -> Option<Deed> {
        // With an empty path the file is the one that is open: `execveat(3</memfd:x>, "", …`.
        let path = match quoted(rest)? {
            path if path.is_empty() => rest.split_once('<')?.1.split_once('>')?.0.to_owned(),
            path => path,
        };
        let deed = |kind, what: &str| Some(Deed { kind, what: what.to_owned() });
        match self.inside(&path) {
            Some(inside) if inside.starts_with("/home") => {
                return deed(Kind::Home, &self.place(&path));
            }
            // A name that is looked up in a directory of the project is a trap even if it does not
            // exist.
            Some(_) => return deed(Kind::Trap, &path),
            None if !path.starts_with('/') => return deed(Kind::Trap, &path),
            None => {}
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        // The program is looked up in the directories of PATH, where it is not.
        if name == MARK {
            return deed(Kind::Trap, &path);
        }
        if failed {
            return None;
        }
        let mut named =
            script.split(|each: char| !(each.is_alphanumeric() || "._-+[".contains(each)));
        let is_named = named.any(|word| word == name);
        if mentions(rest, MARK, is_named) {
            return deed(Kind::Trap, &path);
        }
        if rest.contains(HOME_MARK) {
            return deed(Kind::Home, name);
        }
        if is_named {
            return None;
        }
        let words = strings(rest.split_once('[').map_or("", |(_, words)| words));
        let is_helper = words.is_some_and(|words| {
            bench.installation.is_own(script, &path, &words)
                || (bench.is_harmless)(&command(&path, &words))
        });
        (!is_helper).then(|| Deed { kind: Kind::Starts, what: name.to_owned() })
    }

    fn opened(&self, rest: &str) -> Option<Deed> {
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
        if flags.iter().any(|flag| rest.contains(flag)) { self.written(rest) } else { None }
    }

    fn written(&self, rest: &str) -> Option<Deed> {
        let errors =
            ["ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENXIO", "ELOOP", "EINVAL", "ENOSYS"];
        if rest
            .rsplit_once(" = -1 ")
            .is_some_and(|(_, error)| errors.iter().any(|each| error.starts_with(each)))
        {
            return None;
        }
        let refused = rest.contains(" = -1 E");
        let path = self.path(rest)?;
        let sinks = ["/dev/", "/proc/", "/sys/"];
        if sinks.iter().any(|sink| path.starts_with(sink)) {
            return None;
        }
        let what = self.place(&path);
        // A refused write below these directories is what the program would do as another user. A
        // cache in its own installation is harmless.
        let own =
            refused && ["/usr/", "/opt/", "/root"].iter().any(|start| path.starts_with(start));
        (!own).then_some(Deed { kind: Kind::Writes, what })
    }

    /// Returns the path of a call. A relative path is resolved against the directory before it.
    fn path(&self, rest: &str) -> Option<String> {
        let at = rest.split_once('"').map(|(before, _)| before).unwrap_or_default();
        let path = quoted(rest)?;
        if path.starts_with('/') {
            return Some(path);
        }
        let directory = at.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        Some(directory.map_or_else(
            || format!("{}/p/{path}", self.directory),
            |(directory, _)| format!("{directory}/{path}"),
        ))
    }

    /// Returns the path in a form that is the same on every machine.
    fn place(&self, path: &str) -> String {
        let Some(inside) = self.inside(path) else {
            let tmp = ["/tmp", "/var/tmp"].iter().any(|tmp| Path::new(path).starts_with(tmp));
            return if tmp { "tmp".to_owned() } else { path.to_owned() };
        };
        match inside.strip_prefix("/home/") {
            Some(own) => {
                let parts: Vec<&str> = own.split('/').take(2).collect();
                format!("~/{}", parts.join("/"))
            }
            None => format!("project{}", inside.strip_prefix("/p").unwrap_or(inside)),
        }
    }
}

/// Returns whether the words of a started program contain the mark. A program that the script names gets the names of
/// the files like options where the script has a glob.
fn mentions(rest: &str, mark: &str, is_named: bool) -> bool {
    let mut rest = rest.to_owned();
    for option in LIKE_OPTIONS.iter().filter(|_| is_named) {
        rest = rest.replace(&format!("\"{option}\""), "");
    }
    rest.contains(mark)
}

/// Returns a command as a shell reads it: the file that was started, and the words behind its name.
fn command(path: &str, words: &[String]) -> String {
    let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let path = path.replace("/usr/sbin/", "").replace("/sbin/", "");
    let words = words.iter().skip(1).map(String::as_str);
    std::iter::once(path.as_str()).chain(words).map(quote).collect::<Vec<_>>().join(" ")
}

fn contacted(name: &str, rest: &str) -> Option<Deed> {
    let deed = |kind, what: &str| Some(Deed { kind, what: what.to_owned() });
    let socket = rest.starts_with(|each: char| each.is_ascii_digit())
        && ["<UDP", "<TCP", "<socket:"].iter().any(|kind| rest.contains(kind));
    if name == "write" && !socket {
        return None;
    }
    if let Some((_, path)) = rest.split_once("sun_path=") {
        let path = quoted(path).unwrap_or_default();
        let services =
            ["/var/run/nscd/socket", "/run/nscd/socket", "/dev/log", "/run/systemd/journal"];
        let known = services.iter().any(|service| path.starts_with(service)) || path.is_empty();
        return if known { None } else { deed(Kind::Contacts, &path) };
    }
    if name != "connect"
        && let Some(host) = dns_name(rest)
    {
        return match &host {
            host if host.contains(MARK) => deed(Kind::Trap, "contacts the host of the project"),
            host if host.contains(HOME_MARK) => deed(Kind::Home, "contacts the host of the home"),
            host => deed(Kind::Contacts, host),
        };
    }
    // The resolver is asked for the name that is contacted: the question shows it.
    let resolver =
        ["sin_port=htons(53)", "sin6_port=htons(53)"].iter().any(|port| rest.contains(port));
    let unconnected =
        ["sin_port=htons(0)", "sin6_port=htons(0)"].iter().any(|port| rest.contains(port));
    if !rest.contains("sa_family=AF_INET") || resolver || unconnected {
        return None;
    }
    deed(Kind::Contacts, &address(rest).unwrap_or_else(|| "network".to_owned()))
}

/// Returns the address and port that a call names.
fn address(rest: &str) -> Option<String> {
    let (_, after) = rest.split_once("port=htons(")?;
    let (port, _) = after.split_once(')')?;
    let host = rest.split_once("inet_addr(").or_else(|| rest.split_once("AF_INET6, "));
    Some(format!("{}:{port}", quoted(host?.1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(line: &str) -> Option<(Kind, String)> {
        let trap = Trap::at("/t");
        let installation = Installation::empty();
        let bench = Bench {
            trap: &trap,
            installation: &installation,
            is_harmless: &|command| command == "'/usr/bin/cat' 'a b'",
        };
        let record = Record {
            trace: format!("1 execve(\"/bin/bash\")\n1 {line}"),
            output: String::new(),
            status: Some(0),
        };
        deeds(&record, "ls", &bench).pop().map(|deed| (deed.kind, deed.what))
    }

    #[test]
    fn each_kind_of_action_is_recognized_in_its_call() {
        let deed = |kind, what: &str| Some((kind, what.to_owned()));
        for (line, expected) in [
            ("execve(\"/usr/bin/ls\", [\"ls\"], 0x1 /* 8 vars */) = 0", None),
            ("execve(\"/usr/bin/git\", [\"git\"], 0x1) = 0", deed(Kind::Starts, "git")),
            ("execve(\"/usr/bin/ls\", [\"ls\", \"--pre=oxtrap\"], 0x1) = 0", None),
            (
                "execve(\"/usr/bin/git\", [\"git\", \"--pre=oxtrap\"], 0x1) = 0",
                deed(Kind::Trap, "/usr/bin/git"),
            ),
            (
                "execve(\"/usr/bin/oxtrap\", [\"oxtrap\"], 0x1) = -1 ENOENT (x)",
                deed(Kind::Trap, "/usr/bin/oxtrap"),
            ),
            ("execve(\"/t/p/bin/oxtrap\", [\"x\"], 0x1) = 0", deed(Kind::Trap, "/t/p/bin/oxtrap")),
            ("execve(\"./x.sh\", [\"x\"], 0x1) = -1 ENOENT (x)", deed(Kind::Trap, "./x.sh")),
            (
                "execve(\"/bin/sh\", [\"sh\", \"-c\", \"oxtrap; false\"], 0x1) = 0",
                deed(Kind::Trap, "/bin/sh"),
            ),
            ("openat(AT_FDCWD</t/p>, \"a\", O_RDONLY) = 3</t/p/a>", None),
            (
                "openat(AT_FDCWD</t/p>, \"a\", O_WRONLY|O_CREAT, 0666) = 3</t/p/a>",
                deed(Kind::Writes, "project/a"),
            ),
            ("openat(AT_FDCWD</t/p>, \"/dev/null\", O_RDWR) = 3</dev/null>", None),
            ("unlink(\"a\") = 0", deed(Kind::Writes, "project/a")),
            ("mkdir(\"/t/home/.cache/x/y\", 0755) = 0", deed(Kind::Writes, "~/.cache/x")),
            ("mkdir(\"/t/home/.cache\", 0755) = -1 EEXIST (File exists)", None),
            (
                "openat(AT_FDCWD</t/p>, \"/tmp/x1\", O_RDWR|O_CREAT, 0600) = 3",
                deed(Kind::Writes, "tmp"),
            ),
            (
                "openat(AT_FDCWD</t/p>, \"/etc/x\", O_RDWR|O_CREAT, 0600) = -1 EACCES (x)",
                deed(Kind::Writes, "/etc/x"),
            ),
            (
                "connect(3<x>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"10.0.0.1\")}, 16) = 0",
                deed(Kind::Contacts, "10.0.0.1:80"),
            ),
            ("connect(3<x>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=x}, 16) = 0", None),
            ("execve(\"/usr/bin/cat\", [\"cat\", \"a b\"], 0x1) = 0", None),
            ("execve(\"/usr/bin/cat\", [\"cat\", \"a b\"...], 0x1) = 0", deed(Kind::Starts, "cat")),
            (
                "execveat(3</memfd:crun>, \"\", [\"crun\"], 0x1, AT_EMPTY_PATH) = 0",
                deed(Kind::Starts, "memfd:crun"),
            ),
            (
                "execveat(3</t/p/bin/x>, \"\", [\"x\"], 0x1, AT_EMPTY_PATH) = 0",
                deed(Kind::Trap, "/t/p/bin/x"),
            ),
            ("execve(\"git\", [\"git\"], 0x1) = 0", deed(Kind::Trap, "git")),
            ("execve(\"/t/home/bin/oxhome\", [\"x\"], 0x1) = 0", deed(Kind::Home, "~/bin/oxhome")),
            (
                "execve(\"/bin/sh\", [\"sh\", \"-c\", \"/t/home/bin/oxhome\"], 0x1) = 0",
                deed(Kind::Home, "sh"),
            ),
            (
                "connect(3<x>, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = -1 ENOENT",
                None,
            ),
            (
                "connect(3<x>, {sa_family=AF_UNIX, sun_path=\"/var/run/docker.sock\"}, 110) = 0",
                deed(Kind::Contacts, "/var/run/docker.sock"),
            ),
            (
                "sendto(3<UDP:[1]>, \"\\1\\2\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6oxtrap\\7example\\0\\0\\1\\0\\1\", 32, 0, NULL, 0) = 32",
                deed(Kind::Trap, "contacts the host of the project"),
            ),
            (
                "sendto(3<UDP:[1]>, \"\\1\\2\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1\", 32, 0, NULL, 0) = 32",
                deed(Kind::Contacts, "example.com"),
            ),
        ] {
            assert_eq!(judge(line), expected, "{line}");
        }
    }
}
