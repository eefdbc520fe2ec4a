//! The safety floor: escalations to ask that no setting lifts.
//!
//! This module checks paths. The shell analysis reports problems of commands as findings.

use openoxide_protocol::{AbsPath, CommandWord, CommandWords, steering_files::is_protected_path};

pub use crate::secret_files::{contains_secrets, is_secret};

/// Returns whether a path controls shells, tools, agents or OpenOxide. Changing such a path asks in
/// every mode.
#[must_use]
pub fn is_protected(path: &AbsPath) -> bool {
    is_protected_path(path)
}

/// The subcommands of OpenOxide that any program may run. They only read, or evaluate operations.
const READ_ONLY_VERBS: &[&str] = &[
    "audit",
    "check",
    "completions",
    "config",
    "doctor",
    "explain",
    "help",
    "hook",
    "man",
    "pending",
    "run",
    "schema",
];
/// The same for the subcommands of `rules`.
const READ_ONLY_RULES_VERBS: &[&str] = &["convert", "diff", "export", "lint", "list", "test"];
/// The same for the subcommands of `sandbox`. The other ones start a program that was not
/// evaluated.
const READ_ONLY_SANDBOX_VERBS: &[&str] = &["status"];
/// The same for the subcommands of `stage`. The other ones decide about changes.
const READ_ONLY_STAGE_VERBS: &[&str] = &["list", "show"];
/// The options of `run` that select a policy of the caller, or that enforce less than the policy
/// requires.
const LOOSENING_OPTIONS: &[&str] =
    &["--policy", "--mode", "--allow", "--add-dir", "--sandbox", "--env", "--session"];

/// Returns whether a command could approve requests in place of a person: it runs OpenOxide with a
/// subcommand that does more than read.
#[must_use]
pub fn is_self_approval(argv: &CommandWords) -> bool {
    let name = argv.known_word(0).and_then(|name| name.rsplit('/').next());
    if name != Some("openoxide") {
        return false;
    }
    let words = || argv.iter().skip(1);
    let is_option =
        |word: &CommandWord<'_>| matches!(word, CommandWord::Known(text) if text.starts_with('-'));
    let verb = words().find(|word| !is_option(word));
    let second = |known: &[&str]| {
        let mut named = words().filter(|word| !is_option(word)).skip(1);
        matches!(named.next(), Some(CommandWord::Known(verb)) if known.contains(&verb))
    };
    let looks = match verb {
        Some(CommandWord::Known("rules")) => second(READ_ONLY_RULES_VERBS),
        Some(CommandWord::Known("sandbox")) => second(READ_ONLY_SANDBOX_VERBS),
        Some(CommandWord::Known("stage")) => second(READ_ONLY_STAGE_VERBS),
        Some(CommandWord::Known(verb)) => READ_ONLY_VERBS.contains(&verb),
        Some(_) => false,
        None => true,
    };
    let loosens = |word| match word {
        CommandWord::Known(text) => LOOSENING_OPTIONS.iter().any(|option| text.starts_with(option)),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    };
    !looks || verb == Some(CommandWord::Known("run")) && words().any(loosens)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards I10.
    #[test]
    fn an_agent_cannot_answer_for_a_person() {
        let words = |text: &str| -> CommandWords { text.split(' ').collect() };
        for own in [
            "openoxide trust",
            "/usr/bin/openoxide approve 7",
            "openoxide --color never deny 7",
            "openoxide grants revoke",
            "openoxide rules add x",
            "openoxide rules add allow Bash --reason list",
            "openoxide rules remove list",
            "openoxide rules import --write x",
            "openoxide rules fmt",
            "openoxide rules suggest --write",
            "openoxide rules starter --yes",
            "openoxide allow last --yes",
            "openoxide run --mode bypass_permissions -c x",
            "openoxide run --allow=Bash -c x",
            "openoxide run --sandbox off -- make",
            "openoxide run --sandbox=off -c x",
            "openoxide run --env TOKEN -- make",
            "openoxide sandbox",
            "openoxide sandbox run -- make",
            "openoxide sandbox run --root / --net on -- status",
            "openoxide --no-input sandbox supervise 3 4",
            "openoxide stage commit 1a2b3c4d",
            "openoxide stage drop 1a2b3c4d",
        ] {
            assert!(is_self_approval(&words(own)), "{own}");
        }
        for other in [
            "openoxide",
            "openoxide --version",
            "openoxide check -c x",
            "openoxide rules list",
            "openoxide rules lint --json x.toml",
            "openoxide run -c x",
            "openoxide sandbox status --json",
            "openoxide stage list",
            "openoxide stage show 1a2b3c4d",
            "git trust",
        ] {
            assert!(!is_self_approval(&words(other)), "{other}");
        }
        let mut unknown = words("openoxide");
        unknown.push_any_words();
        assert!(is_self_approval(&unknown));
    }

    fn check(is: fn(&AbsPath) -> bool, yes: &[&str], no: &[&str]) {
        for path in yes {
            assert!(is(&AbsPath::new(path).unwrap()), "{path}");
        }
        for path in no {
            assert!(!is(&AbsPath::new(path).unwrap()), "{path}");
        }
    }

    #[test]
    fn steering_files_of_shells_tools_and_agents_are_protected() {
        check(
            is_protected,
            &[
                "/h/.bashrc",
                "/h/.zshrc",
                "/p/.git/hooks/pre-commit",
                "/p/sub/.GIT/config",
                "/p/.openoxide/policy.toml",
                "/p/.claude/settings.json",
                "/p/.mcp.json",
                "/h/.config/openoxide/policy.toml",
                "/h/.cache/openoxide/policy-1.bin",
                "/h/.local/state/openoxide/audit/journal.ndjson",
                "/etc/sudoers.d/x",
                "/p/.github/workflows/x.yml",
                "/p/CLAUDE.md",
                "/",
            ],
            &["/p/src/main.rs", "/p/.gitignore", "/p/git/x", "/p/.github/FUNDING.yml"],
        );
    }

    #[test]
    fn a_name_that_only_begins_or_ends_like_a_key_is_none() {
        let is = |name: &str| is_secret(&AbsPath::new(&format!("/p/{name}")).unwrap());
        assert!(is("id_rsa") && is("ID_ED25519") && is("id_work_id_rsa"));
        assert!(!is("id_card") && !is("id_") && !is("valid_rsa"));
    }
}
