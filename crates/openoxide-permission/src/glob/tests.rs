use proptest::prelude::*;

use super::*;

/// Matches by the definition of each step, recursively and without regard to speed.
fn naive(steps: &[GlobStep<'_>], subject: &[u8], manner: MatchOptions) -> bool {
    let Some((step, rest)) = steps.split_first() else { return subject.is_empty() };
    let tail = |from: usize| naive(rest, &subject[from..], manner);
    let part = subject.iter().position(|byte| *byte == manner.separator).unwrap_or(subject.len());
    match *step {
        GlobStep::Literal(bytes) => {
            starts_with(subject, bytes, manner.ignores_case) && tail(bytes.len())
        }
        GlobStep::Any => (0..=subject.len()).any(tail),
        GlobStep::NonEmpty => (1..=subject.len()).any(tail),
        GlobStep::AnyInPart => (0..=part).any(tail),
        GlobStep::AnyParts => {
            tail(0) || (1..=subject.len()).any(|at| subject[at - 1] == manner.separator && tail(at))
        }
        GlobStep::AnyChar | GlobStep::Class { .. } => next_char(subject, manner.separator)
            .is_some_and(|found| {
                class_matches(*step, found, manner.ignores_case) && tail(found.len_utf8())
            }),
    }
}

/// Generates programs of the two forms that patterns have: texts with `ANY` anywhere, and parts
/// with `ANY_PARTS` at the beginning of a part and `ANY` only at the end.
fn glob() -> impl Strategy<Value = Glob> {
    let step = prop_oneof![
        4 => "[ab/A]{1,3}".prop_map(Some),
        3 => Just(None),
    ];
    let parts = prop::collection::vec((step, 0..6_u8), 0..7);
    (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, text, open)| {
        let mut glob = Glob::new();
        let mut fresh = true;
        for (literal, wild) in parts {
            fresh = match (literal, wild) {
                (Some(text), _) => {
                    glob.push_literal(text.as_bytes());
                    text.ends_with('/')
                }
                (None, 0) if text => {
                    glob.push_any();
                    false
                }
                (None, 2) if !text && fresh => {
                    glob.push_any_parts();
                    true
                }
                (None, 1) => {
                    glob.push_any_in_part();
                    false
                }
                (None, 3) => {
                    glob.push_any_char();
                    false
                }
                (None, 4) => {
                    glob.push_class(false, &[('a', 'a')]);
                    false
                }
                (None, _) => {
                    glob.push_class(true, &[('a', 'a')]);
                    false
                }
            };
        }
        if open {
            glob.push_any();
        }
        glob
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60_000))]
    /// Guards I03.
    #[test]
    fn the_quick_matcher_agrees_with_the_naive_one(
        glob in glob(), subject in "[abA/]{0,9}", fold in any::<bool>(), some in any::<bool>()
    ) {
        let mut glob = glob;
        if some { glob.push_non_empty(); }
        let manner = MatchOptions { separator: b'/', ignores_case: fold };
        let steps: Vec<_> = glob.steps().collect();
        let expected = naive(&steps, subject.as_bytes(), manner);
        let code = glob.clone().finish();
        prop_assert_eq!(program_len(&code), code.len());
        prop_assert_eq!(matches(&code, subject.as_bytes(), manner), expected, "{:?}", steps);
    }
}

#[test]
fn literals_join_and_long_ones_split() {
    let mut glob = Glob::new();
    glob.push_literal(b"a");
    glob.push_literal(b"b");
    assert_eq!(glob.steps().collect::<Vec<_>>(), [GlobStep::Literal(b"ab")]);
    let long = vec![b'x'; 200_000];
    let mut glob = Glob::new();
    glob.push_literal(&long);
    let manner = MatchOptions { separator: 0, ignores_case: false };
    assert!(matches(&glob.clone().finish(), &long, manner));
    assert!(!matches(&glob.finish(), &long[1..], manner));
}

#[test]
fn a_pattern_of_many_stars_takes_no_long_time() {
    let mut glob = Glob::new();
    for _ in 0..2_000 {
        glob.push_any();
        glob.push_literal(b"a");
    }
    glob.push_literal(b"b");
    let subject = vec![b'a'; 20_000];
    assert!(!matches(&glob.finish(), &subject, MatchOptions { separator: 0, ignores_case: false }));
}

#[test]
fn two_stars_in_a_row_are_one_and_nothing_else_is_joined() {
    let steps = |build: fn(&mut Glob)| {
        let mut glob = Glob::new();
        build(&mut glob);
        glob.finish()
    };
    let one = steps(|glob| glob.push_any());
    assert_eq!(one, [ANY, END]);
    let two = steps(|glob| {
        glob.push_any();
        glob.push_any();
    });
    assert_eq!(two, one);
    let others = steps(|glob| {
        glob.push_any();
        glob.push_any_char();
        glob.push_any_char();
        glob.push_any_in_part();
        glob.push_any_in_part();
        glob.push_non_empty();
        glob.push_any();
    });
    assert_eq!(others, [ANY, ONE, ONE, ANY_IN_PART, ANY_IN_PART, SOME, ANY, END]);
    // The last byte of a literal is not an instruction.
    let text = steps(|glob| {
        glob.push_literal(&[ANY]);
        glob.push_any();
    });
    assert_eq!(text, [LITERAL, 1, 0, ANY, ANY, END]);
    let class = steps(|glob| {
        glob.push_class(false, &[('a', 'b')]);
        glob.push_any();
    });
    assert_eq!(class.len(), 3 + 8 + 2);
    assert_eq!(program_len(&class), class.len());
    assert_eq!(program_len(&[&class[..], &one].concat()), class.len());
}

#[test]
fn a_class_admits_its_ranges_or_all_but_them() {
    let of = |negated: bool, fold: bool, text: &str| {
        let mut glob = Glob::new();
        glob.push_class(negated, &[('b', 'd'), ('X', 'X'), ('ä', 'ö')]);
        matches(
            &glob.finish(),
            text.as_bytes(),
            MatchOptions { separator: b'/', ignores_case: fold },
        )
    };
    for (text, plain, folded) in [
        ("a", false, false),
        ("b", true, true),
        ("c", true, true),
        ("d", true, true),
        ("e", false, false),
        ("B", false, true),
        ("X", true, true),
        ("x", false, true),
        ("ä", true, true),
        ("ö", true, true),
        ("ü", false, false),
    ] {
        assert_eq!(of(false, false, text), plain, "{text}");
        assert_eq!(of(true, false, text), !plain, "{text}");
        assert_eq!(of(false, true, text), folded, "{text}");
        assert_eq!(of(true, true, text), !folded, "{text}");
    }
    assert!(!of(true, false, "/") && !of(true, false, "") && !of(true, false, "ee"));
}

#[test]
fn only_the_first_255_ranges_are_kept() {
    let ranges: Vec<_> = ('\u{1000}'..).take(300).map(|one| (one, one)).collect();
    let mut glob = Glob::new();
    glob.push_class(false, &ranges);
    let code = glob.finish();
    assert_eq!(code.len(), 3 + 8 * 255 + 1);
    let admits = |number: usize| {
        let mut bytes = [0; 4];
        let text = ranges[number].0.encode_utf8(&mut bytes);
        matches(&code, text.as_bytes(), MatchOptions { separator: b'/', ignores_case: false })
    };
    assert!(admits(0) && admits(254) && !admits(255));
}
