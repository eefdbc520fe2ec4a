use openoxide_protocol::AbsPath;

use super::*;
use crate::{PathAnchors, parse_rule};

/// Returns the first pattern of a rule.
fn pattern(text: &str) -> Pattern {
    let base = AbsPath::root();
    let rule = parse_rule(text, Effect::Deny, PathAnchors { home: None, base: &base }).unwrap();
    rule.patterns.into_iter().next().unwrap()
}

fn entry(pattern: &Pattern) -> IndexEntry<'_> {
    IndexEntry { pattern, layer: 0, effect: Effect::Deny, rank: 1, is_restrictive: true }
}

fn laid_out(patterns: &[Pattern]) -> Vec<u8> {
    let mut bytes = vec![0; header_layout::SIZE];
    write_index(&patterns.iter().map(entry).collect::<Vec<_>>(), &mut bytes);
    bytes
}

/// An author of rules can create a rule whose node has the same fingerprint as another one. Both
/// must be found.
#[test]
fn nodes_with_the_same_fingerprint_are_distinguished() {
    let hashes =
        [0x1234_5678_0000_0001, 0x1234_5678_0000_0041, 0x1234_5678_0000_0081].map(NodeHash);
    let mut builder = IndexBuilder::default();
    for hash in hashes {
        builder.node_mut(hash).flags = HAS_CHILDREN;
    }
    let mut bytes = vec![0; header_layout::SIZE];
    builder.write_to(&mut bytes);
    let found = hashes.map(|hash| RuleIndex { bytes: &bytes }.find_node(hash).unwrap());
    assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2], "{found:?}");
    assert_eq!(RuleIndex { bytes: &bytes }.find_node(NodeHash(0x1234_5678_0000_00C1)), None);
}

#[test]
fn a_pattern_is_filed_under_the_most_telling_thing_in_it() {
    let long = "x".repeat(70);
    let rows: [(String, &str, IndexKey); 16] = [
        ("Bash(git push)".into(), "git\0push\0", IndexKey::Leading),
        ("Bash(git push *)".into(), "git\0push\0", IndexKey::Leading),
        ("Bash(npm run te*)".into(), "npm\0run\0", IndexKey::Beginning(b"te".to_vec())),
        ("Bash(git * main)".into(), "git\0", IndexKey::LaterPart(b"main".to_vec())),
        ("Bash(git * main x)".into(), "git\0", IndexKey::LaterPart(b"main".to_vec())),
        ("Bash(git * x main)".into(), "git\0", IndexKey::LaterPart(b"main".to_vec())),
        ("Bash(git * ma*)".into(), "git\0", IndexKey::LaterBeginning(b"ma".to_vec())),
        ("Bash(git * ma* b*)".into(), "git\0", IndexKey::LaterBeginning(b"ma".to_vec())),
        ("Bash(git *main)".into(), "git\0", IndexKey::Leading),
        ("Bash(git *ma*)".into(), "git\0", IndexKey::Leading),
        ("Bash(*)".into(), "", IndexKey::Leading),
        (format!("Bash({long}*)"), "", IndexKey::Beginning(vec![b'x'; 63])),
        (format!("Bash(* {long}*)"), "", IndexKey::LaterBeginning(vec![b'x'; 63])),
        ("Read(//**/x.env)".into(), "", IndexKey::LaterPart(b"x.env".to_vec())),
        ("Read(//a/*/b)".into(), "a/", IndexKey::LaterPart(b"b".to_vec())),
        ("Read(//a/*b)".into(), "a/", IndexKey::Leading),
    ];
    for (text, leading, key) in rows {
        assert_eq!(default_address(&pattern(&text)), (leading.as_bytes().to_vec(), key), "{text}");
    }
}

#[test]
fn patterns_under_a_crowded_key_use_their_rarest_piece() {
    let filed = |texts: &[String]| {
        let patterns: Vec<_> = texts.iter().map(|text| pattern(text)).collect();
        let entries: Vec<_> = patterns.iter().map(entry).collect();
        KeyFrequencies::from_entries(&entries).choose_address(&patterns[0])
    };
    let own = || (b"git\0".to_vec(), IndexKey::Leading);
    let piece = |text: &[u8; 4]| (Vec::new(), IndexKey::Piece(*text));
    let many = |count: usize, text: fn(usize) -> String| (0..count).map(text).collect::<Vec<_>>();
    let apart = |number: usize| format!("Bash(git *x{}*)", 100 + number);
    assert_eq!(filed(&many(8, apart)), own());
    assert_eq!(filed(&many(9, apart)), piece(b"x100"));
    // A piece that all patterns share does not distinguish them, and a shorter text is not a piece.
    assert_eq!(filed(&many(9, |number| format!("Bash(git *same*{number}*)"))), own());
    assert_eq!(filed(&many(9, |number| format!("Bash(git *same{number}*)"))), piece(b"ame0"));
    assert_eq!(filed(&many(9, |number| format!("Bash(git *{}*)", 10 + number))), own());
    // A pattern without another key is always stored under a piece.
    assert_eq!(filed(&["Bash(*danger*)".into()]), piece(b"ange"));
    assert_eq!(filed(&["Bash(*abc*)".into()]), (Vec::new(), IndexKey::Leading));
}

#[test]
fn the_table_is_neither_crowded_nor_a_waste() {
    for count in (1..60_usize).chain([500]) {
        let patterns: Vec<_> = (0..count).map(|one| pattern(&format!("Bash(x{one}*)"))).collect();
        let bytes = laid_out(&patterns);
        let index = RuleIndex { bytes: &bytes };
        let (table, slots) =
            (index.read_offset(header_layout::TABLE), index.read_offset(header_layout::SLOTS));
        let taken = (0..slots).filter(|slot| index.read_u64(table + 8 * slot) != 0).count();
        assert_eq!(taken, count + 1, "a node for each beginning, and the root");
        assert!(taken * 4 <= slots * 3, "{taken} of {slots}");
        assert!(slots <= taken * 8 / 3 + 2, "{taken} of {slots}");
        let bits = index.read_offset(header_layout::FILTER_BITS);
        assert!(bits >= 16 * count && bits < 32 * count.max(2), "{bits} for {count}");
    }
}

#[test]
fn the_higher_rank_of_two_rules_with_one_program_applies() {
    let one = pattern("Bash(a)");
    for (first, second) in [(7, 3), (3, 7), (7, 7)] {
        let entries = [first, second].map(|rank| IndexEntry { rank, ..entry(&one) });
        let mut bytes = vec![0; header_layout::SIZE];
        write_index(&entries, &mut bytes);
        let mut ranks = [0; super::super::MAX_LAYERS];
        let subject = super::super::MatchSubject {
            kind: SubjectKind::Exec,
            bytes: b"a\0",
            is_variadic: false,
        };
        RuleIndex { bytes: &bytes }.look_up(subject, &mut ranks);
        assert_eq!(ranks[0], 7);
    }
}

#[test]
fn an_allow_and_a_deny_with_one_program_are_kept_apart() {
    let one = pattern("Read(//A)");
    let two = [(Effect::Allow, 5), (Effect::Deny, 9)];
    let entries = two.map(|(effect, rank)| IndexEntry { effect, rank, ..entry(&one) });
    let mut bytes = vec![0; header_layout::SIZE];
    write_index(&entries, &mut bytes);
    for (text, expected) in [(&b"A/"[..], 9), (b"a/", 9), (b"b/", 0)] {
        let mut ranks = [0; super::super::MAX_LAYERS];
        let subject =
            super::super::MatchSubject { kind: SubjectKind::Read, bytes: text, is_variadic: false };
        RuleIndex { bytes: &bytes }.look_up(subject, &mut ranks);
        assert_eq!(ranks[0], expected);
    }
}

#[test]
fn restrictive_rules_keep_their_layer_and_effect() {
    let [one, other] = [pattern("Bash(a *)"), pattern("Bash(b *)")];
    let first = IndexEntry { layer: 3, effect: Effect::Ask, ..entry(&one) };
    let entries = [
        first,
        IndexEntry { is_restrictive: false, ..entry(&other) },
        IndexEntry { layer: 15, ..entry(&other) },
    ];
    let mut bytes = vec![0; header_layout::SIZE];
    write_index(&entries, &mut bytes);
    let list = RuleIndex { bytes: &bytes }.restrictive_rules(SubjectKind::Exec);
    assert_eq!(list.count, 2);
    let found: Vec<_> =
        (0..2).map(|number| (leading_literal(list.get(number).0), list.get(number).1)).collect();
    assert_eq!(found, [(&b"a\0"[..], Effect::Ask), (b"b\0", Effect::Deny)]);
    assert_eq!(RuleIndex { bytes: &bytes }.restrictive_rules(SubjectKind::Read).count, 0);
}
