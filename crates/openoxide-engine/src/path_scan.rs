//! The search for files that rules restrict by a pattern. A sandbox profile has no patterns, so the
//! files are listed before a command is confined.

use std::{
    ffi::OsStr,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
};

use openoxide_permission::ProfileInput;
use openoxide_protocol::AbsPath;
use openoxide_sandbox::PathFinder;

/// The maximum number of restricted paths. Each of them is a mount.
const MAX_PATHS: usize = 4096;

/// The restricted paths that a scan has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestrictedPaths {
    /// The paths that rules protect from being read, for [`ProfileInput::restricted_paths`].
    pub unreadable: Vec<AbsPath>,
    /// The paths that rules protect from being changed, for [`ProfileInput::write_restricted_paths`].
    pub unwritable: Vec<AbsPath>,
    /// True if there were more restricted paths than a profile can contain. For the rest, only rules
    /// that name a literal path are enforced.
    pub is_truncated: bool,
}

/// Searches the roots for restricted files. Links are not followed, and unreadable directories are
/// skipped. If no rule has a pattern for files, nothing is searched. With a `registry`, directories
/// that have not changed since the last search under the same rules are not listed again.
#[must_use]
pub fn scan_restricted_paths(
    ground: &ProfileInput<'_>,
    registry: Option<&AbsPath>,
) -> RestrictedPaths {
    let mut seen = RestrictedPaths::default();
    if !ground.has_pattern_rules() {
        return seen;
    }
    let finder = PathFinder {
        registry,
        filter_id: filter_id(ground),
        is_match: &|directory, name, is_directory| {
            child_path(directory, name)
                .is_some_and(|path| is_restricted(ground, directory, &path, is_directory))
        },
        is_leaf: &|path| to_absolute_path(path).is_some_and(|path| ground.restricts_read(&path)),
    };
    let roots: Vec<_> = ground.context.roots.iter().chain(ground.writable).cloned().collect();
    let mut found = finder.find(&roots);
    seen.is_truncated = found.len() > MAX_PATHS;
    // The paths near the top come first.
    found.sort_by_cached_key(|path: &PathBuf| path.components().count());
    for path in found.iter().take(MAX_PATHS).filter_map(|path| to_absolute_path(path)) {
        let is_unreadable = ground.restricts_read(&path);
        if is_unreadable { &mut seen.unreadable } else { &mut seen.unwritable }.push(path);
    }
    seen
}

/// Returns a number that identifies the rules, this version of the program, and everything else that
/// the restrictions depend on.
fn filter_id(ground: &ProfileInput<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    ground.hash_restrictions(&mut hasher);
    hasher.finish()
}

/// Returns whether a rule restricts this path. The content of a directory that is read-only as a
/// whole is restricted with it.
fn is_restricted(
    ground: &ProfileInput<'_>,
    directory: &Path,
    path: &AbsPath,
    is_directory: bool,
) -> bool {
    let covers = |directory: &Path| {
        to_absolute_path(directory).is_some_and(|above| ground.restricts_write(&above, true))
    };
    ground.restricts_read(path) || ground.restricts_write(path, is_directory) && !covers(directory)
}

/// Returns the path of a file. A name that is not UTF-8 is not an `AbsPath`, and no rule can match
/// it.
fn child_path(directory: &Path, name: &OsStr) -> Option<AbsPath> {
    Some(to_absolute_path(directory)?.join(name.to_str()?))
}

fn to_absolute_path(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use openoxide_permission::{
        CombiningAlgorithm, EvaluationContext, HomeDirectories, Layer, LayerKind, PathAnchors,
        PolicyStack, default_layer, derive_profile, evaluate, parse_rule,
    };
    use openoxide_protocol::{Effect, OperationFacts, PermissionMode, SandboxRestrictions};

    use super::*;

    fn confined(root: &Path, check: impl Fn(&RestrictedPaths, &SandboxRestrictions)) {
        let root = AbsPath::new(root.to_str().unwrap()).unwrap();
        let anchors = PathAnchors { home: None, base: &root };
        let rules = ["Edit(*.lock)", "Read(**/*.pem)", "Read(/env)", "Edit(**/migrations/**)"];
        let rules = rules.map(|rule| parse_rule(rule, Effect::Deny, anchors).unwrap()).into();
        let layer = Layer {
            kind: LayerKind::User,
            file: None,
            combining_algorithm: CombiningAlgorithm::Strictest,
            rules,
            mode: None,
        };
        let policy = PolicyStack::compile(&[layer, default_layer()]).unwrap();
        let roots = [root.clone()];
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd: &root,
            roots: &roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        let decision = evaluate(&policy, &context, &OperationFacts::default());
        let ground = ProfileInput {
            policy: &policy,
            layers: &[],
            context,
            home: None,
            home_directories: &HomeDirectories::default(),
            openoxide_paths: &[],
            restricted_paths: &[],
            write_restricted_paths: &[],
            writable: &[],
            git_directories: &[],
            all_hosts: false,
            host_network: false,
        };
        let seen = scan_restricted_paths(&ground, None);
        let ground = ProfileInput {
            restricted_paths: &seen.unreadable,
            write_restricted_paths: &seen.unwritable,
            ..ground
        };
        let profile = derive_profile(&ground, &decision);
        check(&seen, profile.restrictions().unwrap());
    }

    fn world(files: &[&str]) -> tempfile::TempDir {
        let world = tempfile::tempdir().unwrap();
        for file in files {
            let file = world.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        world
    }

    #[test]
    fn files_denied_by_a_pattern_are_restricted_and_asked_ones_are_not() {
        let world = world(&[
            "a/b/.env",
            "a/server.pem",
            "x/Cargo.lock",
            "x/main.rs",
            "db/migrations/1.sql",
            "db/migrations/old/ca.pem",
        ]);
        let root = world.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        confined(&root, |seen, profile| {
            let at = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
            for hidden in ["a/server.pem", "db/migrations/old/ca.pem"] {
                assert!(!profile.may_read(&at(hidden)), "{hidden}");
            }
            for kept in ["x/Cargo.lock", "db/migrations/1.sql", "db/migrations/new.sql"] {
                assert!(!profile.may_write(&at(kept)) && profile.may_read(&at(kept)), "{kept}");
            }
            assert!(profile.may_write(&at("x/main.rs")) && profile.may_read(&at("a/b/.env")));
            assert_eq!(
                (seen.unreadable.len(), seen.unwritable.len(), seen.is_truncated),
                (2, 2, false)
            );
        });
    }

    #[test]
    fn many_files_hide_nothing_and_the_number_of_restricted_paths_is_limited() {
        let names: Vec<_> = (0..6000).map(|number| format!("deep/{number}")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.push("x/y/z/last.pem");
        let world = world(&names);
        let root = world.path().canonicalize().unwrap();
        let at = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
        confined(&root, |seen, profile| {
            assert!(!seen.is_truncated && !profile.may_read(&at("x/y/z/last.pem")));
        });
        for number in 0..=MAX_PATHS {
            fs::write(root.join(format!("deep/{number}.pem")), "").unwrap();
        }
        fs::write(root.join("top.pem"), "").unwrap();
        confined(&root, |seen, profile| {
            assert!(seen.is_truncated);
            assert!(!profile.may_read(&at("top.pem")), "the top comes first");
        });
    }
}
