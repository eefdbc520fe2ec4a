//! The environment of started programs, without variables that make bash run something else first.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
};

use crate::harmless_variables::is_harmless_variable;

/// Returns the variables of this process, without those that configure bash.
pub fn sanitized_env() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, value)| !is_bash_injection_variable(name, value))
}

/// Returns the environment variables for a confined program. It contains only variables that
/// programs need to find their files, and variables of tools whose value is harmless.
///
/// Tokens and passwords are stored in variables of any name, so this is an allowlist and not a
/// denylist. `TMPDIR` is set to the private temporary directory of the sandbox.
pub fn sandbox_env() -> impl Iterator<Item = (OsString, OsString)> {
    let passes = |(name, value): &(OsString, OsString)| {
        name.to_str().is_some_and(|name| {
            is_sandbox_variable(name)
                || value.to_str().is_some_and(|value| is_harmless_variable(name, value))
        })
    };
    let temporary = (OsString::from("TMPDIR"), OsString::from("/tmp"));
    sanitized_env().filter(passes).chain([temporary])
}

/// Returns the variables of this process with these names, without those that configure bash.
pub fn select_env(names: &BTreeSet<String>) -> impl Iterator<Item = (OsString, OsString)> {
    let named =
        |(name, _): &(OsString, OsString)| name.to_str().is_some_and(|name| names.contains(name));
    sanitized_env().filter(named)
}

fn is_sandbox_variable(name: &str) -> bool {
    SANDBOX_VARIABLES.contains(&name) || name.starts_with("LC_")
}

/// The variables for the user and the locale, the terminal, and the locations of tools and their
/// caches. Variables that name a program to run, or that can contain a host name with a password
/// (proxies, registries), are left out.
const SANDBOX_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "CI",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "NODE_ENV",
    "NODE_PATH",
    "NVM_DIR",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
    "JAVA_HOME",
    "GRADLE_USER_HOME",
    "MAVEN_HOME",
    "ANDROID_HOME",
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "MANPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SOURCE_DATE_EPOCH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
];

/// Returns whether a variable makes bash run something other than the given script.
#[must_use]
pub fn is_bash_injection_variable(name: &OsStr, value: &OsStr) -> bool {
    is_bash_injection_name(name.as_encoded_bytes())
        || has_arithmetic_command(value.as_encoded_bytes())
}

/// Returns whether a variable makes bash run or read something other than the script (bash(1)).
/// Exported functions are included, because they can replace programs.
fn is_bash_injection_name(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"BASH_ENV",
        b"ENV",
        b"SHELLOPTS",
        b"BASHOPTS",
        b"CDPATH",
        b"GLOBIGNORE",
        b"PS4",
        b"PROMPT_COMMAND",
    ];
    NAMES.contains(&name) || name.starts_with(b"BASH_FUNC_")
}

/// Returns whether a value would run a command if a script uses its variable as a number:
/// `a[$(x)]`.
fn has_arithmetic_command(value: &[u8]) -> bool {
    value.contains(&b'[') && (value.contains(&b'`') || value.windows(2).any(|two| two == b"$("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_inject_into_bash_are_detected() {
        for name in ["BASH_ENV", "BASH_FUNC_ls%%", "SHELLOPTS"] {
            assert!(is_bash_injection_name(name.as_bytes()), "{name}");
        }
        assert!(!is_bash_injection_name(b"PATH"));
        assert!(has_arithmetic_command(b"a[$(x)]") && !has_arithmetic_command(b"/usr/bin:$HOME"));
    }
}
