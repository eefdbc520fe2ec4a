//! Rendering of OpenOxide rules in the formats of other programs. A rule that cannot be expressed
//! becomes stricter, or is left out if that is stricter. Restrictive rules that cannot be expressed
//! are reported, so that users do not mistake the result for the complete policy.

use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Layer, Pattern, Rule, SubjectKind, glob,
};
use openoxide_protocol::{Effect, PermissionMode};

/// A policy in another program's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyExport {
    /// The text of the policy.
    pub text: String,
    /// The rules that the format expresses differently or not at all.
    pub unsupported_rules: Vec<UnsupportedRule>,
}

/// A rule that the other format cannot express unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedRule {
    /// The text of the rule, with its effect.
    pub rule: String,
    /// The line of the rule, or 0 if it is not from a file.
    pub line: u32,
    /// The way in which the rule was changed.
    pub loss: ConversionLoss,
}

/// The way in which a rule that cannot be expressed was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionLoss {
    /// The rule allows less, or nothing.
    Narrower,
    /// The rule restricts more.
    Wider,
    /// The rule no longer restricts anything, so the result is less strict than the source.
    Dropped,
}

impl ConversionLoss {
    /// Returns the name that `rules convert --json` prints.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Narrower => "narrower",
            Self::Wider => "wider",
            Self::Dropped => "dropped",
        }
    }

    /// Returns a description for a person.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Narrower => "the result allows less, or nothing",
            Self::Wider => "the result restricts more",
            Self::Dropped => "the result would restrict nothing",
        }
    }
}

impl PolicyExport {
    /// Records how a rule was changed, unless this is already recorded.
    pub fn add_unsupported_rule(&mut self, rule: &Rule, became: ConversionLoss) {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        let one = UnsupportedRule { rule: text, line: rule.line, loss: became };
        if !self.unsupported_rules.contains(&one) {
            self.unsupported_rules.push(one);
        }
    }

    /// Records that the format cannot express a pattern of a rule.
    pub fn add_unsupported_pattern(&mut self, rule: &Rule) {
        let allows = rule.effect == Effect::Allow;
        self.add_unsupported_rule(
            rule,
            if allows { ConversionLoss::Narrower } else { ConversionLoss::Dropped },
        );
    }

    /// Records directories that the format cannot express. Calls that access them require approval.
    pub fn add_unsupported_directories(&mut self, directories: &[AdditionalDirectory]) {
        self.unsupported_rules.extend(directories.iter().map(|one| {
            let rule = format!("directory {}", one.text);
            UnsupportedRule { rule, line: one.line, loss: ConversionLoss::Narrower }
        }));
    }

    /// Records a mode that the format does not support. Some modes restrict what rules allow.
    pub fn add_unsupported_mode(&mut self, mode: Option<PermissionMode>) {
        let became = match mode {
            None | Some(PermissionMode::Default) => return,
            Some(PermissionMode::Plan | PermissionMode::DontAsk) => ConversionLoss::Dropped,
            Some(
                PermissionMode::AcceptEdits
                | PermissionMode::Sandboxed
                | PermissionMode::BypassPermissions,
            ) => ConversionLoss::Narrower,
        };
        let rule = format!("mode {}", mode.map_or("", PermissionMode::as_str));
        self.unsupported_rules.push(UnsupportedRule { rule, line: 0, loss: became });
    }

    /// Returns whether the export is less strict than its source.
    #[must_use]
    pub fn is_looser(&self) -> bool {
        self.unsupported_rules.iter().any(|one| one.loss == ConversionLoss::Dropped)
    }
}

/// Returns the rules in ascending order of precedence. If the strictest rule decides, deny rules
/// are last.
pub fn sort_by_precedence(layer: &Layer) -> Vec<&Rule> {
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

/// Returns the patterns of a rule that have to be written. In a rule about everything (`*`), the
/// patterns about repetitions, sockets and paths outside of the project are implied by the others.
pub fn filter_explicit_patterns(rule: &Rule) -> impl Iterator<Item = &Pattern> {
    let whole = |space: SubjectKind| {
        rule.patterns.iter().any(|one| one.kind == space && matches_everything(one))
    };
    let all = whole(SubjectKind::Exec)
        && whole(SubjectKind::Read)
        && whole(SubjectKind::Edit)
        && whole(SubjectKind::Tool);
    let implied = [
        SubjectKind::DoomLoop,
        SubjectKind::Socket,
        SubjectKind::External,
        SubjectKind::ExternalFromCwd,
        SubjectKind::ReadFromCwd,
        SubjectKind::EditFromCwd,
    ];
    rule.patterns.iter().filter(move |one| !(all && implied.contains(&one.kind)))
}

/// Returns whether a pattern matches everything.
pub fn matches_everything(pattern: &Pattern) -> bool {
    glob::decode_steps(&pattern.program).eq([glob::GlobStep::Any])
}

/// The first words of the commands that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPrefix {
    /// The words.
    pub words: Vec<String>,
    /// True if the pattern matches exactly the commands that begin with these words.
    pub is_exact: bool,
}

/// Returns the complete words before the first wildcard.
pub fn word_prefix(pattern: &Pattern) -> Option<WordPrefix> {
    let mut steps = glob::decode_steps(&pattern.program);
    let Some(glob::GlobStep::Literal(bytes)) = steps.next() else { return None };
    let text = std::str::from_utf8(bytes).ok()?;
    let (whole, rest) = text.rsplit_once('\0')?;
    let same = rest.is_empty() && steps.eq([glob::GlobStep::Any]);
    Some(WordPrefix { words: whole.split('\0').map(str::to_owned).collect(), is_exact: same })
}

/// Returns the host of a pattern that matches exactly one host.
pub fn literal_host(pattern: &Pattern) -> Option<String> {
    let mut steps = glob::decode_steps(&pattern.program);
    let (Some(glob::GlobStep::Literal(bytes)), None) = (steps.next(), steps.next()) else {
        return None;
    };
    let labels: Vec<&str> =
        std::str::from_utf8(bytes).ok()?.strip_suffix('.')?.rsplit('.').collect();
    Some(labels.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rules convert --json` prints these names, and programs parse them.
    #[test]
    fn the_names_of_conversion_losses_are_fixed() {
        let losses = [ConversionLoss::Narrower, ConversionLoss::Wider, ConversionLoss::Dropped];
        assert_eq!(losses.map(ConversionLoss::as_str), ["narrower", "wider", "dropped"]);
    }
}
