//! Our rules in the words of other programs. What cannot be said becomes stricter, or is left out where that is stricter; what
//! holds back and cannot be said at all is named, so that nobody takes the result for the whole.

use openoxide_permission::{Combining, Directory, Layer, Pattern, Rule, Space, glob};
use openoxide_protocol::{Effect, PermissionMode};

/// A policy in another program's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// Its text.
    pub text: String,
    /// What it says otherwise, or not at all.
    pub unsaid: Vec<Unsaid>,
}

/// A rule that the other format cannot say as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaid {
    /// The rule, with what it asks for.
    pub rule: String,
    /// The line that it stands on; 0 when it stands in no file.
    pub line: u32,
    /// What became of it.
    pub became: Became,
}

/// What became of a rule that cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It allows less, or nothing.
    Narrower,
    /// It holds back more.
    Wider,
    /// It holds nothing back any more: the result is looser than the source.
    Lost,
}

impl Became {
    /// Returns it in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Narrower => "it allows less there, or nothing",
            Self::Wider => "it holds back more there",
            Self::Lost => "it would hold nothing back there",
        }
    }
}

impl Export {
    /// Notes what became of a rule, once.
    pub fn unsaid(&mut self, rule: &Rule, became: Became) {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        let one = Unsaid { rule: text, line: rule.line, became };
        if !self.unsaid.contains(&one) {
            self.unsaid.push(one);
        }
    }

    /// Notes a pattern that the format has no words for.
    pub(crate) fn left_out(&mut self, rule: &Rule) {
        let allows = rule.effect == Effect::Allow;
        self.unsaid(rule, if allows { Became::Narrower } else { Became::Lost });
    }

    /// Notes directories for which the format has no words: what lies there is asked about.
    pub fn no_directories(&mut self, directories: &[Directory]) {
        self.unsaid.extend(directories.iter().map(|one| {
            let rule = format!("directory {}", one.text);
            Unsaid { rule, line: one.line, became: Became::Narrower }
        }));
    }

    /// Notes a mode that the format does not know: some of them hold back what rules allow.
    pub(crate) fn no_mode(&mut self, mode: Option<PermissionMode>) {
        let became = match mode {
            None | Some(PermissionMode::Default) => return,
            Some(PermissionMode::Plan | PermissionMode::DontAsk) => Became::Lost,
            Some(PermissionMode::AcceptEdits | PermissionMode::BypassPermissions) => {
                Became::Narrower
            }
        };
        let rule = format!("mode {}", mode.map_or("", PermissionMode::as_str));
        self.unsaid.push(Unsaid { rule, line: 0, became });
    }

    /// Says whether it is looser than its source.
    #[must_use]
    pub fn is_looser(&self) -> bool {
        self.unsaid.iter().any(|one| one.became == Became::Lost)
    }
}

/// Returns the rules, the one that decides last: where the strictest decides, those that deny.
pub(crate) fn in_order(layer: &Layer) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> = layer.rules.iter().collect();
    match layer.combining {
        Combining::LastMatch => {}
        Combining::Strictest => rules.sort_by_key(|rule| rule.effect),
        Combining::DenyAllowAsk => rules.sort_by_key(|rule| match rule.effect {
            Effect::Ask => 0,
            Effect::Allow => 1,
            Effect::Deny => 2,
        }),
    }
    rules
}

/// Returns the patterns of a rule that must be said: what `*` says of repetitions and of leaving the project is said by what
/// it says of all else.
pub(crate) fn patterns(rule: &Rule) -> impl Iterator<Item = &Pattern> {
    let whole = |space: Space| rule.patterns.iter().any(|one| one.space == space && is_whole(one));
    let all = whole(Space::Exec) && whole(Space::Read) && whole(Space::Edit) && whole(Space::Tool);
    let implied =
        [Space::DoomLoop, Space::External, Space::ExternalHere, Space::ReadHere, Space::EditHere];
    rule.patterns.iter().filter(move |one| !(all && implied.contains(&one.space)))
}

/// Says whether a pattern matches whatever there is.
pub(crate) fn is_whole(pattern: &Pattern) -> bool {
    glob::steps(&pattern.code).eq([glob::Step::Any])
}

/// The first words of the commands that a pattern matches.
pub(crate) struct Prefix {
    pub(crate) words: Vec<String>,
    /// Whether it matches just what begins with them.
    pub(crate) same: bool,
}

/// Returns the words that stand before the first wildcard, as long as they are whole.
pub(crate) fn prefix(pattern: &Pattern) -> Option<Prefix> {
    let mut steps = glob::steps(&pattern.code);
    let Some(glob::Step::Literal(bytes)) = steps.next() else { return None };
    let text = std::str::from_utf8(bytes).ok()?;
    let (whole, rest) = text.rsplit_once('\0')?;
    let same = rest.is_empty() && steps.eq([glob::Step::Any]);
    Some(Prefix { words: whole.split('\0').map(str::to_owned).collect(), same })
}

/// Returns the host that a pattern names, if it names one alone.
pub(crate) fn host(pattern: &Pattern) -> Option<String> {
    let mut steps = glob::steps(&pattern.code);
    let (Some(glob::Step::Literal(bytes)), None) = (steps.next(), steps.next()) else {
        return None;
    };
    let labels: Vec<&str> =
        std::str::from_utf8(bytes).ok()?.strip_suffix('.')?.rsplit('.').collect();
    Some(labels.join("."))
}
