//! Scripts made to break the reader: it answers at once, and never with a panic.
#![expect(
    clippy::disallowed_methods,
    reason = "the test measures time; the crate itself stays pure"
)]

use std::{thread, time::Instant};

use openoxide_shell::MAX_SCRIPT_SIZE;
use proptest::prelude::*;

use crate::{chance::Chance, laws, support};

#[test]
fn whatever_is_nested_too_deep_is_opaque_and_quickly_so() {
    let openers = [
        "(",
        "{ ",
        "$(",
        "\"$(",
        "`",
        "${x:-",
        "\"${x:-\"",
        "$((",
        "((",
        "<(",
        "if ",
        "while ",
        "case a in a) ",
        "f() { ",
        "[[ ( ",
        "! ",
        "eval ",
        "eval 'eval ",
        "${a[",
        "{a,",
        "a=(",
        "time ",
        "coproc ",
        "x=$(",
        "<<a ",
        "[[ a =~ (",
        "for i in ",
        "$[",
        "\\\n",
        "a | ",
        "a && ",
        "bash -c 'bash -c ",
        "select x in ",
        "((a[",
        "'",
        "{a,b}",
        "{1..9}{1..9}",
        "x=$x$x; ",
        "eval \"$x$x\"; ",
        "$((1) ",
        "((1); ",
        "a=1; ",
        "f$x() { :; }; ",
    ];
    // A small stack simulates a caller with a small stack.
    let worker = thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for opener in openers {
            for times in [10, 60, 1000, 20_000] {
                let script: String =
                    opener.repeat(times).chars().take(MAX_SCRIPT_SIZE - 1).collect();
                let since = Instant::now();
                let facts = support::facts(&script);
                drop(facts);
                assert!(
                    since.elapsed().as_secs() < 3,
                    "{opener:?} x {times}: {:?}",
                    since.elapsed()
                );
            }
        }
    });
    worker.unwrap().join().unwrap();
}

/// As many words as a script can have. If each word were found by counting from the first, these
/// would take up to 90 seconds.
#[test]
fn commands_with_many_words_take_time_proportional_to_their_length() {
    for (command, word) in [
        ("npm install", " a"),
        ("grep", " -A -i"),
        ("tar", " -T -a"),
        ("zstd", " -T4o"),
        ("patch", " a"),
        ("git apply", " a"),
        ("read", " -r"),
        ("read", " -a x"),
        ("command", " -p"),
        ("exec", " -l"),
        ("exec", " -c"),
        ("bash", " --norc"),
        ("ls", " a*"),
    ] {
        let count = (MAX_SCRIPT_SIZE - command.len()) / word.len();
        let script = format!("{command}{}", word.repeat(count));
        let since = Instant::now();
        drop(support::facts(&script));
        let elapsed = since.elapsed();
        assert!(elapsed.as_secs() < 3, "{command}{word}: {elapsed:?}");
    }
}

#[test]
fn a_script_that_is_too_long_is_not_read() {
    let facts = support::facts(&"a;".repeat(MAX_SCRIPT_SIZE));
    assert_eq!(facts.accesses.len(), 1);
    assert!(support::is_opaque(&facts));
    assert_eq!(support::codes(&facts), ["OX303"]);
}

#[test]
fn a_nul_is_opaque() {
    let facts = support::facts("ls\0; rm x");
    assert!(support::is_opaque(&facts));
    assert_eq!(facts.accesses.len(), 1);
}

#[test]
fn scripts_by_chance_are_answered() {
    let seeds = support::seeds();
    let mut chance = Chance::new(42);
    for _ in 0..20_000 {
        let script = chance.script(&seeds);
        let facts = support::facts(&script);
        let end = u32::try_from(script.len()).unwrap();
        assert!(facts.findings.iter().all(|finding| finding.span.end <= end), "{script}");
        assert_eq!(facts, support::facts(&script));
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(script in "\\PC{0,200}") {
        support::facts(&script);
    }

    #[test]
    fn any_shell_like_text_is_answered(script in "[ a-c$(){}<>|&;'\"`\\\\\n#=\\[\\]!*?~0-2é-]{0,120}") {
        support::facts(&script);
    }

    /// An unquoted program name in the script that is started is listed, whatever surrounds it.
    #[test]
    fn a_command_after_a_newline_is_never_lost(before in "[ a-c$(){}<>|&;'\"`=#-]{0,40}") {
        let script = format!("{before}\nhidden");
        let facts = support::facts(&script);
        let listed = support::programs(&facts).contains(&"hidden");
        let quoted = before.contains(['\'', '"', '`', '(', '<', '#', '=', '{']);
        prop_assert!(listed || support::is_opaque(&facts) || quoted, "{script:?}: {:?}", support::lines(&facts));
    }
}

#[test]
fn laws_hold_of_scripts_by_chance() {
    let seeds = support::seeds();
    let mut chance = Chance::new(7);
    for _ in 0..3_000 {
        let (one, other) = (chance.script(&seeds), chance.script(&seeds));
        laws::it_answers(&one);
        laws::quoted_words_come_back(&other);
        laws::neighbours_hide_nothing(&one, &other);
    }
    laws::neighbours_hide_nothing("evil1 a", "evil2 b");
    // The second assigns what the first one's function names: how many words that gives is not known then.
    laws::neighbours_hide_nothing("x=a; f() { evil2 $x $1; };", "x=c; f d; x=");
}
