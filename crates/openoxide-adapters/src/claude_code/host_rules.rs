//! Hosts of URLs, and matching of hosts against rules.

/// Known documentation hosts that are fetched without a question.
const PREAPPROVED_HOSTS: &[&str] = &["docs.python.org", "code.claude.com"];

/// Returns the host of a URL as a browser parses it: lower case, without user, port and trailing
/// dot.
pub(crate) fn parse_url_host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let name = match place.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?.0,
        None => place.split_once(':').map_or(place, |(name, _)| name),
    };
    let name = name.strip_suffix('.').unwrap_or(name).to_lowercase();
    (!name.is_empty()).then_some(name)
}

/// Returns whether the content of a rule matches a host.
pub(crate) fn content_matches_host(content: &str, host: &str) -> bool {
    let Some(wanted) = content.strip_prefix("domain:") else { return false };
    let wanted = wanted.strip_suffix('.').unwrap_or(wanted).to_lowercase();
    match (wanted.as_str(), wanted.strip_prefix("*.")) {
        ("*", _) => true,
        (_, Some(parent)) => {
            host.strip_suffix(parent).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.'))
        }
        (text, None) => {
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (text.split('.').collect(), host.split('.').collect());
            let same = |(a, b): (&&str, &&str)| super::rules::matches_glob(a, b);
            ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same)
        }
    }
}

/// Returns whether a host is fetched without a question.
pub(crate) fn is_preapproved(host: &str) -> bool {
    PREAPPROVED_HOSTS.contains(&host)
}
