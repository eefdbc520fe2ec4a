//! Package registries: the hosts from which the client of each ecosystem installs packages.
//!
//! This is the only table of these hosts. It contains what a client contacts with its default
//! settings to resolve and download packages, and nothing that only publishes or signs in. An upload
//! to crates.io or PyPI uses another host; the registry of npm has one host for everything.

/// A package registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackageRegistry {
    /// The name that rules use: `npm` in `WebFetch(registry:npm)`.
    pub name: &'static str,
    /// The hosts that clients contact with their default settings.
    pub hosts: &'static [&'static str],
    /// The variables that set how often clients try again after a failed connection.
    pub retry_variables: &'static [&'static str],
}

impl PackageRegistry {
    /// Returns the registry with this name.
    #[must_use]
    pub fn with_name(name: &str) -> Option<&'static Self> {
        REGISTRIES.iter().find(|registry| registry.name == name)
    }

    /// Returns the registry that a host belongs to.
    ///
    /// ```
    /// use openoxide_protocol::registries::PackageRegistry;
    ///
    /// let name = |host| PackageRegistry::with_host(host).map(|registry| registry.name);
    /// assert_eq!(name("static.crates.io"), Some("crates"));
    /// assert_eq!(name("crates.io"), None); // uploads
    /// ```
    #[must_use]
    pub fn with_host(host: &str) -> Option<&'static Self> {
        REGISTRIES.iter().find(|registry| registry.hosts.contains(&host))
    }
}

/// All known registries.
pub const REGISTRIES: &[PackageRegistry] = &[
    // npm-config(7), `registry` and `fetch-retries`; pnpm reads the same. Yarn's settings,
    // `npmRegistryServer`.
    PackageRegistry {
        name: "npm",
        hosts: &["registry.npmjs.org", "registry.yarnpkg.com"],
        retry_variables: &["npm_config_fetch_retries"],
    },
    // pip's options, `--index-url` and `--retries`: the index names the files on the other host
    // (docs.pypi.org/api/index-api). uv's variables, `UV_HTTP_RETRIES`. Uploads use
    // upload.pypi.org.
    PackageRegistry {
        name: "pypi",
        hosts: &["pypi.org", "files.pythonhosted.org"],
        retry_variables: &["PIP_RETRIES", "UV_HTTP_RETRIES"],
    },
    // The Cargo book, "Registry index" and `net.retry`: `dl` in index.crates.io/config.json names
    // the host of the files. Uploads use crates.io.
    PackageRegistry {
        name: "crates",
        hosts: &["index.crates.io", "static.crates.io"],
        retry_variables: &["CARGO_NET_RETRY"],
    },
    // `go help environment`: the defaults of `GOPROXY` and `GOSUMDB`. Go does not try again.
    PackageRegistry {
        name: "go",
        hosts: &["proxy.golang.org", "sum.golang.org"],
        retry_variables: &[],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_hosts_are_unique() {
        let names: BTreeSet<_> = REGISTRIES.iter().map(|registry| registry.name).collect();
        assert_eq!(names.len(), REGISTRIES.len());
        let hosts: Vec<_> = REGISTRIES.iter().flat_map(|registry| registry.hosts).collect();
        assert_eq!(hosts.iter().collect::<BTreeSet<_>>().len(), hosts.len());
    }

    #[test]
    fn hosts_that_receive_uploads_are_not_in_the_table() {
        for host in ["crates.io", "upload.pypi.org", "test.pypi.org", "npmjs.org", "github.com"] {
            assert_eq!(PackageRegistry::with_host(host), None, "{host}");
        }
    }
}
