//! The settings of git: some of them make it run programs.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::Level,
    },
    git::{is_program, revision},
};

const RUNS: &str = "a setting of git can make it run a program";

/// The operation that `git config` performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    GetMatching,
    List,
    Set,
    Unset,
    Other,
}

/// `git -c NAME=VALUE` and `git -C DIRECTORY`.
pub(in super::super) fn git_setting(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    if name == "C" {
        // Whatever it does, it does it there.
        return meaning.read(Arg::Known("."), true);
    }
    if name != "c" {
        return;
    }
    let plain = matches!(value, Some(Arg::Known(text)) if {
        let (name, value) = text.split_once('=').unwrap_or((text, "true"));
        is_plain_setting(name, value)
    });
    if !plain {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(RUNS);
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

/// `git config`: shows one setting of the sections that hold no secrets.
pub(in super::super) fn git_config(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(CommandClass::Harmless);
    let (mut verb, mut file, mut operands) = (None, None, Vec::new());
    let mut unclear = false;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => match option.name {
                "f" | "file" => file = value,
                "blob" => revision(&mut meaning, value.unwrap_or(Arg::Many), false),
                "h" | "help" => return meaning,
                "regexp" => verb = Some(Verb::GetMatching),
                name => verb = verb.or_else(|| verb_of_option(name)),
            },
            Item::Operand(arg, _) if operands.is_empty() && verb.is_none() => match verb_of(arg) {
                None => operands.push(arg),
                found => verb = found,
            },
            Item::Operand(arg, _) => operands.push(arg),
            Item::Number => meaning.lower(CommandClass::Unknown),
            Item::Unclear => {
                meaning.lower(CommandClass::Unknown);
                unclear = true;
            }
        }
    }
    // A shortened option can be a verb: `--rename` renames a section, `--edi` starts an editor. Git takes only one verb.
    if unclear && !matches!(verb, Some(Verb::Get | Verb::GetMatching | Verb::List)) {
        meaning.cannot_tell(RUNS);
    }
    let verb = verb.unwrap_or(if operands.len() > 1 { Verb::Set } else { Verb::Get });
    settings(&mut meaning, verb, file, &operands);
    meaning
}

fn verb_of_option(name: &str) -> Option<Verb> {
    Some(match name {
        "get" | "get-all" => Verb::Get,
        "get-regexp" => Verb::GetMatching,
        "l" | "list" => Verb::List,
        "add" | "replace-all" => Verb::Set,
        "unset" | "unset-all" | "remove-section" => Verb::Unset,
        "e" | "edit" | "rename-section" | "get-urlmatch" | "get-color" | "get-colorbool" => {
            Verb::Other
        }
        _ => return None,
    })
}

fn verb_of(arg: Arg<'_>) -> Option<Verb> {
    Some(match arg {
        Arg::Known("get") => Verb::Get,
        Arg::Known("list") => Verb::List,
        Arg::Known("set") => Verb::Set,
        Arg::Known("unset" | "remove-section") => Verb::Unset,
        Arg::Known("edit" | "rename-section") => Verb::Other,
        _ => return None,
    })
}

fn settings(meaning: &mut Meaning, verb: Verb, file: Option<Arg<'_>>, operands: &[Arg<'_>]) {
    let shows = matches!(verb, Verb::Get | Verb::GetMatching | Verb::List);
    match file {
        // If a file is named, only that file is accessed.
        Some(file) if shows => return meaning.read(file, false),
        Some(file) => meaning.write(file),
        None => {}
    }
    match (verb, operands) {
        (Verb::Get, [Arg::Known(name)] | [Arg::Known(name), _]) if is_shown(name) => return,
        (Verb::GetMatching, [Arg::Known(pattern)])
            if pattern.strip_prefix('^').is_some_and(|rest| is_shown(&rest.replace('\\', ""))) =>
        {
            return;
        }
        (Verb::Get | Verb::GetMatching | Verb::List | Verb::Unset, _) => {}
        (Verb::Set, [Arg::Known(name), Arg::Known(value), ..]) if may_be_set(name, value) => {}
        (Verb::Set | Verb::Other, _) => meaning.cannot_tell(RUNS),
    }
    meaning.lower(CommandClass::Unknown);
}

/// Returns whether the section of a setting, or of the settings that a pattern matches, contains no
/// secrets.
fn is_shown(name: &str) -> bool {
    const SECTIONS: &str = "advice alias blame branch color column commit core diff extensions fetch format gc gpg grep index \
        init interactive log maintenance merge pack pager pull push rebase remote rerere sequence stash status submodule tag \
        user";
    let plain = |each: char| each.is_ascii_alphanumeric() || "._-/*+$".contains(each);
    let section = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    name.chars().all(plain) && SECTIONS.split_whitespace().any(|known| known == section)
}

/// Returns whether a user who allows changes of settings expects this one. It must not run anything
/// that was not there before.
fn may_be_set(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or_default();
    match lower.split('.').next() {
        Some("branch") => {
            matches!(last, "remote" | "merge" | "rebase" | "description") && !is_program(value)
        }
        Some("remote") => {
            matches!(last, "url" | "pushurl" | "fetch" | "push" | "prune" | "tagopt")
                && !is_program(value)
        }
        Some("user" | "author" | "committer") => true,
        Some("commit" | "tag") if last == "gpgsign" => true,
        _ => is_plain_setting(name, value),
    }
}
