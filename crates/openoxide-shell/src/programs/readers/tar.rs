//! `tar`: what its operands and its archive are depends on what it is to do.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::{Does, Level},
    },
    NOT_UNDERSTOOD,
};

const ANYWHERE: &str = "it writes files that are not known";

/// The operation that tar performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Lists,
    Extracts,
    Creates,
    /// Something else, or several.
    Other,
}

/// The facts about a command line.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Tar<'a> {
    meaning: Meaning,
    mode: Option<Mode>,
    archives: Vec<Arg<'a>>,
    /// Each operand with the directory that it is relative to.
    operands: Vec<(String, Arg<'a>)>,
    place: String,
    prints: bool,
    anywhere: bool,
    removes: bool,
    ends: bool,
    clear: bool,
}

/// Reads a whole command.
pub(in super::super) fn tar(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut tar = Tar {
        meaning: Meaning::of(CommandClass::Harmless),
        mode: None,
        archives: Vec::new(),
        operands: Vec::new(),
        place: String::new(),
        prints: false,
        anywhere: false,
        removes: false,
        ends: false,
        clear: true,
    };
    let mut follows = false;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, .. } if matches!(option.name, "h" | "dereference") => {
                follows = true;
            }
            Item::Option { option, value } => tar.option(option.name, option.does, value),
            Item::Operand(arg, _) => tar.operands.push((tar.place.clone(), arg)),
            Item::Number => {}
            Item::Unclear => tar.clear = false,
        }
    }
    let mut meaning = tar.finish();
    if follows {
        meaning.follow();
    }
    meaning
}

impl<'a> Tar<'a> {
    fn option(&mut self, name: &str, does: Does, value: Option<Arg<'a>>) {
        match (name, value) {
            ("t" | "list", _) => self.set(Mode::Lists),
            ("x" | "extract" | "get", _) => self.set(Mode::Extracts),
            ("c" | "create", _) => self.set(Mode::Creates),
            (
                "r" | "u" | "A" | "d" | "append" | "update" | "catenate" | "concatenate" | "delete"
                | "diff" | "compare" | "test-label",
                _,
            ) => self.set(Mode::Other),
            ("f" | "file", Some(archive)) => self.archives.push(archive),
            ("C" | "directory" | "cd", value) => self.moves(value),
            ("checkpoint-action", value) => self.action(value),
            ("O" | "to-stdout", _) => self.prints = true,
            (
                "P" | "absolute-names" | "absolute-paths" | "transform" | "xform" | "one-top-level",
                _,
            ) => {
                self.anywhere = true;
            }
            ("s", Some(_)) => self.anywhere = true,
            ("remove-files", _) => self.removes = true,
            ("recursive-unlink" | "U" | "unlink-first", _) => self.clear = false,
            _ => self.does(does, value),
        }
    }

    fn set(&mut self, mode: Mode) {
        self.mode = Some(if self.mode.is_some() { Mode::Other } else { mode });
    }

    fn moves(&mut self, value: Option<Arg<'a>>) {
        match value {
            Some(Arg::Known(to)) if to.starts_with('/') || self.place.is_empty() => {
                self.place = to.to_owned();
            }
            Some(Arg::Known(to)) => self.place = format!("{}/{to}", self.place),
            _ => {
                self.clear = false;
                self.meaning.cannot_tell("works in a directory that is not known");
            }
        }
    }

    fn action(&mut self, value: Option<Arg<'a>>) {
        let Some(Arg::Known(action)) = value else {
            self.clear = false;
            return self.meaning.cannot_tell(NOT_UNDERSTOOD);
        };
        if let Some(script) = action.strip_prefix("exec=") {
            self.clear = false;
            self.meaning.run_script(Arg::Known(script));
        }
    }

    fn does(&mut self, does: Does, value: Option<Arg<'a>>) {
        match (does, value) {
            (Does::Nothing, _) => {}
            (Does::Ends, _) => self.ends = true,
            (Does::Reads, Some(file)) => self.meaning.read(file, false),
            (Does::Writes, Some(file)) => self.meaning.write(file),
            (Does::Runs, Some(script)) => {
                self.clear = false;
                self.meaning.run_script(script);
            }
            _ => {
                self.clear = false;
                self.meaning.cannot_tell("it can run something that its words do not show");
            }
        }
    }

    fn finish(mut self) -> Meaning {
        if self.ends && self.clear && self.mode.is_none() {
            return Meaning::of(CommandClass::Harmless);
        }
        match self.mode.unwrap_or(Mode::Other) {
            Mode::Lists => self.reads_archives(),
            Mode::Extracts => self.extracts(),
            Mode::Creates => {
                self.writes_archives();
                self.reads_operands();
            }
            Mode::Other => {
                self.clear = false;
                self.writes_archives();
                self.reads_operands();
            }
        }
        if !self.clear {
            self.meaning.lower(CommandClass::Unknown);
        }
        self.meaning
    }

    fn extracts(&mut self) {
        self.reads_archives();
        if self.prints {
            return;
        }
        self.clear = false;
        if self.anywhere {
            return self.meaning.cannot_tell(ANYWHERE);
        }
        let place = if self.place.is_empty() { "." } else { &self.place };
        self.meaning.write(Arg::Known(place));
    }

    fn reads_archives(&mut self) {
        for archive in std::mem::take(&mut self.archives) {
            if !self.reaches(archive) {
                self.meaning.read(archive, false);
            }
        }
    }

    fn writes_archives(&mut self) {
        for archive in std::mem::take(&mut self.archives) {
            if !self.reaches(archive) {
                self.meaning.write(archive);
            }
        }
    }

    /// Adds the host of an archive with a colon, and returns whether the archive is on another
    /// host.
    fn reaches(&mut self, archive: Arg<'a>) -> bool {
        let Arg::Known(text) = archive else { return false };
        let elsewhere = text.split('/').next().is_some_and(|before| before.contains(':'));
        if elsewhere {
            self.meaning.reach(archive);
        }
        elsewhere
    }

    fn takes(&mut self, file: Arg<'_>) {
        self.meaning.read(file, false);
        if self.removes {
            self.clear = false;
            self.meaning.write(file);
        }
    }

    fn reads_operands(&mut self) {
        for (place, operand) in std::mem::take(&mut self.operands) {
            match operand {
                // bsdtar: an archive whose members are added.
                Arg::Known(file) if file.starts_with('@') => {
                    self.meaning.read(Arg::Known(file.trim_start_matches('@')), false);
                    self.meaning.read(operand, false);
                }
                Arg::Known(file) if !place.is_empty() && !file.starts_with('/') => {
                    self.takes(Arg::Known(&format!("{place}/{file}")));
                }
                operand => self.takes(operand),
            }
        }
    }
}
