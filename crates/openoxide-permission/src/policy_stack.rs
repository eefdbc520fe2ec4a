//! The policy: all layers in force, compiled into one block of memory.

use std::sync::Arc;

use openoxide_protocol::{Effect, PermissionMode, RuleRef};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    layer::{Layer, LayerKind, RuleMatch},
    policy_details::{self, PolicyDetails, PolicyDetailsReader},
    rule::{Rule, SubjectKind},
    rule_index::{
        FORMAT, LayerRanks, MAGIC, MAX_LAYERS, MatchSubject, RuleIndex, header_layout,
        index_builder::{IndexEntry, append_bytes, append_u32s, overwrite_u32, write_index},
        node_hash,
    },
};

/// The error for more layers or rules than one policy can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyLimitError;

impl std::fmt::Display for PolicyLimitError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a policy can have at most {} files and {} rules", MAX_LAYERS - 1, MAX_RULES)
    }
}

impl std::error::Error for PolicyLimitError {}

/// The error for bytes that are not a compiled policy of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledPolicyError {
    /// The bytes have the format of another version.
    OtherFormat,
    /// The bytes are damaged.
    Damaged,
}

impl std::fmt::Display for CompiledPolicyError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::OtherFormat => "another version wrote the compiled policy",
            Self::Damaged => "the compiled policy is corrupt",
        })
    }
}

impl std::error::Error for CompiledPolicyError {}

const MAX_RULES: usize = 1 << 24;
/// The flag in a rule's kind for a rule without a wildcard.
const LITERAL_FLAG: u8 = 0x80;
/// The flag in a rule's kind for a rule that matches every path.
const CATCH_ALL_FLAG: u8 = 0x40;
/// The flag in a rule's kind for a rule that only a person answers.
const HUMAN_FLAG: u8 = 0x20;
/// All flags in a rule's kind.
const RULE_FLAGS: u8 = 0xE0;
/// The flag of a policy that disables the mode `bypass_permissions`.
const NO_BYPASS_FLAG: u32 = 0x100;
/// The flag of a policy under which an allow is only valid if it is recorded in the audit log.
const AUDIT_FLAG: u32 = 0x200;
/// The flag of a policy that asks about harmless commands of programs that were never run to verify
/// that.
const ASK_UNPROVED_FLAG: u32 = 0x400;
/// All flags in the word of the mode.
const MODE_FLAGS: u32 = 0x700;
/// The size of a layer: file name (offset and length), kind, combining algorithm, first rule.
const LAYER_SIZE: usize = 20;

/// The compiled policy. It is immutable, and the same input always gives the same result. The
/// default has no rules, not even the built-in ones: it only allows accesses that need no rule.
#[derive(Clone, Default)]
pub struct PolicyStack {
    bytes: Vec<u8>, // INVARIANT: written by `compile`, or the checksum is valid.
    details: PolicyDetails,
    last_good: Option<Arc<Self>>,
}

impl PartialEq for PolicyStack {
    /// Returns true if two policies make the same decisions.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.last_good == other.last_good
    }
}

impl Eq for PolicyStack {}

impl std::fmt::Debug for PolicyStack {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PolicyStack({} rules, {} bytes)", self.rule_count(), self.bytes.len())
    }
}

impl PolicyStack {
    /// Compiles layers, highest precedence first.
    ///
    /// # Errors
    /// Returns an error if there are more layers or rules than a policy can contain.
    pub fn compile(layers: &[Layer]) -> Result<Self, PolicyLimitError> {
        let rules: usize = layers.iter().map(|layer| layer.rules.len()).sum();
        if !is_within_limits(layers.len(), rules) {
            return Err(PolicyLimitError);
        }
        let mut bytes = vec![0; header_layout::SIZE];
        write_index(&collect_entries(layers), &mut bytes);
        let (details, files) = policy_details::encode_details(layers);
        write_layers(layers, &files, &mut bytes);
        overwrite_u32(
            &mut bytes,
            header_layout::DETAILS_LEN,
            u32::try_from(details.len()).map_err(|_| PolicyLimitError)?,
        );
        overwrite_u32(&mut bytes, header_layout::MODE, encode_mode(layers));
        overwrite_u32(&mut bytes, header_layout::MAGIC, MAGIC);
        overwrite_u32(&mut bytes, header_layout::FORMAT, FORMAT);
        write_checksum(&mut bytes);
        Ok(Self { bytes, details: PolicyDetails(Arc::new(details)), last_good: None })
    }

    /// Returns the bytes that decisions need, for [`Self::from_parts`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the details of the rules, for [`Self::from_parts`].
    #[must_use]
    pub fn details(&self) -> Vec<u8> {
        self.details
            .0
            .read(0, self.index().read_offset(header_layout::DETAILS_LEN))
            .unwrap_or_default()
    }

    /// Loads a compiled policy. Its details are only read after a rule has matched.
    ///
    /// # Errors
    /// Returns an error if another version wrote the policy or if it is damaged. Deliberate
    /// manipulation is not detected, because a program that can write this file could also change
    /// the policy.
    pub fn from_parts(
        bytes: Vec<u8>,
        details: Arc<dyn PolicyDetailsReader>,
    ) -> Result<Self, CompiledPolicyError> {
        let stack = Self { bytes, details: PolicyDetails(details), last_good: None };
        let index = stack.index();
        if index.read_u32(header_layout::MAGIC) != MAGIC
            || index.read_u32(header_layout::FORMAT) != FORMAT
        {
            return Err(CompiledPolicyError::OtherFormat);
        }
        let stored = stack.bytes.get(header_layout::CHECKSUM..header_layout::CHECKSUM + 8);
        let sum = compute_checksum(&stack.bytes).to_le_bytes();
        if stored == Some(&sum) { Ok(stack) } else { Err(CompiledPolicyError::Damaged) }
    }

    /// Returns the number of rules in all layers.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.index().read_offset(header_layout::RULE_COUNT)
    }

    /// Returns the mode that the layer with the highest precedence sets.
    #[must_use]
    pub fn mode(&self) -> Option<PermissionMode> {
        let code = self.index().read_offset(header_layout::MODE) & !MODE_FLAGS as usize;
        PermissionMode::ALL.get(code.checked_sub(1)?).copied()
    }

    /// Returns the policy with the mode `bypass_permissions` disabled.
    #[must_use]
    pub fn without_bypass(self) -> Self {
        self.with_flag(NO_BYPASS_FLAG)
    }

    /// Returns the policy with audit records required: an allow is only valid if it is recorded
    /// ([`openoxide_protocol::Obligation::Audit`]).
    #[must_use]
    pub fn with_audit(self) -> Self {
        self.with_flag(AUDIT_FLAG)
    }

    /// Returns the policy with questions about harmless commands whose program was never run to
    /// verify that they are harmless ([`openoxide_protocol::ExecAccess::unproved`]), if no rule
    /// allows them.
    #[must_use]
    pub fn with_unproved_asks(self) -> Self {
        self.with_flag(ASK_UNPROVED_FLAG)
    }

    fn with_flag(mut self, flag: u32) -> Self {
        let mode = self.index().read_u32(header_layout::MODE) | flag;
        overwrite_u32(&mut self.bytes, header_layout::MODE, mode);
        write_checksum(&mut self.bytes);
        self
    }

    fn has_flag(&self, flag: u32) -> bool {
        self.index().read_u32(header_layout::MODE) & flag != 0
    }

    /// Returns whether an allow is only valid if it is recorded in the audit log.
    #[must_use]
    pub fn requires_audit(&self) -> bool {
        self.has_flag(AUDIT_FLAG)
    }

    /// Returns whether the policy asks about harmless commands of programs that were never run to
    /// verify that.
    #[must_use]
    pub fn asks_about_unproved(&self) -> bool {
        self.has_flag(ASK_UNPROVED_FLAG)
    }

    /// Returns the effective mode for a chosen one: `default` if the chosen mode is disabled.
    #[must_use]
    pub fn effective_mode(&self, mode: PermissionMode) -> PermissionMode {
        if self.has_flag(NO_BYPASS_FLAG) && mode == PermissionMode::BypassPermissions {
            PermissionMode::Default
        } else {
            mode
        }
    }

    /// Returns the policy with the denies of an older one, the last good version of the same files.
    /// An access that one of its rules denies stays denied. The allows and the mode of the older
    /// policy and of the policies before it have no effect.
    #[must_use]
    pub fn with_fallback_denies(mut self, before: Self) -> Self {
        self.last_good = Some(Arc::new(Self { last_good: None, ..before }));
        self
    }

    /// Returns the older policy whose denies still apply.
    pub(crate) fn last_good(&self) -> Option<&Self> {
        self.last_good.as_deref()
    }

    pub(crate) fn index(&self) -> RuleIndex<'_> {
        RuleIndex { bytes: &self.bytes }
    }

    /// Adds the best rank of each layer for a subject to `ranks`.
    #[inline]
    pub(crate) fn collect_ranks(&self, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        self.index().look_up(subject, ranks);
    }

    /// Combines the ranks of all layers. A deny in any layer is final. Otherwise a rule that only a
    /// person can answer takes precedence, and then the layer with the highest precedence decides.
    #[inline]
    pub(crate) fn combine_ranks(&self, ranks: &LayerRanks) -> Option<RuleMatch> {
        let (mut first, mut human) = (None, None);
        for (layer, rank) in ranks.iter().enumerate().take(self.layer_count()) {
            if *rank == 0 {
                continue;
            }
            let ruling = self.rule_match(layer, *rank);
            if ruling.effect == Effect::Deny {
                return Some(ruling);
            }
            human = human.or(Some(ruling).filter(|ruling| ruling.requires_human));
            first = first.or(Some(ruling));
        }
        human.or(first)
    }

    fn rule_match(&self, layer: usize, rank: u32) -> RuleMatch {
        let (index, at) = (self.index(), self.layer_offset(layer));
        let combining = CombiningAlgorithm::from_code(index.read_u32(at + 12));
        let rule = index.read_u32(at + 16) + combining.order_from_rank(rank);
        let kind = index.read_byte(index.read_offset(header_layout::KINDS) + rule as usize);
        let effect = crate::rule_index::decode_effect(u32::from(kind & !RULE_FLAGS));
        let layer = LayerKind::from_code(index.read_u32(at + 8));
        let has = |flag| kind & flag != 0;
        RuleMatch {
            effect,
            rule,
            layer,
            is_literal: has(LITERAL_FLAG),
            matches_everything: has(CATCH_ALL_FLAG),
            requires_human: has(HUMAN_FLAG),
        }
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.index().read_offset(header_layout::LAYER_COUNT)
    }

    fn layer_offset(&self, layer: usize) -> usize {
        self.index().read_offset(header_layout::LAYERS) + LAYER_SIZE * layer
    }

    /// Returns whether a rule about commands asks or denies. Built-in rules are ignored.
    pub(crate) fn has_restrictive_command_rules(&self) -> bool {
        self.index().restrictive_rules(SubjectKind::Exec).count > 0
    }

    /// Returns whether a rule asks about repetition or denies it. Built-in rules are ignored.
    #[must_use]
    pub fn has_repetition_rules(&self) -> bool {
        let watches =
            |stack: &Self| stack.index().restrictive_rules(SubjectKind::DoomLoop).count > 0;
        watches(self) || self.last_good().is_some_and(watches)
    }

    /// Returns the reference of a rule: its layer, file, line, text and reason.
    #[must_use]
    pub fn rule_ref(&self, rule: u32) -> RuleRef {
        let (index, details) = (self.index(), self.details.rule_details(rule));
        let layer = self.layer_offset(details.layer);
        let file = self.details.read_text(index.read_u32(layer), index.read_u32(layer + 4));
        RuleRef {
            layer: LayerKind::from_code(index.read_u32(layer + 8)).as_str().to_owned(),
            file: file.filter(|file| !file.is_empty()),
            line: (details.line != 0).then_some(details.line),
            text: details.text,
            reason: Some(details.reason).filter(|reason| !reason.is_empty()),
        }
    }
}

/// Returns whether one policy can contain this many layers and rules.
const fn is_within_limits(layers: usize, rules: usize) -> bool {
    layers <= MAX_LAYERS && rules <= MAX_RULES
}

/// Writes the checksum into the header.
fn write_checksum(bytes: &mut [u8]) {
    let sum = compute_checksum(bytes).to_le_bytes();
    if let Some(field) = bytes.get_mut(header_layout::CHECKSUM..header_layout::CHECKSUM + 8) {
        field.copy_from_slice(&sum);
    }
}

fn compute_checksum(bytes: &[u8]) -> u64 {
    node_hash::compute_checksum(bytes.get(header_layout::CHECKSUM + 8..).unwrap_or_default())
}

fn collect_entries(layers: &[Layer]) -> Vec<IndexEntry<'_>> {
    let mut entries = Vec::new();
    for (layer, number) in layers.iter().zip(0_u8..) {
        for (rule, order) in layer.rules.iter().zip(0_u32..) {
            entries.extend(rule.patterns.iter().map(|pattern| IndexEntry {
                pattern,
                layer: number,
                effect: rule.effect,
                rank: layer.combining_algorithm.rank(
                    rule.effect,
                    rule.requires_human,
                    rule.is_literal,
                    order,
                ),
                is_restrictive: rule.effect != Effect::Allow && layer.kind != LayerKind::Default,
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
        table.extend([layer.kind as u32, layer.combining_algorithm as u32, first_rule]);
        kinds.extend(layer.rules.iter().map(encode_rule_flags));
    }
    let at = append_bytes(out, &kinds);
    overwrite_u32(out, header_layout::KINDS, at);
    overwrite_u32(out, header_layout::RULE_COUNT, u32::try_from(kinds.len()).unwrap_or(0));
    let at = append_u32s(out, &table);
    overwrite_u32(out, header_layout::LAYERS, at);
    overwrite_u32(out, header_layout::LAYER_COUNT, u32::try_from(layers.len()).unwrap_or(0));
}

fn encode_rule_flags(rule: &Rule) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    rule.effect as u8
        | flag(rule.is_literal, LITERAL_FLAG)
        | flag(rule.matches_everything, CATCH_ALL_FLAG)
        | flag(rule.requires_human, HUMAN_FLAG)
}

fn encode_mode(layers: &[Layer]) -> u32 {
    let mode = layers.iter().find_map(|layer| layer.mode);
    mode.map_or(0, |mode| mode as u32 + 1)
}

#[cfg(test)]
mod tests;
