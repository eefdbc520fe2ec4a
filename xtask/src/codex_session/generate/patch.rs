//! Patches that only add files, so that no file has to exist, and calls of `apply_patch` with them.

use crate::{codex_diff::generate::words::one, crash::chance::Chance};

/// The paths of the added files: below the directory of the stage, or in places that are not
/// writable.
const FILES: [&str; 20] = [
    "n",
    "sub/n",
    "./n",
    "sub/../n",
    "/ws/n",
    "/ws/sub/n",
    "../n",
    "/proc/n",
    ".git/n",
    ".codex/n",
    ".agents/n",
    "sub/.git/n",
    ".gitignore",
    ".GIT/n",
    ".git/../n",
    "  n",
    "n ",
    "a b/n",
    "'n'",
    "é",
];

/// Returns a patch, which is sometimes invalid.
pub(super) fn patch(chance: &mut Chance) -> String {
    let hunks: String = (0..one(chance, &[1, 1, 1, 2, 3])).map(|_| hunk(chance)).collect();
    let (begin, end) = ("*** Begin Patch\n", "*** End Patch");
    match chance.below(100) {
        0..=79 => format!("{begin}{hunks}{end}"),
        80..=83 => format!("{begin}{end}"),
        84..=87 => format!("{begin}{hunks}"),
        88..=90 => format!("{hunks}{end}"),
        91..=93 => format!("{begin}{hunks}\n{end}"),
        94..=95 => format!("\n {begin}{hunks}{end} "),
        96..=97 => format!("{begin}*** Environment ID: x\n{hunks}{end}"),
        _ => format!("{begin}{hunks}{end}\n{hunks}"),
    }
}

fn hunk(chance: &mut Chance) -> String {
    let file = one(chance, &FILES);
    match chance.below(100) {
        0..=87 => format!("*** Add File: {file}\n+a\n"),
        88..=90 => format!("*** Add File: {file}\n"),
        91..=93 => format!("  *** Add File: {file}\n+a\n+\n"),
        94..=95 => format!("*** Add File: {file}\na\n"),
        96..=97 => format!("*** Update File: {file}\n@@\n"),
        _ => format!("*** Add File:{file}\n+a\n"),
    }
}

/// Returns a call with a patch in a here-document, or in a similar form.
pub(super) fn call(chance: &mut Chance) -> String {
    let patch = patch(chance);
    let name = one(
        chance,
        &[
            "apply_patch",
            "apply_patch",
            "apply_patch",
            "applypatch",
            "./apply_patch",
            "'apply_patch'",
        ],
    );
    match chance.below(100) {
        0..=59 => format!("{name} <<'E'\n{patch}\nE"),
        60..=69 => format!("{name} <<E\n{patch}\nE"),
        70..=74 => format!("{name} <<-\"E\"\n{patch}\nE"),
        75..=79 => format!("{name} a <<'E'\n{patch}\nE"),
        80..=84 => format!("{name} <<'E' > f\n{patch}\nE"),
        85..=89 => format!("{name} <<'E' | cat\n{patch}\nE"),
        90..=94 => format!("{name} '{}'", patch.replace('\'', "")),
        _ => format!("{name} <<< '{}'", patch.replace('\'', "")),
    }
}
