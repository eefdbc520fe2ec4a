//! Which files a profile names.

use std::collections::BTreeSet;

use openoxide_protocol::{AbsPath, Access, Decision, PathAccess, Touch};

use super::{Ground, IN_ROOTS, git, granted};
use crate::{
    PolicyStack,
    glob::{self, Step},
    rule::Space,
    secret_files::{hidden_secret_paths, own_secret_paths},
};

type Paths = BTreeSet<AbsPath>;

/// The roots, and what a setting adds, in which no rule holds back every edit, and what was granted by name outside of them: exactly that. What would open more than anybody means (the whole disk,
/// home, secrets, the system's own) stays closed, and is asked about when it happens.
pub(super) fn writable(ground: &Ground<'_>, decision: &Decision) -> Paths {
    if ground.changes_nothing() {
        return Paths::new();
    }
    let added = ground.writable.iter().filter(|path| !ground.refuses(path));
    let roots = ground.context.roots.iter().chain(added);
    let roots = roots.filter(|root| root.parent().is_some() && !ground.rules_out_edits(root));
    let mut writable: Paths = roots.cloned().collect();
    let named = granted(decision).filter_map(edit).filter(|path| !path.pattern).map(place);
    let outside = named.filter(|path| !is_below(&writable, path) && !ground.refuses(path));
    let outside: Paths = outside.cloned().collect();
    writable.extend(outside);
    writable
}

/// What steers tools in each root; start-up files where a root is home; what rules hold back; what a look at the disk has shown.
/// What a person said yes to by its name is not protected from that.
pub(super) fn protected(ground: &Ground<'_>, decision: &Decision, writable: &Paths) -> Paths {
    let mut candidates: Paths = ground.seen.iter().chain(ground.kept).cloned().collect();
    candidates.extend(literals(ground, Space::Edit, Space::EditHere));
    candidates.extend(ground.user.protected_paths());
    candidates.retain(|path| !ground.lets(Access::Edit, path) || ground.kept.contains(path));
    let names = ground.open().flat_map(|root| IN_ROOTS.map(|name| root.join(name)));
    candidates.extend(names.chain(ground.own.iter().cloned()));
    candidates.retain(|path| is_below(writable, path));
    for path in granted(decision).filter_map(edit).filter(|path| !path.pattern) {
        candidates.remove(place(path));
    }
    git::open(ground, decision, &mut candidates);
    candidates
}

/// What rules keep from being read, secrets, and our own files, unless the decision reads them.
pub(super) fn unreadable(ground: &Ground<'_>, decision: &Decision) -> Paths {
    let mut paths: Paths = ground.seen.iter().chain(ground.own).cloned().collect();
    paths.extend(literals(ground, Space::Read, Space::ReadHere));
    paths.extend(hidden_secret_paths(ground.user, None));
    paths.retain(|path| !ground.lets(Access::Read, path));
    for path in granted(decision).filter_map(read).map(place) {
        open(&mut paths, path, ground.seen);
    }
    for own in granted(decision).filter_map(program).flat_map(|name| own(ground, name)) {
        paths.remove(&own);
    }
    paths
}

/// Lets a file be read. A directory that hides it gives way to what is known to lie beside it; where nothing is known, it stays.
fn open(paths: &mut Paths, path: &AbsPath, seen: &[AbsPath]) {
    paths.remove(path);
    let above: Vec<_> = paths.iter().filter(|base| path.below(base).is_some()).cloned().collect();
    for base in above {
        let beside: Paths = seen
            .iter()
            .filter(|one| one.below(&base).is_some_and(|rest| !rest.is_empty()))
            .cloned()
            .collect();
        if beside.contains(path) {
            paths.remove(&base);
            let holds = |one: &&AbsPath| path.below(one).is_some();
            paths.extend(beside.iter().filter(|one| !holds(one)).cloned());
        }
    }
}

/// The paths that rules which ask or deny name without a wildcard, those of the last good version included. A rule about every path
/// is about tools: under a profile that hid everything no program could start.
fn literals(ground: &Ground<'_>, rooted: Space, here: Space) -> Paths {
    let context = ground.context;
    let heres: Vec<AbsPath> =
        std::iter::once(context.base()).chain(context.other_bases()).cloned().collect();
    let bases = |space| if space == here { heres.clone() } else { vec![AbsPath::root()] };
    let policies = std::iter::once(ground.policy).chain(ground.policy.before());
    let spaces = policies.flat_map(|policy| [rooted, here].map(|space| (policy, space)));
    let mut paths = Paths::new();
    for (policy, space) in spaces {
        let rules = policy.index().holding_back(space);
        let named = (0..rules.count).filter_map(|number| literal(rules.get(number).0));
        for name in named {
            paths.extend(bases(space).iter().map(|base| base.join(&name)));
        }
    }
    paths.remove(&AbsPath::root());
    paths
}

/// Says whether a rule that is not built in, and that asks or denies, names paths by a wildcard.
pub(super) fn has_patterns(policy: &PolicyStack) -> bool {
    [Space::Read, Space::ReadHere, Space::Edit, Space::EditHere].into_iter().any(|space| {
        let rules = policy.index().holding_back(space);
        (0..rules.count).any(|number| is_wild(rules.get(number).0))
    })
}

/// Says whether a pattern names some paths by a wildcard, and not just every path there is: such a rule is about tools.
fn is_wild(code: &[u8]) -> bool {
    let every = |step| matches!(step, Step::Any | Step::Some | Step::AnyParts);
    literal(code).is_none() && !glob::steps(code).all(every)
}

/// Returns the one path that a pattern names, with all below it; nothing for a pattern with a wildcard.
fn literal(code: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    for step in glob::steps(code) {
        match step {
            Step::Literal(bytes) => text.extend_from_slice(bytes),
            Step::Any | Step::Some => break,
            Step::AnyInPart | Step::One | Step::AnyParts | Step::Class { .. } => return None,
        }
    }
    let whole = text.strip_suffix(b"/")?;
    String::from_utf8(whole.to_vec()).ok()
}

fn is_below(paths: &Paths, path: &AbsPath) -> bool {
    paths.iter().any(|base| path.below(base).is_some())
}

fn edit(access: &Access) -> Option<&PathAccess> {
    match access {
        Access::Edit(path) => Some(path),
        _ => None,
    }
}

/// Who looks at names alone is not given what is in the files.
fn read(access: &Access) -> Option<&PathAccess> {
    match access {
        Access::Read(path) if path.touch != Touch::Names && !path.pattern => Some(path),
        _ => None,
    }
}

/// Returns the name of the program that a command starts.
fn program(access: &Access) -> Option<&str> {
    match access {
        Access::Exec(exec) => exec.argv.known(0)?.rsplit('/').next(),
        _ => None,
    }
}

/// Returns the files with secrets that belong to a program, unless a rule keeps them from being read.
fn own(ground: &Ground<'_>, program: &str) -> impl Iterator<Item = AbsPath> {
    let own = own_secret_paths(ground.user, program).into_iter();
    own.filter(|path| !ground.rules_out(Access::Read, path))
}

/// Where it really lies.
fn place(path: &PathAccess) -> &AbsPath {
    path.resolved.as_ref().unwrap_or(&path.path)
}
