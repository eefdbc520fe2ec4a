//! Readers for programs whose words are a language of their own.

mod awk;
mod awk_words;
mod builds;
mod cloud;
mod conditions;
mod containers;
mod databases;
mod files;
mod filters;
mod find;
mod find_names;
mod forbidden;
mod forge;
mod git;
mod git_config;
mod jq;
mod launchers;
mod media;
mod miller;
mod network;
mod pager;
mod print;
mod ps;
mod python;
mod search;
mod sed;
mod sed_script;
mod shells;
mod sql;
mod tar;
mod tokens;
mod tool;
mod tools;
mod wrappers;

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{Arg, Argv, Effect, Meaning, level::Level};

pub(super) use self::{
    awk::awk,
    builds::{cargo_fmt, cmake, compiler, make, ninja_tool, prints_here, recipes},
    cloud::{aws, az, gcloud},
    conditions::{bracket, test},
    containers::{
        container_option, copy, inspect, is_own_compose_file, mount, plain_output, stays_local,
        volume_option,
    },
    databases::{mysql, psql, sqlite, stays_here},
    files::{
        addresses, chart, compresses, copies, dd, links, packs, rsync_remote, seven_zip, unpacks,
    },
    find::find,
    forge::{filters_only, forge, forge_api},
    git::{
        git_clone, line_range, merge_strategy, pathspec, peg, prints_only, remote, remote_option,
        revision,
    },
    git_config::{git_config, git_setting},
    jq::{jq, yq},
    launchers::{
        after_command_option, after_dashes, hidden, netns_exec, parallel, screen,
        script_or_command, setarch, tmux, tmux_format,
    },
    media::{
        exiftool, ffmpeg, ffmpeg_value, imagemagick, man, manual, pandoc, pandoc_value, pdftotext,
        tex,
    },
    miller::mlr,
    network::{
        crontab, curl, curl_value, file_or_address, http, journal, kernel_log, lsof, nmap, rclone,
        scp, socat, ss, ssh_keygen, ssh_value, wget,
    },
    pager::{compares, linked, pager, printenv, searches},
    print::{change_directory, date, declares, number, printf, set},
    ps::ps,
    python::{pytest_option, python},
    search::{git_grep, printed, takes_all},
    sed::sed,
    shells::{bash, posix, zsh},
    tar::tar,
    tokens::{log, merge_base, pgrep, rev_list, rev_parse},
    tool::{
        PATH_AS_SUBCOMMAND, add_plugin, add_tool, same_program, tool_after_dashes, tool_or_script,
    },
    tools::{command, strings, style_file, tput, xxd},
    wrappers::{busybox, chrt, elsewhere, env, fd, joined, moved, runuser, script, su, xargs},
};

const NOT_UNDERSTOOD: &str = "its options were not understood";
const NOT_SHOWN: &str = "it can run something that its words do not show";
const ELSEWHERE: &str = "runs a command in another directory";
const STARTS_SHELL: &str = "starts a shell";

/// The files that a harmless command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    reads: Vec<String>,
    /// Whether it only looks at names, sizes and other metadata.
    lists: bool,
}

impl Known {
    /// Adds a file that is read.
    fn read(&mut self, file: &str) {
        self.reads.push(file.to_owned());
    }

    /// Adds a file of which only names, sizes and other metadata are read. An unknown file is
    /// accepted, because this reveals little about it.
    fn look(&mut self, word: CommandWord<'_>) -> Option<()> {
        if let CommandWord::Known(file) = word {
            self.read(file);
        }
        (word != CommandWord::AnyWords).then_some(())
    }
}

/// Returns the meaning of a command that is harmless if `known` is set.
fn harmless(known: Option<Known>) -> Meaning {
    let Some(known) = known else { return Meaning::unknown() };
    let mut meaning = Meaning::of(CommandClass::Harmless);
    known.reads.iter().for_each(|file| meaning.read(Arg::Known(file), known.lists));
    meaning
}

/// The command inside of another command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inside {
    /// No command is run with these words.
    Nothing,
    /// No command is run. It only prints help or a version.
    Ends,
    /// One program.
    Command(Argv),
    /// A shell with this script.
    Script(String),
    /// An unknown command, with the reason.
    Unknown(&'static str),
}

const UNCLEAR: Inside = Inside::Unknown(NOT_UNDERSTOOD);

/// Returns the meaning of a command that runs others.
fn carrying(level: &Level, inside: Inside) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    match inside {
        Inside::Nothing => {}
        Inside::Ends => return Meaning::of(CommandClass::Harmless),
        Inside::Command(command) => meaning.effects.push(Effect::Runs(command)),
        Inside::Script(script) => meaning.effects.push(Effect::Script(script)),
        Inside::Unknown(why) => {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell(why);
        }
    }
    meaning
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Adds a word in which `placeholder` stands for unknown text.
fn push_replaced(words: &mut CommandWords, word: CommandWord<'_>, placeholder: &str) {
    let replaced = match word {
        CommandWord::AnyWords => None,
        CommandWord::Known(text) | CommandWord::KnownPrefix(text) => text.split_once(placeholder),
    };
    match replaced {
        Some((beginning, _)) => push_beginning(words, beginning),
        None => push(words, word),
    }
}

fn push(words: &mut CommandWords, word: CommandWord<'_>) {
    match word {
        CommandWord::Known(text) => words.push(text),
        CommandWord::KnownPrefix(text) => push_beginning(words, text),
        CommandWord::AnyWords => words.push_any_words(),
    }
}

/// Adds a word of which only the beginning is known.
fn push_beginning(words: &mut CommandWords, text: &str) {
    words.push_known_text(text);
    words.push_unknown_text();
    words.end_word();
}
