//! Builds the memory layout that [`super::RuleIndex`] reads.

use std::collections::{BTreeMap, HashMap};

use openoxide_protocol::Effect;

use super::{
    HAS_CHILDREN, HAS_LATER_PARTS, HAS_PREFIXES, LATER_PART, LATER_PREFIX, PIECE, PREFIX,
    PREFIX_PATTERN, RuleIndex, filter_position, fingerprint, header_layout, node_hash::NodeHash,
    node_layout,
};
use crate::{
    glob::{self, GlobStep},
    rule::{Pattern, SubjectKind},
};

/// The maximum number of patterns under one key. If there are more, their rarest piece becomes the
/// key.
const MAX_PATTERNS_PER_NODE: u32 = 8;

/// The maximum length of a prefix of a part that is looked up by its length.
const MAX_PREFIX_LENGTH: usize = 63;

/// One pattern of one rule, ready for the layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexEntry<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) layer: u8,
    pub(crate) effect: Effect,
    pub(crate) rank: u32,
    /// True if the pattern is also checked when a subject is only partly known.
    pub(crate) is_restrictive: bool,
}

/// The key under which a pattern is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum IndexKey {
    /// Only the leading parts.
    Leading,
    /// The prefix of the part after the leading parts.
    Beginning(Vec<u8>),
    /// A later part.
    LaterPart(Vec<u8>),
    /// The prefix of a later part.
    LaterBeginning(Vec<u8>),
    /// A four-byte piece.
    Piece([u8; 4]),
}

#[derive(Default)]
struct IndexNode {
    beginnings: u64,
    later_beginnings: u64,
    flags: u32,
    /// The best rank by program, layer and whether the rule allows (allows match more narrowly).
    hits: BTreeMap<(u32, u8, bool), (u32, Effect, bool)>,
}

#[derive(Default)]
struct IndexBuilder {
    nodes: HashMap<u64, IndexNode>,
    order: Vec<u64>,
    programs: Vec<u8>,
    program_offsets: HashMap<Vec<u8>, u32>,
    kinds_with_pieces: [bool; SubjectKind::ALL.len()],
    /// The nodes in the filter: all except those of leading parts.
    filter_hashes: Vec<NodeHash>,
    restrictive_rules: [Vec<(Vec<u8>, u32, u32)>; SubjectKind::ALL.len()],
}

/// Appends table, nodes, programs and lists to `out`, which already contains the header, and fills
/// in the header's fields.
pub(crate) fn write_index(entries: &[IndexEntry<'_>], out: &mut Vec<u8>) {
    let mut builder = IndexBuilder::default();
    let crowds = KeyFrequencies::from_entries(entries);
    for entry in entries {
        builder.add(entry, &crowds);
    }
    builder.write_to(out);
}

impl IndexBuilder {
    fn add(&mut self, entry: &IndexEntry<'_>, crowds: &KeyFrequencies) {
        let space = entry.pattern.kind;
        let (leading, key) = crowds.choose_address(entry.pattern);
        let code = self.intern_program(&entry.pattern.program);
        let hash = self.insert_path(space, &leading, &key);
        let node = self.node_mut(hash);
        let open = is_prefix_pattern(&entry.pattern.program);
        let key = (code, entry.layer, entry.effect == Effect::Allow);
        let hit = node.hits.entry(key).or_insert((0, entry.effect, open));
        if entry.rank > hit.0 {
            *hit = (entry.rank, entry.effect, open);
        }
        if entry.is_restrictive
            && let Some(list) = self.restrictive_rules.get_mut(space as usize)
        {
            let word = u32::from(entry.layer) | u32::from(entry.effect as u8) << 8;
            list.push((leading_literal(&entry.pattern.program).to_vec(), code, word));
        }
    }

    fn node_mut(&mut self, hash: NodeHash) -> &mut IndexNode {
        let order = &mut self.order;
        self.nodes.entry(hash.0).or_insert_with(|| {
            order.push(hash.0);
            IndexNode::default()
        })
    }

    /// Returns the hash of the node that the key names, and records it in every parent node.
    fn insert_path(&mut self, space: SubjectKind, leading: &[u8], key: &IndexKey) -> NodeHash {
        if let IndexKey::Piece(piece) = key {
            return self.insert_piece(space, *piece);
        }
        let fold = space.is_path();
        let mut hash = NodeHash::from_subject_kind(space as u8);
        for part in leading.split_inclusive(|byte| *byte == space.separator()) {
            self.node_mut(hash).flags |= HAS_CHILDREN;
            hash = hash.with_part(part.strip_suffix(&[space.separator()]).unwrap_or(part), fold);
        }
        let node = self.node_mut(hash);
        let under = |kind, text: &[u8]| hash.with_value(kind).with_part(text, fold);
        let below = match key {
            IndexKey::Leading | IndexKey::Piece(_) => return hash,
            IndexKey::Beginning(text) => {
                node.flags |= HAS_PREFIXES;
                node.beginnings |= 1 << text.len();
                under(PREFIX, text)
            }
            IndexKey::LaterPart(text) => {
                node.flags |= HAS_LATER_PARTS;
                under(LATER_PART, text)
            }
            IndexKey::LaterBeginning(text) => {
                node.flags |= HAS_LATER_PARTS;
                node.later_beginnings |= 1 << text.len();
                under(LATER_PREFIX, text)
            }
        };
        self.filter_hashes.push(below);
        below
    }

    fn insert_piece(&mut self, space: SubjectKind, piece: [u8; 4]) -> NodeHash {
        if let Some(used) = self.kinds_with_pieces.get_mut(space as usize) {
            *used = true;
        }
        let hash = NodeHash::from_subject_kind(space as u8)
            .with_value(PIECE)
            .with_piece(piece, space.is_path());
        self.filter_hashes.push(hash);
        hash
    }

    fn intern_program(&mut self, code: &[u8]) -> u32 {
        if let Some(at) = self.program_offsets.get(code) {
            return *at;
        }
        let at = u32::try_from(self.programs.len()).unwrap_or(u32::MAX);
        self.programs.extend_from_slice(code);
        self.program_offsets.insert(code.to_vec(), at);
        at
    }

    fn write_to(mut self, out: &mut Vec<u8>) {
        let codes = append_bytes(out, &self.programs);
        self.write_filter(out);
        let table = self.write_nodes(out, codes);
        let at = append_bytes(
            out,
            &table.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<_>>(),
        );
        overwrite_u32(out, header_layout::TABLE, at);
        overwrite_u32(out, header_layout::SLOTS, u32::try_from(table.len()).unwrap_or(0));
        self.write_subject_kinds(out, codes);
    }

    /// Writes a filter with sixteen bits for each node that is often looked up without existing.
    fn write_filter(&self, out: &mut Vec<u8>) {
        let bits = (self.filter_hashes.len() * 16).next_power_of_two().max(8);
        let bits = u32::try_from(bits).unwrap_or(1 << 31);
        let mut filter = vec![0; bits as usize / 8];
        for hash in &self.filter_hashes {
            let (byte, bit) = filter_position(*hash, bits as usize - 1);
            if let Some(byte) = filter.get_mut(byte) {
                *byte |= bit;
            }
        }
        let at = append_bytes(out, &filter);
        overwrite_u32(out, header_layout::FILTER, at);
        overwrite_u32(out, header_layout::FILTER_BITS, bits);
    }

    /// Writes the nodes and returns the table that finds them.
    fn write_nodes(&self, out: &mut Vec<u8>, codes: u32) -> Vec<u64> {
        // At most three quarters full, because the filter prevents most lookups of missing nodes.
        let slots = (self.order.len() * 4 / 3 + 1).next_power_of_two();
        let mut table = vec![0_u64; slots];
        for hash in &self.order {
            let Some(node) = self.nodes.get(hash) else { continue };
            out.extend_from_slice(&hash.to_le_bytes());
            let at = out.len() as u64;
            node.write_to(out, codes);
            let mut slot = *hash as usize;
            while table.get(slot & (slots - 1)).is_some_and(|taken| *taken != 0) {
                slot += 1;
            }
            if let Some(free) = table.get_mut(slot & (slots - 1)) {
                *free = at << 32 | u64::from(fingerprint(NodeHash(*hash)));
            }
        }
        table
    }

    fn write_subject_kinds(&mut self, out: &mut Vec<u8>, codes: u32) {
        for space in SubjectKind::ALL {
            let index = space as usize;
            let info = header_layout::SUBJECT_KINDS + header_layout::SUBJECT_KIND_SIZE * index;
            let root = RuleIndex { bytes: out }.find_node(NodeHash::from_subject_kind(space as u8));
            overwrite_u32(out, info, root.and_then(|root| u32::try_from(root).ok()).unwrap_or(0));
            overwrite_u32(
                out,
                info + 4,
                self.kinds_with_pieces.get(index).copied().map_or(0, u32::from),
            );
            let Some(list) = self.restrictive_rules.get_mut(index) else { continue };
            list.sort_unstable();
            let words = list.iter().flat_map(|(_, code, word)| [codes + code, *word]);
            let at = append_bytes(out, &words.flat_map(u32::to_le_bytes).collect::<Vec<_>>());
            overwrite_u32(out, info + 8, at);
            overwrite_u32(out, info + 12, u32::try_from(list.len()).unwrap_or(0));
        }
    }
}

impl IndexNode {
    fn write_to(&self, out: &mut Vec<u8>, codes: u32) {
        let count = u32::try_from(self.hits.len()).unwrap_or(0);
        out.extend_from_slice(&(count << node_layout::COUNT_SHIFT | self.flags).to_le_bytes());
        // Best ranks first: a hit that cannot improve the rank is not compared.
        let mut hits: Vec<_> = self.hits.iter().collect();
        hits.sort_by_key(|((code, ..), (rank, ..))| (std::cmp::Reverse(*rank), *code));
        for ((code, layer, _), (rank, effect, open)) in hits {
            let word = u32::from(*layer)
                | u32::from(*effect as u8) << 8
                | if *open { PREFIX_PATTERN } else { 0 };
            for value in [codes + code, *rank, word] {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        if self.flags & (HAS_PREFIXES | HAS_LATER_PARTS) != 0 {
            out.extend_from_slice(&self.beginnings.to_le_bytes());
            out.extend_from_slice(&self.later_beginnings.to_le_bytes());
        }
    }
}

/// Appends bytes and returns their offset.
pub(crate) fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> u32 {
    let at = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(bytes);
    at
}

/// Appends numbers and returns their offset.
pub(crate) fn append_u32s(out: &mut Vec<u8>, words: &[u32]) -> u32 {
    append_bytes(out, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
}

/// Overwrites four bytes.
pub(crate) fn overwrite_u32(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// Returns the literal text at the start of a program.
pub(crate) fn leading_literal(code: &[u8]) -> &[u8] {
    match glob::decode_steps(code).next() {
        Some(GlobStep::Literal(bytes)) => bytes,
        _ => &[],
    }
}

/// Returns whether the program is a literal followed by any text. Such a program matches for every
/// value of the unknown parts.
fn is_prefix_pattern(code: &[u8]) -> bool {
    let mut steps =
        glob::decode_steps(code).skip_while(|step| matches!(step, GlobStep::Literal(_)));
    matches!((steps.next(), steps.next()), (Some(GlobStep::Any), None))
}

/// The leading parts of a pattern, and the most selective key after them.
type NodeAddress = (Vec<u8>, IndexKey);

/// The number of patterns that share a key, and the number of patterns that contain each four-byte
/// piece.
struct KeyFrequencies {
    places: HashMap<(SubjectKind, NodeAddress), u32>,
    pieces: HashMap<[u8; 4], u32>,
}

impl KeyFrequencies {
    fn from_entries(entries: &[IndexEntry<'_>]) -> Self {
        let (mut places, mut pieces) = (HashMap::new(), HashMap::new());
        for IndexEntry { pattern, .. } in entries {
            *places.entry((pattern.kind, default_address(pattern))).or_insert(0) += 1;
            for piece in
                four_byte_windows(&trailing_literals(&pattern.program, pattern.kind.separator()))
            {
                *pieces.entry(*piece).or_insert(0) += 1;
            }
        }
        Self { places, pieces }
    }

    /// Chooses the address of a pattern: its own node, or the node of its rarest piece if its own
    /// node has too many patterns.
    fn choose_address(&self, pattern: &Pattern) -> NodeAddress {
        let own = (pattern.kind, default_address(pattern));
        let telling = own.1 != (Vec::new(), IndexKey::Leading);
        let crowd = self.places.get(&own).copied().unwrap_or(0);
        if telling && crowd <= MAX_PATTERNS_PER_NODE {
            return own.1;
        }
        let later = trailing_literals(&pattern.program, pattern.kind.separator());
        let rarity = |piece: &[u8; 4]| self.pieces.get(piece).copied().unwrap_or(0);
        match four_byte_windows(&later).min_by_key(|piece| (rarity(piece), **piece)) {
            Some(piece) if !telling || rarity(piece) < crowd => {
                (Vec::new(), IndexKey::Piece(*piece))
            }
            _ => own.1,
        }
    }
}

fn default_address(pattern: &Pattern) -> NodeAddress {
    let separator = pattern.kind.separator();
    let first = leading_literal(&pattern.program);
    let cut = first.iter().rposition(|byte| *byte == separator).map_or(0, |at| at + 1);
    let (leading, beginning) = first.split_at_checked(cut).unwrap_or((first, &[]));
    let leading = leading.to_vec();
    let beginning = beginning.get(..beginning.len().min(MAX_PREFIX_LENGTH)).unwrap_or_default();
    if !beginning.is_empty() {
        return (leading, IndexKey::Beginning(beginning.to_vec()));
    }
    let later = trailing_literals(&pattern.program, separator);
    let whole = later
        .iter()
        .filter(|part| part.is_part_start && part.is_part_end)
        .max_by_key(|p| p.text.len());
    if let Some(part) = whole {
        return (leading, IndexKey::LaterPart(part.text.to_vec()));
    }
    let begun = later.iter().filter(|part| part.is_part_start).max_by_key(|part| part.text.len());
    if let Some(part) = begun {
        let text = part.text.get(..part.text.len().min(MAX_PREFIX_LENGTH)).unwrap_or_default();
        return (leading, IndexKey::LaterBeginning(text.to_vec()));
    }
    (leading, IndexKey::Leading)
}

/// A piece of text after the first wildcard, without separators.
struct TrailingLiteral<'a> {
    text: &'a [u8],
    /// True if the text must be at the beginning of a part.
    is_part_start: bool,
    /// True if the text must be at the end of a part.
    is_part_end: bool,
}

fn trailing_literals(code: &[u8], separator: u8) -> Vec<TrailingLiteral<'_>> {
    let mut parts = Vec::new();
    let mut at_start = true; // At the start of the program, or after skipped whole parts.
    let mut seen_wildcard = false;
    for step in glob::decode_steps(code) {
        if let GlobStep::Literal(bytes) = step {
            let pieces: Vec<_> = bytes.split(|byte| *byte == separator).collect();
            for (index, text) in pieces.iter().enumerate() {
                let begins = index > 0 || at_start;
                let ends = index + 1 < pieces.len();
                if seen_wildcard && !text.is_empty() {
                    parts.push(TrailingLiteral { text, is_part_start: begins, is_part_end: ends });
                }
            }
        }
        seen_wildcard |= !matches!(step, GlobStep::Literal(_));
        at_start = step == GlobStep::AnyParts;
    }
    parts
}

fn four_byte_windows<'a>(parts: &'a [TrailingLiteral<'a>]) -> impl Iterator<Item = &'a [u8; 4]> {
    parts.iter().flat_map(|part| part.text.windows(4)).filter_map(|piece| piece.try_into().ok())
}

#[cfg(test)]
mod tests;
