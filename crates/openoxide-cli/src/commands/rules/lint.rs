//! `rules lint`: what is probably wrong with rules that can be read.

use openoxide_permission::{
    Pattern, Space,
    glob::{self, Step},
    lint::{Level, Lint, lint as found},
};
use openoxide_protocol::{Effect, SCHEMA, Words};
use openoxide_shell::arity::prefix_len;
use openoxide_tui::{Lines, visible};
use serde_json::json;

use super::{
    directories,
    files::{self, PolicyText},
};
use crate::{
    args::{Global, Least, LintArgs},
    exit::Exit,
    report,
};

/// Looks at each file by itself.
pub(super) fn lint(args: &LintArgs, global: Global) -> Result<Exit, String> {
    let least = match args.level {
        Least::Note => Level::Note,
        Least::Warning => Level::Warning,
        Least::Error => Level::Error,
    };
    let (mut text, mut exit) = (String::new(), Exit::Success);
    for file in files::read(&args.files, args.format)? {
        if let Err(broken) = file.sound(global) {
            exit = broken;
            continue;
        }
        let mut lints = found(&file.read.layer);
        lints.extend(launchers(&file));
        lints.sort_by_key(|lint| (lint.rule, lint.code));
        for lint in &lints {
            text += &if args.json { in_json(&file, lint) } else { in_words(&file, lint) };
            text.push('\n');
        }
        let wrong = directories::lints(&file, args.json);
        text.extend(wrong.iter().map(|(_, line)| format!("{line}\n")));
        let mut levels = lints.iter().map(|lint| lint.level).chain(wrong.iter().map(|one| one.0));
        if exit == Exit::Success && levels.any(|level| level >= least) {
            exit = Exit::Failure;
        }
    }
    Ok(report::data(text.as_bytes(), exit))
}

/// Rules that allow a program which runs whatever it is told.
fn launchers(file: &PolicyText) -> Vec<Lint> {
    let rules = file.read.layer.rules.iter().enumerate();
    let allows = rules.filter(|(_, rule)| rule.effect == Effect::Allow);
    let lint = |(at, rule): (usize, &openoxide_permission::Rule)| {
        let program = rule.patterns.iter().find_map(launcher)?;
        Some(Lint {
            code: "OX406",
            level: Level::Warning,
            rule: at,
            other: None,
            message: format!(
                "`allow {}` allows anything: `{program}` runs arbitrary code",
                rule.text
            ),
            help: "write the whole command, or its words up to the subcommand",
        })
    };
    allows.filter_map(lint).collect()
}

/// Returns the words that "always" would never offer, if a pattern leaves open what follows them.
fn launcher(pattern: &Pattern) -> Option<String> {
    let mut steps = glob::steps(&pattern.code);
    let (Some(Step::Literal(bytes)), Some(Step::Any)) = (steps.next(), steps.next()) else {
        return None;
    };
    let text = std::str::from_utf8(bytes).ok().filter(|_| pattern.space == Space::Exec)?;
    let (words, _) = text.rsplit_once('\0')?;
    let words: Vec<&str> = words.split('\0').take_while(|word| !word.starts_with('-')).collect();
    let (program, rest) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    // Whatever could follow: a program that is not known keeps two words then.
    let all: Words = std::iter::once(program).chain(rest.iter().copied()).chain(["x"; 3]).collect();
    (prefix_len(&all) == 0).then(|| words.join(" "))
}

pub(super) const fn word(level: Level) -> &'static str {
    match level {
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

fn in_words(file: &PolicyText, lint: &Lint) -> String {
    let (line, column) = file.place(lint.rule);
    let other = lint.other.map(|other| format!(" (line {})", file.place(other).0));
    let shown = visible(&file.shown, Lines::One);
    let message = visible(&lint.message, Lines::One);
    let level = word(lint.level);
    let other = other.unwrap_or_default();
    format!(
        "{shown}:{line}:{column}: {level}[{}]: {message}{other}\n  help: {}",
        lint.code, lint.help
    )
}

fn in_json(file: &PolicyText, lint: &Lint) -> String {
    let (line, column) = file.place(lint.rule);
    let rule = file.read.layer.rules.get(lint.rule).map(|rule| rule.text.as_str());
    json!({
        "schema": SCHEMA,
        "code": lint.code,
        "level": word(lint.level),
        "file": file.shown,
        "line": line,
        "column": column,
        "rule": rule,
        "other_line": lint.other.map(|other| file.place(other).0),
        "message": lint.message,
        "help": lint.help,
    })
    .to_string()
}
