//! Secrets that are detected by the program and the option before them.

use std::ops::Range;

use super::value_ranges;

/// A command-line option that takes a password.
struct PasswordOption {
    programs: &'static [&'static str],
    /// The word that must occur between the program and the option.
    verb: Option<&'static str>,
    option: &'static str,
    /// True if the value may be a separate word.
    separate_value: bool,
    /// True if the value follows a user name and a colon.
    after_username: bool,
}

const PASSWORD_OPTIONS: &[PasswordOption] = &[
    password_option(
        &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
        ],
        None,
        "-p",
        false,
    ),
    password_option(&["sshpass"], None, "-p", true),
    password_option(
        &["docker", "podman", "buildah", "skopeo", "helm", "oras"],
        Some("login"),
        "-p",
        true,
    ),
    PasswordOption { after_username: true, ..password_option(&["curl"], None, "-u", true) },
    PasswordOption { after_username: true, ..password_option(&["curl"], None, "--user", true) },
    PasswordOption { after_username: true, ..password_option(&["curl"], None, "-U", true) },
    password_option(&["redis-cli"], None, "-a", true),
];

const fn password_option(
    programs: &'static [&'static str],
    verb: Option<&'static str>,
    option: &'static str,
    apart: bool,
) -> PasswordOption {
    PasswordOption { programs, verb, option, separate_value: apart, after_username: false }
}

/// Adds the ranges of the secrets in a text.
pub(super) fn find_secrets(text: &str, found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for command in text.split(['\n', ';', '|', '&', '`', '(']) {
        for habit in PASSWORD_OPTIONS {
            habit.find_in_command(text, start..start + command.len(), found);
        }
        start += command.len() + 1;
    }
}

/// Returns the words in a range of a text, with their positions.
fn split_words(text: &str, piece: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let mut at = piece.start;
    text.get(piece).unwrap_or_default().split([' ', '\t']).map(move |word| {
        let start = at;
        at += word.len() + 1;
        (start, word)
    })
}

impl PasswordOption {
    fn find_in_command(&self, text: &str, command: Range<usize>, found: &mut Vec<Range<usize>>) {
        let (mut runs, mut said, mut awaits) = (false, self.verb.is_none(), false);
        for (at, word) in split_words(text, command).filter(|(_, word)| !word.is_empty()) {
            if awaits {
                self.push_value(text, at, found);
                awaits = false;
            } else if !runs {
                let name = word.rsplit('/').next().unwrap_or(word);
                runs = self.programs.contains(&name);
            } else if !said {
                said = self.verb == Some(word);
            } else if let Some(rest) = word.strip_prefix(self.option) {
                if rest.is_empty() {
                    awaits = self.separate_value;
                } else if !self.option.starts_with("--") {
                    self.push_value(text, at + self.option.len(), found);
                } else if rest.starts_with('=') {
                    self.push_value(text, at + self.option.len() + 1, found);
                }
            }
        }
    }

    fn push_value(&self, text: &str, at: usize, found: &mut Vec<Range<usize>>) {
        let mut range = value_ranges::word_range(text.as_bytes(), at);
        if self.after_username {
            let user = text.get(range.clone()).and_then(|word| word.find(':'));
            let Some(user) = user else { return };
            range.start += user + 1;
        }
        if !range.is_empty() {
            found.push(range);
        }
    }
}
