//! Tests of the search for rare syntax.

use super::*;

fn description(script: &str) -> Option<&'static str> {
    find_rare_syntax(script).map(|rare| rare.description)
}

/// Scripts as agents write them have no rare syntax.
#[test]
fn everyday_scripts_contain_no_rare_syntax() {
    for script in [
        "for f in *.rs; do wc -l \"$f\"; done",
        "i=0; while [ $i -lt 5 ]; do echo $i; i=$((i+1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in $(seq 1 10); do echo $((i % 3)); done",
        "for i in {1..5}; do ((i++)); done",
        "n=$(ls | wc -l); echo $((n + 1))",
        "while IFS= read -r line; do echo \"$line\"; done < list.txt",
        "if [[ -f Cargo.toml && $(wc -l < x) == 3 ]]; then ls; fi",
        "make; if [[ $? -ne 0 ]]; then ls; fi",
        "echo \"${name:-none}\" \"${path##*/}\" \"${file%.rs}\" \"${text:0:3}\" \"${#text}\"",
        "git show HEAD~1 HEAD~2^ @~3 && git diff HEAD^~1",
        "cat a | tee b; echo ${PIPESTATUS[0]} \"${all[@]}\"",
        "grep $'\\t' x; printf '%s\\n' 'let x=((y))'",
        "find . \\( -name a -o -name b \\) -print",
        "cd ~/src && ls ~ ~ann",
        "awk '{ a[$1]++ } END { print a[\"x\"] }' data",
        "set -euo pipefail; ls",
        "for f in *.rs; do ((n++)); done; echo $n",
        "n=$(grep -c x < f); if (( RANDOM % 2 )); then echo $((n+1)); fi",
        "N=7; echo ${x:0:N} ${x: -3}",
        "start=$(date +%s); ls; echo $(( $(date +%s) - start ))",
        "hour=$(date +%H); (( hour > 12 )) && ls",
    ] {
        assert_eq!(description(script), None, "{script}");
    }
}

/// Each of these scripts can run a program that the text does not show, if a value is chosen for
/// it.
#[test]
fn values_that_are_evaluated_are_rare_syntax() {
    for script in [
        "cd d; echo $((1$PWD))",
        "work=1; echo $(( ${PWD:1} ))",
        "read work < f; echo $((work))",
        "x=$(cat f); ((x))",
        "x=$(cat f; wc -l); ((x))",
        "for x in $(cat f); do ((x)); done",
        "echo $((a[0]=1))",
        "echo $[1+1]",
        "hBc=$(cat f); echo $(($-))",
        "f() { echo $(($1)); }; f x",
        "echo $((OLDPWD))",
        "n=$(grep -c x f g); ((n))",
        "echo $(( $(cat f; date +%s) ))",
        "x=$(cat f); [[ $x -eq 1 ]]",
        "[[ -v $x ]]",
        "echo ${!x}",
        "echo ${a[$x]}",
        "y=$(cat f); echo ${x:$y}",
        "echo ${x@P}",
        ": ${a[0]:=1} ${a[i]}",
        "a[x]=1",
        "cat ~+/.e* ~-/x ~0",
        "{~+,x}/.e*",
        "coproc a { ls; }",
        "exec {fd}<f",
        "ls @(a|b)",
        "cat $'\\x2eenv'",
        "echo $\"text\"",
        "SECONDS=$x",
        "IFS=$x; ls",
        "x=$(cat f); echo \"$(echo $((x)))\"",
        "x=1; x+=$y; echo $((x))",
        "x=$(cat f); cat <<'a'\n'\na\necho $((x))",
    ] {
        assert!(description(script).is_some(), "{script}");
    }
}
