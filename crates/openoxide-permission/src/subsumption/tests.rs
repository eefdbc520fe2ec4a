use openoxide_protocol::AbsPath;
use proptest::prelude::*;

use super::*;
use crate::{PathAnchors, matches_example, parse_rule};

fn rule(text: &str, effect: Effect) -> Rule {
    let base = AbsPath::new("/p").unwrap();
    parse_rule(text, effect, PathAnchors { home: Some(&base), base: &base }).unwrap()
}

#[test]
fn a_wider_rule_covers_a_narrower_one() {
    use Effect::{Allow, Deny};
    for (wide, narrow, expected) in [
        ("Bash", "Bash(git *)", true),
        ("Bash(git *)", "Bash(git push *)", true),
        ("Bash(git *)", "Bash(git)", true),
        ("Bash(git*)", "Bash(git *)", true),
        ("Bash(git *)", "Bash(git*)", false),
        ("Bash(git push *)", "Bash(git *)", false),
        ("Bash(git * main)", "Bash(git push main)", true),
        ("Bash(* install *)", "Bash(npm install x)", true),
        ("Read(//etc)", "Read(//etc/passwd)", true),
        ("Read(//etc/**)", "Read(//etc/passwd)", true),
        ("Read(//etc/*.conf)", "Read(//etc/a.conf)", true),
        ("Read(//etc/*)", "Read(//etc/a/b)", true),
        ("Read(//**/.env)", "Read(//a/b/.env)", true),
        ("Read(//**/.env)", "Read(//a/b/x.env)", false),
        ("Read(.env)", "Read(src/.env)", true),
        ("Read", "Read(.env)", true),
        ("Read(.env)", "Read(//p/.env)", false),
        ("WebFetch(domain:*.a.io)", "WebFetch(domain:x.a.io)", true),
        ("WebFetch(domain:*.a.io)", "WebFetch(domain:a.io)", false),
        ("WebFetch", "WebFetch(domain:a.io)", true),
        ("mcp__a", "mcp__a__b", true),
        ("mcp__a__*", "mcp__a__b", true),
        ("*", "Bash(x)", true),
    ] {
        assert_eq!(subsumes(&rule(wide, Allow), &rule(narrow, Allow)), expected, "{wide} {narrow}");
        assert_eq!(subsumes(&rule(wide, Deny), &rule(narrow, Deny)), expected, "{wide} {narrow}");
    }
    // A rule that denies ignores case. A rule that allows does not.
    assert!(subsumes(&rule("Read(//A)", Deny), &rule("Read(//a)", Allow)));
    assert!(!subsumes(&rule("Read(//a)", Allow), &rule("Read(//a)", Deny)));
}

proptest! {
    /// Guards I27.
    #[test]
    fn a_wider_rule_matches_every_command_of_a_narrower_one(
        wide in "[ab*]{0,3}( [ab*]{1,3}){0,2}",
        narrow in "[ab*]{0,3}( [ab*]{1,3}){0,2}",
        command in "[ab]{1,3}( [ab]{1,3}){0,3}",
    ) {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        let read = |text: &str| parse_rule(&format!("Bash({text})"), Effect::Allow, anchors);
        if let (Ok(wide), Ok(narrow)) = (read(&wide), read(&narrow))
            && subsumes(&wide, &narrow)
            && matches_example(&narrow, &command, anchors).unwrap()
        {
            prop_assert!(matches_example(&wide, &command, anchors).unwrap());
        }
    }

    #[test]
    fn a_wider_rule_matches_every_path_of_a_narrower_one(
        wide in "//([ab?*]{1,2}|\\*\\*)(/([ab?*]{1,2}|\\*\\*)){0,2}",
        narrow in "//([ab?*]{1,2}|\\*\\*)(/([ab?*]{1,2}|\\*\\*)){0,2}",
        path in "/[ab]{1,2}(/[ab]{1,2}){0,3}",
    ) {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        for effect in [Effect::Allow, Effect::Ask] {
            let read = |text: &str| parse_rule(&format!("Read({text})"), effect, anchors).unwrap();
            let (wide, narrow) = (read(&wide), read(&narrow));
            if subsumes(&wide, &narrow) && matches_example(&narrow, &path, anchors).unwrap() {
                prop_assert!(matches_example(&wide, &path, anchors).unwrap());
            }
        }
    }
}

/// The two rules with their effects, and whether the first subsumes the second.
type Row = (Effect, &'static str, Effect, &'static str, bool);

#[test]
fn each_piece_covers_exactly_its_matches() {
    use Effect::{Allow, Ask, Deny};
    let rows: [Row; 33] = [
        (Allow, "Read(//a*b)", Allow, "Read(//axb)", true),
        (Allow, "Read(//a*b)", Allow, "Read(//a/b)", false),
        (Allow, "Read(//a*b)", Allow, "Read(//a?b)", true),
        (Allow, "Read(//a*b)", Allow, "Read(//a[xy]b)", true),
        (Allow, "Read(//a*b)", Allow, "Read(//a**b)", true),
        (Allow, "Read(//a?b)", Allow, "Read(//axb)", true),
        (Allow, "Read(//a?b)", Allow, "Read(//a/b)", false),
        (Allow, "Read(//a?b)", Allow, "Read(//aäb)", false),
        (Allow, "Read(//a?b)", Allow, "Read(//a?b)", true),
        (Allow, "Read(//a?b)", Allow, "Read(//a[xy]b)", true),
        (Allow, "Read(//a?b)", Allow, "Read(//a*b)", false),
        (Allow, "Read(//a[xy]b)", Allow, "Read(//a[xy]b)", true),
        (Allow, "Read(//a[xy]b)", Allow, "Read(//a[xz]b)", false),
        (Allow, "Read(//a[xy]b)", Allow, "Read(//a[!xy]b)", false),
        (Allow, "Read(//a[xy]b)", Allow, "Read(//axb)", false),
        (Deny, "Edit(//a[xy]b)", Deny, "Edit(//a[xy]b)", true),
        (Deny, "Edit(//a[xy]b)", Allow, "Edit(//a[xy]b)", true),
        (Allow, "Edit(//a[xy]b)", Deny, "Edit(//a[xy]b)", false),
        (Allow, "Edit(//1)", Deny, "Edit(//1)", true),
        (Allow, "Edit(//a)", Ask, "Edit(//a)", false),
        (Ask, "Edit(//A)", Deny, "Edit(//a)", true),
        (Allow, "Read(//a/**)", Allow, "Read(//a/**)", true),
        (Allow, "Read(//a/**)", Allow, "Read(//a/?)", true),
        (Allow, "Read(//a/**)", Allow, "Read(//a/[xy])", true),
        (Allow, "Read(//a/**)", Allow, "Read(//a)", false),
        (Allow, "Read(//**/x)", Allow, "Read(//a/**/x)", true),
        (Allow, "Read(//**/x)", Allow, "Read(//a*/x)", true),
        (Allow, "Read(//**/x)", Allow, "Read(//ax)", false),
        (Allow, "Read(//a/**/b/x)", Allow, "Read(//a/bx)", false),
        (Allow, "ExternalDirectory", Allow, "ExternalDirectory(x)", true),
        (Allow, "Edit", Allow, "Edit(x)", true),
        (Allow, "Edit", Allow, "Read(//x)", false),
        (Allow, "Read(//x)", Allow, "Edit(//x)", false),
    ];
    for (first, wide, second, narrow, expected) in rows {
        let found = subsumes(&rule(wide, first), &rule(narrow, second));
        assert_eq!(found, expected, "{first:?} {wide} over {second:?} {narrow}");
    }
}

/// Searches without memoization: every path is walked, however often.
fn goes_naively(walk: &SubsumptionSearch<'_>, (at, place, inside): SubsumptionState) -> bool {
    let done = at == walk.wide.len() && place == walk.narrow.len();
    let next = walk.successors(at, place, inside);
    done || next.into_iter().flatten().any(|place| goes_naively(walk, place))
}

proptest! {
    #[test]
    fn no_way_is_forgotten(
        wide in "//([ab?*]{1,3}|\\*\\*)(/([ab?*]{1,3}|\\*\\*)){0,2}",
        narrow in "//([ab?*]{1,3}|\\*\\*)(/([ab?*]{1,3}|\\*\\*)){0,2}",
    ) {
        let manner = SubjectKind::Read.match_options(Effect::Allow);
        let [wide, narrow] = [wide, narrow].map(|text| rule(&format!("Read({text})"), Effect::Allow));
        let (wide, narrow) = (&wide.patterns[0].program, &narrow.patterns[0].program);
        let (wide, narrow) = (to_atoms(wide, manner), to_atoms(narrow, manner));
        let walk = SubsumptionSearch { wide: &wide, narrow: &narrow, manner, ignores_case: false };
        prop_assert_eq!(walk.run(), goes_naively(&walk, (0, 0, false)));
    }
}

#[test]
fn many_stars_take_no_long_time() {
    let (wide, narrow) = ("*a".repeat(40), "*aa".repeat(40));
    assert!(!subsumes(
        &rule(&format!("Bash({wide}b)"), Effect::Allow),
        &rule(&format!("Bash({narrow})"), Effect::Allow)
    ));
}

proptest! {
    #[test]
    fn no_way_is_forgotten_among_words(wide in "[ab*]{1,3}( [ab*]{1,2}){0,1}", narrow in "[ab*]{1,3}( [ab*]{1,2}){0,1}") {
        let manner = SubjectKind::Exec.match_options(Effect::Allow);
        let [wide, narrow] = [wide, narrow].map(|text| rule(&format!("Bash({text})"), Effect::Allow));
        let (wide, narrow) = (&wide.patterns[0].program, &narrow.patterns[0].program);
        let (wide, narrow) = (to_atoms(wide, manner), to_atoms(narrow, manner));
        let walk = SubsumptionSearch { wide: &wide, narrow: &narrow, manner, ignores_case: false };
        prop_assert_eq!(walk.run(), goes_naively(&walk, (0, 0, false)));
    }
}

#[test]
fn a_star_takes_nothing_too() {
    let of = |wide: &str, narrow: &str| {
        subsumes(
            &rule(&format!("Bash({wide})"), Effect::Allow),
            &rule(&format!("Bash({narrow})"), Effect::Allow),
        )
    };
    assert!(of("*b", "b") && of("*b", "ab") && of("a*b", "ab") && !of("*b", "ba"));
}
