//! The compiled matcher: which rules speak of a subject, without asking those that cannot.
//!
//! All rules of all layers lie in one piece of memory that is built once and used where it lies, also when it was read
//! from disk. A hash table finds *nodes*; a node lists the rules that may match. A subject is looked up
//!
//! 1. by each of its leading parts: `git push origin` asks for the nodes ``, `git`, `git push`, `git push origin`, as
//!    long as there are nodes below;
//! 2. where a node knows rules that go on inside a part (`npm run te*`), by the beginnings of the next part, of the
//!    lengths that occur there;
//! 3. where a node knows rules with a wildcard and a part behind it (`git * main`), by each later part, and by its
//!    beginnings;
//! 4. by its four-byte pieces, if some rule has nothing better (`*danger*`).
//!
//! What is found is then compared, so the cost grows with the rules that could match and not with those that cannot.

pub(crate) mod build;
pub(crate) mod hash;

use openoxide_protocol::Effect;

use crate::{glob, rule::Space};
use hash::Hash;

/// How many layers a policy can have.
pub const MAX_LAYERS: usize = 16;

/// The best rank that matched in each layer; 0 where nothing did.
pub(crate) type Ranks = [u32; MAX_LAYERS];

pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"OXPC");
/// Grows with every change of the form below.
pub(crate) const FORMAT: u32 = 6;

/// Where things stand: the header's fields, in bytes.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const FORMAT: usize = 4;
    pub(crate) const CHECKSUM: usize = 8;
    pub(crate) const TABLE: usize = 16;
    pub(crate) const SLOTS: usize = 20;
    pub(crate) const FILTER: usize = 24;
    /// For each rule one byte: its effect, and whether it is exact.
    pub(crate) const KINDS: usize = 28;
    pub(crate) const RULE_COUNT: usize = 32;
    pub(crate) const LAYERS: usize = 36;
    pub(crate) const LAYER_COUNT: usize = 40;
    pub(crate) const MODE: usize = 44;
    pub(crate) const FILTER_BITS: usize = 48;
    pub(crate) const DETAILS_LEN: usize = 52;
    /// For each space: its root (0 if it has no rules), whether pieces are looked up, and the list of rules that hold
    /// back.
    pub(crate) const SPACES: usize = 56;
    pub(crate) const SPACE_SIZE: usize = 16;
    pub(crate) const SIZE: usize = SPACES + SPACE_SIZE * crate::rule::Space::ALL.len();
}

/// A node: its flags and the number of its hits in one word, then the hits, then the masks of lengths if it has any. Its hash
/// stands before it.
pub(crate) mod node {
    pub(crate) const HEAD: usize = 0;
    pub(crate) const COUNT_SHIFT: u32 = 8;
    pub(crate) const HITS: usize = 4;
    pub(crate) const HIT_SIZE: usize = 12;
    pub(crate) const HASH_SIZE: usize = 8;
}

/// A node's flags: whether there are nodes with one more leading part, and whether the beginnings of the next part or
/// later parts are looked up.
pub(crate) const HAS_BELOW: u32 = 1;
pub(crate) const HAS_BEGINNINGS: u32 = 2;
pub(crate) const HAS_LATER: u32 = 4;

/// What a hit's last word holds beside the layer.
pub(crate) const OPEN: u32 = 1 << 16;

/// What tells the four kinds of nodes apart.
pub(crate) const BEGINNING: u64 = 0xB1;
pub(crate) const LATER_PART: u64 = 0xB2;
pub(crate) const LATER_BEGINNING: u64 = 0xB3;
pub(crate) const PIECE: u64 = 0xB4;

/// Something to look up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) space: Space,
    pub(crate) bytes: &'a [u8],
    /// Whether some part can become any number of parts: then a rule that allows must match whatever they are.
    pub(crate) has_many: bool,
}

/// A view of the compiled rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> Index<'a> {
    #[inline]
    pub(crate) fn u32(self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    #[inline]
    fn u64(self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn byte(self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(u8::MAX)
    }

    #[inline]
    pub(crate) fn offset(self, at: usize) -> usize {
        self.u32(at) as usize
    }

    pub(crate) fn code(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Notes the best rank of each layer whose rules match the subject.
    #[inline]
    pub(crate) fn look_up(self, subject: Subject<'_>, ranks: &mut Ranks) {
        let info = header::SPACES + header::SPACE_SIZE * subject.space as usize;
        let root = self.offset(info);
        if root != 0 {
            self.by_leading_parts(root, subject, ranks);
        }
        if self.u32(info + 4) != 0 {
            self.by_pieces(subject, ranks);
        }
    }

    #[inline]
    fn by_leading_parts(self, root: usize, subject: Subject<'_>, ranks: &mut Ranks) {
        let (separator, fold) = (subject.space.separator(), subject.space.is_path());
        let (mut node, mut hash, mut start) = (root, Hash::of_space(subject.space as u8), 0);
        loop {
            self.take_hits(node, subject, ranks);
            let head = self.u32(node + node::HEAD);
            let flags = head & 0xFF;
            if flags == 0 {
                return;
            }
            let masks = node + node::HITS + node::HIT_SIZE * (head >> node::COUNT_SHIFT) as usize;
            let next = hash.with_next(subject.bytes, start, separator, fold);
            let end = next.map_or(subject.bytes.len(), |(_, end)| end);
            if flags & HAS_BEGINNINGS != 0 {
                let part = subject.bytes.get(start..end).unwrap_or_default();
                let mask = self.u64(masks);
                self.beginnings(mask, hash.with(BEGINNING), part, subject, ranks);
            }
            if flags & HAS_LATER != 0 {
                self.later(self.u64(masks + 8), hash, start, subject, ranks);
            }
            if flags & HAS_BELOW == 0 {
                return;
            }
            let Some((key, end)) = next else { return };
            let Some(below) = self.find(key) else { return };
            (node, hash, start) = (below, key, end + 1);
        }
    }

    /// Looks up every part from `start` on, and its beginnings of the lengths in the mask.
    fn later(
        self,
        mask: u64,
        hash: Hash,
        mut start: usize,
        subject: Subject<'_>,
        ranks: &mut Ranks,
    ) {
        let (separator, fold) = (subject.space.separator(), subject.space.is_path());
        let (part, beginning) = (hash.with(LATER_PART), hash.with(LATER_BEGINNING));
        let filter = self.filter();
        while let Some((key, end)) = part.with_next(subject.bytes, start, separator, fold) {
            if filter.may_have(key) {
                self.take(key, subject, ranks);
            }
            let text = subject.bytes.get(start..end).unwrap_or_default();
            self.beginnings(mask, beginning, text, subject, ranks);
            start = end + 1;
        }
    }

    /// Looks up the beginnings of a part whose lengths are in the mask.
    #[inline]
    fn beginnings(
        self,
        mask: u64,
        hash: Hash,
        part: &[u8],
        subject: Subject<'_>,
        ranks: &mut Ranks,
    ) {
        let (filter, fold) = (self.filter(), subject.space.is_path());
        let mut left = mask;
        while left != 0 {
            let length = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(beginning) = part.get(..length) else { return };
            let key = hash.with_part(beginning, fold);
            if filter.may_have(key) {
                self.take(key, subject, ranks);
            }
        }
    }

    fn by_pieces(self, subject: Subject<'_>, ranks: &mut Ranks) {
        let (filter, fold) = (self.filter(), subject.space.is_path());
        let space = Hash::of_space(subject.space as u8).with(PIECE);
        for piece in subject.bytes.array_windows() {
            let hash = space.with_piece(*piece, fold);
            if filter.may_have(hash) {
                self.take(hash, subject, ranks);
            }
        }
    }

    #[inline]
    fn filter(self) -> Filter<'a> {
        let (at, bits) = (self.offset(header::FILTER), self.offset(header::FILTER_BITS));
        let bytes = self.bytes.get(at..at + bits / 8).unwrap_or_default();
        Filter { bytes, mask: bits.wrapping_sub(1) }
    }

    fn take(self, hash: Hash, subject: Subject<'_>, ranks: &mut Ranks) {
        if let Some(node) = self.find(hash) {
            self.take_hits(node, subject, ranks);
        }
    }

    #[inline]
    pub(crate) fn find(self, hash: Hash) -> Option<usize> {
        let (table, mask) =
            (self.offset(header::TABLE), self.offset(header::SLOTS).checked_sub(1)?);
        let print = fingerprint(hash);
        for step in 0..=mask {
            let slot = self.u64(table + 8 * ((hash.0 as usize + step) & mask));
            match (slot >> 32) as usize {
                0 => return None,
                // Another node may have the same fingerprint: who writes rules could have made it so, to hide this one.
                node if slot as u32 == print && self.hash_of(node) == hash => return Some(node),
                _ => {}
            }
        }
        None
    }

    fn hash_of(self, node: usize) -> Hash {
        Hash(self.u64(node.saturating_sub(node::HASH_SIZE)))
    }

    #[inline]
    fn take_hits(self, node: usize, subject: Subject<'_>, ranks: &mut Ranks) {
        for index in 0..(self.u32(node + node::HEAD) >> node::COUNT_SHIFT) as usize {
            let hit = node + node::HITS + node::HIT_SIZE * index;
            self.take_hit(hit, subject, ranks);
        }
    }

    #[inline]
    fn take_hit(self, hit: usize, subject: Subject<'_>, ranks: &mut Ranks) {
        let (rank, rest) = (self.u32(hit + 4), self.u32(hit + 8));
        let Some(best) = ranks.get_mut(rest as usize & 0xFF) else { return };
        if rank <= *best {
            return;
        }
        let effect = effect_of(rest >> 8);
        let sure = effect != Effect::Allow || !subject.has_many || rest & OPEN != 0;
        let manner = subject.space.manner(effect);
        if sure && glob::matches(self.code(self.offset(hit)), subject.bytes, manner) {
            *best = rank;
        }
    }

    /// Returns the rules of this space that hold back (ask or deny).
    pub(crate) fn holding_back(self, space: Space) -> HoldingBack<'a> {
        let info = header::SPACES + header::SPACE_SIZE * space as usize;
        HoldingBack { index: self, list: self.offset(info + 8), count: self.offset(info + 12) }
    }
}

/// The programs of rules that hold back, sorted by the text that they begin with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoldingBack<'a> {
    index: Index<'a>,
    list: usize,
    pub(crate) count: usize,
}

impl<'a> HoldingBack<'a> {
    /// Returns a program, and the effect of its rule.
    pub(crate) fn get(self, number: usize) -> (&'a [u8], Effect) {
        let at = self.list + 8 * number;
        let code = self.index.code(self.index.offset(at));
        (code, effect_of(self.index.u32(at + 4) >> 8))
    }
}

/// Says quickly of most nodes which are not there that they are not. Nodes of leading parts are not asked for here.
#[derive(Clone, Copy, Debug)]
struct Filter<'a> {
    bytes: &'a [u8],
    mask: usize,
}

impl Filter<'_> {
    #[inline]
    fn may_have(self, hash: Hash) -> bool {
        let (byte, bit) = filter_place(hash, self.mask);
        self.bytes.get(byte).is_some_and(|byte| byte & bit != 0)
    }
}

/// Returns the byte and the bit of the filter that stand for a node.
#[inline]
pub(crate) const fn filter_place(hash: Hash, mask: usize) -> (usize, u8) {
    let place = (hash.0 >> 8) as usize & mask;
    (place / 8, 1 << (place % 8))
}

#[inline]
pub(crate) const fn fingerprint(hash: Hash) -> u32 {
    (hash.0 >> 32) as u32
}

pub(crate) const fn effect_of(code: u32) -> Effect {
    match code & 0xFF {
        0 => Effect::Allow,
        1 => Effect::Ask,
        _ => Effect::Deny,
    }
}
