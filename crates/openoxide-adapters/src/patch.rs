//! The files that Codex's `apply_patch` touches.

const MARKS: &[&str] =
    &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Returns the files that a patch in Codex's format adds, changes, removes or renames; nothing when it is no such patch.
pub(crate) fn files(patch: &str) -> Option<Vec<String>> {
    let mut lines = patch.lines().map(str::trim_end);
    let begins = lines.by_ref().any(|line| line.trim_start() == "*** Begin Patch");
    let files: Vec<_> =
        lines.filter_map(|line| named(line).map(|name| name.trim().to_owned())).collect();
    (begins && !files.is_empty()).then_some(files)
}

fn named(line: &str) -> Option<&str> {
    MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_named() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch";
        assert_eq!(files(patch).unwrap(), ["a.rs", "b.rs", "c"]);
        assert_eq!(files("diff --git a b"), None);
    }
}
