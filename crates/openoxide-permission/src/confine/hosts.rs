//! Which hosts a profile names.

use std::collections::BTreeSet;

use openoxide_protocol::{Access, Decision, Effect, HostPort, Network, Touch};

use super::{Ground, granted};
use crate::{
    decide,
    glob::{self, Step},
    rule::{Pattern, Space},
};

/// The hosts that rules allow or the decision reaches. One that is not among them is asked about when a program wants it, unless
/// every host that nobody has named is denied anyway.
///
/// The whole network is never derived from rules, not from one that allows every host either: it would open the host's own loopback, and
/// protocols that no rule speaks of. It is a setting.
pub(super) fn network(ground: &Ground<'_>, decision: &Decision) -> Network {
    if (ground.host_network || ground.all_hosts) && holds_back_none(ground) {
        return if ground.host_network { Network::On } else { Network::Internet };
    }
    let mut hosts: BTreeSet<_> = granted(decision).filter_map(reached).collect();
    hosts.extend(allowed(ground));
    if hosts.is_empty() && answer(ground, "nobody-named-this.invalid") == Effect::Deny {
        Network::Off
    } else {
        Network::Hosts(hosts)
    }
}

/// Says whether no rule holds back any host, as far as that is known.
fn holds_back_none(ground: &Ground<'_>) -> bool {
    let mut policies = std::iter::once(ground.policy).chain(ground.policy.before());
    ground.context.doubt.is_none()
        && policies.all(|policy| policy.index().holding_back(Space::Fetch).count == 0)
}

/// What the rules say of a host that a program reaches by itself.
fn answer(ground: &Ground<'_>, host: &str) -> Effect {
    let (host, url) = (host.to_owned(), String::new());
    decide(ground.policy, &ground.context, &Access::Fetch { host, url, touch: Touch::Itself })
        .effect
}

/// The host of an access, at the port that its address says.
fn reached(access: &Access) -> Option<HostPort> {
    let Access::Fetch { host, url, .. } = access else { return None };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = if bare.contains(':') { format!("[{bare}]") } else { bare.to_owned() };
    match port(url) {
        Some(port) => format!("{host}:{port}").parse().ok(),
        None => host.parse().ok(),
    }
}

/// The port that an address says, or that of its scheme; nothing where neither is known: then any is meant.
fn port(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit('@').next()?;
    let behind = place.rsplit(']').next()?;
    match (behind.rsplit_once(':'), scheme.to_ascii_lowercase().as_str()) {
        (Some((_, port)), _) => port.parse().ok(),
        (None, "https" | "wss") => Some(443),
        (None, "http" | "ws") => Some(80),
        (None, "ssh" | "sftp") => Some(22),
        (None, "git") => Some(9418),
        (None, _) => None,
    }
}

/// The hosts that rules allow by name, and those below a name of which no rule holds back any. None where the policy is in doubt.
fn allowed(ground: &Ground<'_>) -> impl Iterator<Item = HostPort> {
    let layers = if ground.context.doubt.is_some() { &[] } else { ground.layers };
    let rules = layers.iter().flat_map(|layer| &layer.rules);
    let allows = rules.filter(|rule| rule.effect == Effect::Allow).flat_map(|rule| &rule.patterns);
    allows
        .filter(|pattern| pattern.space == Space::Fetch)
        .filter_map(|pattern| host(ground, pattern))
}

fn host(ground: &Ground<'_>, pattern: &Pattern) -> Option<HostPort> {
    match Shape::of(&pattern.code)? {
        Shape { labels, below: false } => {
            let name = forward(&labels)?;
            (answer(ground, &name) == Effect::Allow).then(|| name.parse().ok())?
        }
        Shape { labels, below: true } => {
            let name = forward(&labels)?;
            // Where the rules ask or deny what nobody has named, the wildcard lost to another layer or to the mode.
            let lost = answer(ground, &format!("nobody-named-this.{name}")) != Effect::Allow;
            (!lost && !is_cut(ground, &labels)).then(|| format!("*.{name}").parse().ok())?
        }
    }
}

/// A pattern of hosts that a profile can say: one name, or all names below one.
struct Shape {
    /// From the right, each followed by `.`.
    labels: Vec<u8>,
    below: bool,
}

impl Shape {
    fn of(code: &[u8]) -> Option<Self> {
        let mut labels = Vec::new();
        for step in glob::steps(code) {
            match step {
                Step::Literal(bytes) => labels.extend_from_slice(bytes),
                Step::Some => return Some(Self { labels, below: true }),
                _ => return None,
            }
        }
        Some(Self { labels, below: false })
    }
}

/// The labels in the order in which people write them.
fn forward(labels: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(labels.strip_suffix(b".")?).ok()?;
    let mut labels: Vec<_> = text.split('.').collect();
    labels.reverse();
    Some(labels.join("."))
}

/// Says whether a rule holds back some host below these labels: a profile cannot leave one out. A rule with a wildcard is taken to, unless
/// what it begins with shows that it speaks of others.
fn is_cut(ground: &Ground<'_>, labels: &[u8]) -> bool {
    let policies = std::iter::once(ground.policy).chain(ground.policy.before());
    let mut rules = policies
        .map(|policy| policy.index().holding_back(Space::Fetch))
        .flat_map(|rules| (0..rules.count).map(move |number| rules.get(number).0));
    rules.any(|code| {
        let fixed = beginning(code);
        let inside = fixed.starts_with(labels) && fixed.len() > labels.len();
        inside || (!is_exact(code) && (labels.starts_with(&fixed) || fixed.starts_with(labels)))
    })
}

fn beginning(code: &[u8]) -> Vec<u8> {
    let literal = |step| match step {
        Step::Literal(bytes) => Some(bytes),
        _ => None,
    };
    glob::steps(code).map_while(literal).flatten().copied().collect()
}

fn is_exact(code: &[u8]) -> bool {
    glob::steps(code).all(|step| matches!(step, Step::Literal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_the_one_that_the_address_says() {
        for (url, expected) in [
            ("https://x.io/a:1", Some(443)),
            ("HTTP://x.io", Some(80)),
            ("https://u:p@x.io:8443/", Some(8443)),
            ("ssh://git@[2001:db8::1]:22/r", Some(22)),
            ("https://[2001:db8::1]/", Some(443)),
            ("ftp://x.io", None),
            ("x.io", None),
            ("https://x.io:99999", None),
        ] {
            assert_eq!(port(url), expected, "{url}");
        }
        assert_eq!(forward(b"io.x.a."), Some("a.x.io".to_owned()));
    }
}
