//! Readers for settings of git, some of which make it run programs.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_items::CommandItem,
    },
    git_operands::{add_revision, names_helper_program},
};

const SETTING_RUNS_PROGRAM: &str = "a setting of git can make it run a program";

/// The operation that `git config` performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitConfigVerb {
    Get,
    GetMatching,
    List,
    Set,
    Unset,
    Other,
}

/// Adds the effects of `git -c NAME=VALUE` and `git -C DIRECTORY`.
pub(in super::super) fn add_git_setting(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if name == "C" {
        // With `-C`, the rest of the command applies to that directory.
        return meaning.add_read(ArgumentWord::Known("."), true);
    }
    if name != "c" {
        return;
    }
    let setting = match value {
        Some(ArgumentWord::Known(text)) => Some(text.split_once('=').unwrap_or((text, "true"))),
        _ => None,
    };
    if !setting.is_some_and(|(name, value)| is_plain_setting(name, value)) {
        meaning.lower_class(CommandClass::Unknown);
        add_risky_setting(meaning, setting.map(|(name, _)| name));
    }
}

/// Adds the effect of a setting that is not known to be harmless.
fn add_risky_setting(meaning: &mut CommandMeaning, name: Option<&str>) {
    match name {
        Some(name) => meaning.add_unknown_effect(format!(
            "the setting `{name}` is not known to be harmless: it can make git run a program"
        )),
        None => meaning.add_unknown_effect(SETTING_RUNS_PROGRAM),
    }
}

/// Returns whether a setting only affects git's output and internal operation.
fn is_plain_setting(name: &str, value: &str) -> bool {
    const SECTIONS: [&str; 5] = ["advice", "color", "column", "versionsort", "i18n"];
    const NAMES: &str = "blame.blankboundary blame.coloring blame.date blame.showemail blame.showroot branch.sort \
        branch.autosetupmerge branch.autosetuprebase commit.verbose core.abbrev core.autocrlf core.bigfilethreshold \
        core.commentchar core.compression core.eol core.filemode core.longpaths core.precomposeunicode \
        core.preloadindex core.quotepath core.safecrlf core.untrackedcache core.whitespace diff.algorithm \
        diff.colormoved diff.context diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix \
        diff.renamelimit diff.renames diff.statgraphwidth diff.statnamewidth diff.suppressblankempty diff.wserrorhighlight \
        feature.manyfiles fetch.parallel fetch.prune fetch.prunetags gc.auto grep.column grep.extendedregexp \
        grep.fullname grep.linenumber grep.patterntype grep.threads index.threads init.defaultbranch log.abbrevcommit \
        log.date log.decorate log.follow log.graphcolors log.initialdecorationset log.mailmap log.showroot \
        maintenance.auto merge.conflictstyle merge.directoryrenames merge.ff merge.log merge.renamelimit merge.renames \
        merge.stat pack.threads pack.windowmemory protocol.version pull.ff pull.rebase push.autosetupremote push.default \
        push.followtags rebase.abbreviatecommands rebase.autosquash rebase.autostash rebase.stat rebase.updaterefs \
        rerere.autoupdate rerere.enabled status.aheadbehind status.branch status.renamelimit status.renames \
        status.relativepaths status.short status.showstash status.showuntrackedfiles tag.sort user.email user.name \
        http.lowspeedlimit http.lowspeedtime http.postbuffer http.version";
    let name = name.to_ascii_lowercase();
    if NAMES.split_whitespace().any(|known| known == name) {
        return true;
    }
    match name.split_once('.') {
        Some((section, rest)) if SECTIONS.contains(&section) => {
            !rest.contains('.') || section == "color"
        }
        Some(("pager", rest)) => {
            !rest.contains('.') && matches!(value, "" | "cat" | "false" | "true")
        }
        Some(_) => is_plain_value(&name, value),
        None => false,
    }
}

/// Returns whether a setting that can run something has a value that runs nothing.
fn is_plain_value(name: &str, value: &str) -> bool {
    match name {
        "core.pager" => matches!(value, "" | "cat" | "less"),
        "core.editor" | "sequence.editor" => matches!(value, "true" | ":" | "false" | "cat"),
        "core.hookspath" => value == "/dev/null",
        "core.fsmonitor" | "commit.gpgsign" | "tag.gpgsign" | "push.gpgsign"
        | "log.showsignature" => {
            matches!(value, "false" | "no" | "off" | "0")
        }
        "credential.helper" | "diff.external" | "core.askpass" => value.is_empty(),
        _ => false,
    }
}

/// Reads a `git config` command. It is harmless if it shows a setting of a section without secrets.
pub(in super::super) fn read_git_config(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    let (mut verb, mut file, mut operands) = (None, None, Vec::new());
    let mut unclear = false;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match option.name {
                "f" | "file" => file = value,
                "blob" => add_revision(&mut meaning, value.unwrap_or(ArgumentWord::Many), false),
                "h" | "help" => return meaning,
                "regexp" => verb = Some(GitConfigVerb::GetMatching),
                name => verb = verb.or_else(|| parse_option_verb(name)),
            },
            CommandItem::Operand(arg, _) if operands.is_empty() && verb.is_none() => {
                match parse_verb(arg) {
                    None => operands.push(arg),
                    found => verb = found,
                }
            }
            CommandItem::Operand(arg, _) => operands.push(arg),
            CommandItem::Number => meaning.lower_class(CommandClass::Unknown),
            CommandItem::Unclear => {
                meaning.lower_class(CommandClass::Unknown);
                unclear = true;
            }
        }
    }
    // An abbreviated option can be a verb: `--rename` renames a section, and `--edi` starts an
    // editor. Git accepts only one verb.
    if unclear
        && !matches!(
            verb,
            Some(GitConfigVerb::Get | GitConfigVerb::GetMatching | GitConfigVerb::List)
        )
    {
        meaning.add_unknown_effect(SETTING_RUNS_PROGRAM);
    }
    let verb =
        verb.unwrap_or(if operands.len() > 1 { GitConfigVerb::Set } else { GitConfigVerb::Get });
    setting_names(&mut meaning, verb, file, &operands);
    meaning
}

fn parse_option_verb(name: &str) -> Option<GitConfigVerb> {
    Some(match name {
        "get" | "get-all" => GitConfigVerb::Get,
        "get-regexp" => GitConfigVerb::GetMatching,
        "l" | "list" => GitConfigVerb::List,
        "add" | "replace-all" => GitConfigVerb::Set,
        "unset" | "unset-all" | "remove-section" => GitConfigVerb::Unset,
        "e" | "edit" | "rename-section" | "get-urlmatch" | "get-color" | "get-colorbool" => {
            GitConfigVerb::Other
        }
        _ => return None,
    })
}

fn parse_verb(arg: ArgumentWord<'_>) -> Option<GitConfigVerb> {
    Some(match arg {
        ArgumentWord::Known("get") => GitConfigVerb::Get,
        ArgumentWord::Known("list") => GitConfigVerb::List,
        ArgumentWord::Known("set") => GitConfigVerb::Set,
        ArgumentWord::Known("unset" | "remove-section") => GitConfigVerb::Unset,
        ArgumentWord::Known("edit" | "rename-section") => GitConfigVerb::Other,
        _ => return None,
    })
}

fn setting_names(
    meaning: &mut CommandMeaning,
    verb: GitConfigVerb,
    file: Option<ArgumentWord<'_>>,
    operands: &[ArgumentWord<'_>],
) {
    let shows =
        matches!(verb, GitConfigVerb::Get | GitConfigVerb::GetMatching | GitConfigVerb::List);
    match file {
        // If a file is named, only that file is accessed.
        Some(file) if shows => return meaning.add_read(file, false),
        Some(file) => meaning.add_write(file),
        None => {}
    }
    match (verb, operands) {
        (GitConfigVerb::Get, [ArgumentWord::Known(name)] | [ArgumentWord::Known(name), _])
            if is_public_setting(name) =>
        {
            return;
        }
        (GitConfigVerb::GetMatching, [ArgumentWord::Known(pattern)])
            if pattern
                .strip_prefix('^')
                .is_some_and(|rest| is_public_setting(&rest.replace('\\', ""))) =>
        {
            return;
        }
        (
            GitConfigVerb::Get
            | GitConfigVerb::GetMatching
            | GitConfigVerb::List
            | GitConfigVerb::Unset,
            _,
        ) => {}
        (GitConfigVerb::Set, [ArgumentWord::Known(name), ArgumentWord::Known(value), ..])
            if is_settable(name, value) => {}
        (GitConfigVerb::Set, [ArgumentWord::Known(name), ..]) => {
            add_risky_setting(meaning, Some(name));
        }
        (GitConfigVerb::Set | GitConfigVerb::Other, _) => add_risky_setting(meaning, None),
    }
    meaning.lower_class(CommandClass::Unknown);
}

/// Returns whether the section of a setting, or of the settings that a pattern matches, contains no
/// secrets.
fn is_public_setting(name: &str) -> bool {
    const SECTIONS: &str = "advice alias blame branch color column commit core diff extensions fetch format gc gpg grep index \
        init interactive log maintenance merge pack pager pull push rebase remote rerere sequence stash status submodule tag \
        user";
    let plain = |each: char| each.is_ascii_alphanumeric() || "._-/*+$".contains(each);
    let section = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    name.chars().all(plain) && SECTIONS.split_whitespace().any(|known| known == section)
}

/// Returns whether a user who allows changes of settings expects a change of this one. The setting
/// must not run anything new.
fn is_settable(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or_default();
    match lower.split('.').next() {
        Some("branch") => {
            matches!(last, "remote" | "pushremote" | "merge" | "rebase" | "description")
                && !names_helper_program(value)
        }
        Some("remote") => {
            matches!(
                last,
                "url" | "pushurl" | "fetch" | "push" | "prune" | "prunetags" | "tagopt" | "mirror"
            ) && !names_helper_program(value)
        }
        Some("submodule") => match last {
            "active" | "branch" | "ignore" | "shallow" | "fetchrecursesubmodules" => true,
            "url" => !names_helper_program(value),
            "update" => matches!(value, "checkout" | "rebase" | "merge" | "none"),
            _ => false,
        },
        Some("core")
            if matches!(
                last,
                "sparsecheckout"
                    | "sparsecheckoutcone"
                    | "ignorecase"
                    | "symlinks"
                    | "logallrefupdates"
            ) =>
        {
            true
        }
        Some("user" | "author" | "committer") => true,
        Some("commit" | "tag") if last == "gpgsign" => true,
        _ => is_plain_setting(name, value),
    }
}
