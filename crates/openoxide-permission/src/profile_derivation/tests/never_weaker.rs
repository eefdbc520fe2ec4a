//! Tests that a profile permits nothing that would be asked about or denied, under any rules and
//! mode.

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
/// Paths that the scan did not find. Only rules that name them or everything are enforced for them.
const UNSEEN: [&str; 3] = ["/h/p/new", "/h/p/a/new", "/h/p/b/new"];
const HOSTS: [&str; 7] = ["x.io", "a.x.io", "b.x.io", "b.a.x.io", "ab.x.io", "y.io", "x.org"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// A profile permits only accesses that need no question, under any rules and mode.
    ///
    /// Guards I30.
    #[test]
    fn a_profile_permits_no_access_that_asks_or_is_denied(
        mut layers in prop::collection::vec(layer(), 0..3), mode in select(&PermissionMode::ALL[..]),
    ) {
        layers.sort_by_key(|(kind, _)| *kind);
        let layers: Vec<_> = layers.iter().map(|(kind, rules)| (*kind, rules.as_slice())).collect();
        let world = World::layered(&layers).seen(&PATHS).mode(mode);
        let found = world.confined(&[]);
        let context = EvaluationContext { mode, cwd: &world.cwd, roots: &world.roots, policy_error: None, auto_allow: Default::default() };
        let effect = |access: &Access| decide_access(&world.policy, &context, access).effect;
        for text in PATHS {
            let at = path(text);
            prop_assert!(!found.may_read(&at) || effect(&read(text)) == Allow, "reads {}", text);
            prop_assert!(!found.may_write(&at) || effect(&edit(text)) == Allow, "writes {}", text);
        }
        for text in UNSEEN {
            prop_assert!(!found.may_write(&path(text)) || effect(&edit(text)) == Allow, "writes {}", text);
        }
        for host in HOSTS {
            let access = Access::Fetch { host: host.to_owned(), url: String::new(), route: AccessRoute::Direct };
            prop_assert!(!found.network.allows(host, 443) || effect(&access) == Allow, "reaches {}", host);
        }
    }
}
