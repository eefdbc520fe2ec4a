mod grants;

use std::fs;

use openoxide_permission::default_layer;
use openoxide_protocol::{AbsPath, PermissionMode};

use super::*;
use crate::{loaded_policy::UntrustedProject, policy_signature::STABLE_AFTER};

struct Disk {
    dir: tempfile::TempDir,
    environment: UserEnvironment,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let environment =
            UserEnvironment { cache: Some(dir.path().join("cache")), ..UserEnvironment::default() };
        Self { dir, environment }
    }

    fn write(&self, name: &str, text: &str) -> PolicySource {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        PolicySource::from_command_line(path)
    }

    fn cached(&self) -> usize {
        fs::read_dir(self.dir.path().join("cache/openoxide")).map_or(0, Iterator::count)
    }
}

const GOOD: &str = "[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n";

fn age(path: &std::path::Path) {
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(path).unwrap().set_modified(past).unwrap();
}

#[test]
fn a_project_file_only_tightens() {
    let disk = Disk::new();
    let source = PolicySource { may_loosen: false, ..disk.write("p.toml", GOOD) };
    let loaded = load_policy(&[source], &disk.environment);
    assert_eq!(loaded.policy.rule_count(), default_layer().rules.len() + 1);
    assert_eq!(loaded.notes.len(), 1);
    assert_eq!(loaded.policy_error, None);
}

#[test]
fn trust_covers_the_order_of_rules() {
    let disk = Disk::new();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..UserEnvironment::default() };
    let write = |rules: &str| {
        let text = format!("[permissions]\ncombining = \"last-match\"\n{rules}");
        PolicySource { may_loosen: false, ..disk.write("p.toml", &text) }
    };
    let first = write("deny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n");
    let loaded = load_policy_uncached(std::slice::from_ref(&first), &environment, &[]);
    let [untrusted] = loaded.untrusted_projects.as_slice() else { panic!("{loaded:?}") };
    TrustStore::for_user(&environment).save(&untrusted.project, &untrusted.settings, true).unwrap();
    assert_eq!(load_policy_uncached(&[first], &environment, &[]).untrusted_projects, []);
    let turned = write("allow = [\"Bash(ls *)\"]\ndeny = [\"Bash(rm *)\"]\n");
    assert_eq!(load_policy_uncached(&[turned], &environment, &[]).untrusted_projects.len(), 1);
    let gone = write("allow = [\"Bash(ls *)\"]\n");
    assert_eq!(load_policy_uncached(&[gone], &environment, &[]).untrusted_projects.len(), 1);
}

#[test]
fn an_administrator_takes_rules_and_bypass_away() {
    let disk = Disk::new();
    let text = "[managed]\ndisable_bypass_permissions = true\nallow_managed_rules_only = true\n[permissions]\ndeny = [\"Bash(rm *)\"]\n";
    let managed = PolicySource { kind: LayerKind::Managed, ..disk.write("m.toml", text) };
    let user = disk.write("u.toml", GOOD);
    let loaded = load_policy_uncached(&[managed, user], &UserEnvironment::default(), &[]);
    assert_eq!(loaded.policy.rule_count(), default_layer().rules.len() + 1);
    let permitted = |mode| loaded.policy.effective_mode(mode);
    assert_eq!(permitted(PermissionMode::BypassPermissions), PermissionMode::Default);
    assert_eq!(permitted(PermissionMode::AcceptEdits), PermissionMode::AcceptEdits);
    let elsewhere = disk.write("x.toml", text);
    assert_eq!(
        load_policy_uncached(&[elsewhere], &UserEnvironment::default(), &[]).broken_files.len(),
        1
    );
}

const HOOK: &str = "[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"guard\"\n";

/// Guards I12.
#[test]
fn a_project_hook_runs_only_after_it_is_trusted() {
    let disk = Disk::new();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..UserEnvironment::default() };
    let write = |text: &str| PolicySource { may_loosen: false, ..disk.write("p.toml", text) };
    let source = write(HOOK);
    let loaded = load_policy_uncached(std::slice::from_ref(&source), &environment, &[]);
    assert_eq!(loaded.hooks, []);
    let [untrusted] = loaded.untrusted_projects.as_slice() else { panic!("{loaded:?}") };
    let expected = ["p.toml: hook pre_tool_use *, 30 s: \"guard\""];
    assert_eq!(untrusted.settings, expected);
    TrustStore::for_user(&environment).save(&untrusted.project, &untrusted.settings, true).unwrap();
    assert_eq!(load_policy_uncached(&[source], &environment, &[]).hooks.len(), 1);
    for other in [HOOK.replace("guard", "other"), format!("{HOOK}timeout = 9\n")] {
        let hooks = load_policy_uncached(&[write(&other)], &environment, &[]).hooks;
        let [hook] = hooks.as_slice() else { panic!("{hooks:?}") };
        assert!(!hook.is_trusted, "it asks: whoever changes a guard does not get rid of it");
    }
}

#[test]
fn a_hook_whose_files_cannot_be_determined_asks() {
    let disk = Disk::new();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..UserEnvironment::default() };
    let read = |command: &str| {
        let text = HOOK.replace("\"guard\"", &format!("'''{command}'''"));
        let source = PolicySource { may_loosen: false, ..disk.write("p.toml", &text) };
        let loaded = load_policy_uncached(std::slice::from_ref(&source), &environment, &[]);
        if let [untrusted] = loaded.untrusted_projects.as_slice() {
            TrustStore::for_user(&environment)
                .save(&untrusted.project, &untrusted.settings, true)
                .unwrap();
        }
        let loaded = load_policy_uncached(&[source], &environment, &[]);
        loaded.hooks.first().map(|hook| hook.is_trusted)
    };
    for plain in [
        "sh tools/guard.sh",
        "\"$CLAUDE_PROJECT_DIR\"/tools/guard.sh --all",
        "grep -q '$HOME/*' && exit 2",
    ] {
        assert_eq!(read(plain), Some(true), "{plain}");
    }
    for unclear in [
        "sh \"${CLAUDE_PROJECT_DIR:-.}\"/tools/guard.sh",
        "cd tools && sh guard.sh",
        "bash -c 'cd tools && sh guard.sh'",
        "sh -ec 'sh $PWD/tools/guard.sh'",
        "sh \"$(git rev-parse --show-toplevel)\"/tools/guard.sh",
        "sh $PWD/tools/guard.sh",
        "sh ~/project/tools/guard.sh",
        "sh tools/*.sh",
        "sh tools\\/guard.sh",
    ] {
        assert_eq!(read(unclear), Some(false), "{unclear}");
    }
}

#[test]
fn an_administrator_takes_hooks_or_their_allows_away() {
    let disk = Disk::new();
    let count = |switch: &str| {
        let text = format!("[managed]\n{switch} = true\n{HOOK}");
        let managed = PolicySource { kind: LayerKind::Managed, ..disk.write("m.toml", &text) };
        let user = disk.write("u.toml", HOOK);
        let hooks = load_policy_uncached(&[managed, user], &UserEnvironment::default(), &[]).hooks;
        hooks.iter().map(|hook| (hook.layer, hook.may_allow)).collect::<Vec<_>>()
    };
    let (managed, other) = (LayerKind::Managed, LayerKind::Cli);
    assert_eq!(count("disable_bypass_permissions"), [(managed, true), (other, true)]);
    assert_eq!(count("allow_managed_hooks_only"), [(managed, true)]);
    assert_eq!(count("allow_managed_rules_only"), [(managed, true), (other, false)]);
}

/// Guards I05.
#[test]
fn a_policy_with_hooks_is_stored_only_as_the_last_good_version() {
    let disk = Disk::new();
    let named = disk.write("p.toml", &format!("{GOOD}{HOOK}"));
    let source = found(named.clone());
    settle();
    let load_it = || load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!(load_policy(&[named], &disk.environment).hooks.len(), 1);
    assert_eq!(disk.cached(), 0, "a file that a person named stands for itself");
    let good = load_it();
    let kept = || fs::read_dir(disk.dir.path().join("cache/openoxide")).unwrap().next().unwrap();
    let written = || kept().unwrap().metadata().unwrap().modified().unwrap();
    let first = written();
    for _ in 0..2 {
        assert_eq!((load_it().hooks.len(), disk.cached()), (1, 1), "no hook is lost");
        assert_eq!(written(), first, "it is written once");
    }
    disk.write("p.toml", &format!("deny = \n{HOOK}"));
    let (wrong, alone) =
        (load_it(), read_sources(std::slice::from_ref(&source), &disk.environment, &[]));
    assert!(wrong.policy_error.is_some(), "so what a hook could have denied is asked about");
    assert_eq!(wrong.policy, alone.policy.with_fallback_denies(good.policy));
}

#[test]
fn hooks_of_a_named_project_file_run_only_after_they_are_trusted() {
    let disk = Disk::new();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..UserEnvironment::default() };
    let project = AbsPath::new(disk.dir.path().to_str().unwrap()).unwrap();
    let named = disk.write("p.toml", &format!("{GOOD}{HOOK}"));
    let source = PolicySource { hook_project: Some(project.clone()), ..named };
    let loaded = load_policy_uncached(std::slice::from_ref(&source), &environment, &[]);
    assert!(!loaded.hooks[0].is_trusted, "it is not run, and asks");
    assert_eq!(loaded.policy.rule_count(), default_layer().rules.len() + 2, "its rules count");
    let [untrusted] = loaded.untrusted_projects.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(untrusted.settings, ["p.toml: hook pre_tool_use *, 30 s: \"guard\""]);
    // A trust record of the project does not apply to the named file.
    let trust = TrustStore::for_user(&environment);
    trust.save(&project, &untrusted.settings, true).unwrap();
    assert!(
        !load_policy_uncached(std::slice::from_ref(&source), &environment, &[]).hooks[0].is_trusted
    );
    trust.save(&untrusted.project, &untrusted.settings, true).unwrap();
    let loaded = load_policy_uncached(&[source], &environment, &[]);
    let [hook] = loaded.hooks.as_slice() else { panic!("{loaded:?}") };
    assert_eq!((hook.project.as_ref(), hook.is_trusted), (Some(&project), true));
}

#[test]
fn a_managed_file_that_others_can_write_closes_everything() {
    use std::os::unix::fs::PermissionsExt as _;
    let disk = Disk::new();
    let managed = PolicySource { kind: LayerKind::Managed, ..disk.write("m.toml", GOOD) };
    fs::set_permissions(&managed.path, fs::Permissions::from_mode(0o664)).unwrap();
    assert!(
        load_policy_uncached(&[managed], &UserEnvironment::default(), &[])
            .managed_policy_error
            .is_some()
    );
}

/// Guards I04.
#[test]
fn a_file_that_cannot_be_read_puts_the_policy_in_doubt() {
    let disk = Disk::new();
    let missing = PolicySource::from_command_line(disk.dir.path().join("none.toml"));
    assert!(load_policy(&[missing], &disk.environment).policy_error.is_some());
    let directory = PolicySource::from_command_line(disk.dir.path().to_path_buf());
    assert!(load_policy(&[directory], &disk.environment).policy_error.is_some());
    let wrong = disk.write("w.toml", "[permissions]\ndeny = [\"Bash(\"]\n");
    let loaded = load_policy(&[wrong], &disk.environment);
    assert!(loaded.policy_error.is_some());
    assert_eq!(loaded.broken_files.len(), 1);
    let optional = PolicySource {
        required: false,
        ..PolicySource::from_command_line(disk.dir.path().join("none.toml"))
    };
    assert_eq!(load_policy(&[optional], &disk.environment).policy_error, None);
}

#[test]
fn a_managed_file_that_is_wrong_closes_everything() {
    let disk = Disk::new();
    let wrong = disk.write("w.toml", "deny = \n");
    let managed = PolicySource { kind: LayerKind::Managed, ..wrong };
    let loaded = load_policy(&[managed], &disk.environment);
    assert!(loaded.managed_policy_error.is_some());
}

#[test]
fn the_cache_gives_the_same_policy_until_a_file_changes() {
    let disk = Disk::new();
    let source = disk.write("p.toml", GOOD);
    age(&source.path);
    // The change time cannot be set back. Nothing is stored until it is old enough.
    let first = load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!(disk.cached(), 0);
    std::thread::sleep(STABLE_AFTER + std::time::Duration::from_millis(100));
    let second = load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!(disk.cached(), 1);
    let third = load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!((&first.policy, &second.policy), (&second.policy, &third.policy));
    fs::write(&source.path, "[permissions]\n").unwrap();
    let changed = load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!(changed.policy.rule_count(), default_layer().rules.len());
}

#[test]
fn a_damaged_cache_is_not_used() {
    let disk = Disk::new();
    let source = disk.write("p.toml", GOOD);
    std::thread::sleep(STABLE_AFTER + std::time::Duration::from_millis(100));
    let first = load_policy(std::slice::from_ref(&source), &disk.environment);
    let directory = disk.dir.path().join("cache/openoxide");
    let file = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    for at in [0, 60, 400] {
        let mut bytes = fs::read(&file).unwrap();
        bytes[at] ^= 1;
        fs::write(&file, &bytes).unwrap();
        let again = load_policy(std::slice::from_ref(&source), &disk.environment);
        assert_eq!(again.policy, first.policy);
    }
    fs::write(&file, b"").unwrap();
    assert_eq!(load_policy(&[source], &disk.environment).policy, first.policy);
}

/// Waits until written files are considered stable.
fn settle() {
    std::thread::sleep(STABLE_AFTER + std::time::Duration::from_millis(100));
}

/// Changes a source into one that was found instead of named by a person.
fn found(source: PolicySource) -> PolicySource {
    PolicySource { required: false, kind: LayerKind::User, ..source }
}

/// Guards I05.
#[test]
fn the_denies_of_the_last_good_version_apply_to_an_invalid_file() {
    let disk = Disk::new();
    let source = found(disk.write("p.toml", GOOD));
    settle();
    let good = load_policy(std::slice::from_ref(&source), &disk.environment);
    for wrong in ["[permissions]\ndeny = [\"Bash(\"]\n", "deny = \n", "\u{1}"] {
        disk.write("p.toml", wrong);
        for loaded in [
            load_policy(std::slice::from_ref(&source), &disk.environment),
            load_policy_uncached(std::slice::from_ref(&source), &disk.environment, &[]),
        ] {
            let alone = read_sources(std::slice::from_ref(&source), &disk.environment, &[]);
            assert!(loaded.policy_error.is_some());
            assert_ne!(loaded.policy, alone.policy);
            assert_eq!(
                loaded.policy,
                alone.policy.with_fallback_denies(good.policy.clone()),
                "{wrong}"
            );
        }
    }
    // Once the file is fixed, the last good version no longer applies.
    disk.write("p.toml", "[permissions]\n");
    let right = load_policy(std::slice::from_ref(&source), &disk.environment);
    assert_eq!(
        right.policy,
        read_sources(std::slice::from_ref(&source), &disk.environment, &[]).policy
    );
    assert_eq!(right.policy.rule_count(), default_layer().rules.len());
}

/// Guards I05.
#[test]
fn the_last_good_version_does_not_apply_to_named_or_other_files() {
    let disk = Disk::new();
    let named = disk.write("p.toml", GOOD);
    settle();
    drop(load_policy(std::slice::from_ref(&named), &disk.environment));
    drop(load_policy(&[found(named.clone())], &disk.environment));
    disk.write("p.toml", "deny = \n");
    let alone = |source: &PolicySource| {
        read_sources(std::slice::from_ref(source), &disk.environment, &[]).policy
    };
    assert_eq!(load_policy(std::slice::from_ref(&named), &disk.environment).policy, alone(&named));
    // The same path in another layer is a different policy.
    let other = PolicySource { kind: LayerKind::Project, ..found(named) };
    assert_eq!(load_policy(std::slice::from_ref(&other), &disk.environment).policy, alone(&other));
}

/// Guards I05.
#[test]
fn a_last_good_version_that_others_could_have_written_is_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let disk = Disk::new();
    let source = found(disk.write("p.toml", GOOD));
    settle();
    drop(load_policy(std::slice::from_ref(&source), &disk.environment));
    disk.write("p.toml", "deny = \n");
    let directory = disk.dir.path().join("cache/openoxide");
    let file = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let alone = read_sources(std::slice::from_ref(&source), &disk.environment, &[]).policy;
    let now = || load_policy(std::slice::from_ref(&source), &disk.environment).policy;
    assert_ne!(now(), alone);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(now(), alone);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let whole = fs::read(&file).unwrap();
    for length in [0, 7, 31, 40, whole.len() / 2] {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(now(), alone, "{length}");
    }
    let mut endless = whole;
    endless[..8].fill(0xFF);
    fs::write(&file, &endless).unwrap();
    assert_eq!(now(), alone);
}

#[test]
fn untrusted_settings_are_cached_with_their_notes() {
    let disk = Disk::new();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..disk.environment.clone() };
    let source = PolicySource { may_loosen: false, ..found(disk.write("p.toml", GOOD)) };
    let now = || load_policy(std::slice::from_ref(&source), &environment);
    settle();
    let first = now();
    assert_eq!(disk.cached(), 1);
    let second = now();
    assert!(second.layers.is_empty(), "it came from the cache");
    assert_eq!((&second.policy, &second.notes), (&first.policy, &first.notes));
    assert_eq!(
        (second.untrusted_projects.len(), &second.untrusted_projects),
        (1, &first.untrusted_projects)
    );
    let UntrustedProject { project, settings } = &first.untrusted_projects[0];
    TrustStore::for_user(&environment).save(project, settings, true).unwrap();
    let trusted = now();
    assert_eq!((trusted.untrusted_projects.len(), trusted.notes.len()), (0, 0));
    assert_ne!(trusted.policy, first.policy, "its allows count from now on");
    // The script of an untrusted hook can change unnoticed, so trust is checked each time.
    let hooked = PolicySource { may_loosen: false, ..found(disk.write("h.toml", HOOK)) };
    settle();
    let loaded = load_policy(&[hooked], &environment);
    assert_eq!((loaded.untrusted_projects.len(), disk.cached()), (1, 2));
}

#[test]
fn any_file_can_require_the_audit_and_the_cache_keeps_it() {
    let disk = Disk::new();
    let text = "[audit]\nrequired = true\n";
    let project = PolicySource { may_loosen: false, ..found(disk.write("p.toml", text)) };
    let off = found(disk.write("u.toml", &format!("[audit]\nrequired = false\n{GOOD}")));
    let now = |sources: &[PolicySource]| load_policy(sources, &disk.environment);
    settle();
    for from_the_cache in [false, true] {
        let loaded = now(&[off.clone(), project.clone(), off.clone()]);
        assert_eq!(loaded.layers.is_empty(), from_the_cache);
        assert!(loaded.policy.requires_audit());
        assert_eq!(loaded.policy.mode(), None);
    }
    assert_eq!(load_policy_uncached(&[project], &disk.environment, &[]).audit.len(), 1);
    assert!(!now(&[off]).policy.requires_audit());
}

#[test]
fn any_file_can_make_unproved_programs_ask_and_the_cache_keeps_it() {
    let disk = Disk::new();
    let text = "[permissions]\nunproved = \"ask\"\n";
    let project = PolicySource { may_loosen: false, ..found(disk.write("p.toml", text)) };
    let off = found(disk.write("u.toml", "[permissions]\nunproved = \"allow\"\n"));
    let now = |sources: &[PolicySource]| load_policy(sources, &disk.environment);
    settle();
    for from_the_cache in [false, true] {
        let loaded = now(&[off.clone(), project.clone(), off.clone()]);
        assert_eq!(loaded.layers.is_empty(), from_the_cache);
        assert!(loaded.policy.asks_about_unproved());
        assert_eq!(loaded.policy.mode(), None);
    }
    assert!(!now(&[off]).policy.asks_about_unproved());
}

const SANDBOX: &str = "[sandbox]\nrequire = \"refuse_tools\"\nnetwork = \"on\"\nwritable = [\"there\"]\nunreadable = [\"x\"]\nenvironment = [\"A\"]\n";

#[test]
fn permissive_sandbox_settings_apply_only_after_they_are_trusted() {
    let disk = Disk::new();
    fs::create_dir(disk.dir.path().join("there")).unwrap();
    let state = Some(disk.dir.path().join("state"));
    let environment = UserEnvironment { state, ..UserEnvironment::default() };
    let source = PolicySource { may_loosen: false, ..disk.write("p.toml", SANDBOX) };
    let load = || load_policy_uncached(std::slice::from_ref(&source), &environment, &[]);
    let before = load();
    let said = &before.sandbox;
    assert_eq!((said.network, said.writable.len(), said.environment.len()), (None, 0, 0));
    assert_eq!((said.unreadable.len(), said.require.is_some()), (1, true));
    let [untrusted] = before.untrusted_projects.as_slice() else { panic!("{before:?}") };
    let real = disk.dir.path().canonicalize().unwrap().join("there");
    let expected = [
        format!("p.toml: sandbox writable there ({})", real.display()),
        "p.toml: sandbox network internet".to_owned(),
        "p.toml: sandbox environment A".to_owned(),
    ];
    assert_eq!(untrusted.settings, expected);
    TrustStore::for_user(&environment).save(&untrusted.project, &untrusted.settings, true).unwrap();
    let said = load().sandbox;
    assert_eq!((said.writable.len(), said.environment.len()), (1, 1));
    assert_eq!(said.network, Some(crate::NetworkSetting::Internet));
}

#[test]
fn with_managed_rules_only_other_files_cannot_loosen_the_sandbox() {
    let disk = Disk::new();
    fs::create_dir(disk.dir.path().join("there")).unwrap();
    let only = "[managed]\nallow_managed_rules_only = true\n[sandbox]\nenvironment = [\"B\"]\nrequire = \"fail_fast\"\n";
    let managed = PolicySource { kind: LayerKind::Managed, ..disk.write("m.toml", only) };
    let user = PolicySource { kind: LayerKind::User, ..disk.write("u.toml", SANDBOX) };
    let said = load_policy_uncached(&[managed, user], &UserEnvironment::default(), &[]).sandbox;
    assert_eq!((said.network, said.writable.len(), said.unreadable.len()), (None, 0, 1));
    assert_eq!(said.environment.iter().collect::<Vec<_>>(), ["B"]);
    assert!(said.require.unwrap().location.ends_with("m.toml:5"));
}
