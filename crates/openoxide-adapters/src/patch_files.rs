//! The files that a patch in Codex's format changes.

const FILE_HEADERS: &[&str] =
    &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Returns the files that a patch in Codex's format adds, changes, removes or renames, or `None` if
/// the text is not such a patch.
///
/// Programs parse the names differently: in Codex a second blank before a name is part of it, and
/// OpenCode does not require a blank. All readings are listed.
pub fn collect_changed_files(patch: &str) -> Option<Vec<String>> {
    let mut lines = patch.lines().map(str::trim_end);
    let begins = lines.by_ref().any(|line| line.trim_start() == "*** Begin Patch");
    let files: Vec<_> = lines.filter_map(strip_marker).flat_map(collect_candidate_names).collect();
    (begins && !files.is_empty()).then_some(files)
}

fn strip_marker(line: &str) -> Option<&str> {
    FILE_HEADERS.iter().find_map(|mark| line.trim_start().strip_prefix(mark))
}

/// Returns the names that the rest of a line can be read as.
fn collect_candidate_names(rest: &str) -> impl Iterator<Item = String> {
    // JavaScript treats this character as whitespace, Rust does not.
    let bare = rest.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let exact = rest.strip_prefix(' ').filter(|exact| *exact != bare);
    [Some(bare), exact].into_iter().flatten().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_named() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch";
        assert_eq!(collect_changed_files(patch).unwrap(), ["a.rs", "b.rs", "c"]);
        assert_eq!(collect_changed_files("diff --git a b"), None);
    }

    // Codex 0.169 writes to `  b` (observed). OpenCode uses the text after the colon, without
    // surrounding blanks.
    #[test]
    fn a_name_is_every_name_that_a_program_reads() {
        let found = |line: &str| {
            collect_changed_files(&format!("*** Begin Patch\n{line}\n*** End Patch")).unwrap()
        };
        assert_eq!(found("*** Add File:.git/hooks/x"), [".git/hooks/x"]);
        assert_eq!(found("*** Add File:   b  "), ["b", "  b"]);
        assert_eq!(found("*** Move to:\tb"), ["b"]);
        assert_eq!(found("*** Delete File: \u{feff}b"), ["b", "\u{feff}b"]);
        let both = found("*** Update File: a\n*** Add File:.env");
        assert_eq!(both, ["a", ".env"]);
    }
}
