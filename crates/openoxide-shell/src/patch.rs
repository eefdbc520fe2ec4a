//! Patches: which commands apply them, and which files they change.

use openoxide_protocol::{CommandClass, CommandWords};

/// The maximum number of files that are listed.
const MOST_FILES: usize = 4096;

/// Options of `git am` that continue or end an earlier run. With them, no new patch is applied.
const CONTINUES: [&str; 8] =
    ["--continue", "--abort", "--skip", "--quit", "--resolved", "--retry", "-r", "--allow-empty"];

/// Returns whether a command changes the files that a patch names. `class` is the class of the
/// command according to its words.
#[must_use]
pub fn applies_patch(words: &CommandWords, class: CommandClass) -> bool {
    let name = words.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name));
    let has = |option: &str| words.known_words(1).any(|word| word == Some(option));
    let applies = match name {
        Some("git") => match words.known_word(1) {
            Some("apply") => !has("--cached"),
            Some("am") => !CONTINUES.into_iter().any(has),
            Some("quiltimport") => true,
            _ => false,
        },
        Some("patch" | "gpatch") => true,
        _ => false,
    };
    applies && class != CommandClass::Harmless
}

/// Returns whether `-` names standard input among the patches.
pub(crate) fn is_from_stdin(words: &CommandWords) -> bool {
    words.known_words(1).any(|word| word == Some("-"))
}

/// Returns the files that a patch changes, creates, renames or removes. Each is listed by all names
/// that an option such as `-p1` can give it.
#[must_use]
pub fn patched_files(text: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for line in text.lines() {
        for name in names(line) {
            let plain = unquoted(name);
            let stripped = plain.split_once('/').map(|(_, rest)| rest.to_owned());
            for file in [stripped, Some(plain)].into_iter().flatten() {
                let file = file.trim_start_matches('/').to_owned();
                if !file.is_empty() && file != "dev/null" && !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        if files.len() > MOST_FILES {
            break;
        }
    }
    files
}

/// Returns the names in a header line of a unified diff, context diff or git patch, or in an
/// `Index:` line.
fn names(line: &str) -> Vec<&str> {
    const BEFORE_NAMES: [&str; 7] =
        ["--- ", "+++ ", "*** ", "Index: ", "rename to ", "copy to ", "rename from "];
    if let Some(both) = line.strip_prefix("diff --git ") {
        // `a/X b/X`: the names are equal if no other line names them.
        let second = |mark| both.rfind(mark).and_then(|at| both.get(at + 1..));
        return [" b/", " \"b/"]
            .into_iter()
            .filter_map(second)
            .chain([both])
            .map(str::trim)
            .collect();
    }
    let name = BEFORE_NAMES.iter().find_map(|before| line.strip_prefix(before));
    // A timestamp follows a tab.
    name.map(|name| name.split('\t').next().unwrap_or(name).trim_end()).into_iter().collect()
}

/// Returns a name without the C-style quoting that git writes.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').map(|name| name.trim_end_matches('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: &u8| matches!(byte, b'0'..=b'7');
        let mut number = 0_u32;
        let mut digits = 0;
        while digits < 3
            && let Some(next) = rest.next_if(digit)
        {
            number = number * 8 + u32::from(next - b'0');
            digits += 1;
        }
        match (digits, rest.peek()) {
            (0, _) => bytes.extend(rest.next()),
            _ => bytes.push(u8::try_from(number).unwrap_or(b'?')),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_headers_of_a_patch_is_a_file() {
        for (patch, file) in [
            ("--- a/x\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\n", ".envrc"),
            ("--- x.orig\t2024-01-01\n+++ .envrc\t2024-01-01\n", ".envrc"),
            (
                "diff --git a/a.sh b/.envrc\nsimilarity index 100%\nrename from a.sh\nrename to .envrc\n",
                ".envrc",
            ),
            ("diff --git a/.envrc b/.envrc\nnew file mode 100644\nindex 0..e69\n", ".envrc"),
            ("--- /dev/null\n+++ \"b/\\303\\244/CLAUDE.md\"\n", "\u{e4}/CLAUDE.md"),
            ("Index: .envrc\n====\n", ".envrc"),
            ("*** old/x\tdate\n--- new/.envrc\tdate\n", ".envrc"),
            ("diff --git \"a/CLAUDE.md\" \"b/CLAUDE.md\"\nnew file mode 100644\n", "CLAUDE.md"),
            ("copy from x\ncopy to .envrc\n", ".envrc"),
        ] {
            let found = patched_files(patch);
            assert!(found.iter().any(|name| name == file), "{patch:?}: {found:?}");
        }
        assert_eq!(patched_files("+ --- a/.envrc\n nothing\n"), [""; 0]);
    }
}
