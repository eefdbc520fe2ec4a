//! The policy: every layer that is in force, compiled into one piece of memory.

use openoxide_protocol::{Effect, PermissionMode, RuleRef};

use crate::{
    combine::{Combining, Ruling},
    index::{
        FORMAT, Index, MAGIC, MAX_LAYERS, Ranks, Subject,
        build::{Entry, append, lay_out, put},
        hash, header,
    },
    rule::{Rule, Space},
};

/// Which layer of settings rules come from, the most precedent first (DECISIONS 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// Administered for the machine.
    Managed,
    /// Given on the command line.
    Cli,
    /// The project's, kept by this user.
    Local,
    /// The project's, shared by all who work on it.
    Project,
    /// The user's.
    User,
    /// Built in.
    Default,
}

impl LayerKind {
    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Cli => "cli",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Default => "default",
        }
    }

    fn from_code(code: u32) -> Self {
        let all = [Self::Managed, Self::Cli, Self::Local, Self::Project, Self::User];
        all.into_iter().find(|kind| *kind as u32 == code).unwrap_or(Self::Default)
    }
}

/// The rules of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Which layer it is.
    pub kind: LayerKind,
    /// The file that it was read from.
    pub file: Option<String>,
    /// How its matches become one answer.
    pub combining: Combining,
    /// Its rules, in the order in which they stand.
    pub rules: Vec<Rule>,
    /// The mode that it sets.
    pub mode: Option<PermissionMode>,
}

/// More layers or rules than one policy can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

impl std::fmt::Display for TooMuch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a policy holds at most {} files and {} rules", MAX_LAYERS - 1, MAX_RULES)
    }
}

impl std::error::Error for TooMuch {}

/// Why bytes are not a compiled policy of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Another version wrote them.
    OtherFormat,
    /// They were damaged.
    Damaged,
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::OtherFormat => "another version wrote the compiled policy",
            Self::Damaged => "the compiled policy is damaged",
        })
    }
}

impl std::error::Error for Unusable {}

const MAX_RULES: usize = 1 << 24;
const RULE_SIZE: usize = 32;
const LAYER_SIZE: usize = 24;

/// Everything in force. It is immutable, and the same question always gets the same answer.
/// The default is without any rule, the built-in ones included: it allows only what needs no rule.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PolicyStack {
    bytes: Vec<u8>, // INVARIANT: laid out by `compile`, or its checksum was found right.
}

impl std::fmt::Debug for PolicyStack {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PolicyStack({} rules, {} bytes)", self.rule_count(), self.bytes.len())
    }
}

impl PolicyStack {
    /// Compiles layers, the most precedent first.
    ///
    /// # Errors
    /// When there are more than a policy can hold.
    pub fn compile(layers: &[Layer]) -> Result<Self, TooMuch> {
        let count: usize = layers.iter().map(|layer| layer.rules.len()).sum();
        if layers.len() > MAX_LAYERS || count > MAX_RULES {
            return Err(TooMuch);
        }
        let mut bytes = vec![0; header::SIZE];
        lay_out(&entries(layers), &mut bytes);
        write_layers(layers, &mut bytes);
        put(&mut bytes, header::MODE, mode_code(layers));
        put(&mut bytes, header::MAGIC, MAGIC);
        put(&mut bytes, header::FORMAT, FORMAT);
        let sum = checksum(&bytes).to_le_bytes();
        if let Some(field) = bytes.get_mut(header::CHECKSUM..header::CHECKSUM + 8) {
            field.copy_from_slice(&sum);
        }
        Ok(Self { bytes })
    }

    /// Returns the compiled form, for [`Self::from_bytes`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes a compiled policy back.
    ///
    /// # Errors
    /// When another version wrote it or it was damaged. Malice is not noticed: who can write the file could as well
    /// write the policy.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Unusable> {
        let stack = Self { bytes };
        let index = stack.index();
        if index.u32(header::MAGIC) != MAGIC || index.u32(header::FORMAT) != FORMAT {
            return Err(Unusable::OtherFormat);
        }
        let stored = stack.bytes.get(header::CHECKSUM..header::CHECKSUM + 8);
        let sum = checksum(&stack.bytes).to_le_bytes();
        if stored == Some(&sum) { Ok(stack) } else { Err(Unusable::Damaged) }
    }

    /// Returns the number of rules in all layers.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.index().offset(header::RULE_COUNT)
    }

    /// Returns the mode that the most precedent layer sets.
    #[must_use]
    pub fn mode(&self) -> Option<PermissionMode> {
        let code = self.index().offset(header::MODE);
        PermissionMode::ALL.get(code.checked_sub(1)?).copied()
    }

    pub(crate) fn index(&self) -> Index<'_> {
        Index { bytes: &self.bytes }
    }

    /// Adds to `ranks` what the rules say of a subject.
    #[inline]
    pub(crate) fn ask(&self, subject: Subject<'_>, ranks: &mut Ranks) {
        self.index().look_up(subject, ranks);
    }

    /// Combines what was found: a deny of any layer is final, otherwise the most precedent layer decides.
    #[inline]
    pub(crate) fn combine(&self, ranks: &Ranks) -> Option<Ruling> {
        let mut first = None;
        for (layer, rank) in ranks.iter().enumerate().take(self.layer_count()) {
            if *rank == 0 {
                continue;
            }
            let ruling = self.ruling(layer, *rank);
            if ruling.effect == Effect::Deny {
                return Some(ruling);
            }
            first = first.or(Some(ruling));
        }
        first
    }

    fn ruling(&self, layer: usize, rank: u32) -> Ruling {
        let index = self.index();
        let at = self.layer_at(layer);
        let combining = Combining::from_code(index.u32(at + 16));
        let rule = index.u32(at + 20) + combining.order(rank);
        let effect = crate::index::effect_of(index.u32(self.rule_at(rule) + 4));
        let exact = index.u32(self.rule_at(rule) + 4) & 0x100 != 0;
        Ruling { effect, rule, layer: LayerKind::from_code(index.u32(at + 12)), exact }
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.index().offset(header::LAYER_COUNT)
    }

    fn layer_at(&self, layer: usize) -> usize {
        self.index().offset(header::LAYERS) + LAYER_SIZE * layer
    }

    fn rule_at(&self, rule: u32) -> usize {
        self.index().offset(header::RULES) + RULE_SIZE * rule as usize
    }

    /// Says whether some rule about commands asks or denies; the built-in ones do not count.
    pub(crate) fn holds_back(&self) -> bool {
        self.index().holding_back(Space::Exec).count > 0
    }

    /// Returns where a rule stands and what it says.
    #[must_use]
    pub fn rule_ref(&self, rule: u32) -> RuleRef {
        let (index, at) = (self.index(), self.rule_at(rule));
        let layer = self.layer_at(index.offset(at));
        let line = index.u32(at + 8);
        let optional = |at: usize| match index.u32(at + 4) {
            0 => None,
            _ => Some(self.text(at)),
        };
        RuleRef {
            layer: LayerKind::from_code(index.u32(layer + 12)).as_str().to_owned(),
            file: optional(layer),
            line: (line != 0).then_some(line),
            text: self.text(at + 12),
            reason: optional(at + 20),
        }
    }

    fn text(&self, at: usize) -> String {
        let (start, length) = (self.index().offset(at), self.index().offset(at + 4));
        let bytes = self.bytes.get(start..start + length).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    hash::checksum(bytes.get(header::CHECKSUM + 8..).unwrap_or_default())
}

fn entries(layers: &[Layer]) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (layer, number) in layers.iter().zip(0_u8..) {
        for (rule, order) in layer.rules.iter().zip(0_u32..) {
            entries.extend(rule.patterns.iter().map(|pattern| Entry {
                pattern,
                layer: number,
                effect: rule.effect,
                rank: layer.combining.rank(rule.effect, order),
                holds_back: rule.effect != Effect::Allow && layer.kind != LayerKind::Default,
            }));
        }
    }
    entries
}

fn write_layers(layers: &[Layer], out: &mut Vec<u8>) {
    let (mut rules, mut table) = (Vec::new(), Vec::new());
    let mut first_rule = 0;
    for (layer, number) in layers.iter().zip(0_u32..) {
        let file = text(out, layer.file.as_deref().unwrap_or_default());
        let kind = layer.kind as u32;
        table.extend([file.0, file.1, 0, kind, layer.combining as u32, first_rule]);
        for rule in &layer.rules {
            write_rule(number, rule, out, &mut rules);
            first_rule += 1;
        }
    }
    let at =
        append(out, &rules.iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<_>>());
    put(out, header::RULES, at);
    put(out, header::RULE_COUNT, first_rule);
    let at =
        append(out, &table.iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<_>>());
    put(out, header::LAYERS, at);
    put(out, header::LAYER_COUNT, u32::try_from(layers.len()).unwrap_or(0));
}

fn write_rule(layer: u32, rule: &Rule, out: &mut Vec<u8>, rules: &mut Vec<u32>) {
    let said = text(out, &format!("{} {}", rule.effect.as_str(), rule.text));
    let reason = text(out, rule.reason.as_deref().unwrap_or_default());
    let kind = rule.effect as u32 | u32::from(rule.exact) << 8;
    rules.extend([layer, kind, rule.line, said.0, said.1, reason.0, reason.1, 0]);
}

fn text(out: &mut Vec<u8>, text: &str) -> (u32, u32) {
    let at = append(out, text.as_bytes());
    (at, u32::try_from(text.len()).unwrap_or(0))
}

fn mode_code(layers: &[Layer]) -> u32 {
    let mode = layers.iter().find_map(|layer| layer.mode);
    mode.map_or(0, |mode| mode as u32 + 1)
}
