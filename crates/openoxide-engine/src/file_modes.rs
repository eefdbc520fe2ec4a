//! `chmod` with a common mode.
//!
//! Such a mode gives other users no write permission, and can be changed back. The files are
//! separate accesses.

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{AbsPath, Access, CauseCode, CommandCause, ExecAccess};

const CHANGES_MODE: CommandCause =
    CommandCause::Stated { code: CauseCode::WritesFiles, phrase: "changes permissions of files" };

/// Changes the cause of each `chmod` that sets a usual mode of files that it names.
pub(crate) fn check(accesses: &mut [Access], cwd: &AbsPath) {
    for access in accesses {
        if let Access::Exec(exec) = access
            && sets_usual_mode(exec, exec.cwd.as_ref().unwrap_or(cwd))
        {
            exec.cause = Some(CHANGES_MODE);
        }
    }
}

fn sets_usual_mode(exec: &ExecAccess, place: &AbsPath) -> bool {
    let changes =
        matches!(exec.cause, Some(CommandCause::Stated { code: CauseCode::ChangesSystem, .. }));
    let is_chmod = matches!(exec.argv.known_word(0), Some("chmod" | "/bin/chmod"));
    if !changes || !is_chmod || *place == AbsPath::root() {
        return false;
    }
    let words = exec.argv.known_words(1);
    let Some(words) = words.collect::<Option<Vec<_>>>() else { return false };
    let Some((mode, files)) = words.split_first() else { return false };
    let is_plain = |file: &&str| !file.starts_with('-') && !is_secret(&place.join(file));
    (is_usual_octal(mode) || mode.split(',').all(is_usual_symbolic))
        && !files.is_empty()
        && files.iter().all(is_plain)
}

/// Returns whether an octal mode has no special bit and gives others no write permission.
fn is_usual_octal(mode: &str) -> bool {
    let digits = mode.strip_prefix('0').filter(|rest| rest.len() == 3).unwrap_or(mode);
    digits.len() == 3
        && digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit))
        && digits.ends_with(['0', '1', '4', '5'])
}

/// Returns whether a symbolic mode changes only `r`, `w` and `x`, and gives others no write
/// permission. Without a letter for users, the umask limits the added permissions.
fn is_usual_symbolic(mode: &str) -> bool {
    let Some((users, bits)) = mode.split_once(['+', '-']) else { return false };
    let is_from = |text: &str, letters: &str| text.chars().all(|letter| letters.contains(letter));
    let lets_others_write =
        mode.contains('+') && bits.contains('w') && users.contains(['o', 'a', 'g']);
    is_from(users, "ugoa") && is_from(bits, "rwx") && !bits.is_empty() && !lets_others_write
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn sets_usual_mode(script: &str) -> bool {
        let cwd = AbsPath::new("/p").unwrap();
        let action = Action::Command { script: script.to_owned() };
        let place = CallLocation { cwd: &cwd, home: None };
        let facts = collect_action_facts(&action, "Bash", place);
        facts
            .accesses
            .iter()
            .any(|access| matches!(access, Access::Exec(exec) if exec.cause == Some(CHANGES_MODE)))
    }

    #[test]
    fn usual_modes_are_found() {
        for script in [
            "chmod +x run.sh",
            "chmod u+x,go-w run.sh tool",
            "chmod 755 run.sh",
            "chmod 0644 README.md",
            "chmod -x run.sh",
            "cd sub && chmod a+rx run.sh",
        ] {
            assert!(sets_usual_mode(script), "{script}");
        }
    }

    #[test]
    fn other_modes_are_not_found() {
        for script in [
            "chmod 777 run.sh",
            "chmod 4755 run.sh",
            "chmod 666 run.sh",
            "chmod 755",
            "chmod u+s run.sh",
            "chmod +t dir",
            "chmod a+w run.sh",
            "chmod u+x,o+w run.sh",
            "chmod a=rwx run.sh",
            "chmod u+x-w run.sh",
            "chmod -R 755 .",
            "chmod 755 -R .",
            "chmod --reference=x run.sh",
            "chmod 644 .env",
            "chmod +r certs/server.key",
            "chmod $MODE run.sh",
            "chmod +x $FILE",
            "chmod +x *",
            "./chmod +x run.sh",
            "chown root run.sh",
        ] {
            assert!(!sets_usual_mode(script), "{script}");
        }
    }
}
