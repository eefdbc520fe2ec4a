//! The hosts of a profile.

use std::collections::BTreeSet;

use openoxide_protocol::{
    Access, AccessRoute, Decision, Effect, HostPort, NetworkAccess, SandboxAutoAllow,
    registries::PackageRegistry,
};

use super::{confine_input::ProfileInput, granted_accesses::granted_accesses};
use crate::{
    decide_access,
    evaluation::find_registry,
    glob::{self, GlobStep},
    rule::{Pattern, SubjectKind},
};

/// Derives the network access of a profile: the hosts that rules allow or that the operation
/// contacts. Other hosts are asked about when a program connects to them, unless every unnamed host
/// is denied anyway.
///
/// Access to the whole network is never derived from rules, not even from a rule that allows every
/// host. It would open the loopback interface of the host and protocols that no rule covers. It is
/// a setting.
pub(super) fn derive_network(ground: &ProfileInput<'_>, decision: &Decision) -> NetworkAccess {
    if (ground.host_network || ground.all_hosts) && has_no_restrictive_rules(ground) {
        return if ground.host_network { NetworkAccess::On } else { NetworkAccess::Internet };
    }
    let mut hosts: BTreeSet<_> = granted_accesses(decision).filter_map(accessed_host).collect();
    hosts.extend(allowed_hosts(ground));
    hosts.extend(approved_registry_hosts(ground, decision));
    if hosts.is_empty() && host_effect(ground, "nobody-named-this.invalid") == Effect::Deny {
        NetworkAccess::Off
    } else {
        NetworkAccess::Hosts(hosts)
    }
}

/// Returns the hosts of the registries from which an approved command installs packages. The
/// question names them if a setting lets the sandbox confine commands.
fn approved_registry_hosts(
    ground: &ProfileInput<'_>,
    decision: &Decision,
) -> impl Iterator<Item = HostPort> {
    let applies = ground.context.auto_allow != SandboxAutoAllow::Off;
    let asked = decision.parts.iter().filter(move |part| applies && part.decision == Effect::Ask);
    let registries = asked.filter_map(|part| match &part.access {
        Access::Exec(exec) => find_registry(exec),
        _ => None,
    });
    let suggests =
        |registry: &&PackageRegistry| decision.suggested_rules.contains(&registry.allow_rule());
    registries
        .filter(suggests)
        .flat_map(|registry| registry.hosts)
        .filter(|host| host_effect(ground, host) != Effect::Deny)
        .filter_map(|host| format!("{host}:443").parse().ok())
}

/// Returns the hosts that rules allow by their exact names, whatever a wildcard allows. Only the
/// names of these hosts may lead to private addresses: the owner of a domain that a wildcard allows
/// can make any name in it lead to any address.
#[must_use]
pub fn exactly_allowed_hosts(ground: &ProfileInput<'_>) -> BTreeSet<HostPort> {
    allowed_hosts(ground).filter(|host| !host.host().starts_with("*.")).collect()
}

/// Returns whether no rule asks about or denies any host. Returns false if the policy failed to
/// load.
fn has_no_restrictive_rules(ground: &ProfileInput<'_>) -> bool {
    let mut policies = std::iter::once(ground.policy).chain(ground.policy.last_good());
    ground.context.policy_error.is_none()
        && policies.all(|policy| policy.index().restrictive_rules(SubjectKind::Fetch).count == 0)
}

/// Returns the effect of the rules on a host that is accessed directly.
fn host_effect(ground: &ProfileInput<'_>, host: &str) -> Effect {
    let (host, url) = (host.to_owned(), String::new());
    decide_access(
        ground.policy,
        &ground.context,
        &Access::Fetch { host, url, route: AccessRoute::Direct },
    )
    .effect
}

/// Returns the host of an access, with the port of its URL.
fn accessed_host(access: &Access) -> Option<HostPort> {
    let Access::Fetch { host, url, .. } = access else { return None };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = if bare.contains(':') { format!("[{bare}]") } else { bare.to_owned() };
    match parse_url_port(url) {
        Some(port) => format!("{host}:{port}").parse().ok(),
        None => host.parse().ok(),
    }
}

/// Returns the port of a URL or the default port of its scheme. Returns `None` if neither is known,
/// which means any port.
fn parse_url_port(url: &str) -> Option<u16> {
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

/// Returns the hosts that rules allow by name, and the wildcards whose subdomains no rule
/// restricts. Returns nothing if the policy failed to load.
fn allowed_hosts(ground: &ProfileInput<'_>) -> impl Iterator<Item = HostPort> {
    let layers = if ground.context.policy_error.is_some() { &[] } else { ground.layers };
    let rules = layers.iter().flat_map(|layer| &layer.rules);
    let allows = rules.filter(|rule| rule.effect == Effect::Allow).flat_map(|rule| &rule.patterns);
    allows
        .filter(|pattern| pattern.kind == SubjectKind::Fetch)
        .filter_map(|pattern| allowed_pattern_host(ground, pattern))
}

fn allowed_pattern_host(ground: &ProfileInput<'_>, pattern: &Pattern) -> Option<HostPort> {
    match ProfileHost::from_program(&pattern.program)? {
        ProfileHost { labels, includes_subdomains: false } => {
            let name = to_host_name(&labels)?;
            (host_effect(ground, &name) == Effect::Allow).then(|| name.parse().ok())?
        }
        ProfileHost { labels, includes_subdomains: true } => {
            let name = to_host_name(&labels)?;
            // If the rules ask about or deny an unnamed host, another layer or the mode overrides
            // the wildcard.
            let lost = host_effect(ground, &format!("nobody-named-this.{name}")) != Effect::Allow;
            (!lost && !has_restricted_subdomain(ground, &labels))
                .then(|| format!("*.{name}").parse().ok())?
        }
    }
}

/// A host pattern that a profile can express: one name, or all subdomains of a name.
struct ProfileHost {
    /// The labels from the right, each followed by `.`.
    labels: Vec<u8>,
    includes_subdomains: bool,
}

impl ProfileHost {
    fn from_program(code: &[u8]) -> Option<Self> {
        let mut labels = Vec::new();
        for step in glob::decode_steps(code) {
            match step {
                GlobStep::Literal(bytes) => labels.extend_from_slice(bytes),
                GlobStep::NonEmpty => return Some(Self { labels, includes_subdomains: true }),
                _ => return None,
            }
        }
        Some(Self { labels, includes_subdomains: false })
    }
}

/// Returns the host name with its labels in the usual order.
fn to_host_name(labels: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(labels.strip_suffix(b".")?).ok()?;
    let mut labels: Vec<_> = text.split('.').collect();
    labels.reverse();
    Some(labels.join("."))
}

/// Returns whether a rule restricts a host below these labels. A profile cannot exclude single
/// hosts. A rule with a wildcard is assumed to match, unless its literal prefix shows that it
/// matches other hosts.
fn has_restricted_subdomain(ground: &ProfileInput<'_>, labels: &[u8]) -> bool {
    let policies = std::iter::once(ground.policy).chain(ground.policy.last_good());
    let mut rules = policies
        .map(|policy| policy.index().restrictive_rules(SubjectKind::Fetch))
        .flat_map(|rules| (0..rules.count).map(move |number| rules.get(number).0));
    rules.any(|code| {
        let fixed = literal_prefix(code);
        let inside = fixed.starts_with(labels) && fixed.len() > labels.len();
        inside || (!is_literal(code) && (labels.starts_with(&fixed) || fixed.starts_with(labels)))
    })
}

fn literal_prefix(code: &[u8]) -> Vec<u8> {
    let literal = |step| match step {
        GlobStep::Literal(bytes) => Some(bytes),
        _ => None,
    };
    glob::decode_steps(code).map_while(literal).flatten().copied().collect()
}

fn is_literal(code: &[u8]) -> bool {
    glob::decode_steps(code).all(|step| matches!(step, GlobStep::Literal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_comes_from_the_url_or_its_scheme() {
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
            assert_eq!(parse_url_port(url), expected, "{url}");
        }
        assert_eq!(to_host_name(b"io.x.a."), Some("a.x.io".to_owned()));
    }
}
