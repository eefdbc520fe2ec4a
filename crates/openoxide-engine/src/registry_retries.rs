//! Disabling the retries of package managers whose registry is unreachable.
//!
//! No network error has this effect: npm 11 retries after every error, and waits 70 seconds in
//! total. A retry cannot succeed, because the sandbox refuses the host again.

use std::ffi::{OsStr, OsString};

use openoxide_protocol::{
    NetworkAccess,
    registries::{PackageRegistry, REGISTRIES},
};

const HTTPS: u16 = 443;

/// Sets the variables that disable the retries of each registry's clients if the network allows
/// none of the registry's hosts. Variables that are already set are kept.
pub fn set_retry_variables(environment: &mut Vec<(OsString, OsString)>, network: &NetworkAccess) {
    let unreachable = REGISTRIES.iter().filter(|registry| !is_reachable(registry, network));
    for variable in unreachable.flat_map(|registry| registry.retry_variables) {
        if !environment.iter().any(|(name, _)| is_same_setting(name, variable)) {
            environment.push((OsString::from(variable), OsString::from("0")));
        }
    }
}

fn is_reachable(registry: &PackageRegistry, network: &NetworkAccess) -> bool {
    registry.hosts.iter().any(|host| network.allows(host, HTTPS))
}

/// npm ignores the case of its variables.
fn is_same_setting(name: &OsStr, variable: &str) -> bool {
    name.eq_ignore_ascii_case(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(environment: &[&str], network: &NetworkAccess) -> String {
        let mut environment =
            environment.iter().map(|name| (OsString::from(name), OsString::from("5"))).collect();
        set_retry_variables(&mut environment, network);
        let text = |(name, value): (OsString, OsString)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        };
        environment.into_iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn clients_of_reachable_registries_keep_their_settings() {
        let none = "npm_config_fetch_retries=0 PIP_RETRIES=0 UV_HTTP_RETRIES=0 CARGO_NET_RETRY=0";
        assert_eq!(variables(&[], &NetworkAccess::Off), none);
        let hosts = ["registry.npmjs.org", "index.crates.io:443"];
        let hosts = hosts.into_iter().map(|host| host.parse().unwrap()).collect();
        let python = "PIP_RETRIES=0 UV_HTTP_RETRIES=0";
        assert_eq!(variables(&[], &NetworkAccess::Hosts(hosts)), python);
        for network in [NetworkAccess::Internet, NetworkAccess::On] {
            assert_eq!(variables(&[], &network), "");
        }
    }

    #[test]
    fn settings_of_the_user_are_kept() {
        let set = ["NPM_CONFIG_FETCH_RETRIES", "PIP_RETRIES", "UV_HTTP_RETRIES", "CARGO_NET_RETRY"];
        let all = "NPM_CONFIG_FETCH_RETRIES=5 PIP_RETRIES=5 UV_HTTP_RETRIES=5 CARGO_NET_RETRY=5";
        assert_eq!(variables(&set, &NetworkAccess::Off), all);
    }
}
