//! The path restrictions of a profile.

use std::collections::BTreeSet;

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, AccessRoute, CommandClass, Decision, Effect, Finding,
    FindingKind, Obligation, PathAccess,
};

use super::{
    confine_input::ProfileInput, granted_accesses::granted_accesses, path_patterns::literal_path,
    protected_names::PROTECTED_ROOT_NAMES,
};
use crate::{
    evaluation::find_registry,
    rule::SubjectKind,
    secret_files::{hidden_secret_paths, program_secret_paths},
};

type PathSet = BTreeSet<AbsPath>;

/// Returns the writable paths: the roots, their git directories and the directories that a setting
/// adds, unless a rule restricts every edit in them, and exactly the paths outside of them that were granted by name.
/// Paths that would make more files accessible than intended (the whole disk, home, secrets, system
/// directories) are not included and are asked about when they are accessed.
pub(super) fn writable_paths(ground: &ProfileInput<'_>, decision: &Decision) -> PathSet {
    if ground.is_read_only() {
        return PathSet::new();
    }
    let added = ground.writable.iter().filter(|path| !ground.is_forbidden_root(path));
    let git = ground.git_directories.iter().filter(|path| !ground.is_forbidden_root(path));
    let roots = ground.context.roots.iter().chain(added).chain(git);
    let roots = roots.filter(|root| root.parent().is_some() && !ground.restricts_all_edits(root));
    let mut writable: PathSet = roots.cloned().collect();
    let named = granted_accesses(decision)
        .filter_map(as_edit)
        .filter(|path| !path.is_pattern)
        .map(resolved_path);
    let outside =
        named.filter(|path| !is_below_any(&writable, path) && !ground.is_forbidden_root(path));
    let outside: PathSet = outside.cloned().collect();
    writable.extend(outside);
    writable
}

/// Returns the protected paths: steering files in each root, start-up files if a root is a home
/// directory, paths that rules restrict, and paths found by the scan. A path that a person approved
/// by name is not protected.
pub(super) fn protected_paths(
    ground: &ProfileInput<'_>,
    decision: &Decision,
    writable: &PathSet,
) -> PathSet {
    let mut candidates: PathSet =
        ground.restricted_paths.iter().chain(ground.write_restricted_paths).cloned().collect();
    candidates.extend(literal_rule_paths(ground, SubjectKind::Edit, SubjectKind::EditFromCwd));
    candidates.extend(ground.home_directories.protected_paths());
    candidates.retain(|path| {
        !ground.is_allowed(Access::Edit, path) || ground.write_restricted_paths.contains(path)
    });
    let names =
        ground.writable_roots().flat_map(|root| PROTECTED_ROOT_NAMES.map(|name| root.join(name)));
    candidates.extend(names.chain(ground.openoxide_paths.iter().cloned()));
    candidates.retain(|path| is_below_any(writable, path));
    for path in granted_accesses(decision).filter_map(as_edit).filter(|path| !path.is_pattern) {
        candidates.remove(resolved_path(path));
    }
    candidates
}

/// Returns the unreadable paths: paths that rules restrict from being read, secrets, and
/// OpenOxide's own files, unless the decision reads them. A mode reveals no file of OpenOxide,
/// because its state contains the key that authenticates approvals.
pub(super) fn unreadable_paths(ground: &ProfileInput<'_>, decision: &Decision) -> PathSet {
    let mut paths: PathSet = ground.restricted_paths.iter().cloned().collect();
    paths.extend(literal_rule_paths(ground, SubjectKind::Read, SubjectKind::ReadFromCwd));
    paths.extend(hidden_secret_paths(ground.home_directories, None));
    paths.retain(|path| !ground.is_allowed(Access::Read, path));
    let own: PathSet = ground.openoxide_paths.iter().cloned().collect();
    paths.extend(own.iter().cloned());
    let named = decision.parts.iter().filter(|part| part.decision != Effect::Deny);
    let by_mode = |part: &AccessDecision| part.decision == Effect::Allow && part.rule.is_none();
    for (part, path) in named.filter_map(|part| Some((part, as_content_read(&part.access)?))) {
        let path = resolved_path(path);
        if by_mode(part) && is_below_any(&own, path) {
            continue;
        }
        reveal_path(&mut paths, path, ground.restricted_paths);
    }
    for own in granted_accesses(decision)
        .filter_map(program_name)
        .filter(|name| may_read_own_secrets(decision, name))
        .flat_map(|name| program_secret_files(ground, name))
    {
        paths.remove(&own);
    }
    paths
}

/// Makes a file readable. A directory that hides it is replaced by the known other paths in it. If
/// no paths in it are known, the directory stays hidden.
fn reveal_path(paths: &mut PathSet, path: &AbsPath, seen: &[AbsPath]) {
    paths.remove(path);
    let above: Vec<_> =
        paths.iter().filter(|base| path.strip_prefix(base).is_some()).cloned().collect();
    for base in above {
        let beside: PathSet = seen
            .iter()
            .filter(|one| one.strip_prefix(&base).is_some_and(|rest| !rest.is_empty()))
            .cloned()
            .collect();
        if beside.contains(path) {
            paths.remove(&base);
            let holds = |one: &&AbsPath| path.strip_prefix(one).is_some();
            paths.extend(beside.iter().filter(|one| !holds(one)).cloned());
        }
    }
}

/// Returns the paths that rules that ask or deny name without a wildcard, including rules of the
/// last good version. A rule that matches every path is about tools: if a profile hid every path,
/// no program could start.
fn literal_rule_paths(
    ground: &ProfileInput<'_>,
    rooted: SubjectKind,
    here: SubjectKind,
) -> PathSet {
    let context = ground.context;
    let heres: Vec<AbsPath> =
        std::iter::once(context.base()).chain(context.other_bases()).cloned().collect();
    let bases = |space| if space == here { heres.clone() } else { vec![AbsPath::root()] };
    let policies = std::iter::once(ground.policy).chain(ground.policy.last_good());
    let spaces = policies.flat_map(|policy| [rooted, here].map(|space| (policy, space)));
    let mut paths = PathSet::new();
    for (policy, space) in spaces {
        let rules = policy.index().restrictive_rules(space);
        let named = (0..rules.count).filter_map(|number| literal_path(rules.get(number).0));
        for name in named {
            paths.extend(bases(space).iter().map(|base| base.join(&name)));
        }
    }
    paths.remove(&AbsPath::root());
    paths
}

fn is_below_any(paths: &PathSet, path: &AbsPath) -> bool {
    paths.iter().any(|base| path.strip_prefix(base).is_some())
}

fn as_edit(access: &Access) -> Option<&PathAccess> {
    match access {
        Access::Edit(path) => Some(path),
        _ => None,
    }
}

/// Returns the path of an access that reads contents. Access to metadata does not include the
/// contents of files.
fn as_content_read(access: &Access) -> Option<&PathAccess> {
    match access {
        Access::Read(path) if path.route != AccessRoute::Metadata && !path.is_pattern => Some(path),
        _ => None,
    }
}

/// Returns the name of the program that a command starts.
fn program_name(access: &Access) -> Option<&str> {
    match access {
        Access::Exec(exec) => exec.argv.known_word(0)?.rsplit('/').next(),
        _ => None,
    }
}

/// Returns whether a program may read the secret files that belong to it. If only the sandbox
/// allowed the call, no other program of the call may run code, and no finding may put the
/// program's identity in doubt. The install scripts of packages are other programs.
fn may_read_own_secrets(decision: &Decision, program: &str) -> bool {
    let shares_sandbox = |access: &Access| match access {
        Access::Exec(exec) => {
            exec.class != CommandClass::Harmless
                && (program_name(access) != Some(program) || find_registry(exec).is_some())
        }
        Access::Opaque { .. } => true,
        _ => false,
    };
    let asks = |finding: &Finding| finding.kind != FindingKind::Note;
    !decision.obligations.contains(&Obligation::Sandboxed)
        || !decision.parts.iter().any(|part| shares_sandbox(&part.access))
            && !decision.findings.iter().any(asks)
}

/// Returns the secret files that belong to a program, except for those that a rule restricts from
/// being read.
fn program_secret_files(ground: &ProfileInput<'_>, program: &str) -> impl Iterator<Item = AbsPath> {
    let own = program_secret_paths(ground.home_directories, program).into_iter();
    own.filter(|path| !ground.is_restricted(Access::Read, path))
}

/// Returns the resolved path, or the written one if it was not resolved.
fn resolved_path(path: &PathAccess) -> &AbsPath {
    path.resolved.as_ref().unwrap_or(&path.path)
}
