//! What a record of strace says about a promise: what was started, written and contacted.

use super::trap::{MARK, Trap};

/// One thing that a program did and that a harmless one does not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deed {
    pub(super) kind: Kind,
    pub(super) what: String,
}

/// Kinds of deeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It started or contacted what the project brings.
    Trap,
    /// It started another program of the machine.
    Starts,
    /// It made, changed or removed a file.
    Writes,
    /// It contacted a host, or a service of this machine.
    Contacts,
    /// It could not be run.
    Failed,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Starts => "starts",
            Self::Writes => "writes",
            Self::Contacts => "contacts",
            Self::Failed => "failed",
        }
    }
}

impl Deed {
    pub(super) fn failed(why: &str) -> Self {
        Self { kind: Kind::Failed, what: why.replace(['\t', '\n'], " ") }
    }
}

/// Returns the deeds that a record shows, each once.
pub(super) fn deeds(trace: &str, trap: &Trap, script: &str) -> Vec<Deed> {
    let place = Places { directory: trap.directory().display().to_string() };
    // The first program is the shell that reads the script.
    let mut lines = trace.lines().map(strip_process);
    let _ = lines.by_ref().find(|line| line.starts_with("execve("));
    let mut deeds: Vec<Deed> = lines.filter_map(|line| place.deed(line, script)).collect();
    deeds.sort();
    deeds.dedup();
    deeds
}

/// Drops the number of the process.
fn strip_process(line: &str) -> &str {
    let rest = line.trim_start_matches(|each: char| each.is_ascii_digit());
    rest.trim_start()
}

/// The directories of the trap.
struct Places {
    directory: String,
}

impl Places {
    fn deed(&self, line: &str, script: &str) -> Option<Deed> {
        let (name, rest) = line.split_once('(')?;
        let failed = rest.rsplit_once(" = ").is_some_and(|(_, result)| result.starts_with('-'));
        match name {
            "execve" | "execveat" => self.started(rest, failed, script),
            "connect" | "sendto" | "sendmsg" | "sendmmsg" => contacted(name, rest),
            "open" | "openat" | "openat2" => self.opened(rest),
            "chdir" => None,
            _ => self.written(rest),
        }
    }

    /// Returns the rest of a path that begins with the directory of the trap.
    fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.directory).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn started(&self, rest: &str, failed: bool, script: &str) -> Option<Deed> {
        let path = quoted(rest)?;
        let deed = |kind, what: &str| Some(Deed { kind, what: what.to_owned() });
        if self.inside(&path).is_some() || !path.starts_with('/') && path.contains('/') {
            // A name that is looked up in a directory of the project counts even if it is not there.
            return deed(Kind::Trap, &path);
        }
        if rest.contains(MARK) && !failed {
            return deed(Kind::Trap, &path);
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let named = script.split(|each: char| !(each.is_alphanumeric() || "._-+[".contains(each)));
        let mut named = named;
        let named = named.any(|word| word == name);
        (!failed && !named).then(|| Deed { kind: Kind::Starts, what: name.to_owned() })
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
        // What this user may not write is what the program would write as another one: a cache of its own installation
        // is no harm.
        let own =
            refused && ["/usr/", "/opt/", "/root"].iter().any(|start| path.starts_with(start));
        (!own).then_some(Deed { kind: Kind::Writes, what })
    }

    /// Returns the last path of a call, below the directory that stands before it.
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
            let tmp = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
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

/// Returns the first text in quotes.
fn quoted(rest: &str) -> Option<String> {
    let (_, rest) = rest.split_once('"')?;
    let (text, _) = rest.split_once('"')?;
    Some(text.to_owned())
}

fn contacted(name: &str, rest: &str) -> Option<Deed> {
    let deed = |kind, what: &str| Some(Deed { kind, what: what.to_owned() });
    if rest.contains(MARK)
        && (rest.contains("AF_INET") || name != "connect")
        && !rest.contains("AF_NETLINK")
    {
        return deed(Kind::Trap, "contacts the host of the project");
    }
    if let Some((_, path)) = rest.split_once("sun_path=") {
        let path = quoted(path).unwrap_or_default();
        let services =
            ["/var/run/nscd/socket", "/run/nscd/socket", "/dev/log", "/run/systemd/journal"];
        let known = services.iter().any(|service| path.starts_with(service)) || path.is_empty();
        return if known { None } else { deed(Kind::Contacts, &path) };
    }
    let network = rest.contains("AF_INET")
        && !rest.contains("sin_port=htons(0)")
        && !rest.contains("sin6_port=htons(0)");
    if network { deed(Kind::Contacts, "network") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(line: &str) -> Option<(Kind, String)> {
        let places = Places { directory: "/t".to_owned() };
        places.deed(line, "ls").map(|deed| (deed.kind, deed.what))
    }

    #[test]
    fn each_kind_of_deed_is_seen_in_its_call() {
        let deed = |kind, what: &str| Some((kind, what.to_owned()));
        for (line, expected) in [
            ("execve(\"/usr/bin/ls\", [\"ls\"], 0x1 /* 8 vars */) = 0", None),
            ("execve(\"/usr/bin/git\", [\"git\"], 0x1) = 0", deed(Kind::Starts, "git")),
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
                "connect(3<x>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=x}, 16) = 0",
                deed(Kind::Contacts, "network"),
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
                "sendto(3<x>, \"\\6oxtrap\\7example\", 32, 0, NULL, 0) = 32",
                deed(Kind::Trap, "contacts the host of the project"),
            ),
        ] {
            assert_eq!(judge(line), expected, "{line}");
        }
    }
}
