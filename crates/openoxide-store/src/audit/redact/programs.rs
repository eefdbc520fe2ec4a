//! Secrets that are known by the program that they are given to, and the option before them.

use std::ops::Range;

use super::value;

/// How a program takes a password.
struct Habit {
    programs: &'static [&'static str],
    /// A word that must stand between the program and the option.
    verb: Option<&'static str>,
    option: &'static str,
    /// Whether the value may be a word of its own.
    apart: bool,
    /// Whether a user's name and a colon stand before it.
    behind_user: bool,
}

const HABITS: &[Habit] = &[
    habit(
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
    habit(&["sshpass"], None, "-p", true),
    habit(&["docker", "podman", "buildah", "skopeo", "helm", "oras"], Some("login"), "-p", true),
    Habit { behind_user: true, ..habit(&["curl"], None, "-u", true) },
    Habit { behind_user: true, ..habit(&["curl"], None, "--user", true) },
    Habit { behind_user: true, ..habit(&["curl"], None, "-U", true) },
    habit(&["redis-cli"], None, "-a", true),
];

const fn habit(
    programs: &'static [&'static str],
    verb: Option<&'static str>,
    option: &'static str,
    apart: bool,
) -> Habit {
    Habit { programs, verb, option, apart, behind_user: false }
}

/// Adds where secrets stand.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for command in text.split(['\n', ';', '|', '&', '`', '(']) {
        for habit in HABITS {
            habit.find(text, start..start + command.len(), found);
        }
        start += command.len() + 1;
    }
}

/// Returns the words of a piece of text, with where they begin.
fn words(text: &str, piece: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let mut at = piece.start;
    text.get(piece).unwrap_or_default().split([' ', '\t']).map(move |word| {
        let start = at;
        at += word.len() + 1;
        (start, word)
    })
}

impl Habit {
    fn find(&self, text: &str, command: Range<usize>, found: &mut Vec<Range<usize>>) {
        let (mut runs, mut said, mut awaits) = (false, self.verb.is_none(), false);
        for (at, word) in words(text, command).filter(|(_, word)| !word.is_empty()) {
            if awaits {
                self.push(text, at, found);
                awaits = false;
            } else if !runs {
                let name = word.rsplit('/').next().unwrap_or(word);
                runs = self.programs.contains(&name);
            } else if !said {
                said = self.verb == Some(word);
            } else if let Some(rest) = word.strip_prefix(self.option) {
                if rest.is_empty() {
                    awaits = self.apart;
                } else if !self.option.starts_with("--") {
                    self.push(text, at + self.option.len(), found);
                } else if rest.starts_with('=') {
                    self.push(text, at + self.option.len() + 1, found);
                }
            }
        }
    }

    fn push(&self, text: &str, at: usize, found: &mut Vec<Range<usize>>) {
        let mut range = value::word(text.as_bytes(), at);
        if self.behind_user {
            let user = text.get(range.clone()).and_then(|word| word.find(':'));
            let Some(user) = user else { return };
            range.start += user + 1;
        }
        if !range.is_empty() {
            found.push(range);
        }
    }
}
