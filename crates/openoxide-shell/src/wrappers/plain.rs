//! Wrappers that add nothing of their own: whoever may run what is inside, may run it through them.

use openoxide_protocol::{Word, Words};

use super::{Inside, unfold};

const SHELLS: &[&str] = &["bash", "dash", "sh"];

/// The wrappers, and the words that take the property away from them: options that write or read a file.
const PLAIN: &[(&str, &[&str])] = &[
    ("builtin", &[]),
    ("chrt", &[]),
    ("command", &[]),
    ("env", &[]),
    ("ionice", &[]),
    ("nice", &[]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &[]),
    ("taskset", &[]),
    ("timeout", &[]),
    ("xargs", &["-a", "--arg-file"]),
];

/// Says whether a command only starts what is inside of it, which is listed beside it.
///
/// A wrapper that lies somewhere (`./nice`) is not known to be one. Assignments of `env` are the caller's to judge. A shell
/// with its script is one as long as the person sees it at once: not `nested` in another wrapper, and without arguments.
#[must_use]
pub fn adds_nothing(argv: &Words, nested: bool) -> bool {
    let Some(name) = argv.known(0) else { return false };
    if SHELLS.contains(&name) {
        let plain = argv.len() == 3 && matches!(argv.known(1), Some("-c" | "-lc" | "-ec" | "-euc"));
        return plain && !nested && matches!(unfold(argv), Inside::Script(_));
    }
    let found = PLAIN.binary_search_by(|(plain, _)| (*plain).cmp(name));
    let Some((_, but)) = found.ok().and_then(|at| PLAIN.get(at)) else { return false };
    let taken = argv.iter().any(|word| {
        let (Word::Known(text) | Word::Begins(text)) = word else { return false };
        but.iter().any(|option| text.starts_with(option))
    });
    !taken && matches!(unfold(argv), Inside::Command(_) | Inside::Script(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adds(command: &str) -> bool {
        !adds_nothing(&command.split(' ').collect(), false)
    }

    #[test]
    fn what_is_inside_decides_alone() {
        assert!(PLAIN.is_sorted_by(|a, b| a.0 < b.0));
        for command in [
            "timeout 5 npm test",
            "nice -n 5 make",
            "env CI=1 make",
            "bash -c ls",
            "sh -ec ls",
            "xargs -n 1 rm",
            "nohup make",
        ] {
            assert!(!adds(command), "{command}");
        }
        for command in [
            "sudo make",
            "./nice make",
            "/usr/bin/nice make",
            "xargs -a names rm",
            "bash script.sh",
            "bash -ic ls",
            "bash -c ls x",
            "timeout --frob 5 make",
            "ssh host make",
            "make",
        ] {
            assert!(adds(command), "{command}");
        }
        assert!(!adds_nothing(&["sh", "-c", "ls"].into_iter().collect(), true));
    }
}
