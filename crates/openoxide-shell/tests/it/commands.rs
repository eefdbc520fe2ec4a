//! Builtins, redirections and programs that run other programs, with one row for each case that the
//! analysis distinguishes.

use openoxide_protocol::{
    Access, CauseCode, CommandCause, CommandClass, ExecAccess, OperationFacts,
};

use crate::support::{codes, facts, is_opaque, lines};

fn check(rows: &[(&str, &[&str])]) {
    for (script, expected) in rows {
        assert_eq!(lines(&facts(script)), *expected, "{script}");
    }
}

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

/// Returns the class of the last program.
fn class(facts: &OperationFacts) -> CommandClass {
    let class = facts.accesses.iter().rev().find_map(|access| match access {
        Access::Exec(exec) => Some(exec.class),
        _ => None,
    });
    class.unwrap()
}

fn check_harmless(scripts: &[&str]) {
    for script in scripts {
        let facts = facts(script);
        assert_eq!(class(&facts), CommandClass::Harmless, "{script}");
        assert!(!is_opaque(&facts), "{script}: {:?}", lines(&facts));
    }
}

/// Returns whether the first program is harmless.
fn is_first_harmless(script: &str) -> bool {
    let facts = facts(script);
    let first = facts.accesses.iter().find_map(|access| match access {
        Access::Exec(exec) => Some(exec.class),
        _ => None,
    });
    first == Some(CommandClass::Harmless)
}

/// Checks that the last program is not harmless, or that something is opaque.
fn check_not_harmless(scripts: &[&str]) {
    for script in scripts {
        let facts = facts(script);
        assert!(is_opaque(&facts) || class(&facts) != CommandClass::Harmless, "{script}");
    }
}

/// Returns the paths that are read, those that are patterns marked.
fn reads(script: &str) -> Vec<String> {
    let facts = facts(script);
    let reads = facts.accesses.iter().filter_map(|access| match access {
        Access::Read(path) if path.is_pattern => Some(format!("{} (pattern)", path.path)),
        Access::Read(path) => Some(path.path.to_string()),
        _ => None,
    });
    reads.collect()
}

#[test]
fn builtins_that_run_other_commands_show_them() {
    check(&[
        ("command id", &["exec command id", "exec id"]),
        ("command -p id", &["exec command -p id", "exec id"]),
        ("command -p -- id", &["exec command -p -- id", "exec id"]),
        ("command -v id", &["exec command -v id"]),
        ("command -pv id", &["exec command -pv id"]),
        ("exec -a n id", &["exec exec -a n id", "exec id"]),
        ("exec -c -a n id", &["exec exec -c -a n id", "opaque exec -c -a n id", "exec id"]),
        ("exec -l id", &["exec exec -l id", "exec id"]),
        ("exec -cl -- id", &["exec exec -cl -- id", "opaque exec -cl -- id", "exec id"]),
        ("builtin eval 'id'", &["exec builtin eval id", "exec eval id", "exec id"]),
        ("eval -- id -a", &["exec eval -- id -a", "exec id -a"]),
        ("eval i d; eval", &["exec eval i d", "exec i d", "exec eval"]),
        ("trap id EXIT", &["exec trap id EXIT", "exec id"]),
        ("trap -- id 0", &["exec trap -- id 0", "exec id"]),
        (
            "trap INT; trap - EXIT; trap '' INT",
            &["exec trap INT", "exec trap - EXIT", "exec trap  INT"],
        ),
        ("bash <<< id", &["exec bash", "exec id"]),
        ("coproc N { id; }; coproc id a", &["exec id", "exec id a"]),
        ("bash -s <<< id", &["exec bash -s", "exec id"]),
        ("bash <<E\nid\nE", &["exec bash", "exec id"]),
        ("bash 0<<E\nid\nE", &["exec bash", "exec id"]),
        ("bash 1>f <<< id", &["edit /home/me/project/f", "exec bash", "exec id"]),
    ]);
    check_opaque(&[
        "command -x id",
        "command $q",
        "exec -x id",
        "exec $q",
        "exec \"$q\"",
        "bash 3<<E\nid\nE",
        "bash {v}<<E\nid\nE",
        "bash <<< id <f",
        "bash <<< $q",
    ]);
}

#[test]
fn builtins_that_run_code_are_opaque_and_those_that_list_are_not() {
    check_clear(&[
        "jobs",
        "enable",
        "history",
        "complete",
        "bind",
        "compgen -c",
        "compgen -A function a",
        "alias",
        "alias -p",
        "alias a",
        "unalias -a",
        "hash",
        "hash -r",
        "hash -d ls",
        "hash ls",
        "shopt",
        "shopt -s nullglob",
        "set -e; set -o pipefail; set +x; set -eo pipefail; set -o; set -- a; set a b; set -",
        "trap -p; trap -l; trap",
    ]);
    check_opaque(&[
        "jobs -x id",
        "enable -f a b",
        "fc",
        "history -c",
        "complete -C id x",
        "compgen -C id",
        "compgen -W '$(id)'",
        "compgen $q",
        "alias a=b",
        "alias \"$q\"",
        "hash -p f ls",
        "shopt -q extglob",
        "shopt \"$q\"",
        "set -o posix",
        "set -eo posix",
        "set -ek",
        "set -$q",
        "set \"$q\"",
        "set -o \"$q\"",
        "trap $q INT",
        "trap \"$q\" INT",
        "trap 'y=1' INT",
        "trap 'cd a' INT",
        "f() { y=1; }; trap f INT",
    ]);
}

#[test]
fn builtins_that_name_variables_evaluate_subscripts() {
    check_clear(&[
        "unset y; unset -v y; unset -f y; unset -- y; unset 'a[1]' 'a[@]'",
        "read y; read -r y; read -a y; read -rp 'a: ' y; read",
        "mapfile; mapfile y; mapfile -t y; mapfile -n 3 -t y; readarray -d '' y",
        "getopts ab: o",
        "wait; wait -n; wait -p y $!; wait $q",
        "let y=1 z=y+1; let \"y=$((1))\"",
        "printf -v y a; printf -vy a; printf \"$q\"; printf $q; printf \"$q\" y",
        "test -v y; test -v \"$q\"; test -n $q; [ a -eq b ]; test $q; test -f ./*.c",
        "[[ 1 -eq 2 ]]; [[ $# -gt 0 ]]; [[ -v y ]]; [[ -n $q ]]",
        "declare y=$(uname); export y=\"a$q\"; declare -p; declare y",
        "read -a z; export y=\"a$(uname)\"",
        "a=([z]=1)",
        "[[ ${q:-5} -eq 5 ]]",
        "a=(x y); a=([1]=x [2]=y); a[1]=x",
        "[[ $((1)) -eq 1 ]]; echo $(( (1+2)*3 )) $(($(nproc))) $((${q:-$z} + 1))",
        "IFS=:; export y=$(uname)",
        "y=$((1)); echo $((y)); declare z=$((1)); echo $((z)); echo $(($1)) $(($q)) $((${q:-5} + 1))",
        "echo $((a[1])) ${a[1]} ${a[q]}",
    ]);
    check_opaque(&[
        "unset $q",
        "unset 'a[$(id)]'",
        "unset \"a[$q\"",
        "read \"$q\"",
        "mapfile -C id y",
        "mapfile 'a[$(id)]'",
        "mapfile; (( M$q ))",
        "getopts ab: 'a[$(id)]'",
        "wait -p 'a[$(id)]' 1",
        "y=$(uname); wait $y",
        "let y=$(uname)",
        "let 'a[$(id)]=1'",
        "let $q",
        "printf -v 'a[$(id)]' a",
        "printf $(uname) y",
        "builtin printf $q y",
        "c=ls; printf {%n,a}{1..99} c; $c",
        "test -v 'y[$(id)]'",
        "test $(uname) -eq 1",
        "test *.c -eq 1",
        "[[ a$q -eq 1 ]]",
        "read -a y; declare y=$(uname)",
        "declare $q",
        "declare \"a$q\"",
        "export a*",
        "export y=$(uname); echo $((y))",
        "y=$(uname); echo $((y))",
        "read y; a=([y]=1)",
        "a=([$q]=1)",
        "a=(\"$q\" [z]=1)",
        "read y; a[y]=1",
        "y[0]=1; declare z=$(uname)",
        "f() { :; }; echo $(($(nproc)))",
        "nproc() { echo 'a[$(id)]'; }; echo $(($(nproc)))",
        "echo $((READLINE_X))",
        "echo $((COPROC_X))",
        "echo $((COMP_X))",
        "echo $((BASH_X))",
        "echo $((OPTARG))",
        "test ./*.c -eq 1",
        "read ya; (( y$q ))",
        "echo $(( ${q:-'a[$(id)]'} ))",
        "f() { echo $(($1)); }; f 'a[$(id)]'",
        "set -- 'a[$(id)]'; echo $(($1))",
        "bash -c 'echo $(($1))' x 'a[$(id)]'",
        "for i in {1..99}{a,b}; do echo $((i)); done",
        "while x; do eval \"$q\"; done",
    ]);
}

#[test]
fn redirections_name_files_descriptors_and_hosts() {
    check(&[
        ("{y}> f x", &["edit /home/me/project/f", "exec x"]),
        ("x {y}a {y} > f", &["edit /home/me/project/f", "exec x {y}a {y}"]),
        ("x {<f", &["read /home/me/project/f", "exec x {"]),
        ("&> f x", &["edit /home/me/project/f", "exec x"]),
        ("x 1&> f", &["edit /home/me/project/f", "exec x 1"]),
        ("x 1> f 0< g", &["edit /home/me/project/f", "read /home/me/project/g", "exec x"]),
        ("x >& 2 <& 0 >& - >& 2-", &["exec x"]),
        ("x 2>& f", &["opaque 2>& f", "exec x"]),
        ("x {y}>& f", &["opaque {y}>& f", "exec x"]),
        ("x >& 'f g'", &["opaque >& 'f g'", "exec x"]),
        ("x > ''", &["opaque > ''", "exec x"]),
        ("x < a{b,c}", &["opaque < a{b,c}", "exec x"]),
        ("x < ~root/f", &["read /root/f", "exec x"]),
        ("x > ~root/f", &["opaque > ~root/f", "exec x"]),
        ("x > /dev/tcp/a.b./80", &["fetch a.b", "exec x"]),
        ("x > /dev/udp/A/80", &["fetch a", "exec x"]),
        ("x > /dev/fd/1 > /dev/fd/y", &["edit /dev/fd/y", "exec x"]),
        ("x <<< $q", &["exec x"]),
        (
            "for i in a b; do x < $i; done",
            &["read /home/me/project/a", "exec x", "read /home/me/project/b"],
        ),
        ("for i in $q; do x < $i; done", &["opaque < $i", "exec x"]),
    ]);
    assert_eq!(reads("for i in *.c; do x < $i; done"), ["/home/me/project/*.c (pattern)"]);
}

#[test]
fn files_are_read_where_the_script_may_be() {
    let project = "/home/me/project";
    for (script, expected) in [
        ("cat f", &["f"][..]),
        ("cd a && cd .. && cat f", &["f"]),
        ("cd a; cat f", &["f", "a/f"]),
        ("cd -- a && cat f", &["a/f"]),
        ("cd -L a && cat f", &["a/f"]),
        ("cd '' && cat f", &["f"]),
        ("if cd a; then cat f; fi", &["a/f"]),
        ("if x; then cd a; exit; fi; cat f", &["f"]),
        ("cd a & cat f", &["f"]),
        ("cd a | x; cat f", &["f"]),
        ("(cd a && cat f) && cat g", &["a/f", "g"]),
        ("cd a || { cat f; exit; }; cat g", &["f", "a/g"]),
        ("x || cd a && cat f", &["f", "a/f"]),
        ("! cd a; cat f", &["f", "a/f"]),
        ("f() { :; }; f; cat g; cd a", &["g"]),
        ("f() { return; }; f; cat g", &["g"]),
        ("exit $q; cat f", &["f"]),
        ("cat *.c", &["*.c (pattern)"]),
        ("cd a; cat *.c", &["*.c (pattern)", "a/*.c (pattern)"]),
        ("grep -r x a*", &["a* (pattern)", "a* (pattern)"]),
        ("for i in *.c; do cat $i; done", &["*.c (pattern)"]),
        ("for i in *.c; do cat \"$i\"; done", &["*.c (pattern)"]),
        ("x < $(find src)", &["src", "src"]),
        ("f=\"$(find src)\"; x < \"$f\"", &["src", "src"]),
        ("grep -r x a b", &["a", "b", "a", "b"]),
        // It is listed, read by names that were printed, and the secrets below it are looked for.
        ("for i in $(find src); do cat $i; done", &["src", "src", "src"]),
        ("find src | while read -r f; do cat \"$f\"; done", &["src", "src", "src"]),
        ("find src | while read -r f; do cat \"$f\"; done; total", &["src", "src", "src"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|path| format!("{project}/{path}")).collect();
        assert_eq!(reads(script), expected, "{script}");
        check_clear(&[script]);
    }
    assert_eq!(reads("cd /tmp && cat f ../g"), ["/tmp/f", "/g"]);
    assert_eq!(reads("cd \"$q\" && cd /tmp && cat f"), ["/tmp/f"]);
    check_opaque(&[
        "cd \"$q\"; cat f",
        "if x; then cd \"$q\"; fi; cat f",
        "cd a; cd b; cd c; cat f",
        "CDPATH=/x; cd a && cat f",
        "cd a b && cat f",
        "while cd a; do cat f; done",
        "f() { cd a; }; f; cat f",
        "f() { cat f; }; cd a; f",
        "pushd a; x > b",
        "popd; x > b",
        "x > $q",
    ]);
}

#[test]
fn programs_are_harmless_only_if_their_input_is_sufficiently_known() {
    check_harmless(&[
        "PAGER=cat git log",
        "env CI=1 git log",
        "env -u FOO git log",
        "env -uFOO git log",
        "TZ=UTC ls",
        "LC_ALL=C.UTF-8 ls",
        "GIT_PAGER= git log",
        "GIT_TERMINAL_PROMPT=0 git status",
        "env ls",
        "IFS= read -r y",
        "echo $SSH_AUTH_SOCK $q",
        "echo ${#API_KEY}",
        "shopt; for i in *.c; do cat \"$i\"; done",
        "for i in *.c; do cat \"$i\"; done",
        "cat *.c",
        "git diff $(git merge-base a b)..HEAD",
        "git diff $(git rev-parse HEAD) \"$(git rev-parse HEAD)\"~1",
        "b=$(git rev-parse HEAD); git diff $b..HEAD \"$b\"^ \"$b\"",
        "head -n $((1)) f",
        "command ls",
    ]);
    check_not_harmless(&[
        "PAGER=x git log",
        "env -i git log",
        "env - git log",
        "env --ignore git log",
        "env -u PAGER git log",
        "env -uPAGER git log",
        "env --unset=PAGER git log",
        "env --unset PAGER git log",
        "env -v -i git log",
        "env --debug -i git log",
        "env -u FOO -u PAGER git log",
        "TZ=/x ls",
        "TZ=:/x ls",
        "TZ=../x ls",
        "LC_ALL=zh_CN.GBK ls",
        "LC_MESSAGES=/x ls",
        "x=zh_CN.GBK; LC_ALL=$x; ls",
        "unset LANG; cat ??",
        "GIT_TERMINAL_PROMPT=2 git status",
        "env FOO=1 ls",
        "env \"$q\" ls",
        "IFS=: ls",
        "echo $API_KEY",
        "echo a \"b${GITHUB_TOKEN}\"",
        "cat 'a*'*",
        "cat a\\**",
        "f='*'; cat a$f*",
        "shopt -s nullglob; for i in *.c; do cat \"$i\"; done",
        "IFS=x; for i in *.c; do cat $i; done",
        "for i in 'a b'; do cat $i; done",
        "for i in '*'; do cat $i; done",
        "for i in ''; do cat $i; done",
        "f=*.c; cat $f",
        "for i in a.c *.h; do cat $i; done",
        "for i in $(find src); do cd a && cat $i; done",
        "cat $(find src -name a)",
        "f=$(find . -name a); cd b && cat $f",
    ]);
    check_opaque(&[
        "IFS=x; for i in *.c; do x < $i; done",
        "for i in *.c; do x < \"$i\"; done; f() { IFS=x; }",
        "GLOBIGNORE=x; for i in *.c; do x < \"$i\"; done",
        "for i in *.c; do x < \"$i\"; done; f() { GLOBIGNORE=x; }",
        "shopt -s nullglob; for i in *.c; do x < \"$i\"; done",
        "for i in *.c; do x < \"$i\"; done; f() { shopt -s nullglob; }",
        "b=$(git rev-parse HEAD); git diff --$b",
        "b=$(git rev-parse HEAD); git diff -$b",
        "b=$(git rev-parse HEAD); git diff a-$b",
        "b=$(git rev-parse HEAD); IFS=x; git diff $b",
        "b=$(git rev-parse HEAD); shopt -s nullglob; git diff $b",
        "b=$(git rev-parse HEAD); GLOBIGNORE=x; git diff $b",
        "b=$(git rev-parse HEAD; echo a); git diff $b",
    ]);
}

#[test]
fn a_program_that_starts_another_is_harmless_where_it_only_does_that() {
    for script in ["bash -c ls", "sh -ec ls", "env ls", "env CI=1 ls", "command ls", "exec > f"] {
        assert!(is_first_harmless(script), "{script}");
    }
    for script in ["bash -c ls y", "bash -xc ls", "zsh -c ls", "env FOO=1 ls", "env \"$q\" ls"] {
        assert!(!is_first_harmless(script), "{script}");
    }
}

/// Only the real program shows what it does with such words. A host or a program can be named like
/// a subcommand.
#[test]
fn help_that_was_not_verified_has_its_own_cause() {
    let states_help = |script: &str| {
        facts(script).accesses.iter().any(|access| {
            matches!(
                access,
                Access::Exec(ExecAccess {
                    class: CommandClass::Unknown,
                    cause: Some(CommandCause::Stated { code: CauseCode::RunsProjectCode, phrase }),
                    ..
                }) if phrase.contains("not verified")
            )
        })
    };
    for script in ["ansible --version", "kotlin -version", "terraform plan -help"] {
        assert!(states_help(script), "{script}");
    }
    for script in [
        "ansible all --version",
        "ansible -x --version",
        "ansible A --version",
        "terraform -x -help",
        "terraform A -help",
        "cargo yank --version",
        "docker compose down -v",
        "ssh host --help",
        "npx evil --help",
        "sudo rm --help",
        "terraform -chdir=x --help",
        "terraform plan -help x",
        "terraform plan -help -out=x",
        "./ansible --version",
        "ansible() { :; }; ansible --version",
    ] {
        assert!(!states_help(script), "{script}");
    }
}

#[test]
fn findings_have_the_expected_codes() {
    let rows: &[(&str, &[&str])] = &[
        ("export FOO=1", &["OX103"]),
        ("declare -x FOO=1", &["OX103"]),
        ("export FOO+=1", &["OX103"]),
        ("declare FOO=1", &[]),
        ("declare FOO=1; declare -x CI=1; export LANG=C", &[]),
        ("FOO=1 ls", &["OX103"]),
        ("CI=1 ls", &[]),
        ("IFS=: ls", &["OX103"]),
        ("IFS=: read a", &[]),
        ("GOOS=linux GOARCH=arm64 go build", &[]),
        ("env CGO_ENABLED=0 go build", &[]),
        ("PYTHONUNBUFFERED=1 python3 x.py", &[]),
        ("PYTHONDONTWRITEBYTECODE=1 ls", &[]),
        ("PYTHONHASHSEED=0 ls", &["OX103"]),
        ("GOFLAGS=-toolexec=./x ls", &["OX103"]),
        ("GOROOT=. ls", &["OX103"]),
        ("GOOS=linux PATH=. ls", &["OX103"]),
        ("PYTHONPATH=. ls", &["OX103"]),
        ("PYTHONWARNINGS=x ls", &["OX103"]),
        ("CARGO_BUILD_RUSTC=./x ls", &["OX103"]),
        ("CARGO_TARGET_DIR=src ls", &["OX103"]),
        ("FOO=1", &[]),
        ("MY_PAGER=x", &["OX103"]),
        ("MY_EDITOR=x", &["OX103"]),
        ("MY_ASKPASS=x", &["OX103"]),
        ("LD_X=1", &["OX103"]),
        ("bash -x | cat", &[]),
        ("curl x | sh -x", &["OX105"]),
        ("curl x | bash -c id", &[]),
        ("curl x | bash f", &[]),
        ("curl x | bash -x f", &[]),
    ];
    for (script, expected) in rows {
        let facts = facts(script);
        let found: Vec<_> =
            codes(&facts).into_iter().filter(|code| matches!(*code, "OX103" | "OX105")).collect();
        assert_eq!(found, *expected, "{script}");
    }
    for (script, word) in [
        ("sort -- a; sort $q", "`$q`"),
        ("command sort a $q", "`$q`"),
        ("command -p builtin command sort \"$q\"", "`\"$q\"`"),
        ("sort -u$y -o b $q", "`$q`"),
    ] {
        let facts = facts(script);
        let named = facts.findings.iter().any(|finding| finding.message.contains(word));
        assert!(named, "{script}: {:?}", facts.findings);
    }
    for (script, expected) in [
        ("env ls 'a b'", "ls 'a b'"),
        ("env ls '' \"a'b\" a.b", r"ls '' 'a'\''b' a.b"),
        ("env ls \"a$q\" -- $q", "ls a… -- …"),
    ] {
        let facts = facts(script);
        let texts = facts.accesses.iter().filter_map(|access| match access {
            Access::Exec(exec) => Some(exec.text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), [script, expected]);
    }
}

#[test]
fn scripts_beyond_the_length_or_depth_limit_are_opaque() {
    let evals =
        |count: usize, length: usize| format!("{}: {}", "eval ".repeat(count), "a".repeat(length));
    check_clear(&[
        &"eval x;".repeat(60),
        &format!("x {}", "\"$q\" ".repeat(60)),
        &format!("x {}", "$(y) ".repeat(60)),
        &evals(3, 60_000),
        &format!("{}x", "env ".repeat(15)),
    ]);
    check_opaque(&[&evals(6, 60_000), &format!("{}x", "env ".repeat(20))]);
    let value = |length| format!("y={}; x \"$y\"", "a".repeat(length));
    assert!(lines(&facts(&value(2048)))[0].ends_with("aaa"));
    assert_eq!(lines(&facts(&value(2049))), ["exec x <?>"]);
    check(&[
        ("for i in a b; do x $i; done", &["exec x a", "exec x b"]),
        (&format!("for i in a b; do x $i; done # {}", "a".repeat(3000)), &["exec x <*>"]),
        (&format!("{:a<2048}", "for i in a b; do x $i; done # "), &["exec x a", "exec x b"]),
        (&format!("{:a<2049}", "for i in a b; do x $i; done # "), &["exec x <*>"]),
    ]);
    check_clear(&[&format!("x {}", "$(uname) ".repeat(70))]);
}

#[test]
fn constructs_that_bash_versions_read_differently_are_opaque() {
    check_clear(&[
        "x \"`echo {a}`\" \"`echo {`\"",
        "x \"${y:-'a b'}\" \"${y:-a>b}\" \"${y:-<a}\"",
        "x ${y:-${z:-${w}}} \"${y:-\"a\"}\"",
        "sh -c 'x a,b}'; sh -c 'ls -l'; sh -c 'eval id'",
    ]);
    check_opaque(&[
        "echo $((1]))",
        "echo $((1 <(id)))",
        "echo $(time (id))",
        "echo $(time { id; })",
        "if<(a); then b; fi",
        "x \"`echo \\\"a\\\"`\"",
        "x \"`echo \\\"{\\\"`\"",
        "x ${y:-${z:-${w[1]}}}",
        "x ${y:-${z:-${w:-1}}}",
        "x ${y:-${z:-${#w}}}",
        "x \"${y:-'}'}\"",
        "x \"${y:-<(id)}\"",
        "x \"${y:-\"a\\b\"}\"",
        "for i in<(a); do x; done",
        "[[ a foo b ]]",
        "x $(\\\n(id))",
        "x >\\\n> f",
        "x <\\\n(id)",
        "x `echo \\é`",
        "x ${y:-$z'a'}",
        "x ${y:-a${z[1]}}",
        "sh -c 'x {a,b}'",
        "sh -c 'eval -- id'",
        "sh -c 'source f'",
        "sh -c 'a[1]=x'",
        "sh -c 'y+=x'",
    ]);
}

#[test]
fn accesses_have_their_path_directory_and_search() {
    let written = |script: &str| {
        let facts = facts(script);
        let last = facts.accesses.iter().rev().find_map(|access| match access {
            Access::Read(path) => Some(path.raw_path.clone()),
            _ => None,
        });
        last.unwrap()
    };
    assert_eq!(written("cat ../f"), "../f");
    assert_eq!(written("cd a && cat ../f"), "/home/me/project/a/../f");
    let place = |script: &str| {
        let facts = facts(script);
        let last = facts.accesses.iter().rev().find_map(|access| match access {
            Access::Exec(exec) => Some(exec.cwd.as_ref().map(ToString::to_string)),
            _ => None,
        });
        last.unwrap()
    };
    assert_eq!(place("git status"), None);
    assert_eq!(place("cd a && git status").as_deref(), Some("/home/me/project/a"));
    assert_eq!(place("git -C a status").as_deref(), Some("/home/me/project/a"));
    assert_eq!(place("cd \"$q\"; git status").as_deref(), Some("/"));
    let searches = |script: &str| {
        let facts = facts(script);
        facts.accesses.iter().any(|one| matches!(one, Access::Read(path) if path.search.is_some()))
    };
    // A `grep` that is ugrep searches the directory `a` also without `-r`.
    assert!(searches("grep -r x a") && searches("grep x a") && !searches("grep -d skip x a"));
    // As a file that is read, and as a word whose names may be options.
    assert_eq!(reads("git log *"), ["/home/me/project/* (pattern)"; 2]);
}

/// `nohup` writes its own file only if standard output is a terminal (nohup(1)).
#[test]
fn nohup_writes_a_file_only_where_its_output_may_be_a_terminal() {
    for script in [
        "nohup cat a.txt | head",
        "nohup cat a.txt | head | cat",
        "nohup cat a.txt > /dev/null",
        "nohup cat a.txt > out",
    ] {
        assert!(is_first_harmless(script), "{script}");
    }
    for script in ["nohup cat a.txt", "nohup cat a.txt > /dev/tty", "nohup cat a.txt > ../out"] {
        assert!(!is_first_harmless(script), "{script}");
    }
    for script in ["cat a.txt | nohup cat a.txt", "cat a.txt | cat | nohup cat a.txt"] {
        let facts = facts(script);
        let class = facts.accesses.iter().find_map(|access| match access {
            Access::Exec(exec) if exec.argv.known_word(0) == Some("nohup") => Some(exec.class),
            _ => None,
        });
        assert_ne!(class, Some(CommandClass::Harmless), "{script}");
    }
}

#[test]
fn what_a_builtin_leaves_behind_counts_for_later_commands() {
    check_opaque(&[
        "while x; do cat f; pushd a; done",
        "getopts $q y",
        "getopts * -1",
        "getopts \"$q\" y",
        "set -E; trap 'echo a' ERR; echo $(($(nproc)))",
        "set 'a[$(id)]'; echo $(($1))",
        "w0=$(cat f); let w$?",
        "let 'a[0]=1'; declare z=$(uname)",
        "((a[0]=1)); declare z=$(uname)",
        "set -E; set -e; trap 'echo a' ERR; echo $(($(nproc)))",
        "trap 'echo a' ERR; set -o errtrace; echo $(($(nproc)))",
    ]);
    check_clear(&[
        "getopts a\"$q\" y",
        "trap 'echo a' ERR; echo $(($(nproc)))",
        "set abc",
        "y=$(uname); x $((1 + $(nproc)))",
        "x $((a$q + 1))",
        "f() { :; }; f; cat g; pushd a",
    ]);
    check_harmless(&["((i=$(nproc))); ls", "for ((i=$(nproc);;)); do :; done; ls"]);
    check_not_harmless(&[
        "((_$(nproc)=1)); ls",
        "((a$(nproc)=1)); ls",
        "((++$(nproc))); ls",
        "((--$(nproc))); ls",
        "find src | while read -r f g; do cat \"$f\"; done",
    ]);
}

#[test]
fn cd_enters_the_directory_that_it_names() {
    let entered = |script: &str| {
        let facts = facts(script);
        let place = facts.accesses.iter().find_map(|access| match access {
            Access::ExternalDirectory(place) => Some(place.raw_path.clone()),
            _ => None,
        });
        place.unwrap()
    };
    assert_eq!(entered("cd /tmp/a"), "/tmp/a");
    assert_eq!(entered("cd b"), "/home/me/project/b");
    assert_eq!(entered("cd ../b"), "../b");
}

#[test]
fn text_that_a_script_writes_is_not_evaluated_as_a_number() {
    check_clear(&[
        "y=$(cat f); echo $((OPTIND)) $((lower)) $(($1))",
        "echo $((USER))",
        "y=5; echo $((${y:-1}))",
        "Y=1; f() { :; }; f; z=$(cat g); echo $((Y))",
        "A=5; x=$(ls); if ls; then A=6; fi; echo $((A*2))",
        "y=$(uname); [[ -v y ]]",
        "echo $(($(date '+%s'))) $(($(grep -c a)))",
        "printf \"a$(cat f)\" \"$((1))\"",
    ]);
    check_opaque(&[
        "y=$(cat f); echo $((USER))",
        "y=$(cat f); echo $((npm_config_x))",
        "y=$(cat f); echo $((http_proxy))",
        "y=$(cat f); echo $((container))",
        "y=$(cat f); echo $(($0))",
        "v=PATH; (($v)); ls",
        "y='a[$(id)]'; echo $((${y:-1}))",
        "y='a[$(id)]'; echo $((${q:-$y}))",
        "y='a[$(id)]'; for i in {1..99}\"$y\"; do echo $((i)); done",
        "trap 'echo a' ERR; while x; do echo $(($(nproc))); set -E; done",
        "y=1; f() { y=$(cat g); }; f; echo $((y))",
        "y=1; if x; then y=$(cat f); fi; echo $((y))",
        "A=5; if ls; then A=$(cat f); fi; echo $((A))",
        "while x; do echo $(($(nproc))); nproc() { echo 'a[$(id)]'; }; done",
        "echo $(($(date +%%s)))",
        "echo $(($(grep -c --help)))",
        "printf \"a$(cat f)\" a b \"$(cat g)\"",
        "declare DIRSTACK=$(cat f)",
        "declare BASH_X=$(cat f)",
        "declare COMPREPLY=$(cat f)",
        "declare COPROC=$(cat f)",
        "declare MAPFILE=$(cat f)",
    ]);
    let many: String = (0..257).map(|number| format!("a{number}=1;")).collect();
    check_opaque(&[&format!("{many} trap 'a1=2; c=1' INT")]);
}

#[test]
fn what_the_shell_may_have_changed_is_not_relied_on() {
    check_harmless(&["API_KEY=$(uname); echo $API_KEY"]);
    check_not_harmless(&[
        "readonly API_KEY; API_KEY=$(uname); echo $API_KEY",
        ": ${x?$GITHUB_TOKEN}",
        "API_KEY+=x; echo $API_KEY",
        "API_KEY[1]=x; echo $API_KEY",
        "x",
        "date() { read -rn1 y; }; find src | { date; while read -r p; do cat \"$p\"; done; }",
        "find src | { : <(y); while read -r f; do cat \"$f\"; done; }",
    ]);
    assert!(!is_first_harmless("while ls; do ls() { :; }; done"));
    check_opaque(&[
        "x=${x?$GITHUB_TOKEN}",
        "env TZ=/x ls",
        "env TZ=../x ls",
        "declare -a y='($(id))'",
        "env PWD=/x ls",
        "SECONDS=a",
        "OPTIND=$(cat f)",
        "unset 'a b[1]'",
        "git apply",
        "git apply -",
        "set -E; while x; do echo $(($(nproc))); trap 'echo a' ERR; done",
        "while x; do (cd a && cat f); CDPATH=/x; done",
        "{ echo x >/dev/stdout; } 1<f.txt",
        "echo x <f.txt 1<&0 >/dev/stdout",
        "cat x=~/f",
        "cat ~-",
        "cat {~+,x}/.e*",
        "shopt -s dotglob; cat *.c",
    ]);
    check_clear(&[
        "ls >/dev/stderr 2>&1",
        "echo ~-",
        "test -e ~-",
        "x=~/f",
        "SECONDS=5",
        "OPTIND=1",
    ]);
    check_clear(&[
        "test \"a$(cat f)\" = b",
        "env FOO=/x ls",
        "env TZ=Europe/Berlin ls",
        "declare -a y='(b c)'",
        "echo $((${a[1]}))",
        "cat a:~/f",
    ]);
    let piped = reads("find src | { read -r f; cat \"$f\"; } 2>/dev/null");
    assert!(
        piped.len() > 1 && piped.iter().all(|path| path == "/home/me/project/src"),
        "{piped:?}"
    );
    assert_eq!(
        reads("cd /usr || exit; for i in a b; do x $i; done; cat f"),
        ["/usr/f"],
        "the loop ends where it begins"
    );
    let places = reads("f() { :; }; while x; do :; done; cd a && f; cat g");
    assert_eq!(places, ["/home/me/project/g", "/home/me/project/a/g"]);
}

#[test]
fn a_file_of_code_is_another_cause_than_code_from_elsewhere() {
    let cause = |script: &str| {
        let facts = facts(script);
        let cause = facts.accesses.iter().rev().find_map(|access| match access {
            Access::Exec(exec) => exec.cause,
            _ => None,
        });
        match cause {
            Some(CommandCause::Stated { code, .. }) => code,
            other => panic!("{script}: {other:?}"),
        }
    };
    for script in ["sh a.sh", "bash a.sh", "python3 a.py", "python3 -m a", ". ./a"] {
        assert_eq!(cause(script), CauseCode::RunsCode, "{script}");
    }
    for script in ["sh", "bash", "bash \"$q\""] {
        assert_eq!(cause(script), CauseCode::Opaque, "{script}");
    }
    let is_unknown = |script: &str| {
        let unknown = Some(CommandCause::UnknownProgram);
        let facts = facts(script);
        facts.accesses.iter().any(|one| matches!(one, Access::Exec(exec) if exec.cause == unknown))
    };
    assert!(is_unknown("no-such-program a") && !is_unknown("make a"));
}

#[test]
fn paths_are_those_of_the_directory_that_a_program_enters() {
    for script in
        ["git -C a diff --no-index /etc/hosts f", "git -C a grep --no-index x /etc/hosts f"]
    {
        let found = reads(script);
        for path in ["/etc/hosts", "/home/me/project/a/f"] {
            assert!(found.iter().any(|read| read == path), "{script}: {found:?}");
        }
        for path in ["/home/me/project/a/etc/hosts", "/home/me/project/f"] {
            assert!(!found.iter().any(|read| read == path), "{script}: {found:?}");
        }
    }
    let is_dangerous = |script: &str| {
        codes(&facts(script)).iter().any(|code| codes(&facts("rm -rf /usr")).contains(code))
    };
    assert!(is_dangerous("cd / && rm -rf usr") && !is_dangerous("rm -rf usr"));
    assert!(is_dangerous("cd /tmp && rm -rf ~/project"));
    let path_accesses = |script: &str| {
        let paths = facts(script).accesses.into_iter().filter_map(|access| match access {
            Access::Read(path) => Some(path),
            _ => None,
        });
        paths.collect::<Vec<_>>()
    };
    let options = path_accesses("rg *");
    assert!(options.iter().any(|path| path.option_prefixes.as_deref() == Some("-")));
    let printed = path_accesses("for i in $(find /a); do cat $i; done");
    assert!(printed.iter().any(|path| path.has_piped_names));
}
