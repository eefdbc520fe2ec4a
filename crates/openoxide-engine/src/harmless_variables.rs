//! Environment variables of tools that are passed to a confined program if their value is harmless.
//!
//! The decision about a command does not know these variables. So a value passes only if all of its
//! words are in a closed list: words that change how much a tool prints or optimises, but not which
//! programs it runs, which files it loads, or whom it trusts beyond a readable file.

mod tool_options;

use std::{ffi::OsString, fs, path::Path};

use self::tool_options::{
    is_compiler_flag, is_go_flag, is_java_flag, is_make_flag, is_node_flag, is_pytest_flag,
    is_rust_flags,
};

/// A condition for a value.
enum HarmlessValue {
    /// An absolute path of an existing file.
    ExistingFile,
    /// The name of a usual compiler or archiver, without a directory or arguments.
    CompilerName,
    /// A short word of letters and digits.
    Word,
    /// Each word of the value is an option in a closed list.
    Options(fn(&str) -> bool),
    /// The words together are in a closed list.
    OptionList(fn(&[&str]) -> bool),
}

use HarmlessValue::{CompilerName, ExistingFile, OptionList, Options, Word};

/// The variables, and which values of them are passed. Sources: the manual of each tool.
const CONDITIONS: &[(&[&str], HarmlessValue)] = &[
    (
        &[
            "NODE_EXTRA_CA_CERTS",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "PIP_CERT",
            "GIT_SSL_CAINFO",
            "CARGO_HTTP_CAINFO",
        ],
        ExistingFile,
    ),
    (&["CC", "CXX", "AR", "RANLIB"], CompilerName),
    (&["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"], Options(is_compiler_flag)),
    (&["RUSTFLAGS", "RUSTDOCFLAGS"], OptionList(is_rust_flags)),
    (&["GOFLAGS"], Options(is_go_flag)),
    (&["NODE_OPTIONS"], Options(is_node_flag)),
    (&["MAKEFLAGS"], Options(is_make_flag)),
    (
        &["JAVA_TOOL_OPTIONS", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"],
        Options(is_java_flag),
    ),
    (&["PYTEST_ADDOPTS"], Options(is_pytest_flag)),
    (
        &[
            "CARGO_BUILD_JOBS",
            "CARGO_INCREMENTAL",
            "CARGO_TERM_COLOR",
            "CGO_ENABLED",
            "CMAKE_BUILD_PARALLEL_LEVEL",
            "CMAKE_BUILD_TYPE",
            "CTEST_PARALLEL_LEVEL",
            "GOARCH",
            "GOMAXPROCS",
            "GOOS",
            "OMP_NUM_THREADS",
            "PYTHONHASHSEED",
            "RAYON_NUM_THREADS",
            "RUST_TEST_THREADS",
            "UV_THREADPOOL_SIZE",
        ],
        Word,
    ),
];

/// Returns whether a variable is passed to a confined program because of its value.
pub(crate) fn is_harmless_variable(name: &str, value: &str) -> bool {
    find_condition(name).is_some_and(|condition| condition.holds_for(value))
}

/// Returns the variables of this process that change how tools work, and that are not in the
/// environment of a confined program because of their value.
#[must_use]
pub fn withheld_variables(passed: &[(OsString, OsString)]) -> Vec<&'static str> {
    let names = CONDITIONS.iter().flat_map(|(names, _)| *names).copied();
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_passed = |name: &str| passed.iter().any(|(known, _)| known == name);
    names.filter(is_set).filter(|name| !is_passed(name)).collect()
}

fn find_condition(name: &str) -> Option<&'static HarmlessValue> {
    let row = CONDITIONS.iter().find(|(names, _)| names.contains(&name));
    row.map(|(_, condition)| condition)
}

impl HarmlessValue {
    fn holds_for(&self, value: &str) -> bool {
        let words = || value.split_ascii_whitespace();
        match self {
            ExistingFile => {
                Path::new(value).is_absolute()
                    && fs::metadata(value).is_ok_and(|found| found.is_file())
            }
            CompilerName => is_compiler_name(value),
            Word => is_short_word(value),
            Options(is_option) => words().all(is_option),
            OptionList(are_options) => are_options(&words().collect::<Vec<_>>()),
        }
    }
}

/// Returns whether this is a name such as `clang++`, `gcc-13` or `aarch64-linux-gnu-gcc`.
fn is_compiler_name(value: &str) -> bool {
    const NAMES: [&str; 10] =
        ["cc", "c++", "gcc", "g++", "clang", "clang++", "ar", "ranlib", "llvm-ar", "llvm-ranlib"];
    let is_version = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let name = match value.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        _ => value,
    };
    let is_target = |text: &str| {
        text.strip_suffix('-').is_some_and(|target| target.split('-').all(is_short_word))
    };
    NAMES.iter().any(|known| {
        name.strip_suffix(known).is_some_and(|target| target.is_empty() || is_target(target))
    })
}

fn is_short_word(text: &str) -> bool {
    (1..=20).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
