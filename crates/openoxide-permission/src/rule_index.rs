//! The compiled matcher: finds the rules that match a subject without testing those that cannot.
//!
//! All rules of all layers are stored in one block of memory, which is built once and used in
//! place, even when it was read from disk. A hash table finds *nodes*; a node lists the rules that
//! may match. A subject is looked up
//!
//! 1. by each of its leading parts: `git push origin` looks up the nodes ``, `git`, `git push`,
//!    `git push origin`, as long as there are child nodes;
//! 2. if a node has rules that continue inside a part (`npm run te*`), by the prefixes of the
//!    next part, of the lengths that occur there;
//! 3. if a node has rules with a wildcard followed by a part (`git * main`), by each later part
//!    and its prefixes;
//! 4. by its four-byte pieces, if a rule has no better key (`*danger*`).
//!
//! The rules found are then compared with the subject, so the cost grows with the rules that could
//! match and not with those that cannot.

pub(crate) mod index_builder;
pub(crate) mod node_hash;

use openoxide_protocol::Effect;

use crate::{glob, rule::SubjectKind};
use node_hash::NodeHash;

/// The maximum number of layers of a policy.
pub const MAX_LAYERS: usize = 16;

/// The best rank of a matching rule in each layer, or 0 if no rule matched.
pub(crate) type LayerRanks = [u32; MAX_LAYERS];

pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"OXPC");
/// The version of the format below. It increases with every change.
pub(crate) const FORMAT: u32 = 8;

/// The byte offsets of the header's fields.
pub(crate) mod header_layout {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const FORMAT: usize = 4;
    pub(crate) const CHECKSUM: usize = 8;
    pub(crate) const TABLE: usize = 16;
    pub(crate) const SLOTS: usize = 20;
    pub(crate) const FILTER: usize = 24;
    /// One byte for each rule: its effect and its flags.
    pub(crate) const KINDS: usize = 28;
    pub(crate) const RULE_COUNT: usize = 32;
    pub(crate) const LAYERS: usize = 36;
    pub(crate) const LAYER_COUNT: usize = 40;
    pub(crate) const MODE: usize = 44;
    pub(crate) const FILTER_BITS: usize = 48;
    pub(crate) const DETAILS_LEN: usize = 52;
    /// For each kind of subject: its root (0 if it has no rules), whether pieces are looked up, and
    /// the list of its restrictive rules.
    pub(crate) const SUBJECT_KINDS: usize = 56;
    pub(crate) const SUBJECT_KIND_SIZE: usize = 16;
    pub(crate) const SIZE: usize =
        SUBJECT_KINDS + SUBJECT_KIND_SIZE * crate::rule::SubjectKind::ALL.len();
}

/// The layout of a node: its flags and the number of its hits in one word, then the hits, then the
/// masks of lengths if it has any. The node's hash is stored before it.
pub(crate) mod node_layout {
    pub(crate) const HEAD: usize = 0;
    pub(crate) const COUNT_SHIFT: u32 = 8;
    pub(crate) const HITS: usize = 4;
    pub(crate) const HIT_SIZE: usize = 12;
    pub(crate) const HASH_SIZE: usize = 8;
}

/// The flags of a node: whether there are nodes with one more leading part, and whether prefixes of
/// the next part or later parts are looked up.
pub(crate) const HAS_CHILDREN: u32 = 1;
pub(crate) const HAS_PREFIXES: u32 = 2;
pub(crate) const HAS_LATER_PARTS: u32 = 4;

/// The flag in a hit's last word for a prefix pattern. The word also contains the layer.
pub(crate) const PREFIX_PATTERN: u32 = 1 << 16;

/// The values that distinguish the four kinds of nodes.
pub(crate) const PREFIX: u64 = 0xB1;
pub(crate) const LATER_PART: u64 = 0xB2;
pub(crate) const LATER_PREFIX: u64 = 0xB3;
pub(crate) const PIECE: u64 = 0xB4;

/// A subject to look up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchSubject<'a> {
    pub(crate) kind: SubjectKind,
    pub(crate) bytes: &'a [u8],
    /// True if a part can expand to any number of parts. A rule that allows must then match all
    /// expansions.
    pub(crate) is_variadic: bool,
}

/// A view of the compiled rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleIndex<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> RuleIndex<'a> {
    #[inline]
    pub(crate) fn read_u32(self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    #[inline]
    fn read_u64(self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn read_byte(self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(u8::MAX)
    }

    #[inline]
    pub(crate) fn read_offset(self, at: usize) -> usize {
        self.read_u32(at) as usize
    }

    pub(crate) fn program_at(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Records the best rank of each layer whose rules match the subject.
    #[inline]
    pub(crate) fn look_up(self, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        let info =
            header_layout::SUBJECT_KINDS + header_layout::SUBJECT_KIND_SIZE * subject.kind as usize;
        let root = self.read_offset(info);
        if root != 0 {
            self.match_leading_parts(root, subject, ranks);
        }
        if self.read_u32(info + 4) != 0 {
            self.match_pieces(subject, ranks);
        }
    }

    #[inline]
    fn match_leading_parts(self, root: usize, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        let (separator, fold) = (subject.kind.separator(), subject.kind.is_path());
        let (mut node, mut hash, mut start) =
            (root, NodeHash::from_subject_kind(subject.kind as u8), 0);
        loop {
            self.match_hits(node, subject, ranks);
            let head = self.read_u32(node + node_layout::HEAD);
            let flags = head & 0xFF;
            if flags == 0 {
                return;
            }
            let masks = node
                + node_layout::HITS
                + node_layout::HIT_SIZE * (head >> node_layout::COUNT_SHIFT) as usize;
            let next = hash.with_next_part(subject.bytes, start, separator, fold);
            let end = next.map_or(subject.bytes.len(), |(_, end)| end);
            if flags & HAS_PREFIXES != 0 {
                let part = subject.bytes.get(start..end).unwrap_or_default();
                let mask = self.read_u64(masks);
                self.match_prefixes(mask, hash.with_value(PREFIX), part, subject, ranks);
            }
            if flags & HAS_LATER_PARTS != 0 {
                self.match_later_parts(self.read_u64(masks + 8), hash, start, subject, ranks);
            }
            if flags & HAS_CHILDREN == 0 {
                return;
            }
            let Some((key, end)) = next else { return };
            let Some(below) = self.find_node(key) else { return };
            (node, hash, start) = (below, key, end + 1);
        }
    }

    /// Looks up every part from `start` on, and its prefixes of the lengths in the mask.
    fn match_later_parts(
        self,
        mask: u64,
        hash: NodeHash,
        mut start: usize,
        subject: MatchSubject<'_>,
        ranks: &mut LayerRanks,
    ) {
        let (separator, fold) = (subject.kind.separator(), subject.kind.is_path());
        let (part, beginning) = (hash.with_value(LATER_PART), hash.with_value(LATER_PREFIX));
        let filter = self.node_filter();
        while let Some((key, end)) = part.with_next_part(subject.bytes, start, separator, fold) {
            if filter.may_contain(key) {
                self.match_node(key, subject, ranks);
            }
            let text = subject.bytes.get(start..end).unwrap_or_default();
            self.match_prefixes(mask, beginning, text, subject, ranks);
            start = end + 1;
        }
    }

    /// Looks up the prefixes of a part whose lengths are in the mask.
    #[inline]
    fn match_prefixes(
        self,
        mask: u64,
        hash: NodeHash,
        part: &[u8],
        subject: MatchSubject<'_>,
        ranks: &mut LayerRanks,
    ) {
        let (filter, fold) = (self.node_filter(), subject.kind.is_path());
        let mut left = mask;
        while left != 0 {
            let length = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(beginning) = part.get(..length) else { return };
            let key = hash.with_part(beginning, fold);
            if filter.may_contain(key) {
                self.match_node(key, subject, ranks);
            }
        }
    }

    fn match_pieces(self, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        let (filter, fold) = (self.node_filter(), subject.kind.is_path());
        let space = NodeHash::from_subject_kind(subject.kind as u8).with_value(PIECE);
        for piece in subject.bytes.array_windows() {
            let hash = space.with_piece(*piece, fold);
            if filter.may_contain(hash) {
                self.match_node(hash, subject, ranks);
            }
        }
    }

    #[inline]
    fn node_filter(self) -> NodeFilter<'a> {
        let (at, bits) =
            (self.read_offset(header_layout::FILTER), self.read_offset(header_layout::FILTER_BITS));
        let bytes = self.bytes.get(at..at + bits / 8).unwrap_or_default();
        NodeFilter { bytes, mask: bits.wrapping_sub(1) }
    }

    fn match_node(self, hash: NodeHash, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        if let Some(node) = self.find_node(hash) {
            self.match_hits(node, subject, ranks);
        }
    }

    #[inline]
    pub(crate) fn find_node(self, hash: NodeHash) -> Option<usize> {
        let (table, mask) = (
            self.read_offset(header_layout::TABLE),
            self.read_offset(header_layout::SLOTS).checked_sub(1)?,
        );
        let print = fingerprint(hash);
        for step in 0..=mask {
            let slot = self.read_u64(table + 8 * ((hash.0 as usize + step) & mask));
            match (slot >> 32) as usize {
                0 => return None,
                // Another node may have the same fingerprint. An author of rules could cause this
                // to hide a node.
                node if slot as u32 == print && self.node_hash(node) == hash => return Some(node),
                _ => {}
            }
        }
        None
    }

    fn node_hash(self, node: usize) -> NodeHash {
        NodeHash(self.read_u64(node.saturating_sub(node_layout::HASH_SIZE)))
    }

    #[inline]
    fn match_hits(self, node: usize, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        for index in
            0..(self.read_u32(node + node_layout::HEAD) >> node_layout::COUNT_SHIFT) as usize
        {
            let hit = node + node_layout::HITS + node_layout::HIT_SIZE * index;
            self.match_hit(hit, subject, ranks);
        }
    }

    #[inline]
    fn match_hit(self, hit: usize, subject: MatchSubject<'_>, ranks: &mut LayerRanks) {
        let (rank, rest) = (self.read_u32(hit + 4), self.read_u32(hit + 8));
        let Some(best) = ranks.get_mut(rest as usize & 0xFF) else { return };
        if rank <= *best {
            return;
        }
        let effect = decode_effect(rest >> 8);
        let sure = effect != Effect::Allow || !subject.is_variadic || rest & PREFIX_PATTERN != 0;
        let manner = subject.kind.match_options(effect);
        if sure && glob::matches(self.program_at(self.read_offset(hit)), subject.bytes, manner) {
            *best = rank;
        }
    }

    /// Returns the restrictive rules of this kind: those that ask or deny.
    pub(crate) fn restrictive_rules(self, space: SubjectKind) -> RestrictiveRules<'a> {
        let info = header_layout::SUBJECT_KINDS + header_layout::SUBJECT_KIND_SIZE * space as usize;
        RestrictiveRules {
            index: self,
            list: self.read_offset(info + 8),
            count: self.read_offset(info + 12),
        }
    }
}

/// The programs of restrictive rules, sorted by their leading text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestrictiveRules<'a> {
    index: RuleIndex<'a>,
    list: usize,
    pub(crate) count: usize,
}

impl<'a> RestrictiveRules<'a> {
    /// Returns a program and the effect of its rule.
    pub(crate) fn get(self, number: usize) -> (&'a [u8], Effect) {
        let at = self.list + 8 * number;
        let code = self.index.program_at(self.index.read_offset(at));
        (code, decode_effect(self.index.read_u32(at + 4) >> 8))
    }
}

/// A filter that quickly rejects most nodes that do not exist. It does not cover nodes of leading
/// parts.
#[derive(Clone, Copy, Debug)]
struct NodeFilter<'a> {
    bytes: &'a [u8],
    mask: usize,
}

impl NodeFilter<'_> {
    #[inline]
    fn may_contain(self, hash: NodeHash) -> bool {
        let (byte, bit) = filter_position(hash, self.mask);
        self.bytes.get(byte).is_some_and(|byte| byte & bit != 0)
    }
}

/// Returns the byte index and the bit of the filter for a node.
#[inline]
pub(crate) const fn filter_position(hash: NodeHash, mask: usize) -> (usize, u8) {
    let place = (hash.0 >> 8) as usize & mask;
    (place / 8, 1 << (place % 8))
}

#[inline]
pub(crate) const fn fingerprint(hash: NodeHash) -> u32 {
    (hash.0 >> 32) as u32
}

pub(crate) const fn decode_effect(code: u32) -> Effect {
    match code & 0xFF {
        0 => Effect::Allow,
        1 => Effect::Ask,
        _ => Effect::Deny,
    }
}
