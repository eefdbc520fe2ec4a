//! The enclosure: a separate program that runs other programs one after the other under a system
//! call filter. It lets no attempt to start, write or connect succeed, and reports each attempt.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::steps::succeed;

/// The input for one run of a program.
#[derive(Debug)]
pub(crate) struct Request {
    /// The limit of processor time.
    pub(crate) milliseconds: u32,
    /// The file of the program, the name under which it is started, and its arguments.
    pub(crate) arguments: Vec<String>,
    /// The files that the program may read.
    pub(crate) reads: Vec<String>,
    /// The files that the program may write.
    pub(crate) writes: Vec<String>,
}

/// One enclosure, with a separate directory.
#[derive(Debug)]
pub(crate) struct Enclosure {
    child: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    place: PathBuf,
}

/// The two compiled files.
#[derive(Debug)]
pub(crate) struct Compiled {
    program: PathBuf,
    /// The library that makes a program resident.
    library: PathBuf,
}

/// Compiles the program and the library.
pub(crate) fn compile(folder: &Path) -> Result<Compiled, String> {
    let sources = [
        ("filter.h", include_str!("filter.h")),
        ("enclosure.c", include_str!("enclosure.c")),
        ("resident.c", include_str!("resident.c")),
    ];
    for (name, text) in sources {
        let file = folder.join(name);
        fs::write(&file, text)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let compiled =
        Compiled { program: folder.join("enclosure"), library: folder.join("resident.so") };
    let (program, library) = (folder.join("enclosure.c"), folder.join("resident.c"));
    let mut command = Command::new("cc");
    succeed(command.args(["-O2", "-static", "-o"]).arg(&compiled.program).arg(program))?;
    let mut command = Command::new("cc");
    succeed(command.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&compiled.library).arg(library))?;
    Ok(compiled)
}

impl Enclosure {
    /// Starts the compiled program in the directory `place`.
    pub(crate) fn start(compiled: &Compiled, place: &Path) -> Result<Self, String> {
        let mut command = Command::new(&compiled.program);
        command.current_dir(place).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent");
        command.env("LC_ALL", "C.UTF-8").env("CANARY", "CANARY-7f3a9c");
        command.env("RESIDENT", &compiled.library);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            piped.spawn().map_err(|error| format!("cannot start the enclosure: {error}"))?;
        let input = child.stdin.take();
        let answers = child.stdout.take().ok_or("the enclosure has no output")?;
        Ok(Self { child, input, answers: BufReader::new(answers), place: place.to_owned() })
    }

    /// Returns the directory in which it runs programs.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Runs a program and returns what it tried.
    pub(crate) fn run(&mut self, request: &Request) -> Result<Vec<String>, String> {
        let mut line = String::new();
        let answer = self.send(request).and_then(|()| self.answers.read_line(&mut line));
        answer.map_err(|error| format!("the enclosure does not answer: {error}"))?;
        let deeds = line.strip_suffix("ended\n").ok_or("the enclosure has ended")?;
        Ok(deeds.split_terminator('\t').map(str::to_owned).collect())
    }

    fn send(&mut self, request: &Request) -> io::Result<()> {
        let mut bytes = request.milliseconds.to_ne_bytes().to_vec();
        for list in [&request.arguments, &request.reads, &request.writes] {
            bytes.extend(count(list.len()));
            for text in list {
                bytes.extend(count(text.len()));
                bytes.extend(text.as_bytes());
            }
        }
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&bytes)
    }
}

fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes()
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
