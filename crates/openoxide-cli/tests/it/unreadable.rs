//! Policy files that may exist and cannot be read, homes that are not known, and directories that others can write: no rule that denies is
//! lost.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{OPENOXIDE, World, code, stderr, stdout};

const DENY: &str = "[permissions]\\ndeny = [\"Bash(ls *)\", \"Read(~/notes/**)\"]\\nallow = [\"Bash(touch *)\"]\\n";

/// Runs a script as root in separate namespaces. They have a separate `/etc`, in which the
/// account's home is `$ACCOUNT`. `ox` is our program without any capability, so that file modes
/// apply to root as well.
fn in_own_etc(world: &World, script: &str) -> String {
    let prelude = format!(
        r#"
mount -t tmpfs none /etc
mkdir -p -m 755 /etc/openoxide "$ACCOUNT/.config/openoxide" "$OTHER/.config/openoxide"
echo "root:x:0:0::$ACCOUNT:/bin/sh" > /etc/passwd
POLICY="$ACCOUNT/.config/openoxide/policy.toml"
deny() {{ printf '{DENY}' > "$1"; }}
ox() {{ setpriv --bounding-set -all --inh-caps -all -- "{OPENOXIDE}" "$@"; }}
judge() {{ ox check --json -c "$1" 2>/dev/null || true; }}
hook() {{ ox hook claude < "$ACCOUNT/payload" || echo '"blocked"'; }}
export HOME="$ACCOUNT"
"#
    );
    let root = world.root();
    let account = root.join("account");
    std::fs::create_dir_all(&account).unwrap();
    let payload = json!({
        "session_id": "c6dc", "cwd": world.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": "ls -la" }, "tool_use_id": "toolu_1",
    });
    std::fs::write(account.join("payload"), payload.to_string()).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-e", "-c"]);
    command.arg(format!("{prelude}{script}")).current_dir(world.project()).env_clear();
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("ACCOUNT", &account);
    let output: Output = command.env("OTHER", root.join("other")).output().unwrap();
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Returns each answer, of `check --json` and of the hook, with its reason.
fn answers(output: &str) -> Vec<(String, String)> {
    let answer = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output}"));
        let text = |value: &Value| value.as_str().unwrap_or("blocked").to_owned();
        match value.get("hookSpecificOutput") {
            Some(hook) => {
                (text(&hook["permissionDecision"]), text(&hook["permissionDecisionReason"]))
            }
            None => (text(&value["decision"]), text(&value["reason"])),
        }
    };
    output.lines().map(answer).collect()
}

fn effects(output: &str) -> Vec<String> {
    answers(output).into_iter().map(|(effect, _)| effect).collect()
}

#[test]
fn a_home_that_is_not_known_loses_no_deny() {
    let script = r#"
deny "$POLICY"
touch "$OTHER/file"; ln -s /nowhere/at/all "$OTHER/dangling"
for home in "" relative /nonexistent "$OTHER/file" "$OTHER/file/x" "$OTHER/dangling" "$OTHER"; do
    export HOME="$home"; judge 'ls -la'; hook
done
unset HOME; judge 'ls -la'; hook
export HOME="$ACCOUNT"
for config in /nonexistent "$OTHER/.config" "$OTHER/dangling"; do
    XDG_CONFIG_HOME="$config"; export XDG_CONFIG_HOME; judge 'ls -la'
done
unset XDG_CONFIG_HOME; export HOME="$OTHER"
printf '[permissions]\nallow = ["Bash(ls *)"]\n' > "$OTHER/.config/openoxide/policy.toml"
judge 'ls -la'
judge "cat $ACCOUNT/notes/x"
"#;
    let found = effects(&in_own_etc(&World::new(), script));
    assert!(found.iter().all(|effect| effect == "deny"), "{found:?}");
    assert_eq!(found.len(), 21);
}

#[test]
fn allows_of_the_account_policy_do_not_apply_under_another_home() {
    let script = r#"
deny "$POLICY"
judge 'touch a'; HOME="$OTHER"; judge 'touch a'; ox config path | grep -c "^user  *tightens  *$POLICY" >&2
HOME=/nonexistent; judge 'touch a'
"#;
    let found = effects(&in_own_etc(&World::new(), script));
    assert_eq!(found, ["allow", "ask", "allow"]);
}

#[test]
fn where_neither_home_nor_account_is_known_nothing_is_allowed() {
    let script = r#"
echo "bob:x:7:7::/home/bob:/bin/sh" > /etc/passwd
unset HOME; judge 'ls -la'; hook
rm /etc/passwd; judge 'ls -la'
export HOME="$OTHER"; judge 'ls -la'
"#;
    let found = answers(&in_own_etc(&World::new(), script));
    let effects: Vec<&str> = found.iter().map(|(effect, _)| effect.as_str()).collect();
    assert_eq!(effects, ["ask", "ask", "ask", "allow"], "{found:?}");
    assert!(found[0].1.contains("set HOME to an existing directory"), "{found:?}");
}

/// The states of a directory or file in which the file may exist. Each entry has the command that
/// creates the state for `$D/openoxide/FILE`.
const STATES: [(&str, &str); 8] = [
    ("chmod 000 $D/openoxide", "chmod 755 $D/openoxide"),
    ("chmod 000 $D/openoxide/$F", "chmod 644 $D/openoxide/$F"),
    ("mv $D/openoxide/$F $D/kept; ln -s /nowhere $D/openoxide/$F", ""),
    ("mv $D/openoxide/$F $D/kept; ln -s $F $D/openoxide/$F", ""),
    ("mv $D/openoxide/$F $D/kept; mkdir $D/openoxide/$F", ""),
    ("mv $D/openoxide $D/moved; ln -s /nowhere/x $D/openoxide", ""),
    ("mv $D/openoxide $D/moved; ln -s openoxide $D/openoxide", ""),
    ("mv $D/openoxide $D/moved; touch $D/openoxide", ""),
];

const RESTORE: &str = r#"
restore() {
    chmod 755 $D/openoxide; [ -d $D/moved ] && { rm -rf $D/openoxide; mv $D/moved $D/openoxide; }
    [ -e $D/kept ] && { rm -rf $D/openoxide/$F; mv $D/kept $D/openoxide/$F; }
    chmod 644 $D/openoxide/$F
}
"#;

/// Returns the answers in each state. The compiled policy for "there is no file" is on disk when
/// the file appears in a state in which it cannot be read.
fn each_state(directory: &str, file: &str) -> Vec<(String, String)> {
    let mut script = format!(
        "D=\"{directory}\"; F={file}\nmkdir -p $D/openoxide\n{RESTORE}\n\
         ox check -c 'ls -la' >&2; sleep 2.2; ox check -c 'ls -la' >&2; judge 'ls -la'\n\
         deny $D/openoxide/$F; chmod 644 $D/openoxide/$F\n"
    );
    for (break_it, _) in STATES {
        script.extend([break_it, "\njudge 'ls -la'; hook\nrestore >&2 || true\n"]);
    }
    script += "judge 'ls -la'; hook\n";
    answers(&in_own_etc(&World::new(), &script))
}

#[test]
fn no_cached_policy_matches_a_user_policy_that_cannot_be_read() {
    let found = each_state("$ACCOUNT/.config", "policy.toml");
    assert_eq!(found.len(), 1 + 2 * STATES.len() + 2);
    assert_eq!(found[0].0, "allow", "there is no file");
    for (at, (effect, why)) in found.iter().enumerate().skip(1) {
        let state = STATES.get((at - 1) / 2);
        assert!(effect == "ask" || effect == "deny", "{state:?}: {effect}: {why}");
    }
    assert!(found[17..].iter().all(|(effect, _)| effect == "deny"), "{found:?}");
}

#[test]
fn no_cached_policy_matches_a_managed_policy_that_cannot_be_read() {
    let found = each_state("/etc", "managed.toml");
    assert_eq!(found[0].0, "allow", "there is no file");
    for (at, (effect, why)) in found.iter().enumerate().skip(1) {
        let state = STATES.get((at - 1) / 2);
        let is_hook = at % 2 == 0;
        let expected = if is_hook { "deny" } else { effect.as_str() };
        assert!(effect == expected && effect != "allow", "{state:?}: {effect}: {why}");
    }
}

#[test]
fn a_projects_rules_that_cannot_be_read_are_not_lost() {
    let script = r#"
P="$ACCOUNT/outer"; mkdir -p "$P/inner/deep" "$P/.git"; cd "$P/inner/deep"
for state in 'mkdir .openoxide; deny .openoxide/policy.toml; chmod 000 .openoxide' \
    'mkdir .openoxide; deny .openoxide/local.toml; chmod 000 .openoxide/local.toml' \
    'ln -s /nowhere/x .openoxide' 'ln -s .openoxide .openoxide' 'touch .openoxide' \
    'mkdir .openoxide; ln -s /nowhere .openoxide/local.toml'
do
    (cd "$P/inner"; eval "$state"); judge 'ls -la'
    (cd "$P/inner"; [ -d .openoxide ] && chmod 755 .openoxide; rm -rf .openoxide)
done
judge 'ls -la'
printf 'gitdir: /elsewhere\n' > "$P/inner/.git"; chmod 000 "$P/inner/.git"; judge 'ls -la'
"#;
    let found = effects(&in_own_etc(&World::new(), script));
    assert_eq!(found, ["ask", "ask", "ask", "ask", "ask", "ask", "allow", "ask"]);
}

#[test]
fn the_managed_policy_also_applies_to_executed_commands() {
    let script = r#"
deny /etc/openoxide/managed.toml; chmod 644 /etc/openoxide/managed.toml
printf '[permissions]\nallow = ["Bash(ls *)"]\n' > "$ACCOUNT/p.toml"
for policy in /dev/null "$ACCOUNT/p.toml"; do
    ox run --policy $policy --mode bypass_permissions --allow 'Bash(ls *)' -c 'ls -la' > /dev/null 2>&1 < /dev/null \
        && status=0 || status=$?
    echo "{\"decision\": \"$status\"}"
done
chmod 000 /etc/openoxide
ox run --policy /dev/null -c 'ls -la' > /dev/null 2>&1 < /dev/null && status=0 || status=$?
echo "{\"decision\": \"$status\"}"
"#;
    assert_eq!(effects(&in_own_etc(&World::new(), script)), ["126", "126", "126"]);
}

#[test]
fn directories_that_others_can_write_are_refused() {
    let script = r#"
deny "$POLICY"; judge 'touch a'
for directory in "$ACCOUNT/.config/openoxide" "$ACCOUNT/.config"; do
    chmod 777 "$directory"; judge 'touch a'; chmod 1777 "$directory"; judge 'touch a'; chmod 755 "$directory"
done
judge 'touch a'
"#;
    let found = answers(&in_own_etc(&World::new(), script));
    let effects: Vec<&str> = found.iter().map(|(effect, _)| effect.as_str()).collect();
    assert_eq!(effects, ["allow", "ask", "allow", "ask", "allow", "allow"], "{found:?}");
    assert!(found[1].1.contains("run `chmod o-w "), "{found:?}");
}

#[test]
fn a_state_directory_that_others_can_write_grants_and_trusts_nothing() {
    let world = World::new();
    let state = world.root().join(".local/state/openoxide");
    let granted = || world.run(&["check", "--json", "-c", "make all"], b"");
    let added = world.run(&["grants", "add", "Bash(make *)"], b"");
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    let effect = |output: &Output| answers(&stdout(output))[0].0.clone();
    assert_eq!(effect(&granted()), "allow");
    let set = |mode: &str| Command::new("chmod").arg(mode).arg(&state).status().unwrap();
    assert!(set("777").success());
    let open = granted();
    assert_eq!(effect(&open), "ask");
    assert!(
        stderr(&open).contains("the directory is writable by other users, so grants are not valid"),
        "{}",
        stderr(&open)
    );
    assert!(set("700").success());
    assert_eq!(effect(&granted()), "allow");
}

#[test]
fn a_damaged_key_is_reported_with_a_fix() {
    let world = World::new();
    assert_eq!(code(&world.run(&["grants", "add", "Bash(make *)"], b"")), 0);
    let key = world.root().join(".local/state/openoxide/key");
    for damaged in [b"".as_slice(), b"short", &[7; 33]] {
        std::fs::write(&key, damaged).unwrap();
        let output = world.run(&["grants", "add", "Bash(make x)"], b"");
        assert_ne!(code(&output), 0);
        let said = stderr(&output);
        assert!(said.contains("the key file is corrupt") && said.contains("delete it"), "{said}");
        let said = stderr(&world.run(&["check", "-c", "make all"], b""));
        assert!(said.contains("the key file is corrupt"), "{said}");
    }
    std::fs::remove_file(&key).unwrap();
    assert_eq!(code(&world.run(&["grants", "add", "Bash(make x)"], b"")), 0);
}
