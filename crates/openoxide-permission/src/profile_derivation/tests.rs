mod git;
mod hosts;
mod never_weaker;

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CommandClass, ExecAccess, NetworkAccess, OperationFacts,
    PathAccess, PermissionMode,
};

use super::*;
use crate::{
    CombiningAlgorithm, EvaluationContext, HomeDirectories, Layer, LayerKind, PathAnchors,
    PolicyStack, decide_access, default_layer, evaluate, parse_rule,
};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

/// A project at /h/p in the home directory /h, under these rules and the built-in ones.
struct World {
    layers: Vec<Layer>,
    policy: PolicyStack,
    cwd: AbsPath,
    roots: Vec<AbsPath>,
    home: AbsPath,
    own: Vec<AbsPath>,
    seen: Vec<AbsPath>,
    writable: Vec<AbsPath>,
    git_directories: Vec<AbsPath>,
    all_hosts: bool,
    host_network: bool,
    mode: PermissionMode,
}

impl World {
    fn new(rules: &[(Effect, &str)]) -> Self {
        Self::layered(&[(LayerKind::User, rules)])
    }

    fn layered(layers: &[(LayerKind, &[(Effect, &str)])]) -> Self {
        let (home, base) = (path("/h"), path("/h/p"));
        let anchors = PathAnchors { home: Some(&home), base: &base };
        let read = |(effect, text): &(Effect, &str)| parse_rule(text, *effect, anchors).unwrap();
        let layer = |(kind, rules): &(LayerKind, &[(Effect, &str)])| Layer {
            kind: *kind,
            file: None,
            combining_algorithm: CombiningAlgorithm::Strictest,
            rules: rules.iter().map(read).collect(),
            mode: None,
        };
        let mut layers: Vec<_> = layers.iter().map(layer).collect();
        layers.push(default_layer());
        Self {
            policy: PolicyStack::compile(&layers).unwrap(),
            layers,
            cwd: base.clone(),
            roots: vec![base],
            home,
            own: Vec::new(),
            seen: Vec::new(),
            writable: Vec::new(),
            git_directories: Vec::new(),
            all_hosts: false,
            host_network: false,
            mode: PermissionMode::Default,
        }
    }

    fn mode(self, mode: PermissionMode) -> Self {
        Self { mode, ..self }
    }

    fn seen(self, seen: &[&str]) -> Self {
        Self { seen: seen.iter().map(|text| path(text)).collect(), ..self }
    }

    fn confined(&self, accesses: &[Access]) -> SandboxRestrictions {
        let context = EvaluationContext {
            mode: self.mode,
            cwd: &self.cwd,
            roots: &self.roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        let facts = OperationFacts { accesses: accesses.to_vec(), findings: Vec::new() };
        let decision = evaluate(&self.policy, &context, &facts);
        let ground = ProfileInput {
            policy: &self.policy,
            layers: &self.layers,
            context,
            home: Some(&self.home),
            home_directories: &user(&self.home),
            openoxide_paths: &self.own,
            restricted_paths: &self.seen,
            write_restricted_paths: &[],
            writable: &self.writable,
            git_directories: &self.git_directories,
            all_hosts: self.all_hosts,
            host_network: self.host_network,
        };
        derive_profile(&ground, &decision).restrictions().unwrap().clone()
    }

    fn hosts(&self, accesses: &[Access]) -> Vec<String> {
        match self.confined(accesses).network {
            NetworkAccess::Hosts(hosts) => hosts.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }
}

fn user(home: &AbsPath) -> HomeDirectories {
    HomeDirectories { homes: vec![home.clone()], relocated: Vec::new() }
}

fn exec(words: &str) -> Access {
    Access::Exec(ExecAccess {
        argv: words.split(' ').collect(),
        text: words.to_owned(),
        class: CommandClass::Unknown,
        span: openoxide_protocol::Span::default(),
        arity: 1,
        ..ExecAccess::default()
    })
}

fn by_program(text: &str) -> PathAccess {
    PathAccess { route: AccessRoute::Program, ..PathAccess::new(path(text)) }
}

fn edit(text: &str) -> Access {
    Access::Edit(by_program(text))
}

fn read(text: &str) -> Access {
    Access::Read(by_program(text))
}

fn fetch(host: &str, url: &str) -> Access {
    Access::Fetch { host: host.to_owned(), url: url.to_owned(), route: AccessRoute::Program }
}

fn texts(paths: &std::collections::BTreeSet<AbsPath>) -> Vec<&str> {
    paths.iter().map(AbsPath::as_str).collect()
}

use Effect::{Allow, Ask, Deny};

/// Tests the writable paths in each mode, which are equivalent to `ReadOnly` and `WorkspaceWrite`.
#[test]
fn each_mode_has_its_profile() {
    for mode in PermissionMode::ALL {
        let world = World::new(&[(Allow, "Bash(make *)")]).mode(mode);
        let found = world.confined(&[read("/h/p/Makefile")]);
        let writes = mode != PermissionMode::Plan;
        assert_eq!(found.may_write(&path("/h/p/src/x.c")), writes, "{mode:?}");
        for (held, why) in
            [("/h/p/.vscode", "protected"), ("/h/x", "outside"), ("/etc/hosts", "outside")]
        {
            assert!(!found.may_write(&path(held)), "{mode:?} {held}: {why}");
        }
        let reads_secrets = mode == PermissionMode::BypassPermissions;
        assert_eq!(found.may_read(&path("/h/.ssh/id_rsa")), reads_secrets, "{mode:?}");
        assert!(found.may_read(&path("/usr/lib/x")));
        assert_ne!(found.network, NetworkAccess::On);
    }
}

#[test]
fn a_denied_operation_gets_no_access() {
    let world = World::new(&[(Deny, "Bash(make *)")]);
    assert_eq!(world.confined(&[exec("make x"), edit("/srv/x")]), SandboxRestrictions::default());
}

/// Tests that the operating system denies what the configuration denies, whatever else is allowed.
#[test]
fn paths_that_rules_restrict_are_restricted_in_the_profile() {
    let world = World::new(&[
        (Allow, "Bash(make *)"),
        (Deny, "Read(//srv/keys/**)"),
        (Ask, "Read(~/notes)"),
        (Deny, "Read(./vault/**)"),
        (Deny, "Edit(/generated/**)"),
        (Ask, "Edit(/Cargo.lock)"),
    ]);
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        let found = World { mode, ..World::layered(&[]) };
        let found = World { policy: world.policy.clone(), layers: world.layers.clone(), ..found }
            .confined(&[exec("make all")]);
        for hidden in ["/srv/keys/a", "/h/notes/b", "/h/p/vault/c"] {
            assert!(!found.may_read(&path(hidden)), "{mode:?} {hidden}");
        }
        for kept in ["/h/p/generated/a.rs", "/h/p/Cargo.lock"] {
            assert!(!found.may_write(&path(kept)), "{mode:?} {kept}");
        }
        assert!(found.may_read(&path("/h/p/src/a.rs")) && found.may_write(&path("/h/p/src/a.rs")));
    }
}

#[test]
fn our_own_files_are_hidden_and_a_policy_in_doubt_names_no_host() {
    let world =
        World { own: vec![path("/x/state/ox")], ..World::new(&[(Allow, "WebFetch(domain:x.io)")]) };
    assert!(!world.confined(&[exec("make")]).may_read(&path("/x/state/ox/key")));
    // A mode reveals the files of the user, and none of OpenOxide's.
    let world = World { own: vec![path("/x/state/ox")], ..World::new(&[]) }
        .mode(PermissionMode::BypassPermissions);
    for accesses in [vec![exec("make")], vec![exec("cat x"), read("/x/state/ox/key")]] {
        let found = world.confined(&accesses);
        assert!(found.may_read(&path("/h/.ssh/id_rsa")), "{accesses:?}");
        assert!(!found.may_read(&path("/x/state/ox/key")), "{accesses:?}");
    }
    let context = EvaluationContext {
        mode: world.mode,
        cwd: &world.cwd,
        roots: &world.roots,
        policy_error: Some("it is broken"),
        auto_allow: Default::default(),
    };
    let decision = evaluate(&world.policy, &context, &OperationFacts::default());
    let ground = ProfileInput {
        policy: &world.policy,
        layers: &world.layers,
        context,
        home: None,
        home_directories: &HomeDirectories::default(),
        openoxide_paths: &[],
        restricted_paths: &[],
        write_restricted_paths: &[],
        writable: &[],
        git_directories: &[],
        all_hosts: true,
        host_network: true,
    };
    let SandboxProfile::Confined(found) = derive_profile(&ground, &decision) else { panic!() };
    assert_eq!(found.network, NetworkAccess::Hosts([].into()));
}

/// A profile cannot express exceptions: if every edit is restricted, nothing is writable.
#[test]
fn a_root_in_which_every_edit_is_restricted_is_not_writable() {
    for rule in ["Edit", "Edit(/**)", "Edit(//h/p/*)", "Edit(**)"] {
        for effect in [Deny, Ask] {
            let found = World::new(&[(effect, rule)]).confined(&[exec("make")]);
            assert_eq!(texts(&found.writable), Vec::<&str>::new(), "{effect:?} {rule}");
        }
    }
    let tools = World { roots: vec![path("/h/.claude/worktrees/w")], ..World::new(&[]) };
    assert_eq!(texts(&tools.confined(&[exec("make")]).writable), ["/h/.claude/worktrees/w"]);
}

/// Patterns and secrets by name are enforced for the paths that a scan found.
#[test]
fn scanned_paths_are_checked_one_by_one() {
    let seen = ["/h/p/.env", "/h/p/a/b.pem", "/h/p/a/x.gen.rs", "/h/p/readme"];
    let world = World::new(&[(Deny, "Edit(*.gen.rs)"), (Deny, "Read(//**/*.private)")]).seen(&seen);
    let found = world.confined(&[exec("make all")]);
    assert!(!found.may_read(&path("/h/p/.env")) && !found.may_read(&path("/h/p/a/b.pem")));
    assert!(!found.may_write(&path("/h/p/a/x.gen.rs")));
    assert!(found.may_write(&path("/h/p/readme")));
    let granted = world.confined(&[read("/h/p/.env")]);
    assert!(granted.may_read(&path("/h/p/.env")) && !granted.may_read(&path("/h/p/a/b.pem")));
}

#[test]
fn a_granted_secret_does_not_open_other_secrets() {
    let alone = World::new(&[]).confined(&[read("/h/.ssh/config")]);
    assert!(!alone.may_read(&path("/h/.ssh/config")), "nobody knows what lies beside it");
    let seen = ["/h/.ssh/config", "/h/.ssh/id_rsa", "/h/.ssh/known_hosts"];
    let found = World::new(&[]).seen(&seen).confined(&[read("/h/.ssh/config")]);
    assert!(found.may_read(&path("/h/.ssh/config")));
    assert!(!found.may_read(&path("/h/.ssh/id_rsa")) && !found.may_read(&path("/h/.aws/x")));
    let names = Access::Read(PathAccess {
        route: AccessRoute::Metadata,
        ..PathAccess::new(path("/h/.ssh"))
    });
    assert!(!World::new(&[]).confined(&[names]).may_read(&path("/h/.ssh/id_rsa")));
}

#[test]
fn only_the_granted_path_outside_is_writable() {
    let world = World::new(&[(Allow, "Bash(cp *)")]);
    let found = world.confined(&[exec("cp a /srv/out.txt"), edit("/srv/out.txt")]);
    assert_eq!(texts(&found.writable), ["/h/p", "/srv/out.txt"]);
    let pattern = Access::Edit(PathAccess { is_pattern: true, ..by_program("/srv/*") });
    for (too_much, why) in [
        (edit("/"), "the whole disk"),
        (edit("/h"), "home"),
        (edit("/h/.ssh"), "secrets"),
        (edit("/dev/null"), "the system's own"),
        (pattern, "a pattern"),
    ] {
        assert_eq!(texts(&world.confined(&[too_much]).writable), ["/h/p"], "{why}");
    }
    let link = PathAccess { resolved: Some(path("/srv/real")), ..by_program("/h/p/link") };
    let found = world.confined(&[Access::Edit(link)]);
    assert_eq!(texts(&found.writable), ["/h/p", "/srv/real"], "where it leads counts");
}

#[test]
fn steering_files_are_protected_unless_granted_by_name() {
    let found = World::new(&[]).confined(&[exec("make")]);
    for name in PROTECTED_ROOT_NAMES {
        assert!(found.protected.contains(&path("/h/p").join(name)), "{name}");
    }
    let granted = World::new(&[]).confined(&[edit("/h/p/.vscode")]);
    assert!(granted.may_write(&path("/h/p/.vscode")) && !granted.may_write(&path("/h/p/.claude")));
    let inner = World::new(&[]).confined(&[edit("/h/p/.claude/settings.json")]);
    assert!(!inner.may_write(&path("/h/p/.claude/settings.json")), "the rest of it would be open");
}

#[test]
fn where_home_is_a_root_start_up_files_are_protected() {
    let world = World { roots: vec![path("/h")], own: vec![path("/h/state")], ..World::new(&[]) };
    let found = world.confined(&[exec("make")]);
    for kept in [
        ".bashrc",
        ".profile",
        ".zshrc",
        ".ssh/authorized_keys",
        ".gitconfig",
        ".config/fish/config.fish",
        ".config/autostart/x.desktop",
        ".config/systemd/user/x.service",
        ".cargo/config.toml",
        "state/key",
        ".config/openoxide/policy.toml",
        ".claude/settings.json",
    ] {
        assert!(!found.may_write(&path("/h").join(kept)), "{kept}");
    }
    assert!(found.may_write(&path("/h/notes/x")));
    let elsewhere = World::new(&[]).confined(&[exec("make")]);
    assert!(elsewhere.protected.iter().all(|kept| kept.strip_prefix(&path("/h/p")).is_some()));
}

/// A setting makes a directory writable like a root: rules, steering files and the mode still apply
/// in it.
#[test]
fn a_directory_that_a_setting_opens_is_held_as_a_root() {
    let open = |rules: &[(Effect, &str)], mode| {
        let writable = vec![path("/h/.cache/pip"), path("/h/.ssh"), path("/")];
        World { writable, ..World::new(rules).mode(mode) }.confined(&[exec("make")])
    };
    let found = open(&[(Deny, "Edit(~/.cache/pip/kept/**)")], PermissionMode::Default);
    assert_eq!(texts(&found.writable), ["/h/.cache/pip", "/h/p"], "and nothing that may never be");
    assert!(found.may_write(&path("/h/.cache/pip/x")));
    assert!(!found.may_write(&path("/h/.cache/pip/kept/x")));
    assert!(!found.may_write(&path("/h/.cache/pip/.vscode")));
    let denied = open(&[(Deny, "Edit(~/.cache/**)")], PermissionMode::Default);
    assert_eq!(texts(&denied.writable), ["/h/p"]);
    assert_eq!(texts(&open(&[], PermissionMode::Plan).writable), Vec::<&str>::new());
}

#[test]
fn a_setting_opens_the_network_if_no_rule_restricts_hosts() {
    for (host_network, expected) in [(false, NetworkAccess::Internet), (true, NetworkAccess::On)] {
        let open = |rules: &[(Effect, &str)]| {
            let world = World { all_hosts: true, host_network, ..World::new(rules) };
            world.confined(&[exec("make")]).network
        };
        assert_eq!(open(&[(Allow, "WebFetch(domain:x.io)")]), expected);
        for effect in [Ask, Deny] {
            let network = open(&[(effect, "WebFetch(domain:x.io)")]);
            assert!(matches!(network, NetworkAccess::Hosts(_) | NetworkAccess::Off), "{effect:?}");
        }
    }
}

#[test]
fn only_pattern_rules_that_are_not_built_in_need_a_scan() {
    let wants = |rules: &[(Effect, &str)]| {
        let world = World::new(rules);
        let context = EvaluationContext {
            mode: world.mode,
            cwd: &world.cwd,
            roots: &world.roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        let (policy, layers) = (&world.policy, world.layers.as_slice());
        let none = ProfileInput {
            policy,
            layers,
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
        none.has_pattern_rules()
    };
    for rule in ["Read(**/*.pem)", "Edit(**/migrations/**)", "Read(*.key)", "Edit(./x/*.sql)"] {
        assert!(
            wants(&[(Deny, rule)]) && wants(&[(Ask, rule)]) && !wants(&[(Allow, rule)]),
            "{rule}"
        );
    }
    for rule in ["Read(/a/**)", "Edit(~/x)", "Read", "Bash(rm *)", "WebFetch(domain:*.io)"] {
        assert!(!wants(&[(Deny, rule)]), "{rule}");
    }
}

/// Calls a function with the input of a world that contains only its rules.
fn on_ground<R>(world: &World, ask: impl FnOnce(&ProfileInput<'_>) -> R) -> R {
    let context = EvaluationContext {
        mode: world.mode,
        cwd: &world.cwd,
        roots: &world.roots,
        policy_error: None,
        auto_allow: Default::default(),
    };
    ask(&ProfileInput {
        policy: &world.policy,
        layers: &world.layers,
        context,
        home: Some(&world.home),
        home_directories: &user(&world.home),
        openoxide_paths: &[],
        restricted_paths: &[],
        write_restricted_paths: &[],
        writable: &[],
        git_directories: &[],
        all_hosts: false,
        host_network: false,
    })
}

#[test]
fn rules_that_are_not_built_in_restrict_reads_and_writes() {
    let rules = [
        (Deny, "Read(//srv/a/**)"),
        (Ask, "Read(*.key)"),
        (Allow, "Read(//srv/b)"),
        (Deny, "Edit(/gen/**)"),
        (Ask, "Edit(/lock)"),
        (Deny, "Edit(*.sql)"),
    ];
    let world = World::new(&rules);
    // The path, and whether reading it, changing it as a file, and changing it as a directory are
    // restricted.
    for (text, reads, file, directory) in [
        ("/srv/a/x", true, true, true),
        ("/h/p/x.key", true, false, false),
        ("/srv/b", false, false, false),
        ("/h/p/src", false, false, false),
        ("/h/p/.env", false, false, false),
        ("/h/p/gen/x", false, true, true),
        ("/h/p/lock", false, true, true),
        ("/h/p/x.sql", false, true, true),
        ("/h/p", false, false, false),
    ] {
        let text = path(text);
        assert_eq!(on_ground(&world, |ground| ground.restricts_read(&text)), reads, "{text}");
        let changing =
            |is_directory| on_ground(&world, |ground| ground.restricts_write(&text, is_directory));
        assert_eq!((changing(false), changing(true)), (file, directory), "{text}");
    }
    let inside = World::new(&[(Deny, "Edit(/dir/**)"), (Allow, "Edit(/dir)")]);
    let inside_of = |is_directory| {
        on_ground(&inside, |ground| ground.restricts_write(&path("/h/p/dir"), is_directory))
    };
    assert!(inside_of(true) && inside_of(false), "a deny of all in it is one of itself");
    let strictly = World::new(&[(Deny, "Edit(/dir/*)")]);
    let strictly = |is_directory| {
        on_ground(&strictly, |ground| ground.restricts_write(&path("/h/p/dir"), is_directory))
    };
    assert_eq!((strictly(false), strictly(true)), (false, true));
    let bare = World::new(&[(Deny, "Read"), (Deny, "Edit")]);
    assert!(!on_ground(&bare, |ground| ground.restricts_read(&path("/srv/x"))));
    assert!(on_ground(&bare, |ground| ground.restricts_write(&path("/srv/x"), false)));
}

#[test]
fn a_denied_read_is_noticed_in_the_last_good_version_too() {
    for (rules, expected) in [
        (&[][..], false),
        (&[(Ask, "Read(//srv/a)")], false),
        (&[(Allow, "Read(//srv/a)")], false),
        (&[(Deny, "Bash(rm *)")], false),
        (&[(Deny, "Edit(//srv/a)")], false),
        (&[(Deny, "Read(//srv/a)")], true),
        (&[(Ask, "Read(//srv/b)"), (Deny, "Read(.env)")], true),
    ] {
        let world = World::new(rules);
        assert_eq!(on_ground(&world, |ground| ground.has_read_deny()), expected, "{rules:?}");
        let now = World::new(&[(Deny, "Read(//srv/a)")]);
        let held =
            World { policy: now.policy.with_fallback_denies(world.policy), ..World::new(&[]) };
        assert!(on_ground(&held, |ground| ground.has_read_deny()));
        let before = World::new(rules).policy;
        let held = World {
            policy: World::new(&[]).policy.with_fallback_denies(before),
            ..World::new(&[])
        };
        assert_eq!(on_ground(&held, |ground| ground.has_read_deny()), expected, "{rules:?}");
    }
}

#[test]
fn start_up_files_are_those_that_steer() {
    let home = path("/h");
    let files = user(&home).protected_paths();
    for name in [".bashrc", ".gitconfig", ".claude"] {
        assert!(files.contains(&home.join(name)), "{name}");
    }
}
