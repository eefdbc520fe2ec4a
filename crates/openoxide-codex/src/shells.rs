//! The shell that runs a script of Codex. The model chooses it, and hooks do not receive the choice
//! (`exec_command`, argument `shell`; observed on 0.169).

use openoxide_protocol::Action;
use openoxide_shell::{AnalysisContext, ScriptProperties};

use openoxide_adapters::{agent_hook::AgentHookCall, tool_action::parse_action};

/// Variables that zsh ties to the search path, or from which it takes the name of a program.
const ZSH_STEERING: [&str; 8] =
    ["path", "cdpath", "fpath", "module_path", "NULLCMD", "READNULLCMD", "ZDOTDIR", "argv"];

/// Returns an opaque action for a script that bash, a POSIX shell and zsh do not read in the same
/// way, because it is unknown which shell the model has chosen.
#[must_use]
pub fn find_shell_difference(call: &AgentHookCall) -> Option<Action> {
    let Action::Command { script } = parse_action(&call.tool, &call.input) else { return None };
    let traits =
        ScriptProperties::examine(&script, &AnalysisContext { cwd: &call.cwd, home: None });
    let steers = |name: &String| ZSH_STEERING.contains(&name.as_str());
    let steered = traits.assigned.is_none_or(|names| names.iter().any(steers));
    (steered || !traits.is_portable).then(|| Action::Opaque {
        text: "sh, bash and zsh interpret the script differently, and Codex does not report which \
               one runs it"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use openoxide_adapters::agent_hook::parse_payload;

    fn is_doubtful(script: &str) -> bool {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": { "command": script },
        });
        find_shell_difference(&parse_payload(payload.to_string().as_bytes()).unwrap()).is_some()
    }

    /// The second column is the different behaviour of dash 0.5.12 or zsh 5.9 (their manual pages).
    #[test]
    fn scripts_that_shells_read_differently_are_doubtful() {
        for (script, other) in [
            (r"echo $'a\'; touch x #'", "dash: a `$`, and the quote ends before the semicolon"),
            (r#"echo $"a""#, "dash: a `$` before the word"),
            ("[[ a > b ]]", "dash: a program `[[` that writes to b"),
            ("(( 1 > 2 ))", "dash: a subshell in a subshell that writes to 2"),
            ("ls &> x", "dash: `ls &`, and then x is made"),
            ("ls >& x", "dash: an error"),
            ("ls |& cat", "dash: an error"),
            ("cat <(ls)", "dash: an error"),
            ("x=(a b)", "dash: an error"),
            ("cat <<< a", "dash: an error"),
            ("cat <<E\n$UID\nE", "dash: an empty line"),
            ("y=/a/b; sh <<E\n$y:h/c\nE", "zsh: `/a/c` runs"),
            ("cat {a,b}", "dash: one word"),
            ("function f { ls; }", "dash: a program `function`"),
            ("x+=a", "dash: a program `x+=a`"),
            ("cat ~+/a", "dash: a directory of that name"),
            ("select x in a; do ls; done", "dash: a program `select`"),
            ("coproc ls", "dash: a program `coproc`"),
            ("for ((i=0;i<1;i++)); do ls; done", "dash: an error"),
            ("cat .e${UID}nv", "dash: .env"),
            ("cat .e${RANDOM}nv", "dash: .env"),
            ("ls ${!x}", "dash: an error"),
            (r"echo 'a\n.env'", "dash: two lines"),
            ("echo -e a", "dash prints the option"),
            ("printf -v x ls; $x -la", "dash: x stays empty"),
            ("y='a b=c'; export x=$y", "dash before 0.5.11: b is exported, too"),
            ("cd a b; ls", "dash: the directory a"),
            ("pushd a; ls", "dash: no such program"),
            ("y='1 {system(\"x\")}'; awk $y", "zsh: one word"),
            ("x=a/b; cat $x:h", "zsh: the directory a"),
            ("cat $x[1]", "zsh: one element"),
            ("cat \"$x[1]\"", "zsh: one element"),
            ("cat **/a", "zsh: at any depth"),
            ("cat =ls", "zsh: the program's file"),
            ("< a", "zsh: more a"),
            ("path=./bin; ls", "zsh: the search path"),
            ("for path in ./bin; do ls; done", "zsh: the search path"),
            ("NULLCMD=x; ls", "zsh: what runs for a bare redirection"),
        ] {
            assert!(is_doubtful(script), "{script}: {other}");
        }
    }

    #[test]
    fn scripts_that_shells_read_alike_are_not() {
        for script in [
            "ls -la",
            "cd sub && git status",
            "grep -rn \"fn x\" src | head -20",
            "for f in *.rs; do wc -l \"$f\"; done",
            "for f in a b; do cat $f; done",
            "if [ -f a ]; then cat a; fi",
            "ls 2>/dev/null || true",
            "ls >/dev/null 2>&1",
            "x=a; cat $x",
            "echo \"$HOME\" \"${x:-a}\" $((1 + 2))",
            "printf '%s\\n' a",
            "echo -n a",
            "cat <<'E'\n$'a\n[[ {a,b}\nE",
            "sed -n '1,5p' 'a{b,c}' \"$PWD/a\"",
            "f() { ls; }; f",
            "case a in a|b) ls;; esac",
            "git log --format='%h $x[1] **' @{u}",
        ] {
            assert!(!is_doubtful(script), "{script}");
        }
    }
}
