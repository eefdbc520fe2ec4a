//! Grants in the loaded policy and in its cache.

use std::fs;

use openoxide_permission::PolicyStack;
use openoxide_protocol::AbsPath;

use super::{super::*, Disk, GOOD, found, settle};
use crate::{
    grant_file::{GrantFile, GrantLimits},
    policy_signature::STABLE_AFTER,
};

/// Guards I05.
#[test]
fn a_grant_that_ends_never_comes_back_from_the_last_good_version() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    let once = GrantLimits { max_uses: Some(1), ..GrantLimits::default() };
    grants.add_limited(&["Bash(make *)".to_owned()], &once).unwrap();
    let granted = PolicySource {
        base: project,
        is_grant_file: true,
        ..found(PolicySource::from_command_line(grants.path()))
    };
    let sources = [granted, found(disk.write("p.toml", GOOD))];
    settle();
    let good = load_policy(&sources, &environment);
    let without = good.policy_without_limited_grants().clone();
    assert_eq!(without.rule_count() + 1, good.policy.rule_count());
    disk.write("p.toml", "deny = \n");
    let (wrong, alone) =
        (load_policy(&sources, &environment), read_sources(&sources, &environment, &[]));
    assert_eq!(
        wrong.policy,
        alone.policy.with_fallback_denies(without),
        "the denies hold, and no grant"
    );
}

#[test]
fn revoking_a_grant_invalidates_the_cache_before_its_file_changes() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    grants.add(&["Bash(make *)".to_owned()]).unwrap();
    let source = PolicySource {
        base: project,
        is_grant_file: true,
        ..PolicySource::from_command_line(grants.path())
    };
    std::thread::sleep(STABLE_AFTER + std::time::Duration::from_millis(100));
    let rules = || load_policy(std::slice::from_ref(&source), &environment).policy.rule_count();
    let granted = rules();
    assert_eq!((rules(), disk.cached()), (granted, 1));
    // The state after a crash in the middle of revoking a grant.
    let spent = grants.usage_directory().unwrap();
    fs::create_dir_all(&spent).unwrap();
    fs::write(spent.join(&grants.read_entries().unwrap()[0].id), "revoked").unwrap();
    assert_eq!(rules(), granted - 1);
}

#[test]
fn limited_grants_apply_only_where_the_caller_has_checked_their_limits() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    let source = PolicySource {
        base: project,
        is_grant_file: true,
        ..PolicySource::from_command_line(grants.path())
    };
    grants.add(&["Bash(ls *)".to_owned()]).unwrap();
    let lasting = load_policy_uncached(std::slice::from_ref(&source), &environment, &[]);
    let unlimited = lasting.policy_within_limits(|_, _| panic!("no grant has limits"));
    assert_eq!(unlimited, lasting.policy_without_limited_grants());
    let bound = GrantLimits { max_uses: Some(1), ..GrantLimits::default() };
    grants.add_limited(&["Bash(make *)".to_owned()], &bound).unwrap();
    let loaded = load_policy_uncached(&[source], &environment, &[]);
    let applicable = |are_within_limits| {
        loaded.policy_within_limits(|_, entries| {
            let rules: Vec<_> = entries.iter().map(|entry| entry.rule.as_str()).collect();
            assert_eq!(rules, ["Bash(make *)"]);
            are_within_limits
        })
    };
    assert_eq!(applicable(true).rule_count(), unlimited.rule_count() + 1);
    assert_eq!(applicable(false), unlimited);
    assert_eq!(loaded.policy_without_limited_grants(), unlimited);
}

#[test]
fn using_a_grant_keeps_the_cache_and_its_last_use_ends_it() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    let bound = GrantLimits { max_uses: Some(3), ..GrantLimits::default() };
    grants.add_limited(&["Bash(make *)".to_owned()], &bound).unwrap();
    let source = PolicySource {
        base: project,
        is_grant_file: true,
        ..PolicySource::from_command_line(grants.path())
    };
    let entry = grants.read_entries().unwrap()[0].clone();
    // The first use creates the directory of the use counts.
    assert!(grants.consume_use(&entry).unwrap());
    std::thread::sleep(STABLE_AFTER + std::time::Duration::from_millis(100));
    let now = || load_policy(std::slice::from_ref(&source), &environment);
    let granted = now().policy.rule_count();
    assert!(grants.consume_use(&entry).unwrap());
    // A policy from the cache has no layers.
    let again = now();
    assert_eq!((again.layers.len(), again.policy.rule_count()), (0, granted));
    assert!(grants.consume_use(&entry).unwrap());
    assert_eq!(now().policy.rule_count(), granted - 1);
    assert!(!grants.consume_use(&entry).unwrap());
}

#[test]
fn a_use_count_written_by_an_earlier_version_is_read() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    let bound = GrantLimits { max_uses: Some(2), ..GrantLimits::default() };
    grants.add_limited(&["Bash(make *)".to_owned()], &bound).unwrap();
    let entry = grants.read_entries().unwrap()[0].clone();
    let spent = grants.usage_directory().unwrap();
    fs::create_dir_all(&spent).unwrap();
    fs::write(spent.join(&entry.id), "1").unwrap();
    assert!(grants.consume_use(&entry).unwrap());
    assert!(!grants.consume_use(&entry).unwrap());
}

/// The policy without limited grants is only read from the cache when it applies.
#[test]
fn a_damaged_policy_without_limited_grants_allows_nothing() {
    let disk = Disk::new();
    let environment =
        UserEnvironment { state: Some(disk.dir.path().join("state")), ..disk.environment.clone() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let grants = GrantFile::for_project(&environment, &project);
    let bound = GrantLimits { max_uses: Some(3), ..GrantLimits::default() };
    grants.add_limited(&["Bash(make *)".to_owned()], &bound).unwrap();
    let granted = PolicySource {
        base: project,
        is_grant_file: true,
        ..found(PolicySource::from_command_line(grants.path()))
    };
    let sources = [granted, found(disk.write("p.toml", GOOD))];
    settle();
    let fresh = load_policy(&sources, &environment);
    let cached = load_policy(&sources, &environment);
    assert_eq!(cached.layers.len(), 0, "it comes from the cache");
    assert_eq!(cached.policy, fresh.policy);
    assert_eq!(cached.policy_within_limits(|_, _| false), fresh.policy_without_limited_grants());

    let without = fresh.policy_without_limited_grants().as_bytes();
    let path = fs::read_dir(disk.dir.path().join("cache/openoxide")).unwrap();
    let path = path.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(without.len()).position(|window| window == without).unwrap();
    bytes[at + without.len() / 2] ^= 1;
    fs::write(&path, bytes).unwrap();
    let damaged = load_policy(&sources, &environment);
    assert_eq!(damaged.policy, fresh.policy, "what is read at once is whole");
    let restricted = damaged.policy_within_limits(|_, _| false);
    assert_eq!(restricted.rule_count(), 0);
    assert_eq!(*restricted, PolicyStack::default().with_fallback_denies(fresh.policy));
}
