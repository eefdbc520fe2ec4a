use openoxide_protocol::{CommandClass, Exec, Facts, Network};

use super::*;
use crate::{Anchors, Combining, LayerKind, default_layer, evaluate, parse};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

/// A project at /h/p in the home /h, under these rules and the built-in ones.
struct World {
    layers: Vec<Layer>,
    policy: PolicyStack,
    cwd: AbsPath,
    roots: Vec<AbsPath>,
    home: AbsPath,
    own: Vec<AbsPath>,
    seen: Vec<AbsPath>,
    mode: PermissionMode,
}

impl World {
    fn new(rules: &[(Effect, &str)]) -> Self {
        Self::layered(&[(LayerKind::User, rules)])
    }

    fn layered(layers: &[(LayerKind, &[(Effect, &str)])]) -> Self {
        let (home, base) = (path("/h"), path("/h/p"));
        let anchors = Anchors { home: Some(&home), base: &base };
        let read = |(effect, text): &(Effect, &str)| parse(text, *effect, anchors).unwrap();
        let layer = |(kind, rules): &(LayerKind, &[(Effect, &str)])| Layer {
            kind: *kind,
            file: None,
            combining: Combining::Strictest,
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
            mode: PermissionMode::Default,
        }
    }

    fn mode(self, mode: PermissionMode) -> Self {
        Self { mode, ..self }
    }

    fn seen(self, seen: &[&str]) -> Self {
        Self { seen: seen.iter().map(|text| path(text)).collect(), ..self }
    }

    fn confined(&self, accesses: &[Access]) -> Confined {
        let context = Context { mode: self.mode, cwd: &self.cwd, roots: &self.roots, doubt: None };
        let facts = Facts { accesses: accesses.to_vec(), findings: Vec::new() };
        let decision = evaluate(&self.policy, &context, &facts);
        let ground = Ground {
            policy: &self.policy,
            layers: &self.layers,
            context,
            home: Some(&self.home),
            own: &self.own,
            seen: &self.seen,
        };
        confine(&ground, &decision).confined().unwrap().clone()
    }

    fn hosts(&self, accesses: &[Access]) -> Vec<String> {
        match self.confined(accesses).network {
            Network::Hosts(hosts) => hosts.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }
}

fn exec(words: &str) -> Access {
    Access::Exec(Exec {
        argv: words.split(' ').collect(),
        text: words.to_owned(),
        class: CommandClass::Unknown,
        span: openoxide_protocol::Span::default(),
        arity: 1,
        place: None,
        plain: None,
    })
}

fn by_program(text: &str) -> PathAccess {
    PathAccess { touch: Touch::Program, ..PathAccess::new(path(text)) }
}

fn edit(text: &str) -> Access {
    Access::Edit(by_program(text))
}

fn read(text: &str) -> Access {
    Access::Read(by_program(text))
}

fn fetch(host: &str, url: &str) -> Access {
    Access::Fetch { host: host.to_owned(), url: url.to_owned(), touch: Touch::Program }
}

fn texts(paths: &std::collections::BTreeSet<AbsPath>) -> Vec<&str> {
    paths.iter().map(AbsPath::as_str).collect()
}

use Effect::{Allow, Ask, Deny};

/// Seed 002 (`ReadOnly`, `WorkspaceWrite`) and DECISIONS 6, 9, 13: what may be written in each mode.
#[test]
fn each_mode_has_its_profile() {
    for mode in PermissionMode::ALL {
        let world = World::new(&[(Allow, "Bash(make *)")]).mode(mode);
        let found = world.confined(&[read("/h/p/Makefile")]);
        let writes = mode != PermissionMode::Plan;
        assert_eq!(found.may_write(&path("/h/p/src/x.c")), writes, "{mode:?}");
        for (held, why) in [
            ("/h/p/.git/config", "protected"),
            ("/h/p/.mcp.json", "protected"),
            ("/h/x", "outside"),
            ("/etc/hosts", "outside"),
        ] {
            assert!(!found.may_write(&path(held)), "{mode:?} {held}: {why}");
        }
        let reads_secrets = mode == PermissionMode::BypassPermissions;
        assert_eq!(found.may_read(&path("/h/.ssh/id_rsa")), reads_secrets, "{mode:?}");
        assert!(found.may_read(&path("/usr/lib/x")));
        assert_ne!(found.network, Network::On);
    }
}

#[test]
fn what_is_denied_gets_nothing() {
    let world = World::new(&[(Deny, "Bash(make *)")]);
    assert_eq!(world.confined(&[exec("make x"), edit("/srv/x")]), Confined::default());
}

/// Seed 001: what the configuration denies the operating system denies, whatever else is allowed.
#[test]
fn what_rules_hold_back_is_held() {
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

/// A profile cannot say "all but": where every edit is held back, none is open.
#[test]
fn a_root_in_which_every_edit_is_held_back_is_not_writable() {
    for rule in ["Edit", "Edit(/**)", "Edit(//h/p/*)", "Edit(**)"] {
        for effect in [Deny, Ask] {
            let found = World::new(&[(effect, rule)]).confined(&[exec("make")]);
            assert_eq!(texts(&found.writable), Vec::<&str>::new(), "{effect:?} {rule}");
        }
    }
    let tools = World { roots: vec![path("/h/.claude/worktrees/w")], ..World::new(&[]) };
    assert_eq!(texts(&tools.confined(&[exec("make")]).writable), ["/h/.claude/worktrees/w"]);
}

/// A pattern is held for what a look at the disk has turned up, and so are secrets by name.
#[test]
fn what_was_seen_is_judged_one_by_one() {
    let seen = ["/h/p/.env", "/h/p/a/b.pem", "/h/p/a/x.gen.rs", "/h/p/sub/.git", "/h/p/readme"];
    let world = World::new(&[(Deny, "Edit(*.gen.rs)"), (Deny, "Read(//**/*.private)")]).seen(&seen);
    let found = world.confined(&[exec("make all")]);
    assert!(!found.may_read(&path("/h/p/.env")) && !found.may_read(&path("/h/p/a/b.pem")));
    assert!(!found.may_write(&path("/h/p/a/x.gen.rs")));
    assert!(!found.may_write(&path("/h/p/sub/.git/hooks/pre-commit")));
    assert!(found.may_write(&path("/h/p/readme")));
    let granted = world.confined(&[read("/h/p/.env")]);
    assert!(granted.may_read(&path("/h/p/.env")) && !granted.may_read(&path("/h/p/a/b.pem")));
}

#[test]
fn one_secret_that_was_granted_does_not_open_those_beside_it() {
    let alone = World::new(&[]).confined(&[read("/h/.ssh/config")]);
    assert!(!alone.may_read(&path("/h/.ssh/config")), "nobody knows what lies beside it");
    let seen = ["/h/.ssh/config", "/h/.ssh/id_rsa", "/h/.ssh/known_hosts"];
    let found = World::new(&[]).seen(&seen).confined(&[read("/h/.ssh/config")]);
    assert!(found.may_read(&path("/h/.ssh/config")));
    assert!(!found.may_read(&path("/h/.ssh/id_rsa")) && !found.may_read(&path("/h/.aws/x")));
    let names =
        Access::Read(PathAccess { touch: Touch::Names, ..PathAccess::new(path("/h/.ssh")) });
    assert!(!World::new(&[]).confined(&[names]).may_read(&path("/h/.ssh/id_rsa")));
}

#[test]
fn what_was_granted_outside_is_writable_and_nothing_beside_it() {
    let world = World::new(&[(Allow, "Bash(cp *)")]);
    let found = world.confined(&[exec("cp a /srv/out.txt"), edit("/srv/out.txt")]);
    assert_eq!(texts(&found.writable), ["/h/p", "/srv/out.txt"]);
    let pattern = Access::Edit(PathAccess { pattern: true, ..by_program("/srv/*") });
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
fn what_steers_tools_is_protected_until_it_is_granted_by_name() {
    let found = World::new(&[]).confined(&[exec("make")]);
    for name in IN_ROOTS {
        assert!(found.protected.contains(&path("/h/p").join(name)), "{name}");
    }
    let granted = World::new(&[]).confined(&[edit("/h/p/.mcp.json")]);
    assert!(granted.may_write(&path("/h/p/.mcp.json")) && !granted.may_write(&path("/h/p/.git")));
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
    assert!(elsewhere.protected.iter().all(|kept| kept.below(&path("/h/p")).is_some()));
}

/// Which files under `.git` make the next `git` run something: git-config(1), gitrepository-layout(5), githooks(5).
#[test]
fn committing_opens_the_repository_but_not_what_steers_it() {
    let world = World::new(&[(Allow, "Bash(git *)")]);
    for commit in ["git commit -m x", "git add .", "git stash", "git switch main"] {
        let found = world.confined(&[exec(commit)]);
        for open in [
            "index.lock",
            "HEAD",
            "objects/ab/cd",
            "refs/heads/main",
            "COMMIT_EDITMSG",
            "logs/HEAD",
        ] {
            assert!(found.may_write(&path("/h/p/.git").join(open)), "{commit}: {open}");
        }
        for kept in [
            "config",
            "config.worktree",
            "hooks/pre-commit",
            "modules/m/config",
            "modules/m/hooks/x",
            "worktrees/w/config.worktree",
            "worktrees/w/gitdir",
        ] {
            assert!(!found.may_write(&path("/h/p/.git").join(kept)), "{commit}: {kept}");
        }
        assert!(!found.may_write(&path("/h/p/.claude/x")));
    }
    for other in [
        "git config core.pager x",
        "git remote add a b",
        "git rebase main",
        "git init",
        "git status",
        "make",
        "./git commit",
        "git -C x commit",
        "gitx commit",
        "git submodule add x",
        "git worktree add x",
    ] {
        let found = world.confined(&[exec(other)]);
        assert!(!found.may_write(&path("/h/p/.git/HEAD")), "{other}");
    }
}

#[test]
fn committing_opens_the_innermost_repository_and_follows_no_planted_direction() {
    let seen = ["/h/p/sub/.git", "/h/p/sub/.git/commondir"];
    let world = World::new(&[(Allow, "Bash(git *)")]).seen(&seen);
    let Access::Exec(commit) = exec("git commit") else { panic!() };
    let found =
        world.confined(&[Access::Exec(Exec { place: Some(path("/h/p/sub/x")), ..commit.clone() })]);
    assert!(
        found.may_write(&path("/h/p/sub/.git/index")) && !found.may_write(&path("/h/p/.git/index"))
    );
    assert!(!found.may_write(&path("/h/p/sub/.git/commondir")));
    let plain = Exec { plain: Some("git commit".split(' ').collect()), ..commit };
    let argv = "git --no-pager commit".split(' ').collect();
    let found = world.confined(&[Access::Exec(Exec { argv, ..plain })]);
    assert!(found.may_write(&path("/h/p/.git/index")));
}

/// (rules of the user, what a program reaches, the hosts)
#[test]
fn hosts_come_from_rules_and_grants_and_denies_win() {
    type Row<'a> = (&'a [(Effect, &'a str)], &'a [Access], &'a [&'a str]);
    let rows: &[Row<'_>] = &[
        (&[], &[], &[]),
        (&[(Allow, "WebFetch(domain:x.io)")], &[], &["x.io"]),
        (&[(Allow, "WebFetch(domain:*.x.io)")], &[], &["*.x.io"]),
        (&[(Allow, "WebFetch")], &[], &[]),
        (&[(Allow, "WebFetch(domain:api-*.x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:x.io)"), (Deny, "WebFetch(domain:x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:x.io)"), (Ask, "WebFetch(domain:*)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:evil.x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*.evil.x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Ask, "WebFetch(domain:a*.x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:x.io)")], &[], &["*.x.io"]),
        (
            &[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*.y.io)")],
            &[],
            &["*.x.io"],
        ),
        (
            &[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*.evilx.io)")],
            &[],
            &["*.x.io"],
        ),
        (&[], &[fetch("x.io", "https://x.io/a")], &["x.io:443"]),
        (&[], &[fetch("github.com", "ssh://git@github.com/a")], &["github.com:22"]),
        (&[], &[fetch("2001:db8::1", "http://[2001:db8::1]:8080/")], &["[2001:db8::1]:8080"]),
        (&[], &[fetch("127.1", "http://127.1/")], &[]),
    ];
    for (rules, accesses, expected) in rows {
        assert_eq!(World::new(rules).hosts(accesses), *expected, "{rules:?} {accesses:?}");
    }
}

#[test]
fn a_deny_of_any_layer_keeps_a_host_out() {
    for (first, second) in
        [(LayerKind::User, LayerKind::Managed), (LayerKind::Cli, LayerKind::User)]
    {
        for (allowed, denied) in [("x.io", "x.io"), ("*.x.io", "a.x.io")] {
            let (allowed, denied) =
                (format!("WebFetch(domain:{allowed})"), format!("WebFetch(domain:{denied})"));
            let layers: [(LayerKind, &[(Effect, &str)]); 2] =
                [(first, &[(Allow, allowed.as_str())]), (second, &[(Deny, denied.as_str())])];
            assert_eq!(World::layered(&layers).hosts(&[]), Vec::<String>::new(), "{layers:?}");
        }
    }
    let before =
        World::new(&[(Deny, "WebFetch(domain:a.x.io)"), (Deny, "Read(//srv/keys)")]).policy;
    let world = World::new(&[(Allow, "WebFetch(domain:*.x.io)")]);
    let held = World { policy: world.policy.clone().held_by(before), ..world };
    assert_eq!(held.hosts(&[]), Vec::<String>::new(), "the last good version still denies");
    assert!(!held.confined(&[]).may_read(&path("/srv/keys/a")));
}

#[test]
fn where_every_unknown_host_is_denied_nothing_is_asked() {
    let quiet = World::new(&[]).mode(PermissionMode::DontAsk);
    assert_eq!(quiet.confined(&[]).network, Network::Off);
    assert_eq!(World::new(&[(Deny, "WebFetch")]).confined(&[]).network, Network::Off);
    let some = World::new(&[(Allow, "WebFetch(domain:x.io)")]).mode(PermissionMode::DontAsk);
    assert_eq!(some.hosts(&[]), ["x.io"]);
}

mod never_weaker {
    use proptest::{prelude::*, sample::select};

    use super::*;

    fn rule() -> impl Strategy<Value = (Effect, &'static str)> {
        let effects = select(&[Allow, Ask, Deny][..]);
        let texts = select(
            &[
                "Read(/a)",
                "Read(/a/**)",
                "Read(//h/p/b)",
                "Read(*.x)",
                "Read(./a/c)",
                "Read",
                "Read(~/n)",
                "Edit(/a)",
                "Edit(/a/**)",
                "Edit(//h/p/b)",
                "Edit(*.x)",
                "Edit(./a/c)",
                "Edit",
                "WebFetch",
                "WebFetch(domain:x.io)",
                "WebFetch(domain:*.x.io)",
                "WebFetch(domain:a.x.io)",
                "WebFetch(domain:*.a.x.io)",
                "WebFetch(domain:a*.x.io)",
                "WebFetch(domain:*.io)",
                "WebFetch(domain:*)",
            ][..],
        );
        (effects, texts)
    }

    fn layer() -> impl Strategy<Value = (LayerKind, Vec<(Effect, &'static str)>)> {
        let kinds = select(&[LayerKind::Managed, LayerKind::Local, LayerKind::User][..]);
        (kinds, prop::collection::vec(rule(), 0..5))
    }

    const PATHS: [&str; 8] = [
        "/h/p/a",
        "/h/p/a/c",
        "/h/p/a/c/d",
        "/h/p/b",
        "/h/p/b/e.x",
        "/h/p/f.x",
        "/h/p/g",
        "/h/p/sub/.env",
    ];
    /// Of these only rules that name them or everything are held: nobody has looked.
    const UNSEEN: [&str; 3] = ["/h/p/new", "/h/p/a/new", "/h/p/b/new"];
    const HOSTS: [&str; 7] = ["x.io", "a.x.io", "b.x.io", "b.a.x.io", "ab.x.io", "y.io", "x.org"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// Whatever the rules and the mode: what a profile permits, nobody need be asked about.
        #[test]
        fn a_profile_never_permits_what_would_be_asked_or_denied(
            mut layers in prop::collection::vec(layer(), 0..3), mode in select(&PermissionMode::ALL[..]),
        ) {
            layers.sort_by_key(|(kind, _)| *kind);
            let layers: Vec<_> = layers.iter().map(|(kind, rules)| (*kind, rules.as_slice())).collect();
            let world = World::layered(&layers).seen(&PATHS).mode(mode);
            let found = world.confined(&[]);
            let context = Context { mode, cwd: &world.cwd, roots: &world.roots, doubt: None };
            let effect = |access: &Access| decide(&world.policy, &context, access).effect;
            for text in PATHS {
                let at = path(text);
                prop_assert!(!found.may_read(&at) || effect(&read(text)) == Allow, "reads {}", text);
                prop_assert!(!found.may_write(&at) || effect(&edit(text)) == Allow, "writes {}", text);
            }
            for text in UNSEEN {
                prop_assert!(!found.may_write(&path(text)) || effect(&edit(text)) == Allow, "writes {}", text);
            }
            for host in HOSTS {
                let access = Access::Fetch { host: host.to_owned(), url: String::new(), touch: Touch::Itself };
                prop_assert!(!found.network.reaches(host, 443) || effect(&access) == Allow, "reaches {}", host);
            }
        }
    }
}
