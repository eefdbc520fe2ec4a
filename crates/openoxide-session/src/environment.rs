//! The environment of programs that are started: nothing in it makes bash run something else first.

use std::ffi::{OsStr, OsString};

/// Returns the variables of this process, without those that steer bash.
pub fn without_steering() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, value)| !steers(name, value))
}

fn steers(name: &OsStr, value: &OsStr) -> bool {
    steers_bash(name.as_encoded_bytes()) || runs_in_arithmetic(value.as_encoded_bytes())
}

/// Variables that make bash run or read something else than the script says (bash(1)), and exported functions, which
/// would stand in for programs.
fn steers_bash(name: &[u8]) -> bool {
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

/// Says whether a value would run something where a script uses its variable as a number: `a[$(x)]`.
fn runs_in_arithmetic(value: &[u8]) -> bool {
    value.contains(&b'[') && (value.contains(&b'`') || value.windows(2).any(|two| two == b"$("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_bash_is_left_behind() {
        for name in ["BASH_ENV", "BASH_FUNC_ls%%", "SHELLOPTS"] {
            assert!(steers_bash(name.as_bytes()), "{name}");
        }
        assert!(!steers_bash(b"PATH"));
        assert!(runs_in_arithmetic(b"a[$(x)]") && !runs_in_arithmetic(b"/usr/bin:$HOME"));
    }
}
