//! The words that a command gets: where the analysis calls them known, bash gives the very same.
#![expect(
    clippy::disallowed_methods,
    reason = "bash is asked what the words are; the crate itself stays pure"
)]

use std::process::Command;

use openoxide_protocol::{Access, OperationFacts};

use crate::support::{facts, is_opaque, lines};

/// Defines `x`, which prints its words and then an empty line.
const PRINTER: &str = "x() { for word; do printf '%s\\0' \"$word\"; done; printf '\\n\\0'; }; ";

/// Runs a script in bash. Returns the words that `x` was called with, call by call.
fn words_in_bash(script: &str) -> Vec<Vec<String>> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c"]).arg(format!("{PRINTER}{script}"));
    bash.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/home/me").current_dir("/");
    let output = bash.output().unwrap().stdout;
    let text = String::from_utf8(output).unwrap();
    let mut calls = vec![Vec::new()];
    for word in text.split_terminator('\0') {
        match word {
            "\n" => calls.push(Vec::new()),
            word => calls.last_mut().unwrap().push(word.to_owned()),
        }
    }
    calls.pop();
    calls
}

/// Returns the words of each call of `x` according to the analysis, or `None` for a call with
/// unknown words.
fn words_in_facts(facts: &OperationFacts) -> Vec<Option<Vec<String>>> {
    let calls = facts.accesses.iter().filter_map(|access| match access {
        Access::Exec(exec) if exec.argv.known_word(0) == Some("x") => Some(&exec.argv),
        _ => None,
    });
    let known = |words: &openoxide_protocol::CommandWords| {
        (1..words.len()).map(|index| words.known_word(index).map(str::to_owned)).collect()
    };
    calls.map(known).collect()
}

/// Checks that bash calls `x` with these words, and that the analysis knows them.
pub(crate) fn check_known(rows: &[(&str, &[&[&str]])]) {
    for (script, expected) in rows {
        let expected: Vec<Vec<String>> =
            expected.iter().map(|call| call.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(words_in_bash(script), expected, "bash: {script}");
        let facts = facts(script);
        let found = words_in_facts(&facts);
        assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>(), "{script}");
        assert!(!is_opaque(&facts), "{script}: {:?}", lines(&facts));
    }
}

/// Checks what the analysis has for the last call of `x`, and that what bash calls it with is one of the possibilities.
pub(crate) fn check_unknown(rows: &[(&str, &str)]) {
    for (script, expected) in rows {
        let facts = facts(script);
        let lines = lines(&facts);
        let last = lines.iter().rfind(|line| line.starts_with("exec x")).unwrap();
        assert_eq!(last, expected, "{script}");
        for mut words in words_in_bash(script) {
            words.insert(0, "x".to_owned());
            assert!(crate::support::lists(&facts, &words), "{script}: bash calls {words:?}");
        }
    }
}

#[test]
fn braces_make_words() {
    check_known(&[
        ("x a{1,2}b{3,4}", &[&["a1b3", "a1b4", "a2b3", "a2b4"]]),
        ("x {a,b{c,d},e}", &[&["a", "bc", "bd", "e"]]),
        (
            "x {3..1} {0..2} {10..12} {12..10}",
            &[&["3", "2", "1", "0", "1", "2", "10", "11", "12", "12", "11", "10"]],
        ),
        ("x {a..c} {c..a}", &[&["a", "b", "c", "c", "b", "a"]]),
        ("x {1,2}{,}", &[&["1", "1", "2", "2"]]),
        ("x {,a} {x,} {,}", &[&["a", "x"]]),
        ("x a{}b {x} a{b,c a,b} {a,b}}", &[&["a{}b", "{x}", "a{b,c", "a,b}", "a}", "b}"]]),
        ("x @{u}..HEAD {a}..{b} {a}.{b},c", &[&["@{u}..HEAD", "{a}..{b}", "{a}.{b},c"]]),
        ("x {a,\"b c\",'d'} {a,b\\,c} \\{a,b}", &[&["a", "b c", "d", "a", "b,c", "{a,b}"]]),
        ("x '{a,b}' \"{a,b}\" {'a,b'}", &[&["{a,b}", "{a,b}", "{a,b}"]]),
        ("y=5; x ${y}{1,2} \"$y\"{1,2}", &[&["51", "52", "51", "52"]]),
        ("x {1..2}{a,b}{x,y}", &[&["1ax", "1ay", "1bx", "1by", "2ax", "2ay", "2bx", "2by"]]),
        ("x {a{b{c,d},e},f}", &[&["abc", "abd", "ae", "f"]]),
    ]);
    let all: Vec<String> = (1..=64).map(|number| number.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check_known(&[("x {1..64}", &[&all])]);
    let sixteen: Vec<Vec<&str>> = all.iter().take(16).map(|number| vec![*number]).collect();
    let sixteen: Vec<&[&str]> = sixteen.iter().map(Vec::as_slice).collect();
    check_known(&[("for i in {1..16}; do x $i; done", &sixteen)]);
    let pairs: Vec<String> =
        (1..=8).flat_map(|one| (1..=8).map(move |two| format!("{one}{two}"))).collect();
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    check_known(&[("x {1..8}{1..8}", &[&pairs])]);
}

#[test]
fn braces_that_make_many_words_or_are_read_in_two_ways_are_not_known() {
    check_unknown(&[
        ("x {1..65}", "exec x <*>"),
        ("x {1..8}{1..9}", "exec x <*>"),
        ("x {00..2} {1..3..2}", "exec x <*> <*>"),
        ("x {-1..1}", "exec x <*>"),
        ("x {A..C}", "exec x <*>"),
        ("x {a..3}", "exec x <*>"),
        ("x {aa..b} {a..bb}", "exec x <*> <*>"),
        ("x {1..300}", "exec x <*>"),
        ("x {{a,b}", "exec x <*>"),
        ("x {a,{b,c}", "exec x <*>"),
        ("x a{b{c{d,e}}}", "exec x <*>"),
        ("x $y{1,2}", "exec x <*>"),
        ("y=5; x $y{1,2}", "exec x <*>"),
        ("x \"$\"{a,b}", "exec x <*>"),
        ("x {a,b${y:-,{c,d}}", "exec x <*>"),
        ("x {a,b${y:-\",{c,d\"}}", "exec x <*>"),
        ("x {a,b${y:-',{c,d'}}", "exec x <*>"),
        ("x {a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}", "exec x <*>"),
        ("x {}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{},{}", "exec x <*>"),
    ]);
}

#[test]
fn quotes_and_escapes_are_taken_away() {
    check_known(&[
        ("x 'a b' \"c d\" e\\ f g'h'\"i\"", &[&["a b", "c d", "e f", "ghi"]]),
        (
            r#"x "a\bc" "a\$b" "a\`b" "a\"b" "a\\b" 'a\b'"#,
            &[&[r"a\bc", "a$b", "a`b", r#"a"b"#, r"a\b", r"a\b"]],
        ),
        ("x \"a\\\nb\" \"a\\é\"", &[&["ab", "a\\é"]]),
        ("x \\\n y", &[&["y"]]),
        (
            r"x $'a\nb' $'\x41' $'\101' $'\u0041' $'\U00000041' $'\e' $'\q' $'\'' $'\?'",
            &[&["a\nb", "A", "A", "A", "A", "\u{1b}", r"\q", "'", "?"]],
        ),
        (r"x $'\a\b\E\f\r\t\v\\\1\x7'", &[&["\u{7}\u{8}\u{1b}\u{c}\r\t\u{b}\\\u{1}\u{7}"]]),
        (
            r"x $'\x414' $'\1018' $'\u00414' $'\x4g' $'\18'",
            &[&["A4", "A8", "A4", "\u{4}g", "\u{1}8"]],
        ),
        ("x \"$'a'\" \"$\" $ \"a$\" \"$%\"", &[&["$'a'", "$", "$", "a$", "$%"]]),
        ("x '' \"\" a''b", &[&["", "", "ab"]]),
        ("x a # b; x c\nx d # e", &[&["a"], &["d"]]),
        ("cat <<-E >/dev/null\n\ta\n\tE\nx b", &[&["b"]]),
        ("cat <<E >/dev/null\n\tE\nE\nx b", &[&["b"]]),
        ("cat <<E >/dev/null\na\\\\\nE\nx b", &[&["b"]]),
        ("cat <<'E' >/dev/null\na\\\nE\nx b", &[&["b"]]),
        ("x a#b \\#c", &[&["a#b", "#c"]]),
    ]);
    check_unknown(&[
        (r"x $'\u00e9'", "exec x <?>"),
        (r"x $'\400'", "exec x <?>"),
        (r"x $'\0'", "exec x <?>"),
        (r"x $'\cA'", "exec x <?>"),
        (r"x $'\x'", "exec x <?>"),
    ]);
}

#[test]
fn values_that_the_script_gives_are_known_where_they_are_certain() {
    check_known(&[
        ("y=a:b; x $y \"$y\" ${y} \"${y}c\"", &[&["a:b", "a:b", "a:b", "a:bc"]]),
        ("y='a*'; x \"$y\"", &[&["a*"]]),
        ("y=; x \"$y\" z", &[&["", "z"]]),
        ("y='a b'; x \"$y\"", &[&["a b"]]),
        ("y=1; x $y$y \"$y\"a -$y", &[&["11", "1a", "-1"]]),
        ("y=a; y=b; x $y", &[&["b"]]),
        ("y=a z=b; x $y$z", &[&["ab"]]),
        ("y=a; z=$y; x $z", &[&["a"]]),
        ("y=a; (y=b; x $y); x $y", &[&["b"], &["a"]]),
        ("y=a; export z=$y; x $z", &[&["a"]]),
        ("y=a; export y; y=b; x $y", &[&["b"]]),
        ("y=a; : $(y=b); x $y", &[&["a"]]),
        ("if true; then y=a; else y=a; fi; x $y", &[&["a"]]),
        ("for i in a b; do x $i; done", &[&["a"], &["b"]]),
        ("for i in {1..3}; do x $i; done", &[&["1"], &["2"], &["3"]]),
        (
            "x ~ ~/a a~ '~' \"~\" \\~ y~/b",
            &[&["/home/me", "/home/me/a", "a~", "~", "~", "~", "y~/b"]],
        ),
        ("cd /usr || exit; x $PWD \"${PWD}\"", &[&["/usr", "/usr"]]),
        ("x $HOME ${HOME}/a \"$HOME\"", &[&["/home/me", "/home/me/a", "/home/me"]]),
        ("y=~; x $y", &[&["/home/me"]]),
        ("y=a; while false; do :; done; x $y", &[&["a"]]),
        ("y=1; z=([y]=a); x $y", &[&["1"]]),
        ("unset=a; unset -- y; x $unset", &[&["a"]]),
        ("y=a; declare -x z=1; x $y", &[&["a"]]),
        ("y=a; declare -a z; x $y", &[&["a"]]),
        ("printf=a; printf %n y; x $printf", &[&["a"]]),
        ("y=~/a; x $y", &[&["/home/me/a"]]),
        ("y=a; printf \"$((1))\" y >&2; x \"$y\"", &[&["a"]]),
        ("y=b; x ~/a\"$y\"", &[&["/home/me/ab"]]),
        ("x {~,a} {~/b,c}", &[&["/home/me", "a", "/home/me/b", "c"]]),
        ("y=a; read -p y z <<< b; x \"$y\"", &[&["a"]]),
        ("y=a; x \"$y\"~/{b,c}", &[&["a~/b", "a~/c"]]),
        ("f() { y=a; if false; then y=b; return; fi; x \"$y\"; }; f", &[&["a"]]),
    ]);
}

#[test]
fn values_that_are_not_certain_are_not_known() {
    check_unknown(&[
        // Not one word, or none.
        ("y='a b'; x $y", "exec x <*>"),
        ("y='a*'; x $y", "exec x <*>"),
        ("y=; x $y", "exec x <*>"),
        ("y='a\\b'; x $y", "exec x <*>"),
        // Not the whole value, or another kind of it.
        ("y=a; y+=b; x $y", "exec x <*>"),
        ("y=(a b); x \"$y\"", "exec x <?>"),
        ("y[0]=a; x \"$y\"", "exec x <?>"),
        ("y=a; y[0]=b; x \"$y\"", "exec x <?>"),
        ("y=a; x \"${y[1]}\"", "exec x <?>"),
        ("y=a; declare y+=b; x \"$y\"", "exec x <?>"),
        ("y=a; declare y; x \"$y\"", "exec x <?>"),
        ("y=a; declare -p y=b; x \"$y\"", "exec x <?>"),
        ("y=a; printf \"a$(echo)\" y; x \"$y\"", "exec x <?>"),
        ("y=a x \"$y\"", "exec x <?>"),
        ("y=b; y=a x; x \"$y\"", "exec x <?>"),
        ("readonly y=a; x \"$y\"", "exec x <?>"),
        ("readonly y=a; y=b; x \"$y\"", "exec x <?>"),
        ("declare -r y=a; y=b; x \"$y\"", "exec x <?>"),
        ("y=a; unset y; x \"$y\"", "exec x <?>"),
        ("y=a; unset -- y; x \"$y\"", "exec x <?>"),
        ("y=a; read -r -- y <<< b; x \"$y\"", "exec x <?>"),
        ("y=a; read -d c -p c y <<< b; x \"$y\"", "exec x <?>"),
        ("y=a; read y <<< b; x \"$y\"", "exec x <?>"),
        ("y=a; mapfile y <<< b; x \"$y\"", "exec x <?>"),
        ("y=a; printf -v y b; x \"$y\"", "exec x <?>"),
        ("y=a; printf -vy b; x \"$y\"", "exec x <?>"),
        ("y=a; getopts b y -b; x \"$y\"", "exec x <?>"),
        ("y=1; let y=2; x \"$y\"", "exec x <?>"),
        ("y=1; ((y=2)); x \"$y\"", "exec x <?>"),
        ("y=1; ((y<<=2)); x \"$y\"", "exec x <?>"),
        ("y=8; ((y>>=2)); x \"$y\"", "exec x <?>"),
        ("y=1; [[ y=2 -eq 2 ]]; x \"$y\"", "exec x <?>"),
        ("y=1; [[ \"y=2\" -eq 2 ]]; x \"$y\"", "exec x <?>"),
        ("y=1; ((y++)); x \"$y\"", "exec x <?>"),
        ("y=1; ((--y)); x \"$y\"", "exec x <?>"),
        ("y=1; : $((y=2)); x \"$y\"", "exec x <?>"),
        ("y=1; : ${z:y=2}; x \"$y\"", "exec x <?>"),
        ("y=; : ${y:=b}; x \"$y\"", "exec x <?>"),
        ("y=1; z=([y=2]=a); x \"$y\"", "exec x <?>"),
        ("y=1; for ((y=2; y<3; y++)); do :; done; x \"$y\"", "exec x <?>"),
        ("y=1; {y}</dev/null; x \"$y\"", "exec x <?>"),
        // Not on every way to the place.
        ("y=a; if true; then y=b; fi; x \"$y\"", "exec x <?>"),
        ("y=a; true && y=b; x \"$y\"", "exec x <?>"),
        ("y=a; false || y=b; x \"$y\"", "exec x <?>"),
        ("y=a; case b in b) y=b;; esac; x \"$y\"", "exec x <?>"),
        ("y=a; case b in b) y=b;& c) :;; esac; x \"$y\"", "exec x <?>"),
        ("y=a; while x \"$y\"; do y=b; break; done; x \"$y\"", "exec x <?>"),
        ("y=a; until false; do y=b; break; done; x \"$y\"", "exec x <?>"),
        ("y=a; for i in 1 2; do y=b; done; x \"$y\"", "exec x <?>"),
        ("y=a; f() { y=b; }; f; x \"$y\"", "exec x <?>"),
        ("f() { x \"$y\"; }; y=a; f; y=b; f", "exec x <?>"),
        ("f() { x \"$y\"; }; y=a; f", "exec x <?>"),
        ("y=a; trap 'x \"$y\"' EXIT; y=b", "exec x <?>"),
        ("for i in a b; do :; done; x \"$i\"", "exec x <?>"),
        ("for i in a ''; do x \"$i\"; done", "exec x <?>"),
        ("for i in a b; do i=c; x \"$i\"; done", "exec x c"),
        ("for i in a b; do x \"$y\"; y=$i; done", "exec x <?>"),
        // What the shell itself sets.
        ("cd /usr; x \"$OLDPWD\"", "exec x <?>"),
        ("BASHPID=1; x $BASHPID", "exec x <*>"),
        ("RANDOM=1; x $RANDOM", "exec x <*>"),
        ("SECONDS=1; x $SECONDS", "exec x <*>"),
        ("LINENO=7; x $LINENO", "exec x <*>"),
        ("COLUMNS=7; x $COLUMNS", "exec x <*>"),
        ("HISTCMD=7; x $HISTCMD", "exec x <*>"),
        ("EPOCHSECONDS=7; x $EPOCHSECONDS", "exec x <*>"),
        ("OPTIND=7; x $OPTIND", "exec x <*>"),
        ("IFS=b; x \"$IFS\"", "exec x <?>"),
        // How words are split.
        ("IFS=:; y=a:b; x $y", "exec x <*>"),
        ("y=a:b; IFS=:; x $y", "exec x <*>"),
        ("y=a:b; f() { IFS=:; }; f; x $y", "exec x <*>"),
        ("IFS=1; x $((212))", "exec x <*>"),
        ("IFS=1; x $# $?", "exec x <*> <*>"),
    ]);
}

#[test]
fn unknown_words_are_as_many_as_they_may_be() {
    check_unknown(&[
        ("x $y \"$y\" ${y} \"${y}\" a$y \"a$y\"", "exec x <*> <?> <*> <?> <*> a<?>"),
        ("set -- a b; x $@ \"$@\" $* \"$*\" \"a$@b\"", "exec x <*> <*> <*> <*> <*>"),
        ("y=(a b); x \"${y[@]}\" \"${y[*]}\" ${y[0]} \"${y[0]}\"", "exec x <*> <*> <*> <?>"),
        ("x \"${!y@}\" \"${!BASH*}\"", "exec x <*> <*>"),
        ("set -- a b; x \"${y:-$@}\" \"${y:-\"$@\"}\"", "exec x <*> <*>"),
        ("set -- a b; y=@; x \"${!y}\"", "exec x <*>"),
        ("set -- a b; x $\"c$@\"", "exec x <*>"),
        ("x $\"c$y\"", "exec x <?>"),
        ("x $(echo a b) \"$(echo a b)\" `echo a b` \"`echo a b`\"", "exec x <*> <?> <*> <?>"),
        ("x $((1)) -$((1)) $# $? $$ ${#y}", "exec x <?> -<?> <?> <?> <?> <?>"),
        ("x {a,b}${y:-'c'}", "exec x <*> <*>"),
        ("x {a,b}\"${y:-c}\" {a,b}${y}", "exec x a<?> b<?> <*> <*>"),
        ("set -- a b; x ${#@} ${#*} ${1} \"${1}\" \"${@}\"", "exec x <?> <?> <*> <?> <*>"),
        ("y=a; x \"${y@Q}\" z", "exec x <?> z"),
        ("x $UID $PPID $q", "exec x <?> <?> <*>"),
        ("x <(true) a<(true)", "exec x <*> a<?>"),
        ("x <()", "exec x <*>"),
        ("cd /; x /us? /us* [/]usr /us[r] a\\* 'b*'", "exec x <*> <*> <*> <*> a* b*"),
        ("x [a a] [", "exec x [a a] ["),
        ("y=u; cd /; x /[$y]sr", "exec x <*>"),
        ("y=b]; x [a\"$y\"", "exec x <*>"),
        ("x ~root ~/a:~/b a=~/b --y=~/z", "exec x <?> /home/me<?> <?> <?>"),
        ("x ~- ~2", "exec x <?> <?>"),
        ("HOME=/z; x ~ \"$HOME\"", "exec x <?> <?>"),
        ("f() { HOME=/z; }; f; x ~ \"$HOME\"", "exec x <?> <?>"),
        ("cd \"$q\"; x \"$PWD\" ~+", "exec x <?> <?>"),
        ("PWD=/z; x \"$PWD\" ~+", "exec x <?> <?>"),
        ("for i; do x $i \"$i\"; done", "exec x <*> <?>"),
        ("for i in {1..20}; do x $i; done", "exec x <?>"),
        ("for i in 1 '2 3'; do x $i; done", "exec x <*>"),
        ("y=$(seq 2); x $y \"$y\" -$y", "exec x <*> <?> -<?> <*>"),
        ("y=$((1+2)); x $y \"$y\" -$y", "exec x <?> <?> -<?>"),
        ("x --a$y", "exec x --a<?> <*>"),
        ("x --a*\"$y\"", "exec x --a<?> <*>"),
        ("x -- -\"$y\" \"$y\"-", "exec x -- -<?> <?>"),
        ("y='a b'; x -c$y z", "exec x -c<?> <*> z"),
    ]);
}
