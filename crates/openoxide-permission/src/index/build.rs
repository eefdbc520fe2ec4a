//! Lays the rules out as [`super::Index`] reads them.

use std::collections::{BTreeMap, HashMap};

use openoxide_protocol::Effect;

use super::{
    BEGINNING, HAS_BEGINNINGS, HAS_BELOW, HAS_LATER, Index, LATER_BEGINNING, LATER_PART, OPEN,
    PIECE, filter_place, fingerprint, hash::Hash, header, node,
};
use crate::{
    glob::{self, Step},
    rule::{Pattern, Space},
};

/// When more patterns than this would be filed in one place, what they differ in is looked for.
const CROWD: u32 = 8;

/// The longest beginning of a part that is looked up by its length.
const LONGEST: usize = 63;

/// One pattern of one rule, ready to be laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) layer: u8,
    pub(crate) effect: Effect,
    pub(crate) rank: u32,
    /// Whether it counts when a subject is only partly known.
    pub(crate) holds_back: bool,
}

/// Where a pattern is filed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// Under its leading parts alone.
    Leading,
    /// Under the beginning of the part after them.
    Beginning(Vec<u8>),
    /// Under a later part.
    LaterPart(Vec<u8>),
    /// Under the beginning of a later part.
    LaterBeginning(Vec<u8>),
    /// Under a four-byte piece.
    Piece([u8; 4]),
}

#[derive(Default)]
struct Node {
    beginnings: u64,
    later_beginnings: u64,
    flags: u32,
    /// By program, layer and manner (what allows matches more narrowly): the best rank.
    hits: BTreeMap<(u32, u8, bool), (u32, Effect, bool)>,
}

#[derive(Default)]
struct Builder {
    nodes: HashMap<u64, Node>,
    order: Vec<u64>,
    codes: Vec<u8>,
    known: HashMap<Vec<u8>, u32>,
    pieces: [bool; Space::ALL.len()],
    /// The nodes that the filter knows: all but those of leading parts.
    filtered: Vec<Hash>,
    holding_back: [Vec<(Vec<u8>, u32, u32)>; Space::ALL.len()],
}

/// Appends table, nodes, programs and lists to `out`, which holds the header, and fills the header in.
pub(crate) fn lay_out(entries: &[Entry<'_>], out: &mut Vec<u8>) {
    let mut builder = Builder::default();
    let crowds = Crowds::of(entries);
    for entry in entries {
        builder.add(entry, &crowds);
    }
    builder.write(out);
}

impl Builder {
    fn add(&mut self, entry: &Entry<'_>, crowds: &Crowds) {
        let space = entry.pattern.space;
        let (leading, key) = crowds.file(entry.pattern);
        let code = self.code(&entry.pattern.code);
        let hash = self.descend(space, &leading, &key);
        let node = self.node(hash);
        let open = is_open(&entry.pattern.code);
        let key = (code, entry.layer, entry.effect == Effect::Allow);
        let hit = node.hits.entry(key).or_insert((0, entry.effect, open));
        if entry.rank > hit.0 {
            *hit = (entry.rank, entry.effect, open);
        }
        if entry.holds_back
            && let Some(list) = self.holding_back.get_mut(space as usize)
        {
            let word = u32::from(entry.layer) | u32::from(entry.effect as u8) << 8;
            list.push((first_literal(&entry.pattern.code).to_vec(), code, word));
        }
    }

    fn node(&mut self, hash: Hash) -> &mut Node {
        let order = &mut self.order;
        self.nodes.entry(hash.0).or_insert_with(|| {
            order.push(hash.0);
            Node::default()
        })
    }

    /// Returns the hash of the node that the key names, noting it in every node above.
    fn descend(&mut self, space: Space, leading: &[u8], key: &Key) -> Hash {
        if let Key::Piece(piece) = key {
            return self.piece(space, *piece);
        }
        let fold = space.is_path();
        let mut hash = Hash::of_space(space as u8);
        for part in leading.split_inclusive(|byte| *byte == space.separator()) {
            self.node(hash).flags |= HAS_BELOW;
            hash = hash.with_part(part.strip_suffix(&[space.separator()]).unwrap_or(part), fold);
        }
        let node = self.node(hash);
        let under = |kind, text: &[u8]| hash.with(kind).with_part(text, fold);
        let below = match key {
            Key::Leading | Key::Piece(_) => return hash,
            Key::Beginning(text) => {
                node.flags |= HAS_BEGINNINGS;
                node.beginnings |= 1 << text.len();
                under(BEGINNING, text)
            }
            Key::LaterPart(text) => {
                node.flags |= HAS_LATER;
                under(LATER_PART, text)
            }
            Key::LaterBeginning(text) => {
                node.flags |= HAS_LATER;
                node.later_beginnings |= 1 << text.len();
                under(LATER_BEGINNING, text)
            }
        };
        self.filtered.push(below);
        below
    }

    fn piece(&mut self, space: Space, piece: [u8; 4]) -> Hash {
        if let Some(used) = self.pieces.get_mut(space as usize) {
            *used = true;
        }
        let hash = Hash::of_space(space as u8).with(PIECE).with_piece(piece, space.is_path());
        self.filtered.push(hash);
        hash
    }

    fn code(&mut self, code: &[u8]) -> u32 {
        if let Some(at) = self.known.get(code) {
            return *at;
        }
        let at = u32::try_from(self.codes.len()).unwrap_or(u32::MAX);
        self.codes.extend_from_slice(code);
        self.known.insert(code.to_vec(), at);
        at
    }

    fn write(mut self, out: &mut Vec<u8>) {
        let codes = append(out, &self.codes);
        self.filter(out);
        let table = self.nodes(out, codes);
        let at = append(out, &table.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<_>>());
        put(out, header::TABLE, at);
        put(out, header::SLOTS, u32::try_from(table.len()).unwrap_or(0));
        self.spaces(out, codes);
    }

    /// Writes sixteen bits for each node that is probably not there when it is looked up.
    fn filter(&self, out: &mut Vec<u8>) {
        let bits = (self.filtered.len() * 16).next_power_of_two().max(8);
        let bits = u32::try_from(bits).unwrap_or(1 << 31);
        let mut filter = vec![0; bits as usize / 8];
        for hash in &self.filtered {
            let (byte, bit) = filter_place(*hash, bits as usize - 1);
            if let Some(byte) = filter.get_mut(byte) {
                *byte |= bit;
            }
        }
        let at = append(out, &filter);
        put(out, header::FILTER, at);
        put(out, header::FILTER_BITS, bits);
    }

    /// Writes the nodes; returns the table that finds them.
    fn nodes(&self, out: &mut Vec<u8>, codes: u32) -> Vec<u64> {
        // At most three quarters full: what is not there is mostly not asked for (see the filter).
        let slots = (self.order.len() * 4 / 3 + 1).next_power_of_two();
        let mut table = vec![0_u64; slots];
        for hash in &self.order {
            let Some(node) = self.nodes.get(hash) else { continue };
            out.extend_from_slice(&hash.to_le_bytes());
            let at = out.len() as u64;
            node.write(out, codes);
            let mut slot = *hash as usize;
            while table.get(slot & (slots - 1)).is_some_and(|taken| *taken != 0) {
                slot += 1;
            }
            if let Some(free) = table.get_mut(slot & (slots - 1)) {
                *free = at << 32 | u64::from(fingerprint(Hash(*hash)));
            }
        }
        table
    }

    fn spaces(&mut self, out: &mut Vec<u8>, codes: u32) {
        for space in Space::ALL {
            let index = space as usize;
            let info = header::SPACES + header::SPACE_SIZE * index;
            let root = Index { bytes: out }.find(Hash::of_space(space as u8));
            put(out, info, root.and_then(|root| u32::try_from(root).ok()).unwrap_or(0));
            put(out, info + 4, self.pieces.get(index).copied().map_or(0, u32::from));
            let Some(list) = self.holding_back.get_mut(index) else { continue };
            list.sort_unstable();
            let words = list.iter().flat_map(|(_, code, word)| [codes + code, *word]);
            let at = append(out, &words.flat_map(u32::to_le_bytes).collect::<Vec<_>>());
            put(out, info + 8, at);
            put(out, info + 12, u32::try_from(list.len()).unwrap_or(0));
        }
    }
}

impl Node {
    fn write(&self, out: &mut Vec<u8>, codes: u32) {
        let count = u32::try_from(self.hits.len()).unwrap_or(0);
        out.extend_from_slice(&(count << node::COUNT_SHIFT | self.flags).to_le_bytes());
        // The best ranks first: what cannot better them need not be compared.
        let mut hits: Vec<_> = self.hits.iter().collect();
        hits.sort_by_key(|((code, ..), (rank, ..))| (std::cmp::Reverse(*rank), *code));
        for ((code, layer, _), (rank, effect, open)) in hits {
            let word =
                u32::from(*layer) | u32::from(*effect as u8) << 8 | if *open { OPEN } else { 0 };
            for value in [codes + code, *rank, word] {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        if self.flags & (HAS_BEGINNINGS | HAS_LATER) != 0 {
            out.extend_from_slice(&self.beginnings.to_le_bytes());
            out.extend_from_slice(&self.later_beginnings.to_le_bytes());
        }
    }
}

/// Appends and returns where it stands.
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) -> u32 {
    let at = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(bytes);
    at
}

/// Appends numbers and returns where they stand.
pub(crate) fn append_words(out: &mut Vec<u8>, words: &[u32]) -> u32 {
    append(out, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
}

/// Overwrites four bytes.
pub(crate) fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// Returns the text that a program begins with.
pub(crate) fn first_literal(code: &[u8]) -> &[u8] {
    match glob::steps(code).next() {
        Some(Step::Literal(bytes)) => bytes,
        _ => &[],
    }
}

/// Says whether the program is a text and whatever follows it: then it matches whatever the unknown parts are.
fn is_open(code: &[u8]) -> bool {
    let mut steps = glob::steps(code).skip_while(|step| matches!(step, Step::Literal(_)));
    matches!((steps.next(), steps.next()), (Some(Step::Any), None))
}

/// A pattern's leading parts, and the most telling thing behind them.
type Place = (Vec<u8>, Key);

/// How many patterns share a place, and in how many each four-byte piece stands.
struct Crowds {
    places: HashMap<(Space, Place), u32>,
    pieces: HashMap<[u8; 4], u32>,
}

impl Crowds {
    fn of(entries: &[Entry<'_>]) -> Self {
        let (mut places, mut pieces) = (HashMap::new(), HashMap::new());
        for Entry { pattern, .. } in entries {
            *places.entry((pattern.space, place(pattern))).or_insert(0) += 1;
            for piece in windows(&later_parts(&pattern.code, pattern.space.separator())) {
                *pieces.entry(*piece).or_insert(0) += 1;
            }
        }
        Self { places, pieces }
    }

    /// Chooses where a pattern is filed: in its own place, but under its rarest piece where that place is crowded.
    fn file(&self, pattern: &Pattern) -> Place {
        let own = (pattern.space, place(pattern));
        let telling = own.1 != (Vec::new(), Key::Leading);
        let crowd = self.places.get(&own).copied().unwrap_or(0);
        if telling && crowd <= CROWD {
            return own.1;
        }
        let later = later_parts(&pattern.code, pattern.space.separator());
        let rarity = |piece: &[u8; 4]| self.pieces.get(piece).copied().unwrap_or(0);
        match windows(&later).min_by_key(|piece| (rarity(piece), **piece)) {
            Some(piece) if !telling || rarity(piece) < crowd => (Vec::new(), Key::Piece(*piece)),
            _ => own.1,
        }
    }
}

fn place(pattern: &Pattern) -> Place {
    let separator = pattern.space.separator();
    let first = first_literal(&pattern.code);
    let cut = first.iter().rposition(|byte| *byte == separator).map_or(0, |at| at + 1);
    let (leading, beginning) = first.split_at_checked(cut).unwrap_or((first, &[]));
    let leading = leading.to_vec();
    let beginning = beginning.get(..beginning.len().min(LONGEST)).unwrap_or_default();
    if !beginning.is_empty() {
        return (leading, Key::Beginning(beginning.to_vec()));
    }
    let later = later_parts(&pattern.code, separator);
    let whole = later.iter().filter(|part| part.begins && part.ends).max_by_key(|p| p.text.len());
    if let Some(part) = whole {
        return (leading, Key::LaterPart(part.text.to_vec()));
    }
    let begun = later.iter().filter(|part| part.begins).max_by_key(|part| part.text.len());
    if let Some(part) = begun {
        let text = part.text.get(..part.text.len().min(LONGEST)).unwrap_or_default();
        return (leading, Key::LaterBeginning(text.to_vec()));
    }
    (leading, Key::Leading)
}

/// A piece of text behind the first wildcard, without separators.
struct Later<'a> {
    text: &'a [u8],
    /// Whether a part must begin where it begins.
    begins: bool,
    /// Whether the part must end where it ends.
    ends: bool,
}

fn later_parts(code: &[u8], separator: u8) -> Vec<Later<'_>> {
    let mut parts = Vec::new();
    let mut at_start = true; // Where the program begins, or whole parts were skipped.
    let mut seen_wildcard = false;
    for step in glob::steps(code) {
        if let Step::Literal(bytes) = step {
            let pieces: Vec<_> = bytes.split(|byte| *byte == separator).collect();
            for (index, text) in pieces.iter().enumerate() {
                let begins = index > 0 || at_start;
                let ends = index + 1 < pieces.len();
                if seen_wildcard && !text.is_empty() {
                    parts.push(Later { text, begins, ends });
                }
            }
        }
        seen_wildcard |= !matches!(step, Step::Literal(_));
        at_start = step == Step::AnyParts;
    }
    parts
}

fn windows<'a>(parts: &'a [Later<'a>]) -> impl Iterator<Item = &'a [u8; 4]> {
    parts.iter().flat_map(|part| part.text.windows(4)).filter_map(|piece| piece.try_into().ok())
}

#[cfg(test)]
mod tests;
