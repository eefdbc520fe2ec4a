//! Reader for `tar`. The meaning of its operands and archive depends on its operation.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_items::CommandItem, command_spec::OptionEffect,
    },
    OPTIONS_NOT_UNDERSTOOD,
};

const UNKNOWN_FILES: &str = "it writes files that are not known";

/// The operation that tar performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TarMode {
    Lists,
    Extracts,
    Creates,
    /// Another operation, or several operations.
    Other,
}

/// The facts about a command line.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct TarCommand<'a> {
    meaning: CommandMeaning,
    mode: Option<TarMode>,
    archives: Vec<ArgumentWord<'a>>,
    /// Each operand with the directory that it is relative to.
    operands: Vec<(String, ArgumentWord<'a>)>,
    place: String,
    prints: bool,
    allows_absolute_paths: bool,
    removes_files: bool,
    prints_help: bool,
    is_understood: bool,
}

/// Reads a whole command.
pub(in super::super) fn read_tar(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut tar = TarCommand {
        meaning: CommandMeaning::new(CommandClass::Harmless),
        mode: None,
        archives: Vec::new(),
        operands: Vec::new(),
        place: String::new(),
        prints: false,
        allows_absolute_paths: false,
        removes_files: false,
        prints_help: false,
        is_understood: true,
    };
    let mut follows = false;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, .. } if matches!(option.name, "h" | "dereference") => {
                follows = true;
            }
            CommandItem::Option { option, value } => {
                tar.add_option(option.name, option.effect, value);
            }
            CommandItem::Operand(arg, _) => tar.operands.push((tar.place.clone(), arg)),
            CommandItem::Number => {}
            CommandItem::Unclear => tar.is_understood = false,
        }
    }
    let mut meaning = tar.into_meaning();
    if follows {
        meaning.follow_links();
    }
    meaning
}

impl<'a> TarCommand<'a> {
    fn add_option(&mut self, name: &str, does: OptionEffect, value: Option<ArgumentWord<'a>>) {
        match (name, value) {
            ("t" | "list", _) => self.set_mode(TarMode::Lists),
            ("x" | "extract" | "get", _) => self.set_mode(TarMode::Extracts),
            ("c" | "create", _) => self.set_mode(TarMode::Creates),
            (
                "r" | "u" | "A" | "d" | "append" | "update" | "catenate" | "concatenate" | "delete"
                | "diff" | "compare" | "test-label",
                _,
            ) => self.set_mode(TarMode::Other),
            ("f" | "file", Some(archive)) => self.archives.push(archive),
            ("C" | "directory" | "cd", value) => self.change_directory(value),
            ("checkpoint-action", value) => self.add_checkpoint_action(value),
            ("O" | "to-stdout", _) => self.prints = true,
            (
                "P" | "absolute-names" | "absolute-paths" | "transform" | "xform" | "one-top-level",
                _,
            ) => {
                self.allows_absolute_paths = true;
            }
            ("s", Some(_)) => self.allows_absolute_paths = true,
            ("remove-files", _) => self.removes_files = true,
            ("recursive-unlink" | "U" | "unlink-first", _) => self.is_understood = false,
            _ => self.apply_option_effect(does, value),
        }
    }

    fn set_mode(&mut self, mode: TarMode) {
        self.mode = Some(if self.mode.is_some() { TarMode::Other } else { mode });
    }

    fn change_directory(&mut self, value: Option<ArgumentWord<'a>>) {
        match value {
            Some(ArgumentWord::Known(to)) if to.starts_with('/') || self.place.is_empty() => {
                self.place = to.to_owned();
            }
            Some(ArgumentWord::Known(to)) => self.place = format!("{}/{to}", self.place),
            _ => {
                self.is_understood = false;
                self.meaning.add_unknown_effect("works in a directory that is not known");
            }
        }
    }

    fn add_checkpoint_action(&mut self, value: Option<ArgumentWord<'a>>) {
        let Some(ArgumentWord::Known(action)) = value else {
            self.is_understood = false;
            return self.meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
        };
        if let Some(script) = action.strip_prefix("exec=") {
            self.is_understood = false;
            self.meaning.add_script(ArgumentWord::Known(script));
        }
    }

    fn apply_option_effect(&mut self, does: OptionEffect, value: Option<ArgumentWord<'a>>) {
        match (does, value) {
            (OptionEffect::Nothing, _) => {}
            (OptionEffect::Ends, _) => self.prints_help = true,
            (OptionEffect::Reads, Some(file)) => self.meaning.add_read(file, false),
            (OptionEffect::Writes, Some(file)) => self.meaning.add_write(file),
            (OptionEffect::Runs, Some(script)) => {
                self.is_understood = false;
                self.meaning.add_script(script);
            }
            _ => {
                self.is_understood = false;
                self.meaning.add_unknown_effect("it can run something that its words do not show");
            }
        }
    }

    fn into_meaning(mut self) -> CommandMeaning {
        if self.prints_help && self.is_understood && self.mode.is_none() {
            return CommandMeaning::new(CommandClass::Harmless);
        }
        match self.mode.unwrap_or(TarMode::Other) {
            TarMode::Lists => self.read_archives(),
            TarMode::Extracts => self.add_extraction(),
            TarMode::Creates => {
                self.write_archives();
                self.read_operands();
            }
            TarMode::Other => {
                self.is_understood = false;
                self.write_archives();
                self.read_operands();
            }
        }
        if !self.is_understood {
            self.meaning.lower_class(CommandClass::Unknown);
        }
        self.meaning
    }

    fn add_extraction(&mut self) {
        self.read_archives();
        if self.prints {
            return;
        }
        self.is_understood = false;
        if self.allows_absolute_paths {
            return self.meaning.add_unknown_effect(UNKNOWN_FILES);
        }
        let place = if self.place.is_empty() { "." } else { &self.place };
        self.meaning.add_write(ArgumentWord::Known(place));
    }

    fn read_archives(&mut self) {
        for archive in std::mem::take(&mut self.archives) {
            if !self.add_remote_archive(archive) {
                self.meaning.add_read(archive, false);
            }
        }
    }

    fn write_archives(&mut self) {
        for archive in std::mem::take(&mut self.archives) {
            if !self.add_remote_archive(archive) {
                self.meaning.add_write(archive);
            }
        }
    }

    /// Adds the host of an archive with a colon, and returns whether the archive is on another
    /// host.
    fn add_remote_archive(&mut self, archive: ArgumentWord<'a>) -> bool {
        let ArgumentWord::Known(text) = archive else { return false };
        let elsewhere = text.split('/').next().is_some_and(|before| before.contains(':'));
        if elsewhere {
            self.meaning.add_host(archive);
        }
        elsewhere
    }

    fn add_archived_file(&mut self, file: ArgumentWord<'_>) {
        self.meaning.add_read(file, false);
        if self.removes_files {
            self.is_understood = false;
            self.meaning.add_write(file);
        }
    }

    fn read_operands(&mut self) {
        for (place, operand) in std::mem::take(&mut self.operands) {
            match operand {
                // A `bsdtar` archive whose members are added.
                ArgumentWord::Known(file) if file.starts_with('@') => {
                    self.meaning.add_read(ArgumentWord::Known(file.trim_start_matches('@')), false);
                    self.meaning.add_read(operand, false);
                }
                ArgumentWord::Known(file) if !place.is_empty() && !file.starts_with('/') => {
                    self.add_archived_file(ArgumentWord::Known(&format!("{place}/{file}")));
                }
                operand => self.add_archived_file(operand),
            }
        }
    }
}
