use proptest::{prelude::*, sample::select};

use super::*;
use crate::AbsPath;

/// Generates a path from few names, so that random paths are often equal or nested.
fn path() -> impl Strategy<Value = AbsPath> {
    prop::collection::vec(select(&["a", "b", "ab", ".git"][..]), 0..4)
        .prop_map(|parts| AbsPath::root().join(&parts.join("/")))
}

fn host() -> impl Strategy<Value = HostPort> {
    let names = [
        "x.io",
        "a.x.io",
        "b.a.x.io",
        "*.x.io",
        "*.a.x.io",
        "10.0.0.1",
        "[2001:db8::1]",
        "8.8.8.8",
        "localhost",
        "*.localhost",
        "a.localhost",
    ];
    (select(names.to_vec()), select(&["", ":443", ":80"][..]))
        .prop_map(|(host, port)| format!("{host}{port}").parse().unwrap())
}

fn network() -> impl Strategy<Value = NetworkAccess> {
    let hosts = prop::collection::btree_set(host(), 0..4).prop_map(NetworkAccess::Hosts);
    prop_oneof![
        Just(NetworkAccess::Off),
        Just(NetworkAccess::On),
        Just(NetworkAccess::Internet),
        hosts
    ]
}

fn confined() -> impl Strategy<Value = SandboxRestrictions> {
    let paths = || prop::collection::btree_set(path(), 0..4);
    let temp = prop_oneof![Just(TempDirectories::ReadOnly), Just(TempDirectories::Private)];
    (paths(), paths(), paths(), network(), temp).prop_map(
        |(writable, protected, unreadable, network, temp)| SandboxRestrictions {
            writable,
            protected,
            unreadable,
            network,
            temp,
        },
    )
}

fn profile() -> impl Strategy<Value = SandboxProfile> {
    prop_oneof![
        1 => Just(SandboxProfile::DangerFullAccess),
        1 => network().prop_map(|network| SandboxProfile::ExternalSandbox { network }),
        6 => confined().prop_map(SandboxProfile::Confined),
    ]
}

/// Returns whether a profile permits each of the five kinds of access.
fn permits(profile: &SandboxProfile, path: &AbsPath, host: &str, port: u16) -> [bool; 5] {
    match profile {
        SandboxProfile::DangerFullAccess => [true; 5],
        SandboxProfile::ExternalSandbox { network } => {
            [true, true, network.allows(host, port), network.allows("other.org", port), true]
        }
        SandboxProfile::Confined(confined) => [
            confined.may_write(path),
            confined.may_read(path),
            confined.network.allows(host, port),
            confined.network.allows("other.org", port),
            confined.temp == TempDirectories::Private,
        ],
    }
}

const HOSTS: [&str; 7] =
    ["x.io", "a.x.io", "b.a.x.io", "c.b.a.x.io", "evilx.io", "10.0.0.1", "2001:db8::1"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The intersection permits exactly what both profiles permit: it is the greatest lower bound.
    ///
    /// Guards I30.
    #[test]
    fn an_intersection_permits_exactly_what_both_profiles_permit(
        a in profile(), b in profile(), at in path(), host in select(&HOSTS[..]), port in select(&[80, 443, 22][..]),
    ) {
        let both = permits(&a.intersect(&b), &at, host, port);
        let (one, other) = (permits(&a, &at, host, port), permits(&b, &at, host, port));
        for (both, (one, other)) in both.into_iter().zip(one.into_iter().zip(other)) {
            prop_assert_eq!(both, one && other);
        }
    }

    #[test]
    fn intersecting_is_commutative(a in profile(), b in profile()) {
        prop_assert_eq!(a.intersect(&b), b.intersect(&a));
    }

    #[test]
    fn intersecting_is_associative(a in profile(), b in profile(), c in profile()) {
        prop_assert_eq!(a.intersect(&b).intersect(&c), a.intersect(&b.intersect(&c)));
    }

    /// The first intersection removes redundant entries. Further intersections change nothing.
    #[test]
    fn intersecting_is_idempotent(a in profile(), at in path(), host in select(&HOSTS[..]), port in select(&[80, 443, 22][..])) {
        let once = a.intersect(&a);
        prop_assert_eq!(permits(&once, &at, host, port), permits(&a, &at, host, port));
        prop_assert_eq!(once.intersect(&once), once);
    }

    #[test]
    fn a_profile_survives_its_json(a in profile()) {
        let json = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<SandboxProfile>(&json).unwrap(), a);
    }

    /// The printed form of a host parses to the same host, and the host matches itself.
    #[test]
    fn a_parsed_host_prints_as_the_same_host(text in "(\\[)?[a-zA-Z0-9.:*_\\-\0]{0,12}(\\])?(:[0-9+]{0,6})?") {
        let Ok(host) = text.parse::<HostPort>() else { return Ok(()) };
        prop_assert_eq!(&host.to_string().parse::<HostPort>().unwrap(), &host);
        if !host.host().starts_with("*.") {
            prop_assert!(host.matches(host.host(), host.port().unwrap_or(1)));
        }
        let upper = text.to_ascii_uppercase().parse::<HostPort>().unwrap();
        prop_assert_eq!(upper, host);
    }
}

/// Each row: a text, and its printed form.
#[test]
fn hosts_have_one_spelling() {
    for (text, expected) in [
        ("Example.ORG.", "example.org"),
        ("example.org:443", "example.org:443"),
        ("*.Example.org:80", "*.example.org:80"),
        ("[2001:DB8:0::1]:22", "[2001:db8::1]:22"),
        ("2001:db8::0001", "2001:db8::1"),
        ("::", "::"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("_dmarc.x.io", "_dmarc.x.io"),
        ("localhost", "localhost"),
        ("3com.com", "3com.com"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"),
    ] {
        assert_eq!(text.parse::<HostPort>().unwrap().to_string(), expected, "{text}");
    }
}

#[test]
fn an_invalid_or_ambiguous_host_is_refused() {
    let long = format!("{}.org", "a".repeat(64));
    let longest = format!("{}org", "a.".repeat(126));
    for text in [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a.b..",
        "*",
        "*.",
        "*.*.a.org",
        "a.*.org",
        "a*.org",
        "**.org",
        "a b",
        "a\0b",
        "evil.com\0.good.com",
        "evil.com\n.good.com",
        "a/b",
        "user@a.org",
        "bücher.de",
        "-a.org",
        "a-.org",
        "a.org:",
        "a.org:0",
        "a.org:+80",
        "a.org:65536",
        "a.org:80:90",
        "a.org: 80",
        "[a.org]:80",
        "[::1",
        "::1]",
        "[::1]80",
        "[::1]:",
        "[]",
        "[::1%eth0]",
        "fe80::1%1",
        "*.::1",
        "[*.::1]",
        "::1.",
        ":::",
        "127.1",
        "0177.0.0.1",
        "127.0.0.01",
        "0x7f.0.0.1",
        "127.0.0.0x1",
        "0x7f000001",
        "2130706433",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3",
        "*.1",
        "*.0.0.1",
        "a.0x",
        "a.1",
        "999",
        &long,
        &longest,
    ] {
        assert!(text.parse::<HostPort>().is_err(), "{text:?}");
    }
}

/// A wildcard matches names below it, and no text that only looks similar (Claude Code accepted a
/// NUL).
#[test]
fn a_wildcard_reaches_only_names_below() {
    let network = NetworkAccess::Hosts(["*.good.com".parse().unwrap()].into());
    for host in ["a.good.com", "A.B.GOOD.com", "a.good.com."] {
        assert!(network.allows(host, 443), "{host:?}");
    }
    for host in [
        "good.com",
        ".good.com",
        "evilgood.com",
        "evil.com\0.good.com",
        "a..good.com",
        "*.good.com",
        "a b.good.com",
        "a.good.com..",
        "evil.com/.good.com",
        "evil.com#.good.com",
        "",
        "good.com.evil.com",
    ] {
        assert!(!network.allows(host, 443), "{host:?}");
    }
}

#[test]
fn an_address_matches_only_its_own_spellings() {
    let network = |text: &str| NetworkAccess::Hosts([text.parse().unwrap()].into());
    assert!(network("127.0.0.1").allows("::ffff:127.0.0.1", 80));
    assert!(network("2001:db8::1").allows("2001:0DB8:0:0::1", 80));
    for other in ["127.1", "0177.0.0.1", "2130706433", "localhost"] {
        assert!(!network("127.0.0.1").allows(other, 80), "{other}");
    }
}
