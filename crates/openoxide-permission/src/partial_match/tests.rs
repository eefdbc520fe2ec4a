use openoxide_protocol::{AbsPath, CommandWords};
use proptest::prelude::*;

use super::*;
use crate::{CombiningAlgorithm, Layer, LayerKind, PathAnchors, parse_rule, pattern::command};

/// The rules, and the strictest effect of a rule that could match.
type Row<'a> = (&'a [(Effect, &'a str)], Option<Effect>);

fn may(pattern: &str, build: impl Fn(&mut CommandWords)) -> bool {
    let mut words = CommandWords::new();
    build(&mut words);
    may_match(&command::parse(pattern).unwrap().glob.finish(), words.as_bytes())
}

#[test]
fn unknown_words_may_match_the_words_of_a_rule() {
    let rm_unknown = |words: &mut CommandWords| {
        words.push("rm");
        words.push_unknown();
    };
    assert!(may("rm -rf *", rm_unknown));
    assert!(may("rm -rf", rm_unknown));
    assert!(!may("rm a b", rm_unknown), "one word is not two");
    assert!(!may("git push *", rm_unknown));
    assert!(may("*--force*", rm_unknown));
}

#[test]
fn many_words_can_be_none_and_several() {
    let rm_many = |words: &mut CommandWords| {
        words.push("rm");
        words.push_any_words();
        words.push("x");
    };
    assert!(may("rm x", rm_many));
    assert!(may("rm -rf / x", rm_many));
    assert!(!may("rm y", rm_many));
    assert!(may("rm * x", rm_many));
}

#[test]
fn the_known_text_of_a_word_must_match() {
    let depth = |words: &mut CommandWords| {
        words.push("git");
        words.push_known_text("--depth=");
        words.push_unknown_text();
        words.end_word();
    };
    assert!(may("git --depth=5", depth));
    assert!(!may("git --force", depth));
}

#[test]
fn the_candidates_are_those_that_agree() {
    let texts =
        ["*", "a *", "ab *", "abc*", "b", "b c *", "b cd*", "ba *", "git * x", "git push *"];
    let root = AbsPath::root();
    let anchors = PathAnchors { home: None, base: &root };
    let rule = |text: &&str| parse_rule(&format!("Bash({text})"), Effect::Deny, anchors).unwrap();
    let rules = texts.iter().map(rule).collect();
    let (kind, combining) = (LayerKind::User, CombiningAlgorithm::Strictest);
    let layer = Layer { kind, file: None, combining_algorithm: combining, rules, mode: None };
    let policy = PolicyStack::compile(&[layer]).unwrap();
    let list = policy.index().restrictive_rules(SubjectKind::Exec);
    let known = ["", "a", "ab", "b\0", "b\0c", "b\0cd\0e", "c", "git\0", "git\0push\0now\0", "zz"];
    for known in known.map(str::as_bytes) {
        let agrees = |text: &&&str| {
            let text = beginning(text);
            text.starts_with(known) || known.starts_with(&text)
        };
        let mut expected: Vec<_> = texts.iter().filter(agrees).map(|text| code(text)).collect();
        let found = candidate_indices(list, known).map(|number| list.get(number).0);
        let mut found: Vec<_> =
            found.map(|code| code[..glob::program_len(code)].to_vec()).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{known:?}");
    }
}
/// Returns the text before the first star, with the boundaries of words as NUL.
fn beginning(text: &str) -> Vec<u8> {
    let fixed = text.split('*').next().unwrap();
    let end = if text.contains('*') { "" } else { "\0" };
    format!("{fixed}{end}").replace(' ', "\0").into_bytes()
}

fn code(text: &str) -> Vec<u8> {
    command::parse(text).unwrap().glob.finish()
}

#[test]
fn the_strictest_rule_that_may_match_applies() {
    use Effect::{Allow, Ask, Deny};
    let root = AbsPath::root();
    let anchors = PathAnchors { home: None, base: &root };
    let of = |kind, rules: &[(Effect, &str)]| {
        let rule = |(effect, text): &(Effect, &str)| parse_rule(text, *effect, anchors).unwrap();
        let (combining, rules) = (CombiningAlgorithm::Strictest, rules.iter().map(rule).collect());
        let layer = Layer { kind, file: None, combining_algorithm: combining, rules, mode: None };
        let policy = PolicyStack::compile(&[layer]).unwrap();
        let mut words = CommandWords::new();
        words.push("rm");
        words.push_unknown();
        find_strictest_effect(&policy, words.as_bytes())
    };
    let rows: [Row<'_>; 6] = [
        (&[(Ask, "Bash(rm -r)"), (Deny, "Bash(rm -f)")], Some(Deny)),
        (&[(Deny, "Bash(rm -r)"), (Ask, "Bash(rm -f)")], Some(Deny)),
        (&[(Ask, "Bash(rm -r)"), (Deny, "Bash(mv *)")], Some(Ask)),
        (&[(Ask, "Bash(rm a b)"), (Deny, "Bash(mv *)")], None),
        (&[(Allow, "Bash(rm -r)")], None),
        (&[], None),
    ];
    for (rules, expected) in rows {
        assert_eq!(of(LayerKind::User, rules), expected, "{rules:?}");
        assert_eq!(of(LayerKind::Default, rules), None, "{rules:?}");
    }
    let known: CommandWords = ["rm", "-r"].iter().collect();
    let deny = parse_rule("Bash(rm -r)", Deny, anchors).unwrap();
    let (kind, combining) = (LayerKind::User, CombiningAlgorithm::Strictest);
    let layer =
        Layer { kind, file: None, combining_algorithm: combining, rules: vec![deny], mode: None };
    let policy = PolicyStack::compile(&[layer]).unwrap();
    assert_eq!(
        find_strictest_effect(&policy, known.as_bytes()),
        None,
        "what is known is matched elsewhere"
    );
}

/// Searches without memoization: every path is walked, however often.
fn may_naively(atoms: &[PartialAtom], subject: &[u8], (at, place): (usize, usize)) -> bool {
    let done = at == atoms.len() && place == subject.len();
    let next: Vec<_> = successors(atoms.get(at), subject, at, place).collect();
    done || next.into_iter().any(|place| may_naively(atoms, subject, place))
}

fn words() -> impl Strategy<Value = CommandWords> {
    let word =
        prop_oneof![Just(None), Just(Some(None)), "[ab]{1,2}".prop_map(|text| Some(Some(text)))];
    prop::collection::vec(word, 0..4).prop_map(|all| {
        let mut words = CommandWords::new();
        for word in all {
            match word {
                None => words.push_any_words(),
                Some(None) => words.push_unknown(),
                Some(Some(text)) => words.push(&text),
            }
        }
        words
    })
}

proptest! {
    #[test]
    fn no_way_is_forgotten(pattern in "[ab*]{1,2}( [ab*]{1,2}){0,2}", words in words()) {
        let code = code(&pattern);
        let expected = may_naively(&to_atoms(&code), words.as_bytes(), (0, 0));
        prop_assert_eq!(may_match(&code, words.as_bytes()), expected);
    }

    /// A pattern that matches some value of the unknown words may match.
    #[test]
    fn a_match_of_any_possible_command_may_match(
        pattern in "[ab*]{1,2}( [ab*]{1,2}){0,2}",
        words in words(),
        choices in prop::collection::vec(prop::collection::vec("[ab]{0,2}", 0..3), 4),
    ) {
        let mut chosen = CommandWords::new();
        for (word, choice) in words.as_bytes().split_inclusive(|byte| *byte == 0).zip(&choices) {
            match word {
                [UNKNOWN_WORDS, 0] => choice.iter().for_each(|word| chosen.push(word)),
                [UNKNOWN_TEXT, 0] => chosen.push(choice.first().map_or("", String::as_str)),
                known => chosen.push(std::str::from_utf8(&known[..known.len() - 1]).unwrap()),
            }
        }
        let code = code(&pattern);
        let manner = SubjectKind::Exec.match_options(Effect::Deny);
        if glob::matches(&code, chosen.as_bytes(), manner) {
            prop_assert!(may_match(&code, words.as_bytes()), "{:?} of {:?}", chosen, words);
        }
    }
}

#[test]
fn many_stars_and_many_unknown_words_take_no_long_time() {
    let pattern = format!("{}b", "*a".repeat(40));
    let mut words = CommandWords::new();
    for _ in 0..40 {
        words.push_unknown();
    }
    words.push("c");
    assert!(!may(&pattern, |found| *found = words.clone()));
}

#[test]
fn one_character_of_another_programs_pattern_is_one() {
    let mut glob = glob::Glob::new();
    glob.push_literal(b"a");
    glob.push_any_char();
    glob.push_literal(b"\0x\0");
    let code = glob.finish();
    for (first, expected) in [("ab", true), ("a", false), ("abc", false), ("bb", false)] {
        let mut words = CommandWords::new();
        words.push(first);
        words.push_unknown();
        assert_eq!(may_match(&code, words.as_bytes()), expected, "{first}");
    }
}
