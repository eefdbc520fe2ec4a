//! The words of `rm` and `git rm`.

use openoxide_protocol::{AbsPath, CauseCode, CommandCause, ExecAccess};

/// An `rm` or `git rm` command whose words are all plain.
pub(crate) struct RemovalCommand {
    /// The paths that it removes, without `.` and `..`.
    pub(crate) paths: Vec<AbsPath>,
    /// True if it also removes directories.
    pub(crate) is_recursive: bool,
    /// True if a path that does not exist is no error.
    pub(crate) ignores_missing: bool,
    /// True if a path contains `..`. If the name before it is a link, the path is another one.
    pub(crate) has_parent_names: bool,
}

impl RemovalCommand {
    /// Returns the parsed command, or `None` if it is another command, its directory is unknown, or
    /// one of its words is not plain.
    pub(crate) fn parse(exec: &ExecAccess, place: &AbsPath) -> Option<Self> {
        let is_rm = matches!(exec.argv.known_word(0), Some("rm" | "/bin/rm" | "/usr/bin/rm"));
        if is_rm { Self::parse_words(exec, place, 1) } else { None }
    }

    /// Returns the parsed `git rm` without options that force it, or `None` as [`Self::parse`]
    /// does.
    pub(crate) fn parse_git(exec: &ExecAccess, place: &AbsPath) -> Option<Self> {
        let words = [exec.argv.known_word(0), exec.argv.known_word(1)];
        let parsed = if words == [Some("git"), Some("rm")] {
            Self::parse_words(exec, place, 2)
        } else {
            None
        };
        let has_magic = |word: Option<&str>| word.is_none_or(|word| word.starts_with(':'));
        parsed.filter(|parsed| !parsed.ignores_missing && !exec.argv.known_words(2).any(has_magic))
    }

    fn parse_words(exec: &ExecAccess, place: &AbsPath, start: usize) -> Option<Self> {
        let removes =
            matches!(exec.cause, Some(CommandCause::Stated { code: CauseCode::RemovesFiles, .. }));
        if !removes || *place == AbsPath::root() {
            return None;
        }
        let mut parsed = Self {
            paths: Vec::new(),
            is_recursive: false,
            ignores_missing: false,
            has_parent_names: false,
        };
        let mut are_operands = false;
        for word in exec.argv.known_words(start) {
            match word? {
                "--" if !are_operands => are_operands = true,
                option if option.starts_with('-') && !are_operands => {
                    parsed.apply_option(option)?;
                }
                word if word.starts_with('-') || word.contains(['*', '?', '[', '{', '~', '$']) => {
                    return None;
                }
                file => {
                    parsed.has_parent_names |= file.split('/').any(|name| name == "..");
                    parsed.paths.push(place.join(file));
                }
            }
        }
        (!parsed.paths.is_empty()).then_some(parsed)
    }

    fn apply_option(&mut self, option: &str) -> Option<()> {
        match option {
            "--recursive" => self.is_recursive = true,
            "--force" => self.ignores_missing = true,
            "--verbose" | "--quiet" | "-q" => {}
            long if long.starts_with("--") || long == "-" => return None,
            cluster => {
                for letter in cluster.chars().skip(1) {
                    match letter {
                        'r' | 'R' => self.is_recursive = true,
                        'f' => self.ignores_missing = true,
                        'v' | 'i' | 'I' => {}
                        _ => return None,
                    }
                }
            }
        }
        Some(())
    }
}
