//! Readers for programs whose arguments need more than the generic reader.

mod awk;
mod awk_tokens;
mod build_tools;
mod cloud;
mod command_launchers;
mod command_wrappers;
mod container_mounts;
mod containers;
mod covered_commands;
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
mod git_grep;
mod git_names;
mod git_operands;
mod go_doc;
mod harmless_reads;
mod inner_command;
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
mod word_building;
mod wrapper_scripts;

pub use self::formatter_settings::extends_own_settings;
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
        read_busybox, read_chrt, read_env, read_fd, read_relocated_command, read_runuser,
        read_script, read_su, read_xargs,
    },
    container_mounts::add_mount,
    containers::{
        add_container_option, add_volume_option, is_harmless_output_option, is_local_value,
        is_own_compose_file, read_container_copy, read_inspect,
    },
    covered_commands::{PATH_AS_SUBCOMMAND, add_plugin, add_tool},
    covered_tools::{read_same_program, read_tool_after_dashes, read_tool_or_script},
    databases::{is_local_connection, read_mysql, read_psql, read_sqlite},
    file_tools::{
        chart, read_ar, read_archive_lister, read_compressor, read_cp, read_dd, read_files_or_urls,
        read_line_ending_converter, read_ln, read_rsync, read_seven_zip, read_unpacker,
        read_with_mode, read_zip,
    },
    find::read_find,
    forge_tools::{is_harmless_filter_option, read_forge, read_forge_api},
    formatter_settings::{is_harmless_rustfmt_setting, is_harmless_yamllint_setting},
    git::{add_line_range, add_remote_option, git_clone, is_harmless_log_option, merge_strategy},
    git_config::{add_git_setting, read_git_config},
    git_grep::read_git_grep,
    git_names::{read_git_diff, read_git_ls_files},
    git_operands::{add_pathspec, add_peg_revision, add_remote, add_revision},
    go_doc::read_go_doc,
    jq::{read_jq, read_yq},
    media_tools::{
        add_ffmpeg_value, add_pandoc_value, read_exiftool, read_ffmpeg, read_imagemagick, read_man,
        read_manual_viewer, read_pandoc, read_pdftotext, read_tex,
    },
    miller::read_mlr,
    misc_tools::{
        add_style_file, read_command_builtin, read_node, read_strings, read_tput, read_xxd,
    },
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
    search_scope::{find_printed_files, includes_hidden_files},
    sed::read_sed,
    shell_programs::{read_bash, read_posix_shell, read_zsh},
    tar::read_tar,
    test_conditions::{read_bracket, read_test},
    token_output::{
        log_prints_tokens, merge_base_prints_tokens, pgrep_prints_tokens, read_rev_parse,
        rev_list_prints_tokens,
    },
    word_building::join_words,
    wrapper_scripts::{read_diff_script, read_pager_script, read_wrapper_cat, read_wrapper_script},
};
pub(crate) use self::{
    inner_command::{RUNS_SCRIPT_FILE, base_name},
    operand_files::remove_nohup_output,
};

use harmless_reads::{HarmlessReads, harmless_meaning};
use inner_command::{
    HIDDEN_EXECUTION, InnerCommand, OPTIONS_NOT_UNDERSTOOD, OTHER_DIRECTORY, STARTS_SHELL,
    UNCLEAR_COMMAND, wrapper_meaning,
};
use word_building::{push_replaced, push_word, relocate_command};
