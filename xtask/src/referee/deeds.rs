//! The actions of a script: the programs that its shells started, and the files that they opened
//! for writing.

use std::collections::HashMap;

use super::trace::{Event, Record};

/// Programs that only run other programs. The latter are treated as if the shell had started them.
const WRAPPERS: &[&str] = &[
    "env",
    "xargs",
    "nice",
    "nohup",
    "timeout",
    "stdbuf",
    "setsid",
    "find",
    "time",
    "ionice",
    "chrt",
    "taskset",
    "flock",
    "script",
    "watch",
    "setarch",
    "setpriv",
    "prlimit",
    "run-parts",
];
/// Wrappers that may use a shell to run their command. The command is recorded, and the shell is
/// not.
const HELPED: &[&str] = &["flock", "script", "watch"];
const SHELLS: &[&str] = &["bash", "sh", "dash", "rbash"];
/// The directories of the stage's programs. Programs in other directories were created by the
/// script itself.
const SYSTEM: &[&str] = &["/s/", "/usr/", "/bin/", "/sbin/", "/lib/", "/ox/"];
/// The first program of a namespace.
const DRIVER: &str = "/ox/driver";
/// The program that the shell starts for a name that it does not find.
const NOT_FOUND: &str = "/ox/not-found";
/// The maximum number of actions. A script with more is a loop.
const MOST: usize = 400;

/// The state of a process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Image {
    Driver,
    /// A shell, with the program that started it for its own work, if there is one.
    Shell(By),
    /// Any other program, by its words and its origin.
    Program(Vec<String>, By),
    /// A program that the script created. Its actions are not in the text of the script.
    Foreign,
}

/// The origin of a started program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A shell, or a program that only runs other programs.
    Shell,
    /// A program with other work, by its words.
    Program(Vec<String>),
}

/// A program that was started, or that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// The possible names of the program in the script.
    pub(crate) names: Vec<String>,
    /// The words after the name.
    pub(crate) arguments: Vec<String>,
    /// The origin of the program.
    pub(crate) by: By,
}

/// A file that was created, changed or removed, or an attempt to do so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The path, as far as it was recorded.
    pub(crate) path: String,
    /// True if a shell did it, not a program.
    pub(crate) by_shell: bool,
    /// True if it succeeded.
    pub(crate) done: bool,
}

/// All recorded actions of a script.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) started: Vec<Started>,
    pub(crate) written: Vec<Written>,
    /// The exit status of the shell; 1000 and more for a signal.
    pub(crate) status: i32,
    /// True if a link was created. Later paths may have other targets.
    pub(crate) linked: bool,
}

/// The processes of a record, with their programs over time.
#[derive(Debug, Default)]
struct Processes {
    images: HashMap<u32, Vec<(usize, Image)>>,
    parents: HashMap<u32, (u32, usize)>,
}

impl Deeds {
    /// Reads the processes from a record.
    pub(crate) fn of(record: &Record, status: i32) -> Self {
        let mut processes = Processes::default();
        for (at, pid, event) in &record.events {
            if let Event::Fork { child } = event {
                processes.parents.insert(*child, (*pid, *at));
            }
        }
        let mut deeds = Self { status, ..Self::default() };
        for (at, pid, event) in &record.events {
            deeds.add(&mut processes, *at, *pid, event);
        }
        deeds
    }

    fn add(&mut self, processes: &mut Processes, at: usize, pid: u32, event: &Event) {
        let image = processes.image(pid, at);
        match event {
            Event::Exec { path, argv, failed } => {
                let started = started(path, argv, &image);
                if let Some(started) = started.filter(|_| self.started.len() < MOST) {
                    self.started.push(started);
                }
                processes.becomes(pid, at, path, argv, failed.as_deref());
            }
            Event::Write { path, done } if is_a_file(path) => {
                let by_shell = image == Image::Shell(By::Shell);
                let written = Written { path: path.clone(), by_shell, done: *done };
                if image != Image::Driver && self.written.len() < MOST {
                    self.linked |=
                        *done && matches!(&image, Image::Program(argv, _) if links(argv));
                    self.written.push(written);
                }
            }
            Event::Write { .. } | Event::Fork { .. } => {}
        }
    }
}

impl Processes {
    fn image(&self, pid: u32, at: usize) -> Image {
        let (mut pid, mut at) = (pid, at);
        // The number of ancestors is limited, because a reused process number must not cause an
        // endless loop.
        for _ in 0..1000 {
            let mut past = self.images.get(&pid).into_iter().flatten();
            if let Some((_, image)) = past.rfind(|(since, _)| *since < at) {
                return image.clone();
            }
            match self.parents.get(&pid) {
                Some(parent) => (pid, at) = *parent,
                None => break,
            }
        }
        Image::Driver
    }

    fn becomes(&mut self, pid: u32, at: usize, path: &str, argv: &[String], failed: Option<&str>) {
        let own = !is_of_system(path);
        let was = self.image(pid, at);
        let image = match failed {
            _ if was == Image::Foreign => return,
            // The shell itself then reads such a file as a script.
            Some("ENOEXEC") => Image::Foreign,
            Some(_) => return,
            None if path == DRIVER => Image::Driver,
            None if own => Image::Foreign,
            None if SHELLS.contains(&base_name(path)) => Image::Shell(was.starts()),
            None => Image::Program(named(path, argv), was.starts()),
        };
        self.images.entry(pid).or_default().push((at, image));
    }
}

impl Image {
    /// Returns the origin of the programs that this process starts.
    fn starts(&self) -> By {
        match self {
            Self::Shell(by) => by.clone(),
            Self::Program(_, by @ By::Program(_)) => by.clone(),
            Self::Program(words, By::Shell) if !is_one_of(WRAPPERS, words) => {
                By::Program(words.clone())
            }
            Self::Driver | Self::Foreign | Self::Program(..) => By::Shell,
        }
    }
}

fn started(path: &str, argv: &[String], image: &Image) -> Option<Started> {
    let helper = matches!(image, Image::Program(words, _) if is_one_of(HELPED, words));
    if matches!(image, Image::Driver | Image::Foreign) || helper && runs_text(path, argv) {
        return None;
    }
    let by = image.starts();
    let (first, arguments) = argv.split_first()?;
    if matches!(image, Image::Program(words, _) if is_script(words) && arguments.first() == words.first())
    {
        return None; // Its first line is `#!/usr/bin/env LANGUAGE`: this is the program itself.
    }
    if path == NOT_FOUND {
        let (name, arguments) = arguments.split_first()?;
        return Some(Started { names: vec![name.clone()], arguments: arguments.to_vec(), by });
    }
    let mut names = vec![path.to_owned()];
    if first.contains('/') && path.ends_with(first) {
        names.push(first.clone());
    } else {
        // `exec` makes a path of its operand, and the name that a program sees is arbitrary (`exec
        // -a`, `exec -l`). Every suffix of the path is a possible operand.
        names.push(base_name(path).to_owned());
        names
            .extend(Some(first.clone()).filter(|first| first.contains('/') && !is_of_system(path)));
        let own = path.match_indices('/').filter(|_| !is_of_system(path));
        names.extend(own.filter_map(|(at, _)| path.get(at + 1..)).map(str::to_owned));
    }
    Some(Started { names, arguments: arguments.to_vec(), by })
}

/// Returns whether a program of the system may be a script in some language.
fn is_script(words: &[String]) -> bool {
    words.first().is_some_and(|name| name.starts_with("/usr/")) && !is_one_of(WRAPPERS, words)
}

fn is_of_system(path: &str) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
}

fn runs_text(path: &str, argv: &[String]) -> bool {
    SHELLS.contains(&base_name(path)) && argv.iter().any(|word| word == "-c")
}

fn is_one_of(names: &[&str], words: &[String]) -> bool {
    words.first().is_some_and(|name| names.contains(&base_name(name)))
}

fn links(argv: &[String]) -> bool {
    argv.first().is_some_and(|name| matches!(base_name(name), "ln" | "cp" | "tar" | "mv"))
}

/// Returns the words of a program under the name that it was found by.
fn named(path: &str, argv: &[String]) -> Vec<String> {
    let name = match argv.first() {
        Some(first) if first.contains('/') => path,
        _ => base_name(path),
    };
    std::iter::once(name.to_owned()).chain(argv.iter().skip(1).cloned()).collect()
}

pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a path is a persistent file: not a device, a pipe, or a temporary file of the
/// shell.
fn is_a_file(path: &str) -> bool {
    let rest = path.trim_start_matches('/');
    !["dev/", "proc/", "w/tmp/"]
        .iter()
        .any(|place| path.starts_with('/') && rest.starts_with(place))
        && !base_name(path).starts_with("sh-thd")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(path: &str, words: &[&str]) -> Event {
        let argv = words.iter().map(ToString::to_string).collect();
        Event::Exec { path: path.to_owned(), argv, failed: None }
    }

    fn write(path: &str) -> Event {
        Event::Write { path: path.to_owned(), done: true }
    }

    fn deeds(events: Vec<(u32, Event)>) -> Deeds {
        let events = events.into_iter().enumerate().map(|(at, (pid, event))| (at, pid, event));
        let mut record = Record::default();
        record.events.extend(events);
        Deeds::of(&record, 0)
    }

    #[test]
    fn a_started_program_is_recorded_with_its_origin() {
        let seen = deeds(vec![
            (0, Event::Fork { child: 5 }),
            (5, exec("/usr/bin/bash", &["bash", "-c", "x"])),
            (5, Event::Fork { child: 6 }),
            (6, exec("/s/env", &["env", "awk"])),
            (6, exec("/s/awk", &["awk", "{}"])),
            (6, exec("/bin/sh", &["sh", "-c", "q"])),
            (6, exec(NOT_FOUND, &[NOT_FOUND, "q", "r"])),
        ]);
        let by: Vec<_> = seen.started.iter().map(|started| started.by.clone()).collect();
        let awk = By::Program(vec!["awk".to_owned(), "{}".to_owned()]);
        assert_eq!(by, [By::Shell, By::Shell, awk.clone(), awk]);
        assert_eq!(seen.started.last().unwrap().names, ["q"]);
        assert_eq!(seen.started.last().unwrap().arguments, ["r"]);
    }

    #[test]
    fn a_child_has_the_image_of_its_parent_at_the_fork() {
        let seen = deeds(vec![
            (0, Event::Fork { child: 5 }),
            (5, exec("/usr/bin/bash", &["bash"])),
            // The child is recorded before the call that created it returns.
            (6, write("/w/by-shell")),
            (5, Event::Fork { child: 6 }),
            (5, exec("/s/tee", &["tee", "x"])),
            (5, write("/w/by-tee")),
            (0, write("/w/by-driver")),
            (5, write("/dev/null")),
        ]);
        let written: Vec<_> =
            seen.written.iter().map(|written| (written.path.as_str(), written.by_shell)).collect();
        assert_eq!(written, [("/w/by-shell", true), ("/w/by-tee", false)]);
    }

    #[test]
    fn actions_of_a_file_of_the_script_are_not_recorded() {
        let failed = Some("ENOEXEC".to_owned());
        let seen = deeds(vec![
            (5, exec("/usr/bin/bash", &["bash"])),
            (5, Event::Exec { path: "./s".to_owned(), argv: vec!["./s".to_owned()], failed }),
            (5, exec("/s/evil1", &["evil1"])),
        ]);
        let names: Vec<_> =
            seen.started.iter().filter_map(|started| started.names.last()).collect();
        assert_eq!(names, ["./s"]);
    }
}
