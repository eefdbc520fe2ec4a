//! Socket patterns: `/run/docker.sock`, `~/.gnupg/*`, `docker`, `ssh-agent:github.com`.
//!
//! A path is a path pattern that is always relative to the root or to the home directory. Its
//! subjects are real paths. The subject of a service begins with NUL, which no path contains. A
//! component for the host follows for the SSH agent.

use openoxide_protocol::{AbsPath, Effect, SocketAccess, SocketService};

use super::{ParsedPattern, host, path};
use crate::{
    glob::Glob,
    rule::{PathAnchors, RuleError},
};

/// Parses a socket pattern.
///
/// # Errors
/// Returns an error for an invalid path or host, an unknown service, and a relative path.
pub fn parse(
    text: &str,
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<ParsedPattern, RuleError> {
    match text.chars().next() {
        Some('/') => parse_path(text, effect, anchors),
        Some('~') => path::parse(text, effect, anchors).map(|found| found.pattern),
        Some('@') => Err(RuleError::new("abstract sockets have no rules", 0..text.len())
            .with_help("programs in the sandbox cannot reach abstract sockets outside of it")),
        _ if text.contains('/') => {
            let error = RuleError::new("a socket is named by its absolute path", 0..text.len());
            Err(error.with_help("write `Socket(/run/service.sock)` or `Socket(~/service.sock)`"))
        }
        _ => parse_service(text),
    }
}

fn parse_path(
    text: &str,
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<ParsedPattern, RuleError> {
    // `/var/run` is a link to `/run` (Filesystem Hierarchy Standard 3.0, 5.13), and subjects are
    // real paths.
    let rest = text.trim_start_matches('/');
    let rest = rest.strip_prefix("var/").filter(|rest| rest.starts_with("run/")).unwrap_or(rest);
    let offset = text.len() - rest.len();
    let found = path::parse(&format!("//{rest}"), effect, anchors).map_err(|error| {
        let range = error.range.start.saturating_sub(2)..error.range.end.saturating_sub(2);
        RuleError { range, ..error }.with_offset(offset)
    })?;
    Ok(found.pattern)
}

fn parse_service(text: &str) -> Result<ParsedPattern, RuleError> {
    let (name, host) = match text.split_once(':') {
        Some((name, host)) => (name, Some(host)),
        None => (text, None),
    };
    let Some(service) = SocketService::from_name(name) else {
        let known: Vec<_> =
            SocketService::ALL.iter().map(|one| format!("`{}`", one.as_str())).collect();
        let error = RuleError::new(format!("unknown service `{name}`"), 0..name.len());
        return Err(error.with_help(format!(
            "known services are {}; any other socket is named by its path",
            known.join(", ")
        )));
    };
    let mut glob = Glob::new();
    glob.push_literal(service_subject(service).as_bytes());
    match host {
        None => glob.push_any(),
        Some(_) if service != SocketService::SshAgent => {
            let error = RuleError::new("only `ssh-agent` has a host", name.len()..text.len());
            return Err(error.with_help(format!("write `Socket({name})`")));
        }
        Some("*") => glob.push_any(),
        Some(host) => {
            push_host(host, &mut glob)
                .map_err(|error| error.with_offset(name.len() + ":".len()))?;
        }
    }
    Ok(ParsedPattern { glob, is_literal: host.is_some_and(|host| !host.contains('*')) })
}

fn push_host(text: &str, glob: &mut Glob) -> Result<(), RuleError> {
    host::parse(text)?;
    for (index, piece) in text.trim_end_matches('.').split('*').enumerate() {
        if index > 0 {
            glob.push_any_in_part();
        }
        glob.push_literal(piece.to_ascii_lowercase().as_bytes());
    }
    glob.push_literal(b"/");
    Ok(())
}

/// Returns the subject of a service without a host.
fn service_subject(service: SocketService) -> String {
    format!("\0{}/", service.as_str())
}

/// Returns the subjects of an access: its path, if it has one, and its service, if it is known.
pub(crate) fn subjects(access: &SocketAccess) -> Vec<Vec<u8>> {
    let path = access.path().and_then(|path| AbsPath::new(path).ok());
    let path = path.map(|path| path::to_subject(&path));
    let service = access.service().map(|service| {
        let host = access.ssh_host().map(|host| format!("{}/", host.to_ascii_lowercase()));
        service_subject(service) + host.as_deref().unwrap_or_default()
    });
    path.into_iter().chain(service).map(String::into_bytes).collect()
}

/// Returns the subject of an example: a path, or the name of a service.
pub(crate) fn to_example_subject(example: &str, anchors: PathAnchors<'_>) -> Vec<u8> {
    let path = match (example.strip_prefix("~/"), anchors.home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        _ => AbsPath::new(example).ok(),
    };
    match path {
        Some(path) => path::to_subject(&path).into_bytes(),
        None => format!("\0{}/", example.replacen(':', "/", 1)).into_bytes(),
    }
}

/// Quotes a socket so that [`parse`] returns exactly this socket.
#[must_use]
pub fn quote(socket: &str) -> String {
    match AbsPath::new(socket) {
        Ok(path) => path::quote(&path).replacen("//", "/", 1),
        Err(_) => socket.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glob, rule::SubjectKind};

    fn parsed(text: &str, effect: Effect) -> Result<ParsedPattern, RuleError> {
        let (home, base) = (AbsPath::new("/h/u").unwrap(), AbsPath::new("/p").unwrap());
        parse(text, effect, PathAnchors { home: Some(&home), base: &base })
    }

    fn matches(pattern: &str, effect: Effect, socket: &str) -> bool {
        let program = parsed(pattern, effect).unwrap().glob.finish();
        let access = if socket.starts_with('/') {
            SocketAccess::at_path(socket)
        } else {
            SocketAccess { socket: socket.to_owned(), ..SocketAccess::at_path("") }
        };
        let options = SubjectKind::Socket.match_options(effect);
        subjects(&access).iter().any(|subject| glob::matches(&program, subject, options))
    }

    #[test]
    fn sockets_are_matched_by_path_and_by_service() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            (
                "/run/docker.sock",
                &["/run/docker.sock"],
                &["/run/docker.sock2", "/var/docker.sock", "docker"],
            ),
            ("//run/docker.sock", &["/run/docker.sock"], &[]),
            ("/var/run/docker.sock", &["/run/docker.sock"], &["/var/run/docker.sock"]),
            ("~/.gnupg/*", &["/h/u/.gnupg/S.gpg-agent"], &["/h/u/S.gpg-agent"]),
            ("docker", &["/run/docker.sock", "docker"], &["/run/podman/podman.sock"]),
            (
                "ssh-agent",
                &["ssh-agent", "ssh-agent:github.com"],
                &["gpg-agent", "/tmp/ssh-x/agent.1"],
            ),
            (
                "ssh-agent:github.com",
                &["ssh-agent:github.com", "ssh-agent:GitHub.com"],
                &["ssh-agent", "ssh-agent:gist.github.com", "ssh-agent:github.com.evil.example"],
            ),
            (
                "ssh-agent:*.corp.example",
                &["ssh-agent:git.corp.example", "ssh-agent:a.b.corp.example"],
                &["ssh-agent:corp.example", "ssh-agent:git.corp.example.evil"],
            ),
        ];
        for (pattern, yes, no) in rows {
            for socket in *yes {
                assert!(matches(pattern, Effect::Allow, socket), "{pattern} {socket}");
            }
            for socket in *no {
                assert!(!matches(pattern, Effect::Allow, socket), "{pattern} {socket}");
            }
        }
    }

    #[test]
    fn invalid_sockets_have_a_message_and_a_range() {
        for (text, message, range) in [
            ("run/docker.sock", "a socket is named by its absolute path", 0..15),
            ("dockr", "unknown service `dockr`", 0..5),
            ("docker:github.com", "only `ssh-agent` has a host", 6..17),
            ("@/tmp/.X11-unix/X0", "abstract sockets have no rules", 0..18),
            ("ssh-agent:git@github.com", "a host cannot have a scheme, user, port or path", 13..14),
            ("ssh-agent:", "the host is empty or has an empty label", 10..10),
            ("/run/{a,b}", "braces have no meaning in a path pattern", 5..6),
        ] {
            let error = parsed(text, Effect::Allow).unwrap_err();
            assert_eq!((error.message.as_str(), error.range), (message, range), "{text}");
        }
    }

    #[test]
    fn only_a_complete_name_is_literal() {
        for (text, literal) in [
            ("/run/docker.sock", true),
            ("/run/*.sock", false),
            ("ssh-agent:github.com", true),
            ("ssh-agent:*.com", false),
            ("ssh-agent", false),
            ("docker", false),
        ] {
            assert_eq!(parsed(text, Effect::Allow).unwrap().is_literal, literal, "{text}");
        }
    }

    #[test]
    fn a_quoted_socket_matches_itself_only() {
        for socket in ["/run/a*b?[c]{d}/x", "ssh-agent:github.com", "/run/docker.sock"] {
            assert!(matches(&quote(socket), Effect::Allow, socket), "{socket}");
        }
        assert!(!matches(&quote("/run/a*"), Effect::Allow, "/run/ab"));
    }
}
