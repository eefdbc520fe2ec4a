//! Our rules in the words of other programs. What cannot be said becomes stricter, or is left out where that is stricter; what
//! holds back and cannot be said at all is named, so that nobody takes the result for the whole.

use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Layer, Pattern, Rule, SubjectKind, glob,
};
use openoxide_protocol::{Effect, PermissionMode};

/// A policy in another program's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyExport {
    /// Its text.
    pub text: String,
    /// What it says otherwise, or not at all.
    pub unsupported_rules: Vec<UnsupportedRule>,
}

/// A rule that the other format cannot say as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedRule {
    /// The rule, with what it asks for.
    pub rule: String,
    /// The line that it stands on; 0 when it stands in no file.
    pub line: u32,
    /// What became of it.
    pub loss: ConversionLoss,
}

/// What became of a rule that cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionLoss {
    /// It allows less, or nothing.
    Narrower,
    /// It holds back more.
    Wider,
    /// It holds nothing back any more: the result is looser than the source.
    Dropped,
}

impl ConversionLoss {
    /// Returns it in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Narrower => "it allows less there, or nothing",
            Self::Wider => "it holds back more there",
            Self::Dropped => "it would hold nothing back there",
        }
    }
}

impl PolicyExport {
    /// Notes what became of a rule, once.
    pub fn add_unsupported_rule(&mut self, rule: &Rule, became: ConversionLoss) {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        let one = UnsupportedRule { rule: text, line: rule.line, loss: became };
        if !self.unsupported_rules.contains(&one) {
            self.unsupported_rules.push(one);
        }
    }

    /// Notes a pattern that the format has no words for.
    pub(crate) fn add_unsupported_pattern(&mut self, rule: &Rule) {
        let allows = rule.effect == Effect::Allow;
        self.add_unsupported_rule(
            rule,
            if allows { ConversionLoss::Narrower } else { ConversionLoss::Dropped },
        );
    }

    /// Notes directories for which the format has no words: what lies there is asked about.
    pub fn add_unsupported_directories(&mut self, directories: &[AdditionalDirectory]) {
        self.unsupported_rules.extend(directories.iter().map(|one| {
            let rule = format!("directory {}", one.text);
            UnsupportedRule { rule, line: one.line, loss: ConversionLoss::Narrower }
        }));
    }

    /// Notes a mode that the format does not know: some of them hold back what rules allow.
    pub(crate) fn add_unsupported_mode(&mut self, mode: Option<PermissionMode>) {
        let became = match mode {
            None | Some(PermissionMode::Default) => return,
            Some(PermissionMode::Plan | PermissionMode::DontAsk) => ConversionLoss::Dropped,
            Some(PermissionMode::AcceptEdits | PermissionMode::BypassPermissions) => {
                ConversionLoss::Narrower
            }
        };
        let rule = format!("mode {}", mode.map_or("", PermissionMode::as_str));
        self.unsupported_rules.push(UnsupportedRule { rule, line: 0, loss: became });
    }

    /// Says whether it is looser than its source.
    #[must_use]
    pub fn is_looser(&self) -> bool {
        self.unsupported_rules.iter().any(|one| one.loss == ConversionLoss::Dropped)
    }
}

/// Returns the rules, the one that decides last: where the strictest decides, those that deny.
pub(crate) fn sort_by_precedence(layer: &Layer) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> = layer.rules.iter().collect();
    match layer.combining_algorithm {
        CombiningAlgorithm::LastMatch => {}
        CombiningAlgorithm::Strictest => rules.sort_by_key(|rule| rule.effect),
        CombiningAlgorithm::DenyAllowAsk => rules.sort_by_key(|rule| match rule.effect {
            Effect::Ask => 0,
            Effect::Allow => 1,
            Effect::Deny => 2,
        }),
    }
    rules
}

/// Returns the patterns of a rule that must be said: what `*` says of repetitions and of leaving the project is said by what
/// it says of all else.
pub(crate) fn filter_explicit_patterns(rule: &Rule) -> impl Iterator<Item = &Pattern> {
    let whole = |space: SubjectKind| {
        rule.patterns.iter().any(|one| one.kind == space && matches_everything(one))
    };
    let all = whole(SubjectKind::Exec)
        && whole(SubjectKind::Read)
        && whole(SubjectKind::Edit)
        && whole(SubjectKind::Tool);
    let implied = [
        SubjectKind::DoomLoop,
        SubjectKind::External,
        SubjectKind::ExternalFromCwd,
        SubjectKind::ReadFromCwd,
        SubjectKind::EditFromCwd,
    ];
    rule.patterns.iter().filter(move |one| !(all && implied.contains(&one.kind)))
}

/// Says whether a pattern matches whatever there is.
pub(crate) fn matches_everything(pattern: &Pattern) -> bool {
    glob::decode_steps(&pattern.program).eq([glob::GlobStep::Any])
}

/// The first words of the commands that a pattern matches.
pub(crate) struct WordPrefix {
    pub(crate) words: Vec<String>,
    /// Whether it matches just what begins with them.
    pub(crate) is_exact: bool,
}

/// Returns the words that stand before the first wildcard, as long as they are whole.
pub(crate) fn word_prefix(pattern: &Pattern) -> Option<WordPrefix> {
    let mut steps = glob::decode_steps(&pattern.program);
    let Some(glob::GlobStep::Literal(bytes)) = steps.next() else { return None };
    let text = std::str::from_utf8(bytes).ok()?;
    let (whole, rest) = text.rsplit_once('\0')?;
    let same = rest.is_empty() && steps.eq([glob::GlobStep::Any]);
    Some(WordPrefix { words: whole.split('\0').map(str::to_owned).collect(), is_exact: same })
}

/// Returns the host that a pattern names, if it names one alone.
pub(crate) fn literal_host(pattern: &Pattern) -> Option<String> {
    let mut steps = glob::decode_steps(&pattern.program);
    let (Some(glob::GlobStep::Literal(bytes)), None) = (steps.next(), steps.next()) else {
        return None;
    };
    let labels: Vec<&str> =
        std::str::from_utf8(bytes).ok()?.strip_suffix('.')?.rsplit('.').collect();
    Some(labels.join("."))
}
