use super::*;

#[test]
fn a_rule_comes_back_as_it_was_written() {
    let root = AbsPath::root();
    let anchors = PathAnchors { home: None, base: &root };
    for text in [
        "Bash",
        "Bash(npm run build)",
        "Bash(git push *)",
        "Bash(git*)",
        "Bash(git * main)",
        "Bash(* --version)",
        r"Bash(echo \* a\ b)",
        "Bash(echo '' x)",
        "Read",
        "Read(//etc)",
        "Read(//etc/**)",
        "Read(//a/**/b)",
        "Read(//a/*.txt)",
        r"Read(//a/x\*)",
        "Read(.env)",
        "Read(**)",
        "Read(src/a)",
        "Edit(src/?)",
        "WebFetch",
        "WebFetch(domain:example.com)",
        "WebFetch(domain:*.example.com)",
        "WebFetch(domain:a*.io)",
        "Task(explore)",
        "DoomLoop(x*)",
        "ExternalDirectory(//tmp/**)",
        "mcp__a__b",
        "mcp__a__get_*",
    ] {
        for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
            let rule = parse_rule(text, effect, anchors).unwrap();
            let found = to_rule_text(&rule, &rule.patterns[0]).unwrap();
            let again = parse_rule(&found.text, effect, anchors).unwrap();
            assert_eq!(again.patterns[0], rule.patterns[0], "{effect:?} {text} {found:?}");
            assert!(found.is_equivalent, "{effect:?} {text}");
            // For rules that ask or deny, `x/**` is equivalent to `x`.
            assert!(effect != Effect::Allow || found.text == text, "{found:?}");
        }
    }
}

use GlobStep::{Any, AnyChar, AnyInPart, AnyParts, Class, Literal, NonEmpty as More};
use SubjectKind::{Delegate, Edit, Exec, Fetch, Read, ReadFromCwd};

const DIGIT: GlobStep<'_> = Class { negated: false, ranges: &[b'0', 0, 0, 0, b'9', 0, 0, 0] };

/// Returns the program with these steps.
fn code(steps: &[GlobStep<'_>]) -> Vec<u8> {
    let mut glob = glob::Glob::new();
    for step in steps {
        match step {
            Literal(bytes) => glob.push_literal(bytes),
            Any => glob.push_any(),
            AnyInPart => glob.push_any_in_part(),
            AnyChar => glob.push_any_char(),
            AnyParts => glob.push_any_parts(),
            More => glob.push_non_empty(),
            Class { negated, .. } => glob.push_class(*negated, &[('0', '9')]),
        }
    }
    glob.finish()
}

/// Returns the text of a rule that has only this pattern.
fn written_alone(effect: Effect, space: SubjectKind, steps: &[GlobStep<'_>]) -> Option<RuleText> {
    let pattern = Pattern { kind: space, program: code(steps) };
    let root = AbsPath::root();
    let rule = parse_rule("Read", effect, PathAnchors { home: None, base: &root }).unwrap();
    to_rule_text(&Rule { patterns: vec![pattern.clone()], ..rule }, &pattern)
}

/// The kind and the program of a pattern, and the expected text for an allow and for a deny, each
/// with whether it is equivalent.
type Row<'a> = (SubjectKind, &'a [GlobStep<'a>], Option<(&'a str, bool)>, Option<(&'a str, bool)>);

#[test]
fn a_pattern_from_elsewhere_is_written_only_where_the_text_is_never_looser() {
    let rows: &[Row<'_>] = &[
        // The text is wider, because it covers everything below: valid for a deny, but not for an
        // allow.
        (Edit, &[Literal(b"a/")], None, Some(("Edit(//a)", false))),
        // A deny of reads also denies edits.
        (Read, &[Literal(b"a/"), Any], Some(("Read(//a)", true)), Some(("Read(//a)", false))),
        (Edit, &[Literal(b"a/"), Any], Some(("Edit(//a)", true)), Some(("Edit(//a)", true))),
        (
            Edit,
            &[Literal(b"a/"), More],
            Some(("Edit(//a/**)", true)),
            Some(("Edit(//a/**)", false)),
        ),
        (Edit, &[Literal(b"a"), Any], Some(("Edit(//a*)", true)), Some(("Edit(//a*)", true))),
        (
            Edit,
            &[Literal(b"a/"), AnyInPart, Literal(b"/"), Any],
            Some(("Edit(//a/*)", true)),
            Some(("Edit(//a/*)", true)),
        ),
        (Edit, &[Literal(b"p/"), Any, Literal(b".txt/"), Any], None, None),
        (Edit, &[Literal(b"p/"), Any, Literal(b".txt/")], None, None),
        (Edit, &[Literal(b"p/"), More, Literal(b"x/"), Any], None, None),
        (Edit, &[Literal(b"p"), More], None, None),
        (Edit, &[Literal(b"p"), DIGIT, Literal(b"/"), Any], None, None),
        (Edit, &[], None, None),
        (Edit, &[Literal(b"\xFF/"), Any], None, None),
        (ReadFromCwd, &[Literal(b"a/"), Any], None, Some(("Read(a)", false))),
        (
            ReadFromCwd,
            &[AnyParts, Literal(b"a/b/"), Any],
            Some(("Read(**/a/b)", true)),
            Some(("Read(**/a/b)", false)),
        ),
        (
            ReadFromCwd,
            &[AnyParts, Literal(b"a/"), Any],
            Some(("Read(a)", true)),
            Some(("Read(a)", false)),
        ),
        (Exec, &[Literal(b"a\0"), Any], Some(("Bash(a *)", true)), Some(("Bash(a *)", true))),
        (Exec, &[Literal(b"\0")], Some(("Bash('')", true)), Some(("Bash('')", true))),
        (Exec, &[Literal(b"a\0\0b\0")], Some(("Bash(a '' b)", true)), Some(("Bash(a '' b)", true))),
        (
            Exec,
            &[Literal(b"a\0"), Any, Literal(b"\0\0")],
            Some(("Bash(a * '')", true)),
            Some(("Bash(a * '')", true)),
        ),
        (Exec, &[Literal(b"a")], None, None),
        (Exec, &[Literal(b"a\0"), AnyChar, Literal(b"\0")], None, None),
        (Exec, &[Literal(b"\xFF\0")], None, None),
        (
            Fetch,
            &[
                Literal(b"io."), // `*.io` is wider, but no proof of that is found.
                AnyInPart,
                Literal(b"."),
            ],
            None,
            None,
        ),
        (
            Fetch,
            &[Literal(b"io."), More],
            Some(("WebFetch(domain:*.io)", true)),
            Some(("WebFetch(domain:*.io)", true)),
        ),
        (Fetch, &[Literal(b"io."), AnyChar], None, None),
        (Fetch, &[Literal(b"io")], None, None),
        (Delegate, &[Literal(b"a"), AnyChar, Literal(b"\0")], None, None),
        (Delegate, &[Literal(b"a\0")], Some(("Task(a)", true)), Some(("Task(a)", true))),
    ];
    for (space, steps, allow, deny) in rows {
        for (effect, expected) in [(Effect::Allow, allow), (Effect::Deny, deny)] {
            let found = written_alone(effect, *space, steps);
            let found = found.as_ref().map(|found| (found.text.as_str(), found.is_equivalent));
            assert_eq!(found, *expected, "{effect:?} {space:?} {steps:?}");
        }
    }
}
