//! Files of a git repository that hold data and run nothing.

use openoxide_protocol::AbsPath;

/// The files and directories, relative to the directory of the repository. Hooks, the configuration
/// and `objects/info` are not among them.
const DATA: [&str; 13] = [
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "ORIG_HEAD",
    "description",
    "index",
    "info/exclude",
    "logs/",
    "packed-refs",
    "refs/",
    "objects/pack/",
];

/// Returns whether this is a file of a git repository that holds data only.
pub(super) fn is_repository_data(path: &AbsPath) -> bool {
    let Some((_, rest)) = path.as_str().split_once("/.git/") else { return false };
    let is_data = |data: &str| match data.ends_with('/') {
        true => rest.starts_with(data) || rest == data.trim_end_matches('/'),
        false => rest == data,
    };
    // git runs no hook of this name.
    let is_sample = rest.strip_prefix("hooks/").is_some_and(|name| name.ends_with(".sample"));
    DATA.into_iter().any(is_data) || is_sample || is_loose_object(rest)
}

/// Returns whether this is an object in a file of its own: `objects/12/34…`.
fn is_loose_object(rest: &str) -> bool {
    let Some(name) = rest.strip_prefix("objects/") else { return false };
    let digits = name.replacen('/', "", 1);
    let is_hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    name.find('/').is_none_or(|at| at == 2)
        && digits.len() >= 2
        && digits.chars().all(is_hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_and_configuration_are_not_data() {
        let is_data = |path: &str| is_repository_data(&AbsPath::new(path).unwrap());
        for path in ["HEAD", "index", "refs/heads/main", "refs", "hooks/pre-commit.sample"] {
            assert!(is_data(&format!("/p/.git/{path}")), "{path}");
        }
        assert!(is_data("/p/.git/objects/1f/00aa22") && is_data("/p/.git/objects/1f"));
        assert!(is_data("/p/.git/objects/pack/pack-1.idx"));
        for path in [
            "config",
            "config.worktree",
            "hooks/pre-commit",
            "hooks/x/y",
            "commondir",
            "info/attributes",
            "objects/info/alternates",
            "objects/inf/a",
            "modules/x/config",
            "modules/x/HEAD",
            "worktrees/x/gitdir",
            "HEAD/x",
        ] {
            assert!(!is_data(&format!("/p/.git/{path}")), "{path}");
        }
        assert!(!is_data("/p/HEAD") && !is_data("/p/git/refs/x"));
    }
}
