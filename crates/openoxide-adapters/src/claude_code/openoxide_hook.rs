//! OpenOxide's own program among the hooks of Claude Code. It is the gate in front of that client,
//! and would only call itself here.

use openoxide_permission::HookCommand;

use crate::wiring::BLOCK_ON_FAILURE;

/// Words that may precede a program without starting anything else.
const LAUNCHER_WORDS: [&str; 3] = ["exec", "env", "command"];

/// Returns whether a hook is `openoxide hook AGENT` and nothing else. A hook that does more is run.
/// In that case OpenOxide notices that one of its own hooks called it, and asks no hooks again.
pub(super) fn is_openoxide_hook(command: &HookCommand) -> bool {
    match command {
        HookCommand::Program(words) => {
            is_hook_call(&words.iter().map(String::as_str).collect::<Vec<_>>())
        }
        HookCommand::Shell(script) => {
            let script = script.trim();
            let words = split_words(script.strip_suffix(BLOCK_ON_FAILURE).unwrap_or(script));
            let call = words
                .iter()
                .copied()
                .skip_while(|word| LAUNCHER_WORDS.contains(word) || is_plain_assignment(word));
            is_hook_call(&call.collect::<Vec<_>>())
        }
    }
}

/// Returns whether a word assigns plain text to a variable: the value runs nothing and does not end
/// the word.
fn is_plain_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let named = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    let runs = ['$', '`', '\\', '(', ')', ';', '&', '|', '<', '>'];
    named && !name.is_empty() && !value.contains(runs)
}

fn is_hook_call(words: &[&str]) -> bool {
    let (call, rest) = words.split_at(words.len().min(3));
    let [program, "hook", agent] = call else { return false };
    let plain = !program.contains(['(', '`', ';', '&', '|', '<', '>']);
    let rest = match rest {
        [option, rest @ ..] if is_wait_option(option) => rest,
        rest => rest,
    };
    let blocks = matches!(rest, [] | ["||", "exit", _]);
    let named = agent.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
    plain && named && blocks && program.rsplit('/').next() == Some("openoxide")
}

/// Returns whether a word is the option that `init --wait` adds.
fn is_wait_option(word: &str) -> bool {
    let seconds = word.strip_prefix("--wait=");
    seconds.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Splits a script at blanks. The name of the program may be quoted.
fn split_words(script: &str) -> Vec<&str> {
    let quote = script.chars().next().filter(|char| matches!(char, '"' | '\''));
    let quoted = quote.and_then(|quote| script.get(1..)?.split_once(quote));
    match quoted {
        Some((program, rest)) if rest.starts_with(char::is_whitespace) => {
            [program].into_iter().chain(rest.split_whitespace()).collect()
        }
        // A quote inside of the first word: `"$HOME"/bin/openoxide`.
        _ => script.split_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_program_is_known_and_nothing_else_is_taken_for_it() {
        let shell = |text: &str| HookCommand::Shell(text.to_owned());
        let wired = format!("'/opt/a b/openoxide' hook claude{BLOCK_ON_FAILURE}");
        let waits = format!("/opt/openoxide hook claude --wait=3600{BLOCK_ON_FAILURE}");
        assert!(is_openoxide_hook(&shell(&waits)));
        assert!(
            is_openoxide_hook(&shell(&wired))
                && !is_openoxide_hook(&shell(&format!("{wired}; rm x")))
        );
        let program = |words: &[&str]| {
            HookCommand::Program(words.iter().map(|word| (*word).to_owned()).collect())
        };
        for own in [
            shell("openoxide hook claude"),
            shell(" /usr/local/bin/openoxide  hook claude\n"),
            shell("\"$HOME\"/.cargo/bin/openoxide hook claude"),
            shell("\"/my programs/openoxide\" hook claude"),
            shell("'/opt/openoxide' hook claude || exit 2"),
            shell("exec env RUST_BACKTRACE=0 openoxide hook claude"),
            shell("A='1' B=\"two\" openoxide hook claude"),
            program(&["/usr/local/bin/openoxide", "hook", "claude"]),
        ] {
            assert!(is_openoxide_hook(&own), "{own}");
        }
        for other in [
            shell("openoxide run -c true"),
            shell("openoxide check --batch"),
            shell("guard.sh && openoxide hook claude"),
            shell("openoxide hook claude; guard.sh"),
            shell("openoxide hook claude || guard.sh"),
            shell("openoxide hook claude --wait=$(guard.sh)"),
            shell("openoxide hook \"$(guard.sh)\""),
            shell("guard.sh openoxide hook claude"),
            shell("$(guard.sh)/openoxide hook claude"),
            shell("A=$(./guard.sh) openoxide hook claude"),
            shell("A=`./guard.sh` openoxide hook claude"),
            shell("A=\"$(./guard.sh)\" openoxide hook claude"),
            shell("A=<(./guard.sh) openoxide hook claude"),
            shell("A=1;./guard.sh openoxide hook claude"),
            shell("A=1&&./guard.sh openoxide hook claude"),
            shell("A=1\n./guard=2 openoxide hook claude"),
            shell("notopenoxide hook claude"),
            shell("openoxide"),
            program(&["guard", "openoxide", "hook", "claude"]),
            program(&["openoxide", "hook"]),
        ] {
            assert!(!is_openoxide_hook(&other), "{other}");
        }
    }
}
