//! Names of toolchains that a program downloads if they are not installed.
//!
//! `rustup` installs the channel that `+NAME` or a file of the project names, and `go` the version
//! in the `go` line of a `go.mod`, before they run a command. Words do not show what is installed.
//! Releases up to the newest known one are assumed to be installed, because most projects name one
//! of them. A newer release, a nightly and any other name are not. The engine also checks the
//! toolchains in the directory of rustup.

/// The newest known release of Rust 1.
const NEWEST_RUST: u32 = 100;

/// The newest known release of Go 1.
const NEWEST_GO: u32 = 27;

/// Returns whether this is a released channel of Rust: `stable`, `1.90`, `1.90.1`.
#[must_use]
pub fn is_known_rust_channel(name: &str) -> bool {
    name == "stable" || is_release(name, NEWEST_RUST)
}

/// Returns whether this is a released version of Go: `1.22`, `1.22.3`.
#[must_use]
pub fn is_known_go_version(version: &str) -> bool {
    is_release(version, NEWEST_GO)
}

/// Returns whether a version is `1.MINOR` or `1.MINOR.PATCH` and not newer than `newest`.
fn is_release(version: &str, newest: u32) -> bool {
    let mut parts = version.split('.');
    let number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        (digits && part.len() <= 3).then(|| part.parse::<u32>().ok()).flatten()
    };
    parts.next() == Some("1")
        && parts.next().and_then(number).is_some_and(|minor| minor <= newest)
        && parts.next().is_none_or(|patch| number(patch).is_some())
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_known_and_nightlies_are_not() {
        for name in ["stable", "1.90", "1.95.0", "1.100"] {
            assert!(is_known_rust_channel(name), "{name}");
        }
        for name in ["", "nightly", "nightly-2020-01-01", "beta", "1.999.0", "1", "mine", "1.90-x"]
        {
            assert!(!is_known_rust_channel(name), "{name}");
        }
        for version in ["1.19", "1.22.3", "1.27"] {
            assert!(is_known_go_version(version), "{version}");
        }
        for version in ["1.99.0", "1.28", "2.0", "1.27rc1", "1.21.0.1", ""] {
            assert!(!is_known_go_version(version), "{version}");
        }
    }
}
