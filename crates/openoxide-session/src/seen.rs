//! A look at the disk before a command is confined: a profile has no patterns, so what rules hold back by a pattern, and secrets by
//! their names, are looked for.

use std::{collections::VecDeque, fs};

use openoxide_permission::Ground;
use openoxide_protocol::AbsPath;

/// So many files are looked at: a start is not to be felt. Those near the top come first.
const MOST: usize = 4096;

/// What a look has turned up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// For [`Ground::seen`].
    pub paths: Vec<AbsPath>,
    /// Whether there was more than was looked at: what lies there is held by rules that name it, and by no others.
    pub more: bool,
}

/// Looks through the roots for what the policy would hold a program back from. No link is followed; of a directory that is held
/// back nothing more is looked at, nor of one that cannot be read.
#[must_use]
pub fn seen(ground: &Ground<'_>) -> Seen {
    let mut seen = Seen::default();
    let mut open: VecDeque<AbsPath> = ground.context.roots.iter().cloned().collect();
    let mut left = MOST;
    while let Some(directory) = open.pop_front() {
        let Ok(entries) = fs::read_dir(directory.as_str()) else { continue };
        for entry in entries.flatten() {
            if left == 0 {
                return Seen { more: true, ..seen };
            }
            left -= 1;
            // A name that is not UTF-8 has no `AbsPath`, and no rule can name it either.
            let Some(path) = entry.file_name().to_str().map(|name| directory.join(name)) else {
                continue;
            };
            if ground.holds_back(&path) {
                seen.paths.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push_back(path);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use openoxide_permission::{
        Anchors, Combining, Context, Layer, LayerKind, PolicyStack, confine, default_layer,
        evaluate, parse,
    };
    use openoxide_protocol::{Confined, Effect, Facts, PermissionMode};

    use super::*;

    fn confined(root: &Path, check: impl Fn(&Seen, &Confined)) {
        let root = AbsPath::new(root.to_str().unwrap()).unwrap();
        let anchors = Anchors { home: None, base: &root };
        let rules = vec![parse("Edit(*.lock)", Effect::Deny, anchors).unwrap()];
        let layer = Layer {
            kind: LayerKind::User,
            file: None,
            combining: Combining::Strictest,
            rules,
            mode: None,
        };
        let policy = PolicyStack::compile(&[layer, default_layer()]).unwrap();
        let roots = [root.clone()];
        let context =
            Context { mode: PermissionMode::Default, cwd: &root, roots: &roots, doubt: None };
        let decision = evaluate(&policy, &context, &Facts::default());
        let ground =
            Ground { policy: &policy, layers: &[], context, home: None, own: &[], seen: &[] };
        let seen = seen(&ground);
        let profile = confine(&Ground { seen: &seen.paths, ..ground }, &decision);
        check(&seen, profile.confined().unwrap());
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
    fn secrets_and_what_a_pattern_denies_are_found_and_held() {
        let world = world(&[
            "a/b/.env",
            "a/server.pem",
            "x/Cargo.lock",
            "x/main.rs",
            ".env.example",
            "s/.ssh/id",
        ]);
        let root = world.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        confined(&root, |seen, profile| {
            let at = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
            for hidden in ["a/b/.env", "a/server.pem", "s/.ssh/id"] {
                assert!(!profile.may_read(&at(hidden)), "{hidden}");
            }
            assert!(
                !profile.may_write(&at("x/Cargo.lock")) && profile.may_read(&at("x/Cargo.lock"))
            );
            assert!(profile.may_write(&at("x/main.rs")) && profile.may_read(&at(".env.example")));
            assert_eq!((seen.paths.len(), seen.more), (4, false));
        });
    }

    #[test]
    fn a_look_ends_and_says_that_there_was_more() {
        let names: Vec<_> = (0..=MOST).map(|number| format!("deep/{number}")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.push(".env");
        let world = world(&names);
        confined(&world.path().canonicalize().unwrap(), |seen, profile| {
            assert!(seen.more);
            let top = world.path().canonicalize().unwrap().join(".env");
            assert!(
                !profile.may_read(&AbsPath::new(top.to_str().unwrap()).unwrap()),
                "the top comes first"
            );
        });
    }
}
