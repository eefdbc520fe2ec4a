//! The patterns of hosts in `known_hosts` and in the configuration of `ssh` (PATTERNS in
//! ssh_config(5)).

/// Returns whether a pattern with `*` and `?` matches a name. The case must be the same.
///
/// A negated pattern (`!`) has no special meaning.
#[must_use]
pub fn matches_host_pattern(pattern: &str, name: &str) -> bool {
    let (mut at, mut from) = (pattern.as_bytes(), name.as_bytes());
    // The pattern after the last `*`, and the rest of the name that it was tried at.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (at.split_first(), from.split_first()) {
            (Some((b'*', rest)), _) => {
                retry = Some((rest, from));
                at = rest;
            }
            (Some((wanted, rest)), Some((found, left))) if wanted == found || *wanted == b'?' => {
                (at, from) = (rest, left);
            }
            (None, None) => return true,
            _ => match retry.and_then(|(rest, tried)| Some((rest, tried.get(1..)?))) {
                Some((rest, left)) => {
                    retry = Some((rest, left));
                    (at, from) = (rest, left);
                }
                None => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first three are examples of ssh_config(5).
    #[test]
    fn patterns_match_as_documented() {
        for (pattern, name, expected) in [
            ("*.co.uk", "example.co.uk", true),
            ("192.168.0.?", "192.168.0.7", true),
            ("192.168.0.?", "192.168.0.17", false),
            ("git*.example", "git.example", true),
            ("git*a*.example", "git.example", false),
            ("*a*b*", "xbxaxb", true),
            ("*", "", true),
            ("?", "", false),
            ("git.example", "git.example.org", false),
            ("", "", true),
        ] {
            assert_eq!(matches_host_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
