//! The configuration of a git repository, parsed as `git` parses it (git-config(1), "Syntax"): the
//! settings that make `git` run something, and those that make it read other files.

pub(crate) mod config_changes;
pub(crate) mod config_levels;
pub(crate) mod config_merge;
pub(crate) mod private_config;
mod setting_changes;

use std::{ffi::OsStr, io::Read as _, path::Path};

use openoxide_protocol::git_settings::git_setting_effect;

use super::regular_file::open_regular;

/// The maximum size of a configuration file. A longer file is treated as not understood.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// One setting. Section and key are in lower case, as `git` compares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitSetting {
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    pub(crate) key: String,
    /// The value. A key without a value means true.
    pub(crate) value: String,
}

/// Reads the file. Returns `None` if it cannot be read or is not understood. A missing file has no
/// settings.
pub(crate) fn read_file(path: &Path) -> Option<Vec<GitSetting>> {
    let file = match open_regular(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        file => file.ok()?,
    };
    let mut bytes = Vec::new();
    let length = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let whole = u64::try_from(length).is_ok_and(|length| length <= MAX_FILE_BYTES);
    whole.then(|| parse_settings(&String::from_utf8_lossy(&bytes)))?
}

/// Parses a text. Returns `None` if `git` would reject it, or parses it in a way that is not known
/// here.
pub(crate) fn parse_settings(text: &str) -> Option<Vec<GitSetting>> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut text = GitConfigParser { chars: text.chars().peekable() };
    let mut found = Vec::new();
    let mut section = None;
    loop {
        text.skip_while(char::is_whitespace);
        match text.chars.peek() {
            None => return Some(found),
            Some('#' | ';') => text.skip_while(|character| character != '\n'),
            Some('[') => section = Some(text.parse_section_header()?),
            Some(_) => {
                let (section, subsection) = section.clone()?;
                let (key, value) = text.parse_setting()?;
                found.push(GitSetting { section, subsection, key, value });
            }
        }
    }
}

struct GitConfigParser<I: Iterator<Item = char>> {
    chars: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = char>> GitConfigParser<I> {
    fn skip_while(&mut self, of: impl Fn(char) -> bool) {
        while self.chars.next_if(|character| of(*character)).is_some() {}
    }

    fn parse_name(&mut self, also: &str) -> String {
        let of = |character: &char| character.is_ascii_alphanumeric() || also.contains(*character);
        let mut word = String::new();
        while let Some(character) = self.chars.next_if(of) {
            word.push(character.to_ascii_lowercase());
        }
        word
    }

    /// Parses `[section]`, `[section "subsection"]`, or the old `[section.subsection]`.
    fn parse_section_header(&mut self) -> Option<(String, Option<String>)> {
        self.chars.next();
        let name = self.parse_name("-.");
        self.skip_while(|character| character == ' ' || character == '\t');
        let quoted = match self.chars.next()? {
            ']' => None,
            '"' => Some(self.parse_subsection()?),
            _ => return None,
        };
        Some(match (quoted, name.split_once('.')) {
            (Some(quoted), _) => (name, Some(quoted)),
            (None, Some((section, subsection))) => {
                (section.to_owned(), Some(subsection.to_owned()))
            }
            (None, None) => (name, None),
        })
    }

    fn parse_subsection(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.chars.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => name.push(self.chars.next()?),
                character => name.push(character),
            }
        }
        (self.chars.next()? == ']').then_some(name)
    }

    fn parse_setting(&mut self) -> Option<(String, String)> {
        let key = self.parse_name("-");
        if key.is_empty() {
            return None;
        }
        self.skip_while(|character| character == ' ' || character == '\t');
        match self.chars.next() {
            None | Some('\n') => Some((key, "true".to_owned())),
            Some('=') => Some((key, self.parse_value()?)),
            Some(_) => None,
        }
    }

    fn parse_value(&mut self) -> Option<String> {
        let (mut value, mut quoted, mut kept) = (String::new(), false, 0);
        while let Some(character) = self.chars.next() {
            match character {
                '\n' if quoted => return None,
                '\n' => break,
                '#' | ';' if !quoted => {
                    self.skip_while(|character| character != '\n');
                    break;
                }
                '"' => quoted = !quoted,
                '\\' => value.push_str(unescape(self.chars.next()?)?),
                ' ' | '\t' if !quoted && value.is_empty() => {}
                character => value.push(character),
            }
            // Trailing spaces are part of the value only inside quotes.
            if quoted || !character.is_whitespace() {
                kept = value.len();
            }
        }
        value.truncate(kept);
        (!quoted).then_some(value)
    }
}

/// Returns the text of an escape sequence. An escaped newline, which continues a line, is an empty
/// text.
fn unescape(character: char) -> Option<&'static str> {
    match character {
        '\n' => Some(""),
        't' => Some("\t"),
        'b' => Some("\u{8}"),
        'n' => Some("\n"),
        '\\' => Some("\\"),
        '"' => Some("\""),
        _ => None,
    }
}

impl GitSetting {
    /// Returns the name of the setting in the format of [`git_setting_effect`].
    pub(crate) fn name(&self) -> String {
        let Self { section, subsection, key, .. } = self;
        if subsection.is_some() { format!("{section}.*.{key}") } else { format!("{section}.{key}") }
    }

    /// Returns whether the setting is known neither to make `git` run a command nor to direct it to
    /// another location. Unknown settings are not harmless, because `git` gets new settings that
    /// run commands every year. `directory` is the git directory in which the setting is read.
    pub(crate) fn is_harmless(&self, directory: &Path) -> bool {
        match self.name().as_str() {
            "branch.*.pushremote"
            | "branch.*.remote"
            | "remote.*.pushurl"
            | "remote.*.url"
            | "remote.pushdefault"
            | "submodule.*.url" => is_plain_location(&self.value),
            "submodule.*.update" => {
                matches!(self.value.as_str(), "checkout" | "rebase" | "merge" | "none")
            }
            "core.fsmonitor" => matches!(self.value.as_str(), "" | "false" | "no" | "off" | "0"),
            // With other values, git makes its files writable for every user.
            "core.sharedrepository" => {
                matches!(self.value.as_str(), "0" | "1" | "false" | "true" | "umask" | "group")
            }
            "core.worktree" => is_worktree_inside(directory, &self.value),
            name => git_setting_effect(name).is_some(),
        }
    }
}

impl GitSetting {
    /// Returns the command that this setting may make `git` run, unless it is known to run nothing.
    /// Names of data files and aliases for commands of `git` itself run no file of the project.
    pub(crate) fn executed_command(&self, directory: &Path) -> Option<&str> {
        let data = ["file", "template", "signingkey", "path"];
        let runs = match self.section.as_str() {
            "alias" => self.value.starts_with('!'),
            "remote" | "branch" | "url" | "include" | "includeif" => {
                matches!(self.key.as_str(), "uploadpack" | "receivepack" | "vcs" | "proxy")
            }
            _ => !data.iter().any(|ending| self.key.ends_with(ending)),
        };
        (runs && !self.is_harmless(directory)).then_some(self.value.as_str())
    }
}

/// Returns whether `git` itself accesses a remote repository, without another program
/// (gitremote-helpers(7)): the name of a remote, a path, `host:path`, or a URL of a known scheme.
fn is_plain_location(location: &str) -> bool {
    const SCHEMES: &[&str] = &["file", "ftp", "ftps", "git", "git+ssh", "http", "https", "ssh"];
    let has_known_scheme =
        location.split_once("://").is_none_or(|(scheme, _)| SCHEMES.contains(&scheme));
    has_known_scheme && !location.contains("::") && !location.starts_with('-')
}

/// Returns whether a worktree is in the checkout of its repository, where `git checkout` writes.
/// The configuration of a submodule (`.git/modules/…`) leads to another directory of the same
/// checkout. A path that does not exist yet may lead anywhere later.
fn is_worktree_inside(directory: &Path, worktree: &str) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let own = directory.ancestors().find(|above| above.file_name() == Some(OsStr::new(".git")));
    let checkout = own.and_then(Path::parent).unwrap_or(&directory);
    directory.join(worktree).canonicalize().is_ok_and(|end| end.starts_with(checkout))
}

#[cfg(test)]
mod tests;
