//! Details of rules that are only needed once a rule has matched: its location, text and reason.
//!
//! They are stored separately from the data that decisions need, so that a reader of a compiled
//! policy can skip them.

use std::{fmt, sync::Arc};

use crate::{layer::Layer, rule::Rule, rule_index::index_builder::append_u32s};

/// The size of a record: layer, line, text and reason of a rule. Text and reason are an offset and
/// a length.
const RECORD_SIZE: usize = 24;

/// A source of the details of a policy.
pub trait PolicyDetailsReader: fmt::Debug + Send + Sync {
    /// Returns `length` bytes from offset `at`, or `None` if they cannot be read. The bytes are
    /// only displayed and never influence a decision.
    fn read(&self, at: usize, length: usize) -> Option<Vec<u8>>;
}

impl PolicyDetailsReader for Vec<u8> {
    fn read(&self, at: usize, length: usize) -> Option<Vec<u8>> {
        self.get(at..at.checked_add(length)?).map(<[u8]>::to_vec)
    }
}

/// The details of a policy.
#[derive(Clone, Debug)]
pub(crate) struct PolicyDetails(pub(crate) Arc<dyn PolicyDetailsReader>);

impl Default for PolicyDetails {
    fn default() -> Self {
        Self(Arc::new(Vec::new()))
    }
}

/// The details of one rule.
#[derive(Debug, Default)]
pub(crate) struct RuleDetails {
    pub(crate) layer: usize,
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) reason: String,
}

impl PolicyDetails {
    /// Returns the details of a rule, or a placeholder text if they cannot be read.
    pub(crate) fn rule_details(&self, rule: u32) -> RuleDetails {
        let unreadable =
            || RuleDetails { text: "(it cannot be read)".to_owned(), ..RuleDetails::default() };
        self.read_rule_details(rule).unwrap_or_else(unreadable)
    }

    fn read_rule_details(&self, rule: u32) -> Option<RuleDetails> {
        let record = self.0.read(RECORD_SIZE * rule as usize, RECORD_SIZE)?;
        let mut words = record.chunks_exact(4).filter_map(|word| word.try_into().ok());
        let mut next = || words.next().map(u32::from_le_bytes);
        let (layer, line) = (next()? as usize, next()?);
        let text = self.read_text(next()?, next()?)?;
        let reason = self.read_text(next()?, next()?)?;
        Some(RuleDetails { layer, line, text, reason })
    }

    /// Returns the text with this offset and length.
    pub(crate) fn read_text(&self, at: u32, length: u32) -> Option<String> {
        String::from_utf8(self.0.read(at as usize, length as usize)?).ok()
    }
}

/// Encodes the details of all rules. Returns them with the offset and length of each layer's file
/// name.
pub(crate) fn encode_details(layers: &[Layer]) -> (Vec<u8>, Vec<[u32; 2]>) {
    let count: usize = layers.iter().map(|layer| layer.rules.len()).sum();
    let (mut texts, mut records, mut files) =
        (StringTable::with_offset(RECORD_SIZE * count), Vec::new(), Vec::new());
    for (layer, number) in layers.iter().zip(0_u32..) {
        files.push(texts.push(layer.file.as_deref().unwrap_or_default()));
        for rule in &layer.rules {
            records.extend([number, rule.line]);
            records.extend(texts.push(&rule_text(rule)));
            records.extend(texts.push(rule.reason.as_deref().unwrap_or_default()));
        }
    }
    let mut out = Vec::new();
    append_u32s(&mut out, &records);
    out.extend_from_slice(&texts.bytes);
    (out, files)
}

fn rule_text(rule: &Rule) -> String {
    format!("{} {}", rule.effect.as_str(), rule.text)
}

/// Concatenated texts that follow `start` other bytes.
struct StringTable {
    start: usize,
    bytes: Vec<u8>,
}

impl StringTable {
    const fn with_offset(start: usize) -> Self {
        Self { start, bytes: Vec::new() }
    }

    fn push(&mut self, text: &str) -> [u32; 2] {
        let place = [self.start + self.bytes.len(), text.len()];
        self.bytes.extend_from_slice(text.as_bytes());
        place.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }
}
