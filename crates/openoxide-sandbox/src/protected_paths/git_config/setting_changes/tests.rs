use super::super::{config_changes::find_risky_changes, parse_settings};
use super::*;

const ONE_REMOTE: &str = "[remote \"origin\"]\n\turl = https://a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[submodule \"s\"]\n\turl = https://a/s\n";

fn is_harmless(file: &str, before: &str, after: &str) -> bool {
    let risky = find_risky_changes(before.as_bytes(), after.as_bytes(), Path::new(file));
    risky.unwrap().is_empty()
}

fn may_add(added: &str) -> bool {
    is_harmless("/p/.git/config", ONE_REMOTE, &format!("{ONE_REMOTE}{added}"))
}

/// git-config(1), git-push(1), git-fetch(1), git-gc(1).
#[test]
fn settings_that_send_delete_contact_or_prune_more_are_risky() {
    for added in [
        "[remote \"origin\"]\n\tmirror = true\n",
        "[remote \"origin\"]\n\tpush = +refs/*:refs/*\n",
        "[remote \"origin\"]\n\turl = https://evil/b\n",
        "[remote \"origin\"]\n\tpushurl = https://evil/b\n",
        "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/heads/*\n",
        "[remote \"origin\"]\n\tprune = true\n[fetch]\n\tpruneTags = true\n",
        "[remote \"origin\"]\n\tpruneTags = true\n",
        "[remote \"origin\"]\n\tpromisor = true\n",
        "[remote \"origin\"]\n\tpartialCloneFilter = blob:none\n",
        "[remote \"origin\"]\n\tskipFetchAll = false\n",
        "[remote \"new\"]\n\tmirror = true\n",
        "[remote \"https://a/b\"]\n\turl = https://evil/b\n",
        "[remote \"../b\"]\n\turl = https://evil/b\n",
        "[remote \".\"]\n\turl = https://evil/b\n",
        "[remote \"new\"]\n\turl = https://a/c\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"new\"]\n\turl = https://a/c\n\tfetch = +refs/heads/*:refs/remotes/new/../../heads/*\n",
        "[remote]\n\tpushDefault = new\n",
        "[remotes]\n\tdefault = new\n",
        "[branch \"main\"]\n\tpushRemote = new\n",
        "[branch \"main\"]\n\tremote = new\n",
        "[branch \"other\"]\n\tremote = new\n",
        "[branch \"other\"]\n\tremote = evil:x\n",
        "[branch \"main\"]\n\tmerge = refs/heads/release\n",
        "[branch]\n\tautoSetupMerge = inherit\n",
        "[push]\n\tdefault = matching\n",
        "[push]\n\tautoSetupRemote = true\n",
        "[push]\n\tfollowTags = true\n",
        "[push]\n\trecurseSubmodules = on-demand\n",
        "[fetch]\n\tprune = true\n",
        "[fetch]\n\trecurseSubmodules = true\n",
        "[gc]\n\tpruneExpire = now\n",
        "[gc]\n\treflogExpire = now\n",
        "[gc]\n\treflogExpireUnreachable = now\n",
        "[gc]\n\tauto = 1\n",
        "[maintenance]\n\tstrategy = incremental\n",
        "[core]\n\tlogAllRefUpdates = false\n",
        "[checkout]\n\tdefaultRemote = new\n",
        "[extensions]\n\trefStorage = reftable\n",
        "[extensions]\n\tpartialClone = origin\n",
        "[submodule \"s\"]\n\turl = https://evil/s\n",
        "[submodule]\n\trecurse = true\n",
        "[rebase]\n\tupdateRefs = true\n",
    ] {
        assert!(!may_add(added), "{added}");
    }
    // Neither can a setting be removed, or hidden in the configuration of a worktree.
    assert!(!is_harmless("/p/.git/config", ONE_REMOTE, ""));
    let other = "[remote \"origin\"]\n\turl = https://evil/b\n";
    assert!(!is_harmless("/p/.git/config.worktree", "", other));
    assert!(!is_harmless("/p/.git/config", "[push]\n\tdefault = nothing\n", ""));
    // Nor can another value follow it, or one that protects be removed.
    let nothing = "[push]\n\tdefault = nothing\n";
    assert!(!is_harmless("/p/.git/config", nothing, &format!("{nothing}\tdefault = simple\n")));
    assert!(!is_harmless("/p/.git/config.worktree", "", "[push]\n\tdefault = simple\n"));
    assert!(!is_harmless("/p/.git/config", "[gc]\n\tauto = 0\n", ""));
    let branch = |merge: &str| {
        format!("[branch \"dev\"]\n\tremote = origin\n\tmerge = refs/heads/{merge}\n")
    };
    let config = |merge: &str| format!("{ONE_REMOTE}{}", branch(merge));
    assert!(!is_harmless("/p/.git/config", &config("release"), &config("dev")));
    let upstream = ONE_REMOTE.replace("origin", "upstream");
    assert!(!is_harmless("/p/.git/config", &upstream, &format!("{upstream}{other}")));
}

#[test]
fn branches_and_new_remotes_of_everyday_work_are_harmless() {
    for added in [
        "[branch \"topic\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[branch \"topic\"]\n\tremote = .\n\tmerge = refs/heads/main\n",
        "[remote \"new\"]\n\turl = https://a/c\n\tfetch = +refs/heads/*:refs/remotes/new/*\n",
        "[submodule \"t\"]\n\tactive = true\n\turl = https://a/t\n",
        "[push]\n\tdefault = simple\n[gc]\n\tauto = 0\n[core]\n\tlogAllRefUpdates = true\n",
    ] {
        assert!(may_add(added), "{added}");
    }
    let first = "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
    assert!(is_harmless(
        "/p/.git/config",
        "",
        &format!("{first}{}", "[remote \"origin\"]\n\turl = ../x\n")
    ));
    assert!(is_harmless(
        "/p/.git/config",
        &format!("{ONE_REMOTE}{}", "[branch \"x\"]\n\tremote = origin\n"),
        ONE_REMOTE
    ));
}

#[test]
fn settings_with_unknown_effects_are_risky() {
    let settings = parse_settings("[core]\n\tpager = x\n[unknown]\n\tkey = x\n").unwrap();
    let context = ConfigContext::new(Path::new("/p/.git/config"), &[]);
    assert!(settings.iter().all(|one| !context.is_harmless_change(one)));
}
