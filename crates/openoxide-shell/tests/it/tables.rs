//! Scripts, and what they mean.

use openoxide_protocol::{Access, CommandClass};

use crate::support::{codes, facts, is_opaque, lines};

/// Checks the accesses of scripts.
fn check(rows: &[(&str, &[&str])]) {
    for (script, expected) in rows {
        assert_eq!(lines(&facts(script)), *expected, "{script}");
    }
}

#[test]
fn a_script_without_commands_has_no_accesses() {
    check(&[
        ("", &[]),
        ("  \n\t\n", &[]),
        ("# rm -rf /", &[]),
        (" # a\n\n# b\n", &[]),
        ("x=1 y=2", &[]),
    ]);
}

#[test]
fn commands_are_listed_in_the_order_of_the_script() {
    check(&[
        ("git status", &["exec git status"]),
        ("a; b && c || d | e & f", &["exec a", "exec b", "exec c", "exec d", "exec e", "exec f"]),
        ("! a; time b; time -p c", &["exec a", "exec b", "exec c"]),
        ("coproc a b", &["exec a b"]),
        ("a |& b", &["exec a", "exec b"]),
        (
            "if a; then b; elif c; then d; else e; fi",
            &["exec a", "exec b", "exec c", "exec d", "exec e"],
        ),
        ("while a; do b; done; until c; do d; done", &["exec a", "exec b", "exec c", "exec d"]),
        ("for i in 1 2; do a; done", &["exec a"]),
        ("for ((i=0; i<3; i++)); do a; done", &["exec a"]),
        ("case x in a|b) c;; (d) e;; esac", &["exec c", "exec e"]),
        ("( a; b ); { c; }", &["exec a", "exec b", "exec c"]),
        ("f() { a; }", &["exec a"]),
    ]);
}

#[test]
fn substitutions_count_wherever_bash_evaluates_them() {
    for script in [
        "x \"$(hidden)\"",
        "x `hidden`",
        "x \"`a \\`hidden\\``\"",
        "x=$(hidden)",
        "x=(a $(hidden))",
        "x ${y:-$(hidden)}",
        "x \"${y:-\"${z:-$(hidden)}\"}\"",
        "x > \"$(hidden)\"",
        "cat <<E\n$(hidden)\nE",
        "cat <<E\n`hidden`\nE",
        "cat <<< \"$(hidden)\"",
        "echo $((1 + $(hidden)))",
        "((x = $(hidden)))",
        "echo ${a[$(hidden)]}",
        "a[$(hidden)]=1",
        "[[ $(hidden) == a ]]",
        "[[ a =~ (b|$(hidden)) ]]",
        "case $(hidden) in a) ;; esac",
        "case a in $(hidden)) ;; esac",
        "for i in $(hidden); do :; done",
        "for ((i=$(hidden);;)); do :; done",
        "diff <(hidden) x",
        "x > >(hidden)",
        "echo ${x/a/$(hidden)} ",
        "echo ${x:$(hidden):1}",
        "echo $\"a $(hidden)\"",
        "eval 'x $(hidden)'",
        "trap hidden 0",
        "bash -c 'x; hidden'",
        "echo \"$(case a in a) hidden;; esac)\"",
        "echo \"$(cat <<'E' | hidden\n)\nE\n)\"",
        "echo $((x) | hidden)",
        "echo $(x # )\nhidden)",
    ] {
        let lines = lines(&facts(script));
        assert!(lines.iter().any(|line| line == "exec hidden"), "{script}: {lines:?}");
    }
}

#[test]
fn rarely_used_constructs_are_listed_and_opaque() {
    for script in [
        "echo $(case a in a) hidden;; esac)",
        "echo \"$(f() { hidden; }; f)\"",
        "echo $(time hidden)",
        "echo $(<x hidden)",
        "select x in a; do hidden; done",
        "case a in a) ;& b) hidden;; esac",
        "echo $((x) | hidden)",
        "echo $(( \"$(hidden)\" ))",
        "echo ${x:-$y$(hidden)}",
        "x \"${y:-\"${z:-$(hidden)}\"}\"",
        "echo $(exec {x}> >(hidden))",
        "echo `echo \\`hidden\\``",
        "! ! hidden",
        "echo $\"$(hidden)\"",
    ] {
        let facts = facts(script);
        let lines = lines(&facts);
        assert!(lines.iter().any(|line| line.starts_with("exec hidden")), "{script}: {lines:?}");
        assert!(is_opaque(&facts), "{script}: {lines:?}");
    }
}

#[test]
fn traps_that_change_later_commands_are_opaque() {
    for script in [
        "c=ls; trap 'c=./x' DEBUG; $c",
        "c=ls; trap 'c=./x' ERR; false; $c",
        "c=ls; trap 'c=./x' CHLD; a; $c",
        "c=ls; trap 'read c' INT TERM; kill -INT $$; $c",
        "f() { c=./x; }; c=ls; trap f DEBUG; $c",
        "trap f DEBUG; f() { cd x; }; git status",
        "trap 'cd x' DEBUG; git status",
        "trap 'cd x' EXIT RETURN; git status",
        "cd y; trap 'cd x' DEBUG; git status",
        "trap 'c=1' \"$s\"; git status",
    ] {
        assert!(is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
    for script in ["trap 'rm -f x; c=1' EXIT; git status", "trap 'echo no; exit 1' INT TERM; a"] {
        assert!(!is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

#[test]
fn indirectly_assigned_variables_are_not_known() {
    for script in [
        "c=ls; printf 'abc%n' c; $c",
        "c=ls; printf -v d -- 'abc%5hn' c; $c",
        "c=ls; f=%n; printf \"abc$f\" c; $c",
        "c=ls; printf \"$(x)\" c; $c",
        "c=ls; coproc c { a; }; $c",
        "c=ls; v=c=5; (($v)); $c",
        "v==; c[0]=5; ((c[0]$v(6))); $c",
        "c=ls; case x in $((c=5))) exit ;; esac; $c",
        "c=ls; a=([c=5]=1); $c",
        "c=ls; [[ -v a[c=5] ]]; $c",
        "c=x; shift 1 2; c=ls\n$c",
        "c=x; declare 'a[08]=1'; c=ls\n$c",
        "c=x; a=([08]=1); c=ls\n$c",
        "n='1 2'; c=ls; if a; then c=x; exit $n; fi; $c",
        "f() { bash -c 'c=ls; if a; then c=x; return; fi; $c'; }; f",
        "f() { bash -c 'c=x; local c=ls; $c'; }; f",
        "f() { trap 'c=x; local c=ls; $c' EXIT; }; f",
    ] {
        assert!(is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
    let full: String = (0..300).map(|n| format!("v{n}=x;")).collect();
    let script = format!("{full} c=ls; trap 'c=./x' DEBUG; $c");
    assert!(is_opaque(&facts(&script)));
    for script in ["c=ls; printf '%d%%\\n' 1; $c", "printf \"$(x)\\n\"", "printf '%s\\n' \"$x\""] {
        assert!(!is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
    for script in ["printf 'abcde%n' PATH; ls", "coproc PATH { a; }; ls", "v=PATH=5; (($v)); ls"] {
        assert!(codes(&facts(script)).contains(&"OX103"), "{script}");
        assert_eq!(class(script), CommandClass::Unknown, "{script}");
    }
}

#[test]
fn lines_name_files_only_where_they_are_read_whole() {
    for script in [
        "find . | while read f; do cat \"$f\"; done <list",
        "find . | { xargs cat; } <list",
        "find . | { xargs cat; } 3<list 0>&3",
        "find . | xargs cat 3<list 0>&3",
        "find . | bash -c 'xargs cat' <list",
        "find . | { eval 'read f; cat \"$f\"' <list; }",
        "find . | { exec <list; read f; cat \"$f\"; }",
        "find . | { exec 0<&3; xargs cat; } 3<list",
        "find . | { f() { read y; cat \"$y\"; }; f <list; }",
        "find . | { a > >(read f; cat \"$f\"); }",
        "find . | { coproc { read f; cat \"$f\"; }; a >&${COPROC[1]}; }",
        "find . | while read -u 3 f; do cat \"$f\"; done 3<list",
        "find . | while read -n 4 f; do cat \"$f\"; done",
        "find . | while read -rd / f; do cat \"$f\"; done",
        "find . | { read -n 5 x; xargs cat; }",
        "find . | { dd bs=1 count=5; xargs cat; }",
        "find . | { head -c 5; read f; cat \"$f\"; }",
        "find . | { x=$(head -c 5); xargs cat; }",
        "find . | xargs cat $(head -c 5)",
        "f() { head -c 5; }; find . | { f; xargs cat; }",
    ] {
        let facts = facts(script);
        let cat = facts.accesses.iter().find_map(|access| match access {
            Access::Exec(exec) if exec.argv.known_word(0) == Some("cat") => Some(exec.class),
            _ => None,
        });
        assert_eq!(cat, Some(CommandClass::Unknown), "{script}");
    }
    for script in [
        "find . | while read -r f; do echo \"$f\"; wc -l \"$f\"; cat \"$f\"; done",
        "find . -print0 | while IFS= read -r -d '' f; do cat \"$f\"; done",
        "find . | xargs cat",
        "for d in a b; do find $d | xargs cat; done",
    ] {
        assert_eq!(class(script), CommandClass::Harmless, "{script}");
    }
}

#[test]
fn common_constructs_that_look_unusual_are_not_opaque() {
    for script in [
        "echo ${x:-$(a)} \"${y:-\"$z\"}\" ${A:-${B:-c}} \"${v%\\\"}\" ${p//\\//_}",
        "echo $(a < x) $(if b; then c; fi) $(for i in 1; do d; done) $(! e)",
        "case a in a) b;; *) c;; esac; time a; ! b",
        "echo $((1 + ${x:-0} + ${#y}))",
        "echo `a 'b'`",
    ] {
        assert!(!is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

#[test]
fn text_that_only_looks_like_a_command_is_none() {
    check(&[
        ("echo '$(a)' \"\\$(b)\" \\$\\(c\\) # $(d)", &["exec echo $(a) $(b) $(c)"]),
        ("cat <<'E'\n$(a)\nE", &["exec cat"]),
        ("echo a#b \"# c\"", &["exec echo a#b # c"]),
        ("git commit -m 'it is; done'", &["exec git commit -m it is; done"]),
    ]);
}

#[test]
fn words_are_known_as_far_as_they_are_certain() {
    check(&[
        ("x 'a b' \"c d\" e\\ f $'g\\th'", &["exec x a b c d e f g\th"]),
        ("x \"$y\" $y --n=\"$y\" pre$y", &["exec x <?> <*> --n=<?> <*>"]),
        ("x \"$@\" \"$*\" \"${a[@]}\"", &["exec x <*> <*> <*>"]),
        ("x * a?b [ab] '*' \\*", &["exec x <*> <*> <*> * *"]),
        ("x {a,b}c {1..3} {} {a} a{b", &["exec x ac bc 1 2 3 {} {a} a{b"]),
        ("y=1; x ${y}{a,b} $y{,.c}", &["exec x 1a 1b 1 1.c"]),
        ("y=1; x $y{a,b} {a,$y}c", &["exec x <*> <*>", "opaque y=1; x $y{a,b} {a,$y}c"]),
        ("x {a,$}c", &["opaque x {a,$}c", "exec x <*>", "opaque x {a,$}c"]),
        ("x ~ ~/a ~root/b a~ '~'", &["exec x /home/me /home/me/a <?> a~ ~"]),
        ("x $HOME \"$PWD/a\" $((1+1)) $#", &["exec x /home/me /home/me/project/a <?> <?>"]),
        (
            "d=build; rm -rf $d \"$d/x\"",
            &[
                "exec rm -rf build build/x",
                "edit /home/me/project/build",
                "edit /home/me/project/build/x",
            ],
        ),
        ("d='a b'; x $d \"$d\"", &["exec x <*> a b"]),
        ("d=a; if x; then d=b; fi; y $d", &["exec x", "exec y <*>"]),
        ("d=a; for i in 1 2; do x $d; d=b; done", &["exec x <*>"]),
        ("d=a; (d=b); x $d; d=c y; z $d", &["exec x a", "exec y", "exec z <*>"]),
        ("d=a; read d; x $d", &["exec read d", "exec x <*>"]),
        ("for i in 1 2; do x a$i; done; y $i", &["exec x a1", "exec x a2", "exec y <*>"]),
        (
            "for i in a b; do for j in c d; do x $i$j; y; done; done",
            &["exec x ac", "exec y", "exec x ad", "exec x bc", "exec x bd"],
        ),
        ("for i in a \"\"; do x $i; done", &["exec x <*>"]),
        ("for i in a b; do x $y; y=$i; done", &["exec x <*>"]),
        (
            "y=c; for i in a b; do x $y; eval \"y=$i\"; done",
            &["exec x <*>", "exec eval y=a", "exec eval y=b"],
        ),
        ("for i in {1..17}; do x $i; done", &["exec x <?>"]),
        ("for i in $(seq 3); do x $i; done", &["exec seq 3", "exec x <*>"]),
        (
            "n=$(wc -l < f); x $n $(seq 3)",
            &["read /home/me/project/f", "exec wc -l", "exec seq 3", "exec x <*> <*>"],
        ),
        ("a=5; ((a[0]=6)); x $a", &["exec x <*>"]),
        (
            "a=5; b=6; (( $c == 5 )); x $a; ((b+=1)); y $a $b; (($c=1)); z $a",
            &["exec x 5", "exec y 5 <*>", "exec z <*>"],
        ),
        (
            "a=1; local a=2; x $a; b=3; readonly b; b=4; x $b",
            &["exec local a=2", "exec x <*>", "exec readonly b", "exec x <*>"],
        ),
        ("a=1; export a=2 2>&3; x $a", &["exec export a=2", "exec x <*>"]),
        ("HOME=/x; y ~", &["opaque y ~", "exec y <?>"]),
    ]);
}

#[test]
fn redirections_are_accesses() {
    check(&[
        ("a > b", &["edit /home/me/project/b", "exec a"]),
        ("a >> b 2>&1 < c", &["edit /home/me/project/b", "read /home/me/project/c", "exec a"]),
        (
            "a &> b; a <> c; a >| d",
            &[
                "edit /home/me/project/b",
                "exec a",
                "edit /home/me/project/c",
                "exec a",
                "edit /home/me/project/d",
                "exec a",
            ],
        ),
        ("a >& b", &["edit /home/me/project/b", "exec a"]),
        ("> ~/.bashrc", &["edit /home/me/.bashrc"]),
        ("a > /dev/null 2> /dev/stderr < /dev/tty", &["exec a"]),
        ("a 3< /dev/fd/4", &["exec a"]),
        ("a 2> /dev/stderr 1> /dev/fd/2", &["exec a"]),
        ("a > /dev/fd/4", &["edit /dev/fd/4", "exec a"]),
        ("a > /dev/nullx", &["edit /dev/nullx", "exec a"]),
        ("a > /dev/tcp/Example.COM/80", &["fetch example.com", "exec a"]),
        ("x=$(< secret)", &["read /home/me/project/secret"]),
        ("{ a; b; } > c", &["edit /home/me/project/c", "exec a", "exec b"]),
        ("a > $b", &["opaque > $b", "exec a"]),
        ("a > *", &["opaque > *", "exec a"]),
    ]);
}

#[test]
fn relative_paths_count_from_where_the_script_has_gone() {
    let entered = "enter /home/me/project/a";
    let (here, there) = ("edit /home/me/project/b", "edit /home/me/project/a/b");
    check(&[
        // Where an expansion fails, bash gives the line up and goes on with the next one.
        (
            ": $((1/0)); cd a || exit\nx > b",
            &["exec : <?>", "exec cd a", entered, "exec exit", here, there, "exec x"],
        ),
        (
            ": $((1+2)); cd a || exit\nx > b",
            &["exec : <?>", "exec cd a", entered, "exec exit", there, "exec x"],
        ),
        (
            "(: $((1/0))); cd a || exit\nx > b",
            &["exec : <?>", "exec cd a", entered, "exec exit", there, "exec x"],
        ),
        ("cd a && x > b", &["exec cd a", entered, there, "exec x"]),
        ("cd a; x > b", &["exec cd a", entered, here, there, "exec x"]),
        ("cd a || exit 1; x > b", &["exec cd a", entered, "exec exit 1", there, "exec x"]),
        (
            "(cd a && x > b); y > c",
            &["exec cd a", entered, there, "exec x", "edit /home/me/project/c", "exec y"],
        ),
        (
            "cd /a && cd ../b && x > c",
            &["exec cd /a", "enter /a", "exec cd ../b", "enter /b", "edit /b/c", "exec x"],
        ),
        ("cd && x > b", &["exec cd", "enter /home/me", "edit /home/me/b", "exec x"]),
        ("! cd a && x > b", &["exec cd a", entered, here, there, "exec x"]),
        ("cd \"$d\" && x > b", &["exec cd <?>", "opaque > b", "exec x"]),
        ("cd -P a && x > b", &["exec cd -P a", "opaque > b", "exec x"]),
        ("cd - && x > /b", &["exec cd -", "edit /b", "exec x"]),
        (
            "for i in a b; do cd $i; x > y; done",
            &["exec cd a", "opaque > y", "exec x", "exec cd b"],
        ),
    ]);
}

#[test]
fn commands_with_unknown_effects_are_opaque() {
    for script in [
        "RANDOM='a[$(x)]'",
        "OPTIND=$(cat data)",
        "SECONDS[0]=$x",
        "read RANDOM < data",
        "printf -v SRANDOM %s \"$x\"",
        "for RANDOM in a*; do :; done",
        "echo 'a[$(x)]'; ((_))",
        "ls a*; echo $(($_))",
        "echo x; [[ $_ -eq 0 ]]",
        "trap 'echo $((BASH_COMMAND))' DEBUG; echo",
        "y='a[$(x)]'; declare -a 'x=([y]=1)'",
        "ld.so /bin/rm f",
        "$x a",
        "\"$x\"",
        "$(a) b",
        "./r*n",
        "eval \"$x\"",
        "eval $(a)",
        "source x",
        ". ./x",
        "trap \"$x\" EXIT",
        "echo ${x@P}",
        "x='a[$(id)]'; echo $((x))",
        "read x; echo $((x))",
        "read x; (( x++ ))",
        "read x; [[ $x -eq 1 ]]",
        "[[ -v 'a[$(id)]' ]]",
        "test -v 'a[$(id)]'",
        "printf -v 'a[$(id)]' x",
        "read 'a[$(id)]'",
        "unset 'a[$(id)]'",
        "declare 'a[$(id)]=x'",
        "let 'a[$(id)]=1'",
        "x='a[$(id)]'; echo ${!x}",
        "test -v \"$Q\"'a[$(id)]'",
        "test -v 'a[$(id)]'\"$Q\"",
        "[ \"$Q\"-v 'a[$(id)]' ]",
        "[[ -v \"$Q\"'a[$(id)]' ]]",
        "let \"$Q\"'a[$(id)]'",
        "x='a[$(id)]'; let \"$Q\"x",
        "printf \"$Q\"-v 'a[$(id)]' x",
        "declare -a x=\"$Q\"'($(id))'",
        "read x1; i=1; (( x$i ))",
        "env BASH_ENV=./x bash -c ls",
        "declare -a x='($(id))'",
        "a >& '$(id)'",
        "declare -n x=y",
        "declare -i x=y",
        "mapfile -C id x",
        "shopt -s extglob",
        "shopt -s expand_aliases",
        "set -o posix",
        "set -k",
        "enable -f x y",
        "complete -C id x",
        "compgen -W '$(id)'",
        "bind -x '\"a\":id'",
        "PS4='$(id)'; set -x; true",
        "BASH_CMDS[ls]=x; ls",
        "hash -p x ls; ls",
        "hash -p8 ls; ls",
        "alias ls=x\nls",
        "bash -ic 'alias ls=x\nls'",
        "jobs -x id",
        "fc -s",
        "x=$(a); echo ${y:x}; echo $((x))",
    ] {
        assert!(is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

#[test]
fn constructs_that_bash_reads_inconsistently_are_opaque() {
    for script in [
        "echo $[1+1]",
        "echo \"${x:-\"{a,b}\"}\"",
        "echo \"`echo \"{a,b}\"`\"",
        "x=(a)b \"$c\"",
        "x=\"$(time case a in a)'`id`';; esac)\"",
        "echo $(a; ! time -p -- { b; })",
        "!\\\n id",
        "a | !\\\n id",
        "co\\\npro\\\nc id",
        "time -p\\\n id",
        "time\\\n -\\\n- id",
        "cat <(time (a))",
        "x=$(cat <<E\na\nE\necho 1; echo 2)",
        "echo \"${x:-'$(id)'}\"",
        "e\\\nvil",
        "cat <<$x\n$x\n",
        "cat <<E\nno end",
        "echo 'unterminated",
        "echo $(unterminated",
        "a && ",
        "| a",
        "x=1 if a",
        "a[1]",
        "(a",
        "a)",
        "fi",
        "echo @(a|b)",
        "cat <<E $(a\nb)\nE",
        "x=$(cat <<E\nEOF)",
        "((a[)); id; ((]))",
        "sh -c 'echo $'\\''a\\'\\''; id'",
        "sh -c 'x=ls; x=id :; $x'",
        "dash -c 'declare x=1; a$x'",
        "sh -c 'eval -- id'",
        "sh -c 'exec -a x id'",
        "sh -c 'id 12>x'",
        "sh -c 'eval time'",
        "dash -c 'echo `a $\"b\"`'",
    ] {
        assert!(is_opaque(&facts(script)), "{script}: {:?}", lines(&facts(script)));
    }
}

#[test]
fn ordinary_commands_are_understood() {
    for script in [
        "cd web && npm run build 2>&1 | tee build.log",
        "git add -A && git commit -m \"$(cat <<'EOF'\nfix: it's (done)\n\n- `a` \"b\"\nEOF\n)\"",
        "for f in src/*.rs; do echo \"== $f\"; head -5 \"$f\"; done",
        "find . -name '*.py' -not -path './venv/*' | xargs grep -n 'TODO' | head -20",
        "export NODE_ENV=test; npm test -- --watch=false",
        "if [ -f package.json ]; then cat package.json; else echo none >&2; fi",
        "[[ -d node_modules ]] || npm ci",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "n=$(wc -l < file); echo $((n * 2))",
        "start=$(date +%s); make; echo $(( $(date +%s) - start ))s",
        "ls -la ${TMPDIR:-/tmp}",
        "echo \"${name%.*} ${name##*/} ${#name} ${name//a/b} ${name^^}\"",
        "set -euo pipefail; trap 'rm -f tmp' EXIT; make",
        "python3 - <<'EOF'\nprint('a')\nEOF",
        "sleep 1 & wait $!; echo $?",
        "printf '%s\\n' a b | while read -r line; do echo \"$line\"; done",
        "f() { local x=$1; echo \"$x\"; }; f a",
        "a=(x y); echo \"${a[0]}\" \"${#a[@]}\" \"${a[@]}\"",
        "test -n \"$x\" && echo yes || echo no",
        "[ \"$(git rev-parse HEAD)\" = \"$old\" ] && echo same",
        "diff <(sort a) <(sort b)",
        "curl -s https://example.com/x | jq -r '.a[]' > out.json",
    ] {
        let facts = facts(script);
        assert!(!is_opaque(&facts), "{script}: {:?}", lines(&facts));
    }
}

/// Returns the class of the last program.
fn class(script: &str) -> CommandClass {
    let facts = facts(script);
    let mut classes = facts.accesses.iter().filter_map(|access| match access {
        Access::Exec(exec) => Some(exec.class),
        _ => None,
    });
    classes.next_back().unwrap()
}

/// Guards I08.
#[test]
fn a_program_is_harmless_only_under_its_own_name_and_environment() {
    for script in ["git status", "CI=1 git status", "cd /home/me/project && git status", "x=1; ls"]
    {
        assert_eq!(class(script), CommandClass::Harmless, "{script}");
    }
    for script in [
        "ls() { x; }; ls",
        "PATH=/x; ls",
        "alias ls=x; ls",
        "hash -p x ls; ls",
        "FOO=1 git status",
        "export PATH=/x && ls",
        "env FOO=1 git status",
        "cd \"$X\" && git status",
    ] {
        assert_eq!(class(script), CommandClass::Unknown, "{script}");
    }
}

#[test]
fn findings_carry_their_codes() {
    let rows: &[(&str, &str)] = &[
        ("echo $[1]", "OX101"),
        ("$x", "OX102"),
        ("PATH=/x:$PATH", "OX103"),
        ("LD_PRELOAD=./x ls", "OX103"),
        ("export PAGER=./x; git log", "OX103"),
        ("env GIT_PAGER=x git log", "OX103"),
        ("alias git=x", "OX103"),
        ("eval \"$x\"", "OX104"),
        ("curl x | sh", "OX105"),
        ("curl x | sudo bash -s", "OX105"),
        ("wget -O- x | python3", "OX105"),
        ("rm -rf /", "OX201"),
        ("bash -c 'rm -rf /'", "OX201"),
        ("cd / && rm -rf *", "OX201"),
        (":(){ :|:& };:", "OX202"),
        ("ls \u{200b}", "OX301"),
        ("ls \u{1b}[2K", "OX301"),
        ("a\r\n", "OX301"),
        ("ls\u{a0}", "OX302"),
    ];
    for (script, code) in rows {
        let facts = facts(script);
        assert!(codes(&facts).contains(code), "{script}: {:?}", codes(&facts));
    }
    assert_eq!(codes(&facts("while IFS= read -r x; do echo \"$x\"; done < a")), Vec::<&str>::new());
    assert_eq!(codes(&facts("git commit -m 'déjà vu ✔️' && ls | wc -l")), Vec::<&str>::new());
}

#[test]
fn spans_point_into_the_script() {
    let script = "a 'b' && c > d; eval 'e f'";
    let facts = facts(script);
    let text = |access: &Access| match access {
        Access::Exec(exec) => {
            let (start, end) = (exec.span.start as usize, exec.span.end as usize);
            format!("{} @ {}", exec.text, script.get(start..end).unwrap())
        }
        _ => String::new(),
    };
    let texts: Vec<_> = facts.accesses.iter().map(text).filter(|text| !text.is_empty()).collect();
    assert_eq!(texts, ["a 'b' @ a 'b'", "c @ c", "eval 'e f' @ eval 'e f'", "e f @ eval 'e f'"]);
}
