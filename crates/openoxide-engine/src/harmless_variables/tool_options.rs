//! The options of tools that neither run a program nor load a file that they do not load anyway.

/// Returns whether a text has the form of a number, such as `4` or `1024`.
fn is_number(text: &str) -> bool {
    (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text consists of lowercase letters, digits and these characters.
fn is_name(text: &str, others: &[u8]) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || others.contains(&byte)
        })
}

fn is_directory_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./+-".contains(&byte))
}

/// Options of compilers and linkers (gcc(1), clang(1), ld(1)). Those with a comma, a file or a
/// program (`-Wl,`, `-B`, `-specs`, `-fplugin`, `-wrapper`, `@file`) are not in the list.
pub(super) fn is_compiler_flag(option: &str) -> bool {
    const EXACT: [&str; 11] = [
        "-pipe",
        "-pthread",
        "-static",
        "-shared",
        "-Wl,-O1",
        "-Wl,-O2",
        "-Wl,--as-needed",
        "-Wl,--gc-sections",
        "-Wl,-z,relro",
        "-Wl,-z,now",
        "-Wl,-z,noexecstack",
    ];
    const LINKERS: [&str; 4] = ["bfd", "gold", "lld", "mold"];
    const FEATURES: [&str; 22] = [
        "PIC",
        "PIE",
        "pic",
        "pie",
        "common",
        "no-common",
        "exceptions",
        "no-exceptions",
        "rtti",
        "no-rtti",
        "lto",
        "lto=thin",
        "lto=auto",
        "omit-frame-pointer",
        "no-omit-frame-pointer",
        "stack-protector",
        "stack-protector-strong",
        "no-strict-aliasing",
        "wrapv",
        "signed-char",
        "sanitize=address",
        "sanitize=undefined",
    ];
    let starts =
        |prefix: &str, test: &dyn Fn(&str) -> bool| option.strip_prefix(prefix).is_some_and(test);
    EXACT.contains(&option)
        || starts("-O", &|level| ["", "0", "1", "2", "3", "s", "z", "g", "fast"].contains(&level))
        || starts("-g", &|level| {
            level.is_empty() || ["0", "1", "2", "3", "gdb", "dwarf-4", "dwarf-5"].contains(&level)
        })
        || starts("-std=", &|standard| is_name(standard, b"+"))
        || starts("-W", &|warning| is_name(warning, b"-=+"))
        || starts("-f", &|feature| FEATURES.contains(&feature))
        || starts("-fuse-ld=", &|linker| LINKERS.contains(&linker))
        || starts("-march=", &|name| is_name(name, b"-.+"))
        || starts("-mtune=", &|name| is_name(name, b"-."))
        || starts("-m", &|size| ["32", "64"].contains(&size))
        || starts("-D", &is_macro)
        || starts("-U", &is_macro_name)
        || starts("-I", &is_directory_name)
        || starts("-L", &is_directory_name)
        || starts("-l", &|library| is_name(library, b"_-+"))
}

/// Returns whether this is a macro without a value, or with a number. Other values can be secrets.
fn is_macro(text: &str) -> bool {
    match text.split_once('=') {
        Some((name, value)) => is_macro_name(name) && is_number(value),
        None => is_macro_name(text),
    }
}

fn is_macro_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Options of rustc (the rustc book). Linkers, runners, plug-ins and link arguments are not in the
/// list, except for the usual linkers.
pub(super) fn is_rust_flags(options: &[&str]) -> bool {
    match options {
        [] => true,
        ["-C" | "--codegen", option, rest @ ..] => is_codegen_option(option) && is_rust_flags(rest),
        ["-A" | "-W" | "-D" | "-F" | "--cfg", name, rest @ ..] => {
            is_name(name, b"_:-") && is_rust_flags(rest)
        }
        [option, rest @ ..] => {
            let codegen = option.strip_prefix("-C").is_some_and(is_codegen_option);
            let lint = ["-A", "-W", "-D", "-F", "--cfg="].iter().any(|prefix| {
                option.strip_prefix(prefix).is_some_and(|name| is_name(name, b"_:-"))
            });
            (codegen || lint) && is_rust_flags(rest)
        }
    }
}

fn is_codegen_option(option: &str) -> bool {
    const NAMES: [&str; 12] = [
        "codegen-units",
        "debug-assertions",
        "debuginfo",
        "force-frame-pointers",
        "lto",
        "opt-level",
        "overflow-checks",
        "panic",
        "relocation-model",
        "strip",
        "target-cpu",
        "target-feature",
    ];
    const LINKERS: [&str; 4] = [
        "link-arg=-fuse-ld=lld",
        "link-arg=-fuse-ld=mold",
        "link-arg=-fuse-ld=gold",
        "link-arg=-fuse-ld=bfd",
    ];
    match option.split_once('=') {
        Some((name, value)) if NAMES.contains(&name) => is_name(value, b"_-+,."),
        Some(_) => LINKERS.contains(&option),
        None => NAMES.contains(&option),
    }
}

/// Flags of the go command (`go help build`), without `-toolexec`, `-exec`, `-overlay`, `-modfile`
/// and flags for compilers and linkers.
pub(super) fn is_go_flag(option: &str) -> bool {
    const EXACT: [&str; 11] = [
        "-v",
        "-x",
        "-race",
        "-trimpath",
        "-short",
        "-modcacherw",
        "-mod=mod",
        "-mod=vendor",
        "-mod=readonly",
        "-buildvcs=false",
        "-buildvcs=auto",
    ];
    let number = ["-p=", "-count=", "-parallel="].iter();
    EXACT.contains(&option)
        || number.filter_map(|prefix| option.strip_prefix(prefix)).any(is_number)
        || option.strip_prefix("-tags=").is_some_and(|tags| is_name(tags, b"_,"))
}

/// Options of Node.js, without those that load or inspect (`--require`, `--import`, `--loader`,
/// `--inspect`, …).
pub(super) fn is_node_flag(option: &str) -> bool {
    const EXACT: [&str; 9] = [
        "--no-warnings",
        "--no-deprecation",
        "--trace-warnings",
        "--trace-deprecation",
        "--enable-source-maps",
        "--openssl-legacy-provider",
        "--dns-result-order=ipv4first",
        "--dns-result-order=verbatim",
        "--unhandled-rejections=strict",
    ];
    let number = ["--max-old-space-size=", "--max-semi-space-size=", "--stack-trace-limit="].iter();
    EXACT.contains(&option)
        || number.filter_map(|prefix| option.strip_prefix(prefix)).any(is_number)
}

/// Options of GNU make that do not name a file or set a variable.
pub(super) fn is_make_flag(option: &str) -> bool {
    const EXACT: [&str; 7] =
        ["-j", "-k", "-s", "-O", "--no-print-directory", "--keep-going", "--silent"];
    let number = ["-j", "-l", "--jobs="].iter();
    EXACT.contains(&option)
        || number.filter_map(|prefix| option.strip_prefix(prefix)).any(is_number)
}

/// Options of the Java virtual machine that set sizes and collectors.
pub(super) fn is_java_flag(option: &str) -> bool {
    const EXACT: [&str; 7] = [
        "-XX:+UseG1GC",
        "-XX:+UseParallelGC",
        "-XX:+UseSerialGC",
        "-XX:+UseZGC",
        "-Dfile.encoding=UTF-8",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
    ];
    let is_size = |size: &str| is_number(size.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']));
    let sizes = ["-Xmx", "-Xms", "-Xss", "-XX:MaxMetaspaceSize=", "-XX:MaxRAMPercentage="].iter();
    EXACT.contains(&option) || sizes.filter_map(|prefix| option.strip_prefix(prefix)).any(is_size)
}

/// Options of pytest about its output, without `-p`, `-c`, `--rootdir` and similar ones.
pub(super) fn is_pytest_flag(option: &str) -> bool {
    const EXACT: [&str; 12] = [
        "-q",
        "-v",
        "-vv",
        "-x",
        "-s",
        "-l",
        "-ra",
        "-rA",
        "--color=yes",
        "--color=no",
        "--tb=short",
        "--tb=long",
    ];
    let number = ["--maxfail=", "--durations=", "-n"].iter();
    EXACT.contains(&option)
        || number.filter_map(|prefix| option.strip_prefix(prefix)).any(is_number)
}
