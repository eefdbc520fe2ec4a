//! The policy: every layer that is in force, compiled into one piece of memory.

use std::sync::Arc;

use openoxide_protocol::{Effect, PermissionMode, RuleRef};

use crate::{
    combine::Combining,
    details::{self, Details, ReadDetails},
    index::{
        FORMAT, Index, MAGIC, MAX_LAYERS, Ranks, Subject,
        build::{Entry, append, append_words, lay_out, put},
        hash, header,
    },
    layer::{Layer, LayerKind, Ruling},
    rule::{Rule, Space},
};

/// More layers or rules than one policy can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

impl std::fmt::Display for TooMuch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a policy can have at most {} files and {} rules", MAX_LAYERS - 1, MAX_RULES)
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
/// Marks the kind of a rule that names one thing and no wildcard.
const EXACT: u8 = 0x80;
/// Marks the kind of a rule about every path there is.
const BARE: u8 = 0x40;
/// Marks the kind of a rule that only a person answers.
const HUMAN: u8 = 0x20;
/// All marks of a kind.
const KIND_MARKS: u8 = 0xE0;
/// Marks the mode of a policy that takes `bypass_permissions` away.
const NO_BYPASS: u32 = 0x100;
/// Marks the mode of a policy under which an allow counts only if it is written down.
const AUDIT: u32 = 0x200;
/// Marks the mode of a policy that asks about harmless commands of programs that were not run to check that.
const ASKS_UNPROVED: u32 = 0x400;
/// All marks of a mode.
const MODE_MARKS: u32 = 0x700;
/// File name (place and length), kind, combining algorithm, first rule.
const LAYER_SIZE: usize = 20;

/// Everything in force. It is immutable, and the same question always gets the same answer.
/// The default is without any rule, the built-in ones included: it allows only what needs no rule.
#[derive(Clone, Default)]
pub struct PolicyStack {
    bytes: Vec<u8>, // INVARIANT: laid out by `compile`, or its checksum was found right.
    details: Details,
    before: Option<Arc<Self>>,
}

impl PartialEq for PolicyStack {
    /// Two policies are the same when they decide the same.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.before == other.before
    }
}

impl Eq for PolicyStack {}

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
        let rules: usize = layers.iter().map(|layer| layer.rules.len()).sum();
        if !fits(layers.len(), rules) {
            return Err(TooMuch);
        }
        let mut bytes = vec![0; header::SIZE];
        lay_out(&entries(layers), &mut bytes);
        let (details, files) = details::write(layers);
        write_layers(layers, &files, &mut bytes);
        put(&mut bytes, header::DETAILS_LEN, u32::try_from(details.len()).map_err(|_| TooMuch)?);
        put(&mut bytes, header::MODE, mode_code(layers));
        put(&mut bytes, header::MAGIC, MAGIC);
        put(&mut bytes, header::FORMAT, FORMAT);
        seal(&mut bytes);
        Ok(Self { bytes, details: Details(Arc::new(details)), before: None })
    }

    /// Returns what is needed to decide, for [`Self::from_parts`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns what is needed to say which rule spoke, for [`Self::from_parts`].
    #[must_use]
    pub fn details(&self) -> Vec<u8> {
        self.details.0.read(0, self.index().offset(header::DETAILS_LEN)).unwrap_or_default()
    }

    /// Takes a compiled policy back. Its details are read when a rule has spoken.
    ///
    /// # Errors
    /// When another version wrote it or it was damaged. Malice is not noticed: who can write the file could as well
    /// write the policy.
    pub fn from_parts(bytes: Vec<u8>, details: Arc<dyn ReadDetails>) -> Result<Self, Unusable> {
        let stack = Self { bytes, details: Details(details), before: None };
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
        let code = self.index().offset(header::MODE) & !MODE_MARKS as usize;
        PermissionMode::ALL.get(code.checked_sub(1)?).copied()
    }

    /// Returns the policy under which nobody can choose the mode `bypass_permissions`.
    #[must_use]
    pub fn without_bypass(self) -> Self {
        self.flagged(NO_BYPASS)
    }

    /// Returns the policy under which an allow counts only if it is written down ([`openoxide_protocol::Obligation::Audit`]).
    #[must_use]
    pub fn with_audit(self) -> Self {
        self.flagged(AUDIT)
    }

    /// Returns the policy that asks about a harmless command whose program was never run to check that it is harmless
    /// ([`openoxide_protocol::Exec::unproved`]), where no rule allows it.
    #[must_use]
    pub fn with_unproved_asks(self) -> Self {
        self.flagged(ASKS_UNPROVED)
    }

    fn flagged(mut self, flag: u32) -> Self {
        let mode = self.index().u32(header::MODE) | flag;
        put(&mut self.bytes, header::MODE, mode);
        seal(&mut self.bytes);
        self
    }

    fn has_flag(&self, flag: u32) -> bool {
        self.index().u32(header::MODE) & flag != 0
    }

    /// Says whether an allow counts only if it is written down.
    #[must_use]
    pub fn wants_audit(&self) -> bool {
        self.has_flag(AUDIT)
    }

    /// Returns whether harmless commands of programs that were not run to check that are asked about.
    #[must_use]
    pub fn asks_unproved(&self) -> bool {
        self.has_flag(ASKS_UNPROVED)
    }

    /// Returns the mode that counts where this one was chosen: `default` for one that may not be chosen.
    #[must_use]
    pub fn permitted(&self, mode: PermissionMode) -> PermissionMode {
        if self.has_flag(NO_BYPASS) && mode == PermissionMode::BypassPermissions {
            PermissionMode::Default
        } else {
            mode
        }
    }

    /// Returns the policy with the denies of an older one, the last good version of the same files: what a rule of it denies stays
    /// denied. Nothing else of it counts, neither its allows nor its mode, and nothing of what was before it.
    #[must_use]
    pub fn held_by(mut self, before: Self) -> Self {
        self.before = Some(Arc::new(Self { before: None, ..before }));
        self
    }

    /// Returns the older policy whose denies hold.
    pub(crate) fn before(&self) -> Option<&Self> {
        self.before.as_deref()
    }

    pub(crate) fn index(&self) -> Index<'_> {
        Index { bytes: &self.bytes }
    }

    /// Adds to `ranks` what the rules say of a subject.
    #[inline]
    pub(crate) fn ask(&self, subject: Subject<'_>, ranks: &mut Ranks) {
        self.index().look_up(subject, ranks);
    }

    /// Combines what was found: a deny in any layer is final, then a rule that only a person answers, otherwise the most
    /// precedent layer decides.
    #[inline]
    pub(crate) fn combine(&self, ranks: &Ranks) -> Option<Ruling> {
        let (mut first, mut human) = (None, None);
        for (layer, rank) in ranks.iter().enumerate().take(self.layer_count()) {
            if *rank == 0 {
                continue;
            }
            let ruling = self.ruling(layer, *rank);
            if ruling.effect == Effect::Deny {
                return Some(ruling);
            }
            human = human.or(Some(ruling).filter(|ruling| ruling.human));
            first = first.or(Some(ruling));
        }
        human.or(first)
    }

    fn ruling(&self, layer: usize, rank: u32) -> Ruling {
        let (index, at) = (self.index(), self.layer_at(layer));
        let combining = Combining::from_code(index.u32(at + 12));
        let rule = index.u32(at + 16) + combining.order(rank);
        let kind = index.byte(index.offset(header::KINDS) + rule as usize);
        let effect = crate::index::effect_of(u32::from(kind & !KIND_MARKS));
        let layer = LayerKind::from_code(index.u32(at + 8));
        let has = |flag| kind & flag != 0;
        Ruling { effect, rule, layer, exact: has(EXACT), bare: has(BARE), human: has(HUMAN) }
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.index().offset(header::LAYER_COUNT)
    }

    fn layer_at(&self, layer: usize) -> usize {
        self.index().offset(header::LAYERS) + LAYER_SIZE * layer
    }

    /// Says whether some rule about commands asks or denies; the built-in ones do not count.
    pub(crate) fn holds_back(&self) -> bool {
        self.index().holding_back(Space::Exec).count > 0
    }

    /// Says whether some rule asks about repetition or denies it; the built-in ones do not count.
    #[must_use]
    pub fn watches_repetition(&self) -> bool {
        let watches = |stack: &Self| stack.index().holding_back(Space::DoomLoop).count > 0;
        watches(self) || self.before().is_some_and(watches)
    }

    /// Returns where a rule stands and what it says.
    #[must_use]
    pub fn rule_ref(&self, rule: u32) -> RuleRef {
        let (index, details) = (self.index(), self.details.of(rule));
        let layer = self.layer_at(details.layer);
        let file = self.details.text(index.u32(layer), index.u32(layer + 4));
        RuleRef {
            layer: LayerKind::from_code(index.u32(layer + 8)).as_str().to_owned(),
            file: file.filter(|file| !file.is_empty()),
            line: (details.line != 0).then_some(details.line),
            text: details.text,
            reason: Some(details.reason).filter(|reason| !reason.is_empty()),
        }
    }
}

/// Returns whether one policy can hold so many layers and rules.
const fn fits(layers: usize, rules: usize) -> bool {
    layers <= MAX_LAYERS && rules <= MAX_RULES
}

/// Puts the checksum where it belongs.
fn seal(bytes: &mut [u8]) {
    let sum = checksum(bytes).to_le_bytes();
    if let Some(field) = bytes.get_mut(header::CHECKSUM..header::CHECKSUM + 8) {
        field.copy_from_slice(&sum);
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
                rank: layer.combining.rank(rule.effect, rule.human, rule.exact, order),
                holds_back: rule.effect != Effect::Allow && layer.kind != LayerKind::Default,
            }));
        }
    }
    entries
}

fn write_layers(layers: &[Layer], files: &[[u32; 2]], out: &mut Vec<u8>) {
    let (mut kinds, mut table) = (Vec::new(), Vec::new());
    for (layer, file) in layers.iter().zip(files) {
        let first_rule = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
        table.extend(file);
        table.extend([layer.kind as u32, layer.combining as u32, first_rule]);
        kinds.extend(layer.rules.iter().map(kind));
    }
    let at = append(out, &kinds);
    put(out, header::KINDS, at);
    put(out, header::RULE_COUNT, u32::try_from(kinds.len()).unwrap_or(0));
    let at = append_words(out, &table);
    put(out, header::LAYERS, at);
    put(out, header::LAYER_COUNT, u32::try_from(layers.len()).unwrap_or(0));
}

fn kind(rule: &Rule) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    rule.effect as u8 | flag(rule.exact, EXACT) | flag(rule.bare, BARE) | flag(rule.human, HUMAN)
}

fn mode_code(layers: &[Layer]) -> u32 {
    let mode = layers.iter().find_map(|layer| layer.mode);
    mode.map_or(0, |mode| mode as u32 + 1)
}

#[cfg(test)]
mod tests;
