//! The help of the program: the commands by topic.

use clap::{Command, CommandFactory as _};

use crate::args::CliArgs;

/// The commands by topic.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Everyday",
        &["run", "check", "explain", "status", "pending", "approve", "deny", "allow", "audit"],
    ),
    ("Agents", &["init", "doctor", "hook", "codex"]),
    ("Policy", &["rules", "trust", "grants", "tools", "config"]),
    ("Sandbox", &["sandbox", "stage", "undo"]),
    ("Program", &["schema", "completions", "man", "help"]),
];

/// The column at which the descriptions start.
const NAME_WIDTH: usize = 12;
const HELP_ABOUT: &str = "Print this message, or the help of a command";

/// Returns the program's arguments, with a help text that lists the commands by topic.
pub(crate) fn grouped_command() -> Command {
    let command = CliArgs::command();
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in GROUPS {
        text.extend([format!("{header}{title}:{header:#}\n")]);
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP_ABOUT.to_owned(), ToString::to_string);
            text.extend([format!("  {literal}{name:<NAME_WIDTH$}{literal:#}{about}\n")]);
        }
        text.push('\n');
    }
    text.extend([format!("{header}Options:{header:#}\n{{options}}{{after-help}}")]);
    command.help_template(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let mut command = CliArgs::command();
        command.build();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = visible.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
        assert!(names.iter().all(|name| name.len() < NAME_WIDTH));
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let text = grouped_command().render_help().to_string();
        assert!(text.contains("\nPolicy:\n  rules       List, check"), "{text}");
        assert!(text.contains("\n  -h, --help"), "{text}");
        assert!(text.lines().count() < 50, "{text}");
    }
}
