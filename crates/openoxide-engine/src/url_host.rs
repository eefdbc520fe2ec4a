//! The host of a URL, unless clients disagree about it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

/// Returns the host as it is written before a port: addresses of version 6 are in brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Returns the URL that rules about hosts are matched against when a program connects to a host.
#[must_use]
pub(crate) fn connection_url(host: &str, port: u16) -> String {
    let host = bracketed(host);
    match port {
        443 => format!("https://{host}/"),
        80 => format!("http://{host}/"),
        _ => format!("tcp://{host}:{port}/"),
    }
}

/// Returns the input of the question whether a program may connect to a host. If the question is
/// about the private address that the host leads to, the rules are those about the address.
#[must_use]
pub fn connection_input(host: &str, private_address: Option<IpAddr>, port: u16) -> Value {
    match private_address {
        None => json!({ "url": connection_url(host, port) }),
        Some(address) => json!({
            "url": connection_url(&address.to_string(), port),
            "description": format!("{host} leads to the private address {address}"),
        }),
    }
}

/// Returns the host in lower case, without user, port and trailing dot.
///
/// Clients disagree about unusual URLs (backslashes, whitespace, several `@`, percent signs in the
/// host). They have no host here, and become opaque.
pub(crate) fn parse_url_host(url: &str) -> Option<String> {
    parse_host(url, &["http", "https", "ftp", "ws", "wss"])
}

/// Returns the host of a URL as [`parse_url_host`] does, also of a connection with another protocol
/// ([`connection_url`]).
pub(crate) fn parse_connection_host(url: &str) -> Option<String> {
    parse_url_host(url).or_else(|| parse_host(url, &["tcp"]))
}

/// Returns the host of a `ssh://` URL as git reads it: the user and the host end at the first slash,
/// and percent signs are decoded before. So both must be plain.
pub(crate) fn parse_ssh_host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("ssh://")?;
    let authority = rest.split('/').next()?;
    let (user, _) = authority.split_once('@').unwrap_or(("git", authority));
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_plain = user.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && user.chars().all(fine)
        && !authority.contains(['?', '#', '%']);
    let host =
        if is_plain { parse_host(&format!("ssh://{authority}/"), &["ssh"])? } else { return None };
    (!host.starts_with('-')).then_some(host)
}

fn parse_host(url: &str, schemes: &[&str]) -> Option<String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\' || !c.is_ascii();
    if url.contains(odd) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !schemes.iter().any(|name| scheme.eq_ignore_ascii_case(name)) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.split_once('@') {
        Some((_, host)) if host.contains('@') => return None,
        Some((_, host)) => host,
        None => authority,
    };
    let name = strip_port(host)?.trim_end_matches('.').to_ascii_lowercase();
    if let Some(address) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = address.parse().ok()?;
        // `localhost` and its address are the same host.
        return Some(
            address.to_ipv4_mapped().map_or_else(|| format!("[{address}]"), |v4| v4.to_string()),
        );
    }
    is_host_name(&name).then_some(name)
}

fn strip_port(host: &str) -> Option<&str> {
    if let Some(rest) = host.strip_prefix('[') {
        let (_, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_digits);
        return is_port.then(|| host.strip_suffix(port)).flatten();
    }
    match host.split_once(':') {
        Some((name, port)) => is_digits(port).then_some(name),
        None => Some(host),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_host_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let named = !name.is_empty() && !name.split('.').any(str::is_empty) && name.chars().all(fine);
    // Clients differ in how they read `127.1`, `0x7f000001` and `2130706433` (WHATWG URL, "ends in
    // a number"), so only the dotted form is accepted.
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = is_digits(last) || last.starts_with("0x");
    named && (!numeric || name.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_version_6_are_in_brackets_before_a_port() {
        assert_eq!(bracketed("2002:7f00:1::"), "[2002:7f00:1::]");
        assert_eq!(bracketed("example.com"), "example.com");
    }

    #[test]
    fn plain_addresses_have_a_host() {
        let rows = [
            ("https://Example.com/x?y#z", "example.com"),
            ("http://example.com.:8080", "example.com"),
            ("https://user:pass@example.com/", "example.com"),
            ("https://example.com@evil.com/", "evil.com"),
            ("https://evil.com#example.com", "evil.com"),
            ("https://evil.com?@example.com", "evil.com"),
            ("http://[::1]:80/", "[::1]"),
            ("HTTP://127.0.0.1", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
            ("http://[0:0::1]/", "[::1]"),
        ];
        for (url, expected) in rows {
            assert_eq!(parse_url_host(url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn odd_addresses_have_none() {
        for url in [
            "example.com",
            "file:///etc/passwd",
            "http://a@b@c/",
            "http://evil.com\\@example.com/",
            "http://exa%6dple.com/",
            "http://bücher.de/",
            "http:// example.com/",
            "http://example.com:port/",
            "http://",
            "http://a..b/",
            "http://[::1/",
            "javascript://x",
            "http://2130706433/",
            "http://127.1/",
            "http://0x7f.0.0.1/",
            "http://0x7f000001/",
            "http://127.0.0.01/",
        ] {
            assert_eq!(parse_url_host(url), None, "{url}");
        }
    }
}
