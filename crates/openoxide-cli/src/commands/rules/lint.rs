//! `rules lint`: probable mistakes in valid rules.

use openoxide_permission::{
    Pattern, SubjectKind,
    glob::{self, GlobStep},
    lint::{LintLevel, PolicyLint, lint_layer as found},
};
use openoxide_protocol::{CommandWords, Effect, SCHEMA};
use openoxide_shell::arity::always_prefix_len;
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::{
    directory_rows,
    policy_texts::{self, PolicyText},
};
use crate::{
    args::{GlobalArgs, LintArgs, LintThreshold},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Checks each file separately.
pub(super) fn lint_files(args: &LintArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let least = match args.level {
        LintThreshold::Note => LintLevel::Note,
        LintThreshold::Warning => LintLevel::Warning,
        LintThreshold::Error => LintLevel::Error,
    };
    let (mut text, mut exit) = (String::new(), ProgramExit::Success);
    for file in policy_texts::read_policies(&args.files, args.format)? {
        if let Err(broken) = file.check_problems(global) {
            exit = broken;
            continue;
        }
        let mut lints = found(&file.policy_file.layer);
        lints.extend(find_launcher_rules(&file));
        lints.sort_by_key(|lint| (lint.rule, lint.code));
        for lint in &lints {
            text += &if args.json { render_json(&file, lint) } else { render_text(&file, lint) };
            text.push('\n');
        }
        let wrong = directory_rows::lint_directories(&file, args.json);
        text.extend(wrong.iter().map(|(_, line)| format!("{line}\n")));
        let mut levels = lints.iter().map(|lint| lint.level).chain(wrong.iter().map(|one| one.0));
        if exit == ProgramExit::Success && levels.any(|level| level >= least) {
            exit = ProgramExit::Failure;
        }
    }
    Ok(user_messages::print_data(&text, exit))
}

/// Returns a finding for each rule that allows a program which runs arbitrary code.
fn find_launcher_rules(file: &PolicyText) -> Vec<PolicyLint> {
    let rules = file.policy_file.layer.rules.iter().enumerate();
    let allows = rules.filter(|(_, rule)| rule.effect == Effect::Allow);
    let lint = |(at, rule): (usize, &openoxide_permission::Rule)| {
        let program = rule.patterns.iter().find_map(launcher_words)?;
        Some(PolicyLint {
            code: "OX406",
            level: LintLevel::Warning,
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

/// Returns the words before the wildcard of a pattern if no suggested rule would end there.
fn launcher_words(pattern: &Pattern) -> Option<String> {
    let mut steps = glob::decode_steps(&pattern.program);
    let (Some(GlobStep::Literal(bytes)), Some(GlobStep::Any)) = (steps.next(), steps.next()) else {
        return None;
    };
    let text = std::str::from_utf8(bytes).ok().filter(|_| pattern.kind == SubjectKind::Exec)?;
    let (words, _) = text.rsplit_once('\0')?;
    let words: Vec<&str> = words.split('\0').take_while(|word| !word.starts_with('-')).collect();
    let (program, rest) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    // Words after the program, because a rule for an unknown program keeps two words.
    let all: CommandWords =
        std::iter::once(program).chain(rest.iter().copied()).chain(["x"; 3]).collect();
    (always_prefix_len(&all) == 0).then(|| words.join(" "))
}

fn render_text(file: &PolicyText, lint: &PolicyLint) -> String {
    let (line, column) = file.rule_position(lint.rule);
    let other = lint.other.map(|other| format!(" (line {})", file.rule_position(other).0));
    let shown = escape_text(&file.display_path, LineMode::SingleLine);
    let message = escape_text(&lint.message, LineMode::SingleLine);
    let level = lint.level.as_str();
    let other = other.unwrap_or_default();
    format!(
        "{shown}:{line}:{column}: {level}[{}]: {message}{other}\n  help: {}",
        lint.code, lint.help
    )
}

fn render_json(file: &PolicyText, lint: &PolicyLint) -> String {
    let (line, column) = file.rule_position(lint.rule);
    let rule = file.policy_file.layer.rules.get(lint.rule).map(|rule| rule.text.as_str());
    json!({
        "schema": SCHEMA,
        "code": lint.code,
        "level": lint.level.as_str(),
        "file": file.display_path,
        "line": line,
        "column": column,
        "rule": rule,
        "other_line": lint.other.map(|other| file.rule_position(other).0),
        "message": lint.message,
        "help": lint.help,
    })
    .to_string()
}
