//! Tests of the hosts that a profile names.

use super::*;

/// Each row: the rules of the user, the accesses of a program, and the expected hosts.
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
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*a.x.io)")], &[], &[]),
        (&[(Allow, "WebFetch(domain:*.x.io)"), (Deny, "WebFetch(domain:*y.io)")], &[], &[]),
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
    let held = World { policy: world.policy.clone().with_fallback_denies(before), ..world };
    assert_eq!(held.hosts(&[]), Vec::<String>::new(), "the last good version still denies");
    assert!(!held.confined(&[]).may_read(&path("/srv/keys/a")));
}

#[test]
fn where_every_unknown_host_is_denied_nothing_is_asked() {
    let quiet = World::new(&[]).mode(PermissionMode::DontAsk);
    assert_eq!(quiet.confined(&[]).network, NetworkAccess::Off);
    assert_eq!(World::new(&[(Deny, "WebFetch")]).confined(&[]).network, NetworkAccess::Off);
    let some = World::new(&[(Allow, "WebFetch(domain:x.io)")]).mode(PermissionMode::DontAsk);
    assert_eq!(some.hosts(&[]), ["x.io"]);
}
