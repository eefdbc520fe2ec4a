//! The properties of a script as a whole: what bash, dash and zsh print for it, and what bash keeps of it.
#![expect(
    clippy::disallowed_methods,
    reason = "the shells are asked what they do; the crate itself stays pure"
)]

use std::{
    collections::BTreeSet,
    fs, io,
    process::{Command, Stdio},
};

use openoxide_protocol::AbsPath;
use openoxide_shell::{AnalysisContext, ScriptProperties};

/// The shells that are compared, with their options.
const SHELLS: [(&str, &[&str]); 3] =
    [("bash", &["--norc", "--noprofile", "-c"]), ("dash", &["-c"]), ("zsh", &["-f", "-c"])];

/// Runs the scripts that follow, each in its own directory and with two arguments.
const RUNNER: &str = "x() { printf '<%s>' \"$@\"; echo; }; root=$1; shift; n=0
    for script; do
        (cd $root/$n; script=$script; set -- p q; eval \"$script\")
        printf '\\001%s\\000' $?
        n=$((n+1))
    done";

/// What a script does in a shell.
#[derive(Debug, PartialEq, Eq)]
struct Effects {
    output: String,
    succeeds: bool,
    /// The names in its directory afterwards.
    files: Vec<String>,
}

/// Runs scripts, each in a directory with some files. Returns `None` if the shell is not installed.
fn run(shell: usize, scripts: &[&str]) -> Option<Vec<Effects>> {
    let root = tempfile::tempdir().unwrap();
    for index in 0..scripts.len() {
        let directory = root.path().join(index.to_string());
        fs::create_dir_all(directory.join("d/e")).unwrap();
        for file in ["d/e/f", "d/g"] {
            fs::write(directory.join(file), "").unwrap();
        }
    }
    let (name, options) = SHELLS[shell];
    let mut command = Command::new(name);
    command.args(options).arg(RUNNER).arg("sh").arg(root.path()).args(scripts);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/home/me");
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        output => String::from_utf8_lossy(&output.unwrap().stdout).into_owned(),
    };
    let results: Vec<_> = output.split_terminator('\0').collect();
    assert_eq!(results.len(), scripts.len(), "{name}");
    let effects = results.iter().enumerate().map(|(index, result)| {
        let directory = root.path().join(index.to_string());
        let (text, status) = result.split_once('\u{1}').unwrap();
        let output = text.replace(&*directory.to_string_lossy(), "HERE");
        let files = fs::read_dir(directory).unwrap();
        let files = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        let mut files: Vec<_> = files.collect();
        files.sort();
        Effects { output, succeeds: status == "0", files }
    });
    Some(effects.collect())
}

fn properties(script: &str) -> ScriptProperties {
    let cwd = AbsPath::new("/home/me/project").unwrap();
    let home = AbsPath::new("/home/me").unwrap();
    ScriptProperties::examine(script, &AnalysisContext { cwd: &cwd, home: Some(&home) })
}

#[test]
fn a_script_that_a_shell_executes_differently_is_not_portable() {
    for script in DIFFERENT {
        assert!(!properties(script).is_portable, "{script}");
    }
    // dash before 0.5.11 splits the value.
    assert!(!properties("export y=$(x)").is_portable);
}

#[test]
fn a_script_that_all_shells_execute_alike_is_portable() {
    for script in ALIKE {
        assert!(properties(script).is_portable, "{script}");
    }
}

#[test]
fn the_shells_are_the_referee_of_what_is_portable() {
    let bash = run(0, DIFFERENT).unwrap();
    let others = [run(1, DIFFERENT), run(2, DIFFERENT)];
    for (index, script) in DIFFERENT.iter().enumerate() {
        let is_other = |other: &Option<Vec<Effects>>| {
            other.as_ref().is_none_or(|other| other[index] != bash[index])
        };
        assert!(others.iter().any(is_other), "all shells agree: {script}");
    }
    let bash = run(0, ALIKE).unwrap();
    for other in [run(1, ALIKE), run(2, ALIKE)].into_iter().flatten() {
        for ((script, bash), other) in ALIKE.iter().zip(&bash).zip(&other) {
            assert_eq!(other, bash, "{script}");
        }
    }
}

/// Prints the variables after each of the scripts that follow, and those before all of them.
const VARIABLES: &str = "x() { :; }; before=$(compgen -v)
    for script; do
        (eval \"$script\" >/dev/null; compgen -v; echo \"$before\"; printf '\\000')
    done";

/// Returns the variables that bash has after each script and did not have before.
fn new_variables(scripts: &[&str]) -> Vec<BTreeSet<String>> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", VARIABLES, "bash"]).args(scripts);
    let output = bash.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap().stdout;
    let text = String::from_utf8(output).unwrap();
    // The shell itself sets these.
    let own =
        ["before", "script", "BASH_ARGC", "BASH_ARGV", "BASH_LINENO", "FUNCNAME", "PIPESTATUS"];
    let after = text.split_terminator('\0').map(|text| {
        let once = |name: &&str| text.lines().filter(|line| line == name).count() == 1;
        let new = text.lines().filter(once).filter(|name| !own.contains(name));
        new.map(str::to_owned).collect()
    });
    after.collect()
}

fn assigned(script: &str) -> BTreeSet<String> {
    properties(script).assigned.unwrap().into_iter().collect()
}

/// Scripts with the variables that bash has afterwards.
const ASSIGNED: &[(&str, &[&str])] = &[
    ("x a", &[]),
    ("y=a; z=b; y=c", &["y", "z"]),
    ("y=a x b", &[]),
    ("y=a; y=b x c", &["y"]),
    ("z=a; y=b x c; v=d x e", &["z"]),
    ("y=a x b; y=c", &["y"]),
    ("export y=a; declare z=b", &["y", "z"]),
    ("read y z <<< 'a b'", &["y", "z"]),
    ("read <<< a", &["REPLY"]),
    ("for i in a b; do x $i; done", &["i"]),
    ("f() { y=a; }; f", &["y"]),
    ("printf -v y a; ((z=1)); let v=2; x $((w=3))", &["v", "w", "y", "z"]),
    (": ${y:=a} ${z=b} ${v:-c}", &["y", "z"]),
    ("mapfile y <<< a; z=(b)", &["y", "z"]),
    ("[[ ab =~ a(.) ]]", &["BASH_REMATCH"]),
    ("while read -r y; do z=$y; done <<< a", &["y", "z"]),
];

#[test]
fn the_variables_that_bash_has_afterwards_are_assigned() {
    for (script, expected) in ASSIGNED {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(assigned(script), expected, "{script}");
    }
}

#[test]
fn bash_is_the_referee_of_what_is_assigned() {
    let scripts: Vec<&str> = ASSIGNED.iter().map(|(script, _)| *script).collect();
    for ((script, expected), found) in ASSIGNED.iter().zip(new_variables(&scripts)) {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{script}");
    }
}

/// Returns the directory in which bash is after each script.
fn directories_in_bash(scripts: &[&str]) -> Vec<String> {
    let scripts: Vec<_> = scripts.iter().map(|script| format!("{script}\n echo; pwd")).collect();
    let scripts: Vec<_> = scripts.iter().map(String::as_str).collect();
    let effects = run(0, &scripts).unwrap();
    effects.iter().map(|one| one.output.lines().last().unwrap_or_default().to_owned()).collect()
}

/// Scripts with the directories in which a shell may be afterwards.
const LAST_DIRECTORIES: &[(&str, &[&str])] = &[
    ("x a", &["HERE"]),
    ("cd d", &["HERE", "HERE/d"]),
    ("cd d || exit", &["HERE/d"]),
    ("cd d/e || exit; cd .. || exit", &["HERE/d"]),
    ("cd no", &["HERE", "HERE/no"]),
    ("(cd d)", &["HERE"]),
    ("cd d | x", &["HERE"]),
    ("cd d &", &["HERE"]),
    ("cd d && x a", &["HERE", "HERE/d"]),
    ("if x a; then cd d || exit; fi", &["HERE", "HERE/d"]),
    ("cd d; cd e || exit", &["HERE/d/e", "HERE/e"]),
    ("cd d; cd d/../e", &["HERE", "HERE/d", "HERE/d/e", "HERE/e"]),
];

#[test]
fn the_directory_in_which_bash_ends_is_one_of_the_last_directories() {
    for (script, expected) in LAST_DIRECTORIES {
        let found = properties(script).last_directories.unwrap();
        let mut found: Vec<_> =
            found.iter().map(|path| path.as_str().replace("/home/me/project", "HERE")).collect();
        found.sort();
        assert_eq!(found, *expected, "{script}");
    }
    let one_of = |names: &[&str]| {
        let branches = names.iter().map(|name| format!("elif {name}; then cd {name} || exit;"));
        properties(&format!("if x; then :; {} fi", branches.collect::<String>())).last_directories
    };
    assert_eq!(one_of(&["a", "b", "c"]).map(|found| found.len()), Some(4));
    assert_eq!(one_of(&["a", "b", "c", "e"]), None, "too many");
    for script in ["cd \"$q\"", "cd d; cd e; cd f", "if x; then cd \"$q\"; fi", "pushd d"] {
        assert_eq!(properties(script).last_directories, None, "{script}");
    }
}

#[test]
fn bash_is_the_referee_of_the_last_directories() {
    let scripts: Vec<&str> = LAST_DIRECTORIES.iter().map(|(script, _)| *script).collect();
    for ((script, expected), place) in LAST_DIRECTORIES.iter().zip(directories_in_bash(&scripts)) {
        // Otherwise it has ended before.
        assert!(place.is_empty() || expected.contains(&place.as_str()), "{script}: {place}");
    }
}

/// Scripts that dash or zsh execute differently from bash.
const DIFFERENT: &[&str] = &[
    "eval -- x a",
    "exec -a n echo a",
    r#"printf -v y a; x "$y""#,
    r#"printf -vy a; x "$y""#,
    r#"printf "$(echo -v)" y a; x "$y""#,
    r#"printf "-$(echo v)" y a; x "$y""#,
    r#"printf $(echo -v y) a; x "$y""#,
    "echo -e a",
    "echo - a",
    r"echo 'a\tb'",
    r"echo a 'b\nc'",
    r#"declare y=a; x "$y""#,
    r#"let y=1; x "$y""#,
    "builtin echo a",
    "pushd d; x a",
    "x ~+",
    "x ~-",
    "x ~1",
    "x ~+/a",
    "x =ls",
    "y=z; z=a; x ${!y}",
    "x ${!HO*}",
    "x ${!HOM@}",
    "y=a; x ${y@Q}",
    r#"y='$HOME'; x "${y@P}""#,
    "x $RANDOM",
    "x $COLUMNS",
    r#"x "${UID}""#,
    "x $SHLVL",
    r#"x "$BASH_VERSION""#,
    r#"x "$HISTSIZE""#,
    r#"x "$EPOCHSECONDS""#,
    r#"x "$COMP_WORDBREAKS""#,
    "y=/a/b; x $y:h",
    r#"y=/a/b; x "$y:h""#,
    "y=ab; x $y[1]",
    r#"y=ab; x "$y[1]""#,
    r#"y=/a/b; x "c $y:h""#,
    "y=ab; x c$y[1]",
    r#"x "$1:h""#,
    "y='a b'; x $=y",
    "y='d/*'; x $~y",
    "y=ab; x c$^y",
    "y=ab; x $+y",
    "y=ab; x $#y",
    r#"y='a b'; x "$=y""#,
    "x {v} < d/g",
    "x a {v} > g",
    "y='a b'; x $y",
    "y='a b'; x ${y}",
    "y='d/*'; x $y",
    "y='a b'; x c$y",
    "x $'a'",
    r#"x $"a""#,
    "((1)) && x a",
    "(( 1 > 2 )); x a",
    "select i in a b; do x $i; break; done",
    "function f { x a; }; f",
    "function f() { x a; }; f",
    "x a |& cat",
    "time x a",
    "coproc x a && x b",
    "[[ a == a ]] && x a",
    "cat <(x a)",
    r#"y=ab; x "${y:0:1}""#,
    r#"y=ab; x "${y/a/c}""#,
    r#"y=ab; x "${y^}""#,
    r#"y=AB; x "${y,}""#,
    r#"y=(a b); x "${y[1]}""#,
    r#"y=ab; x "${y[0]}""#,
    r#"y=(a b); x "${y[@]}""#,
    r#"y=a; y+=b; x "$y""#,
    r#"y[1]=a; x "${y[1]}""#,
    "x a {v}>f",
    "x a 10>f",
    "x a &>f; wait",
    "x a &>>f; wait",
    "x a >& f",
    "cat <<< a",
    "cat <<E\n${y:0:1}\nE",
    "cat <<E\n$UID\nE",
    "y=/a/b; cat <<E\n$y:h\nE",
    "x {a,b}",
    "x {1..3}",
    "x c{a,b}d",
    r#"cd d e; x "$?""#,
    r#"y=a :; x "$y""#,
    r#"y=a eval :; x "$y""#,
    r#"y=a export z; x "$y""#,
    "for ((i=0; i<2; i++)); do x $i; done",
    "case a in a) x b;& c) x d;; esac",
    "case a in a) x b;;& *) x d;; esac",
    "test a == a && x b",
];

/// Scripts that bash, dash and zsh execute alike.
const ALIKE: &[&str] = &[
    "x a",
    "eval x -a",
    "eval 'x a'",
    "trap -- 'x a' EXIT",
    "printf %s -v",
    "printf '%s\n' a",
    r#"printf "a$(echo v)" y"#,
    r#"y=a; printf "$y" b"#,
    "echo -n a",
    "echo -n a -e",
    "echo a -e",
    "echo a b",
    "x ~",
    "x a~+",
    "x ~/a",
    r#"x "~+""#,
    r#"x "a"~+"#,
    "x =",
    "x a=ls",
    r#"x "="ls"#,
    r#"x "a"=ls"#,
    "x d/*",
    "x *",
    "y=z; z=a; x ${z}",
    r#"x "$HOME""#,
    r#"y=/a/b; x "${y}:h""#,
    "y=/a/b; x $y:/c",
    "y=/a/b; x $y.h",
    r#"y=ab; x "${y}[1]""#,
    r"y=ab; x $y\:h",
    r#"y='a b'; x "$y""#,
    r#"y='a b'; x "c$y""#,
    "y=ab; x $y",
    "y=; x $y",
    "x $q",
    r#"x "$q""#,
    r#"x "$1" $1"#,
    "f() { x a; }; f",
    "[ a = a ] && x a",
    r#"y=ab; x "${y#a}" "${y%b}" "${y:-c}" "${#y}""#,
    "y=ab; x ${y#a} ${z-c} ${z:=d}",
    "x a 1>f",
    "x a 2>f",
    "x a >&2",
    "x a 2>&1",
    "x a >&1",
    "cat <<E\n$'a'\nE",
    "cat <<E\n${HOME} ~+ =ls **\nE",
    "x {a}",
    r#"x "{a,b}""#,
    r#"y={a,b}; x "$y""#,
    "cd d; x a",
    "cd -- d; x a",
    "cd -L d; x a",
    "y=a > f",
    r#"y=b; y=a > f; x "$y""#,
    r#"y=a true; x "$y""#,
    "y=a x; x b",
    r#"export y="a b"; x "$y""#,
    r#"export y=~/a; x "$y""#,
    r#"y="a b"; export z="$y"; x "$z""#,
    r#"export y=a; x "$y""#,
    r#"echo a > f; x "$(cat f)""#,
    "command echo a",
    "unset y; x a",
    "for i in a b; do x $i; done",
    "for i; do x $i; done",
    "case a in a) x b;; esac",
    "if x a; then x b; fi",
    "while x a; do break; done",
    "x `echo a` $(echo a) $((1+1))",
    "set -e; x a",
    r#"set -- a b; x "$@""#,
    "x a & wait",
    "! x a",
    "{ x a; }",
    "(x a)",
    "x a; exit 3",
    "exec 3>f; x a >&3",
    r#"read y; x "$y""#,
    "test a = a && x b",
    ". ./d/g; x a",
];
