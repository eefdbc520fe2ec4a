//! Readers for programs whose words are a language of their own.

mod awk;
mod awk_tokens;
mod build_tools;
mod cloud;
mod command_launchers;
mod command_wrappers;
mod containers;
mod covered_tools;
mod databases;
mod file_tools;
mod find;
mod find_names;
mod forbidden_words;
mod forge_tools;
mod formatter_settings;
mod git;
mod git_config;
mod go_doc;
mod jq;
mod jq_filters;
mod media_tools;
mod miller;
mod misc_tools;
mod network_tools;
mod operand_files;
mod pagers;
mod printing_builtins;
mod ps;
mod python_tools;
mod search_scope;
mod sed;
mod sed_script;
mod shell_programs;
mod sql;
mod tar;
mod test_conditions;
mod token_output;
mod wrapper_scripts;

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{ArgumentWord, Argv, CommandEffect, CommandMeaning, command_spec::CommandSpec};

pub use self::formatter_settings::extends_own_settings;
pub(crate) use self::operand_files::remove_nohup_output;
pub(super) use self::{
    awk::read_awk,
    build_tools::{
        is_harmless_ninja_tool, is_stdout_print_option, read_cargo_fmt, read_cmake, read_compiler,
        read_make, read_recipe_runner,
    },
    cloud::{read_aws, read_az, read_gcloud},
    command_launchers::{
        add_tmux_format, read_after_command_option, read_after_dashes, read_hidden_program,
        read_netns_exec, read_parallel, read_screen, read_script_or_command, read_setarch,
        read_tmux,
    },
    command_wrappers::{
        join_words, read_busybox, read_chrt, read_env, read_fd, read_relocated_command,
        read_runuser, read_script, read_su, read_xargs, relocate_command,
    },
    containers::{
        add_container_option, add_mount, add_volume_option, is_harmless_output_option,
        is_local_value, is_own_compose_file, read_container_copy, read_inspect,
    },
    covered_tools::{
        PATH_AS_SUBCOMMAND, add_plugin, add_tool, read_same_program, read_tool_after_dashes,
        read_tool_or_script,
    },
    databases::{is_local_connection, read_mysql, read_psql, read_sqlite},
    file_tools::{
        chart, read_compressor, read_cp, read_dd, read_files_or_urls, read_ln, read_rsync,
        read_seven_zip, read_unpacker, read_zip,
    },
    find::read_find,
    forge_tools::{is_harmless_filter_option, read_forge, read_forge_api},
    formatter_settings::{is_harmless_rustfmt_setting, is_harmless_yamllint_setting},
    git::{
        add_line_range, add_pathspec, add_peg_revision, add_remote, add_remote_option,
        add_revision, git_clone, is_harmless_log_option, merge_strategy,
    },
    git_config::{add_git_setting, read_git_config},
    go_doc::read_go_doc,
    jq::{read_jq, read_yq},
    media_tools::{
        add_ffmpeg_value, add_pandoc_value, read_exiftool, read_ffmpeg, read_imagemagick, read_man,
        read_manual_viewer, read_pandoc, read_pdftotext, read_tex,
    },
    miller::read_mlr,
    misc_tools::{add_style_file, read_command_builtin, read_strings, read_tput, read_xxd},
    network_tools::{
        add_crontab_option, add_curl_value, add_dmesg_option, add_journalctl_option,
        add_ssh_option, read_curl, read_httpie, read_lsof, read_nmap, read_rclone, read_scp,
        read_socat, read_ss, read_ssh_keygen, read_url_operands, read_wget,
    },
    operand_files::{read_nohup, read_openssl, read_pkg_config, read_tree},
    pagers::{read_diff, read_following_links, read_grep, read_pager, read_printenv},
    printing_builtins::{
        read_cd, read_date, read_declaration, read_numeric_operand, read_printf, read_set,
    },
    ps::read_ps,
    python_tools::{add_pytest_option, read_python},
    search_scope::{find_printed_files, includes_hidden_files, read_git_grep},
    sed::read_sed,
    shell_programs::{read_bash, read_posix_shell, read_zsh},
    tar::read_tar,
    test_conditions::{read_bracket, read_test},
    token_output::{
        log_prints_tokens, merge_base_prints_tokens, pgrep_prints_tokens, read_rev_parse,
        rev_list_prints_tokens,
    },
    wrapper_scripts::{read_diff_script, read_pager_script, read_wrapper_script},
};

const OPTIONS_NOT_UNDERSTOOD: &str = "its options were not understood";
const HIDDEN_EXECUTION: &str = "it can run something that its words do not show";
const OTHER_DIRECTORY: &str = "runs a command in another directory";
const STARTS_SHELL: &str = "starts a shell";

/// The files that a harmless command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HarmlessReads {
    reads: Vec<String>,
    /// Whether it only looks at names, sizes and other metadata.
    metadata_only: bool,
}

impl HarmlessReads {
    /// Adds a file that is read.
    fn add_file(&mut self, file: &str) {
        self.reads.push(file.to_owned());
    }

    /// Adds a file of which only names, sizes and other metadata are read. An unknown file is
    /// accepted, because this reveals little about it.
    fn add_metadata_file(&mut self, word: CommandWord<'_>) -> Option<()> {
        if let CommandWord::Known(file) = word {
            self.add_file(file);
        }
        (word != CommandWord::AnyWords).then_some(())
    }
}

/// Returns the meaning of a command that is harmless if `known` is set.
fn harmless_meaning(known: Option<HarmlessReads>) -> CommandMeaning {
    let Some(known) = known else { return CommandMeaning::new_unknown() };
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    known
        .reads
        .iter()
        .for_each(|file| meaning.add_read(ArgumentWord::Known(file), known.metadata_only));
    meaning
}

/// The command inside of another command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InnerCommand {
    /// No command is run with these words.
    Nothing,
    /// No command is run. It only prints help or a version.
    PrintsHelp,
    /// One program.
    Command(Argv),
    /// A shell with this script.
    Script(String),
    /// An unknown command, with the reason.
    Unknown(&'static str),
}

const UNCLEAR_COMMAND: InnerCommand = InnerCommand::Unknown(OPTIONS_NOT_UNDERSTOOD);

/// Returns the meaning of a command that runs others.
fn wrapper_meaning(level: &CommandSpec, inside: InnerCommand) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(level.class);
    match inside {
        InnerCommand::Nothing => {}
        InnerCommand::PrintsHelp => return CommandMeaning::new(CommandClass::Harmless),
        InnerCommand::Command(command) => meaning.effects.push(CommandEffect::Runs(command)),
        InnerCommand::Script(script) => meaning.effects.push(CommandEffect::Script(script)),
        InnerCommand::Unknown(why) => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(why);
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
        Some((beginning, _)) => push_prefix(words, beginning),
        None => push_word(words, word),
    }
}

fn push_word(words: &mut CommandWords, word: CommandWord<'_>) {
    match word {
        CommandWord::Known(text) => words.push(text),
        CommandWord::KnownPrefix(text) => push_prefix(words, text),
        CommandWord::AnyWords => words.push_any_words(),
    }
}

/// Adds a word of which only the beginning is known.
fn push_prefix(words: &mut CommandWords, text: &str) {
    words.push_known_text(text);
    words.push_unknown_text();
    words.end_word();
}
