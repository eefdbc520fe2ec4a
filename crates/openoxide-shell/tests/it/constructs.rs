//! The constructs of the language: where the analysis understands one, bash calls the very same commands.

use crate::{
    support::{facts, is_opaque, lines, programs},
    words::{check_known, check_unknown},
};

fn check_opaque(scripts: &[&str]) {
    for script in scripts {
        assert!(is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

fn check_clear(scripts: &[&str]) {
    for script in scripts {
        assert!(!is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

fn check(rows: &[(&str, &[&str])]) {
    for (script, expected) in rows {
        assert_eq!(lines(&facts(script)), *expected, "{script}");
    }
}

#[test]
fn commands_end_where_bash_ends_them() {
    check_known(&[
        ("time; x a", &[&["a"]]),
        ("time\nx a", &[&["a"]]),
        ("time # c\nx a", &[&["a"]]),
        ("if (x a) then x b; fi", &[&["a"], &["b"]]),
        ("{ (x a) }", &[&["a"]]),
        ("for i in a b # c\ndo x $i; done", &[&["a"], &["b"]]),
        ("for i in a # c\n do x $i; done # d", &[&["a"]]),
        ("x a & wait; x b", &[&["a"], &["b"]]),
        ("x a # ; x b\nx c", &[&["a"], &["c"]]),
    ]);
    check(&[
        ("x >f\n>g y", &["edit /home/me/project/f", "exec x", "edit /home/me/project/g", "exec y"]),
        ("bash <<-'E'\n\tid a\n\tE", &["exec bash", "exec id a"]),
        ("coproc until { x a; }; do break; done", &["exec x a", "exec break"]),
    ]);
    check_clear(&[
        "while x a; do y; done<f",
        "if x; then y; fi>f",
        "{ x a; }>f",
        "case a in a) x;; esac>f",
        "function f { x; }; f",
        "function f() { x; }; f",
    ]);
    check_opaque(&[">f g() { x; }; g", "y=1 g() { x; }; g", "x y=(a b)", "export y(a b)"]);
}

#[test]
fn conditions_end_where_bash_ends_them() {
    check_known(&[
        ("[[ a == a && -n b ]] && x c", &[&["c"]]),
        ("[[ a == b || -n b ]] && x c", &[&["c"]]),
        ("[[ ( a == b || a == a ) && ! -z b ]] && x c", &[&["c"]]),
        ("[[ a < b ]] && x c", &[&["c"]]),
        ("[[ b > a ]] && x c", &[&["c"]]),
        ("[[ a == @(a|b) ]] && x c", &[&["c"]]),
        ("[[ a =~ (a|b) ]] && x c", &[&["c"]]),
    ]);
    check_opaque(&[
        "[[ -f ]] ]]",
        "[[ a == #b ]]\n]]",
        "[[ #a ]]\n]]",
        "[[ a && ]]",
        "[[ a == (a|b) ]]",
    ]);
}

#[test]
fn expansions_end_where_bash_ends_them() {
    check_unknown(&[
        ("set -- a b; x \"${#}\"", "exec x <?>"),
        ("x \"${!}\"", "exec x <?>"),
        ("x {a,{a,{a,{a,{a,{a,{a,{a,{a,{a,b}}}}}}}}}}", "exec x <*>"),
        ("x {100000000..100000001}", "exec x <*>"),
    ]);
    let one = |groups: usize| format!("x {}", "{1..1}".repeat(groups));
    check_known(&[
        (&one(16), &[&[&"1".repeat(16)]]),
        (
            "x {1,{2,{3,{4,{5,{6,{7,{8,{9,a}}}}}}}}}",
            &[&["1", "2", "3", "4", "5", "6", "7", "8", "9", "a"]],
        ),
    ]);
    check_unknown(&[(&one(17), "exec x <*>")]);
    check_clear(&[
        "y=(a b); x \"${!y[@]}\"",
        "x `echo {a} \"b\"`",
        "x \"`echo \"a\"`\"",
        "x `echo \"a\"`",
        "x {1..300}",
        "x | time y",
        "echo {a,b}${y:-${z}}",
        "x 1023>f",
        "x {}.,-",
        "x a{b{c{d,e${x:-}}}",
        "declare y=(a b); export z=(c)",
    ]);
    check_opaque(&[
        "echo {a..é}",
        "echo {é..a}",
        "echo {a,b${y[$(nproc)]}}",
        "echo {a,b${y:-\"c\"}}",
        "echo {a,b${y:-{c,d}}}",
        "x 10000>f",
        "x $( { cat <<E\na\nE\n}\n)",
        "x $(cat <<E && y\na\nE\n)",
        "x $(cat <<E\nE)\nE\n)",
        "cat <<AB\nA\\\nB\nAB\nx",
    ]);
    for (script, program) in [
        ("x ${!y-a}", "x"),
        ("x $((`y`))", "y"),
        ("x `echo \\\"a\\\"`", "echo"),
        ("x $(( '1' + $(y) ))", "y"),
        ("x `y a\\.b`", "y"),
    ] {
        assert!(programs(&facts(script)).contains(&program), "{script}");
    }
    check(&[("x `y a\\.b`", &["exec y a.b", "exec x <*>", "opaque x `y a\\.b`"])]);
}

/// Each level is read twice, as arithmetic and as a subshell, if nothing limits that.
#[test]
fn parentheses_that_are_read_twice_do_not_multiply() {
    let nested = (0..24).fold("x".to_owned(), |inside, _| format!("echo $(({inside}) )"));
    check_opaque(&[&nested]);
}
