//! The record of strace: one line for each call, in the order in which the calls were seen.

use std::collections::HashMap;

/// The process that drives the scripts. strace writes no number while it is the only process.
pub(crate) const RUNNER: u32 = 0;

/// The meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line was understood.
    Known,
    /// The script is over, with this status of the shell.
    Ended(i32),
    /// The line is not from strace.
    Noise,
}

/// An action of a process, or an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Became another program.
    Exec { path: String, argv: Vec<String>, failed: Option<String> },
    /// Created another process.
    Fork { child: u32 },
    /// Created, changed or removed the file with this name.
    Write { path: String, done: bool },
}

/// The actions of the processes of one script.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Each event with its process, and the line on which it began.
    pub(crate) events: Vec<(usize, u32, Event)>,
    lines: usize,
    /// The calls that have not returned, with their positions and their text so far.
    open: HashMap<u32, (usize, String)>,
}

impl Record {
    /// Reads one more line.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        self.lines += 1;
        let (pid, text) = process(text);
        if let Some(begun) = text.strip_suffix(" <unfinished ...>") {
            self.open.insert(pid, (self.lines, begun.to_owned()));
            return Line::Known;
        }
        if let Some(rest) = text.strip_prefix("<... ") {
            let Some((_, rest)) = rest.split_once(" resumed>") else { return Line::Noise };
            let Some((at, begun)) = self.open.remove(&pid) else { return Line::Known };
            return self.call(at, pid, &format!("{begun}{rest}"));
        }
        self.call(self.lines, pid, text)
    }

    fn call(&mut self, at: usize, pid: u32, text: &str) -> Line {
        let Some((name, rest)) = text.split_once('(') else { return Line::Noise };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else {
            // A process that was killed during a call has no result.
            return if is_name(name) { Line::Known } else { Line::Noise };
        };
        if !is_name(name) {
            return Line::Noise;
        }
        match event(name, arguments, result) {
            Some(Event::Write { path, .. } | Event::Exec { path, .. })
                if path.starts_with("/marker/") =>
            {
                return marker(&path);
            }
            Some(event) => self.events.push((at, pid, event)),
            None if name == "openat" || name == "open" => return opened(arguments),
            None => {}
        }
        Line::Known
    }
}

/// Returns the process of a line, and the rest of the line.
fn process(line: &str) -> (u32, &str) {
    let numbered = line.strip_prefix("[pid").and_then(|rest| rest.split_once("] "));
    match numbered.map(|(number, rest)| (number.trim().parse(), rest)) {
        Some((Ok(number), rest)) => (number, rest),
        _ => (RUNNER, line),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn event(name: &str, arguments: &str, result: &str) -> Option<Event> {
    let failed = failure(result);
    match name {
        "execve" | "execveat" => exec(arguments, failed),
        "clone" | "clone3" | "fork" | "vfork" => {
            Some(Event::Fork { child: result.trim().parse().ok()? })
        }
        "open" | "openat" if !writes(arguments) => None,
        // If there are two names, the last one is the new one.
        _ => Some(Event::Write { path: paths(arguments).pop()?, done: failed.is_none() }),
    }
}

/// A call that a signal interrupts has no result. It is treated as successful.
fn failure(result: &str) -> Option<String> {
    let error = result.trim_start().strip_prefix("-1 ")?;
    Some(error.split(' ').next().unwrap_or_default().to_owned())
}

/// Returns whether a file is opened for writing, or created.
fn writes(arguments: &str) -> bool {
    ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag))
}

fn exec(arguments: &str, failed: Option<String>) -> Option<Event> {
    let (before, words) = arguments.split_once(", [")?;
    let (words, _) = words.split_once(']')?;
    let argv = words.split(", ").map(|word| text(word.trim_matches('"'))).collect();
    Some(Event::Exec { path: paths(before).pop()?, argv, failed })
}

/// Returns the paths among the arguments. A relative path is resolved against the directory before
/// it.
fn paths(arguments: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut directory = None;
    for argument in arguments.split(", ") {
        let argument = argument.trim_end_matches(')');
        if let Some(quoted) = argument.strip_prefix('"') {
            let path = text(quoted.trim_end_matches('"'));
            paths.push(below(directory.take(), path));
        } else if let Some((_, place)) = argument.split_once('<') {
            directory = Some(text(place.trim_end_matches('>')));
        }
    }
    paths
}

fn below(directory: Option<String>, path: String) -> String {
    match directory {
        Some(directory) if !path.starts_with('/') => {
            let directory = directory.trim_end_matches(" (deleted)").trim_end_matches('/');
            format!("{directory}/{path}")
        }
        _ => path,
    }
}

/// Returns the text that strace has written as `\x41\x42`.
fn text(hex: &str) -> String {
    let bytes: Vec<u8> = hex
        .split("\\x")
        .skip(1)
        .filter_map(|pair| u8::from_str_radix(pair.get(..2)?, 16).ok())
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the message that the driver sends by opening a file that does not exist.
fn opened(arguments: &str) -> Line {
    match arguments.split_once('"') {
        Some((_, rest)) if rest.starts_with(r"\x2f\x6d\x61\x72\x6b\x65\x72\x2f") => {
            marker(&paths(arguments).pop().unwrap_or_default())
        }
        _ => Line::Known,
    }
}

fn marker(path: &str) -> Line {
    let mut parts = path.split('/').skip(2);
    match (parts.next(), parts.nth(1).and_then(|status| status.parse().ok())) {
        (Some("end"), Some(status)) => Line::Ended(status),
        _ => Line::Known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    fn read(lines: &[String]) -> Vec<(usize, u32, Event)> {
        let mut record = Record::default();
        for line in lines {
            assert_eq!(record.line(line), Line::Known, "{line}");
        }
        record.events
    }

    #[test]
    fn a_program_is_read_with_its_words() {
        let line = format!(
            r#"[pid    18] execve("{}", ["{}", "", "{}"], 0x5641b7e93500 /* 5 vars */) = 0"#,
            hex("/s/wc"),
            hex("wc"),
            hex("a \"), [é")
        );
        let argv = ["wc", "", "a \"), [é"].map(str::to_owned).to_vec();
        let exec = Event::Exec { path: "/s/wc".to_owned(), argv, failed: None };
        assert_eq!(read(&[line]), [(1, 18, exec)]);
    }

    #[test]
    fn an_interrupted_call_has_the_position_of_its_beginning() {
        let lines = [
            format!(
                r#"[pid 7] execve("{}", ["{}"], 0x1 /* 1 var */ <unfinished ...>"#,
                hex("x"),
                hex("x")
            ),
            "[pid 8] vfork( <unfinished ...>".to_owned(),
            "[pid 7] <... execve resumed>) = -1 ENOENT (No such file or directory)".to_owned(),
            "[pid 8] <... vfork resumed>)             = 9".to_owned(),
        ];
        let failed = Some("ENOENT".to_owned());
        let exec = Event::Exec { path: "x".to_owned(), argv: vec!["x".to_owned()], failed };
        assert_eq!(read(&lines), [(1, 7, exec), (2, 8, Event::Fork { child: 9 })]);
    }

    #[test]
    fn a_relative_path_is_resolved_against_its_directory() {
        let (work, name, other) = (hex("/w/a (deleted)"), hex("b"), hex("/c"));
        let lines = [
            format!(r#"openat(AT_FDCWD<{work}>, "{name}", O_WRONLY|O_CREAT, 0666) = 3<{other}>"#),
            format!(r#"openat(AT_FDCWD<{work}>, "{name}", O_RDONLY|O_CLOEXEC) = 3<{other}>"#),
            format!(r#"mkdir("{other}", 0777)         = -1 EEXIST (File exists)"#),
            format!(r#"renameat2(AT_FDCWD<{work}>, "{name}", 4<{other}>, "{name}", 0) = 0"#),
        ];
        let write = |path: &str, done| Event::Write { path: path.to_owned(), done };
        let events: Vec<_> = read(&lines).into_iter().map(|(_, _, event)| event).collect();
        assert_eq!(events, [write("/w/a/b", true), write("/c", false), write("/c/b", true)]);
    }

    #[test]
    fn the_end_of_a_script_tells_the_status() {
        let line = |what: &str| {
            format!(r#"openat(AT_FDCWD<{}>, "{}", O_RDONLY) = -1 ENOENT (No)"#, hex("/"), hex(what))
        };
        let mut record = Record::default();
        assert_eq!(record.line(&line("/marker/begin/4/0")), Line::Known);
        assert_eq!(record.line(&line("/marker/end/4/1009")), Line::Ended(1009));
        assert_eq!(record.line("bwrap: no permission"), Line::Noise);
        assert!(record.events.is_empty());
    }
}
