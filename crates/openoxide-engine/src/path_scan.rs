//! The search for files that rules restrict by a pattern. A sandbox profile has no patterns, so the
//! files are listed before a command is confined.

use std::{collections::VecDeque, fs};

use openoxide_permission::ProfileInput;
use openoxide_protocol::AbsPath;

/// The maximum number of files that are scanned, so that starting a command stays fast. Files near
/// the top come first.
const MAX_FILES: usize = 4096;

/// The restricted paths that a scan has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestrictedPaths {
    /// The paths that rules protect from being read, for [`ProfileInput::restricted_paths`].
    pub unreadable: Vec<AbsPath>,
    /// The paths that rules protect from being changed, for [`ProfileInput::write_restricted_paths`].
    pub unwritable: Vec<AbsPath>,
    /// True if there were more files than were scanned. In the rest, only rules that name a literal
    /// path are enforced.
    pub is_truncated: bool,
}

/// Searches the roots for restricted files. Links are not followed, and unreadable directories are
/// skipped. If no rule has a pattern for files, nothing is searched.
#[must_use]
pub fn scan_restricted_paths(ground: &ProfileInput<'_>) -> RestrictedPaths {
    let mut seen = RestrictedPaths::default();
    if !ground.has_pattern_rules() {
        return seen;
    }
    let roots = ground.context.roots.iter().chain(ground.writable);
    let mut open: VecDeque<(AbsPath, bool)> = roots.map(|root| (root.clone(), false)).collect();
    let mut left = MAX_FILES;
    while let Some((directory, kept)) = open.pop_front() {
        let Ok(entries) = fs::read_dir(directory.as_str()) else { continue };
        for entry in entries.flatten() {
            if left == 0 {
                return RestrictedPaths { is_truncated: true, ..seen };
            }
            left -= 1;
            // A name that is not UTF-8 is not an `AbsPath`, and no rule can match it.
            let Some(path) = entry.file_name().to_str().map(|name| directory.join(name)) else {
                continue;
            };
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            open.extend(seen.check_path(ground, path, is_directory, kept));
        }
    }
    seen
}

impl RestrictedPaths {
    /// Checks one file. Returns it if it is a directory that may contain more restricted paths. The
    /// content of a directory that is `kept` is read-only as well.
    fn check_path(
        &mut self,
        ground: &ProfileInput<'_>,
        path: AbsPath,
        is_directory: bool,
        kept: bool,
    ) -> Option<(AbsPath, bool)> {
        if ground.restricts_read(&path) {
            self.unreadable.push(path);
            return None;
        }
        let keep = !kept && ground.restricts_write(&path, is_directory);
        if keep {
            self.unwritable.push(path.clone());
        }
        is_directory.then_some((path, kept || keep))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        let seen = scan_restricted_paths(&ground);
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
    fn a_scan_stops_at_the_limit_and_reports_truncation() {
        let names: Vec<_> = (0..=MAX_FILES).map(|number| format!("deep/{number}")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.push("top.pem");
        let world = world(&names);
        confined(&world.path().canonicalize().unwrap(), |seen, profile| {
            assert!(seen.is_truncated);
            let top = world.path().canonicalize().unwrap().join("top.pem");
            assert!(
                !profile.may_read(&AbsPath::new(top.to_str().unwrap()).unwrap()),
                "the top comes first"
            );
        });
    }
}
