//! The environment variables that affect the shell or programs.

/// Returns whether assigning `name` changes which programs run, or what they do.
pub(crate) fn is_program_variable(name: &str) -> bool {
    affects_programs(name) && !is_build_variable(name)
}

/// Returns whether a variable only selects the target of a build, or the buffering and plugins of
/// an interpreter. Its value is a word or a number, and is never the name of a file.
///
/// Sources: `go help environment`, `python3 --help-env`, the manual of pytest. A value that the tool
/// does not know is an error, or has no effect.
fn is_build_variable(name: &str) -> bool {
    matches!(
        name,
        "GOOS"
            | "GOARCH"
            | "GO111MODULE"
            | "CGO_ENABLED"
            | "PYTHONDONTWRITEBYTECODE"
            | "PYTHONUNBUFFERED"
            | "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    )
}

fn affects_programs(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "LD_",
        "DYLD_",
        "GIT_",
        "CARGO_BUILD_",
        "CARGO_TARGET_",
        "CARGO_PROFILE_",
        "PYTHON",
        "PERL5",
        "RUBY",
        "BASH_",
        "NPM_CONFIG_",
        "npm_config_",
        "RUSTUP_",
        "BUNDLE_",
        "COREPACK_",
        "COMPOSER_",
        "DOTNET_",
        "ERL_",
        "GNUPG",
        "GOPR",
        "GRADLE_",
        "GUILE_",
        "JULIA_",
        "LUA_",
        "MAGICK_",
        "MAVEN_",
        "NIX_",
        "OPENSSL_",
        "PIP_",
        "PKG_CONFIG",
        "POETRY_",
        "QT_",
        "R_",
        "RSYNC_",
        "SSH_",
        "TEXMF",
        "UV_",
        "XDG_",
        "YARN_",
    ];
    matches!(
        name,
        "PATH"
            | "ENV"
            | "IFS"
            | "SHELLOPTS"
            | "BASHOPTS"
            | "PS4"
            | "PS0"
            | "PROMPT_COMMAND"
            | "PAGER"
            | "EDITOR"
            | "VISUAL"
            | "BROWSER"
            | "NODE_OPTIONS"
            | "NODE_PATH"
            | "LESSOPEN"
            | "LESSCLOSE"
            | "POSIXLY_CORRECT"
            | "EXECIGNORE"
            | "GLOBIGNORE"
            | "CDPATH"
            | "SHELL"
            | "TERMINFO"
            | "TERMCAP"
            | "LOCPATH"
            | "NLSPATH"
            | "GCONV_PATH"
            | "HOSTALIASES"
            | "JAVA_TOOL_OPTIONS"
            | "_JAVA_OPTIONS"
            | "CLASSPATH"
            | "RUSTC_WRAPPER"
            | "RUSTC"
            | "CARGO_HOME"
            | "RUSTFLAGS"
            | "GOFLAGS"
            | "MAKEFLAGS"
            | "MAKEFILES"
            | "CC"
            | "CXX"
            | "LESS"
            | "MANOPT"
            | "MORE"
            | "TAR_OPTIONS"
            | "RIPGREP_CONFIG_PATH"
            | "FZF_DEFAULT_COMMAND"
            | "KUBECONFIG"
            | "PYTEST_ADDOPTS"
            | "PYTEST_PLUGINS"
            | "DJANGO_SETTINGS_MODULE"
            | "GRADLE_OPTS"
            | "MAVEN_OPTS"
            | "CFLAGS"
            | "CXXFLAGS"
            | "LDFLAGS"
            | "DOCKER_HOST"
            | "HOME"
            | "JAVA_HOME"
            | "JDK_HOME"
            | "JRE_HOME"
            | "JAVACMD"
            | "JAVA_OPTS"
            | "M2_HOME"
            | "ANT_HOME"
            | "ANT_OPTS"
            | "SBT_OPTS"
            | "JDK_JAVA_OPTIONS"
            | "PERLLIB"
            | "EXIFTOOL_HOME"
            | "GOPATH"
            | "GOROOT"
            | "GOENV"
            | "GOBIN"
            | "GOTOOLCHAIN"
            | "GEM_HOME"
            | "GEM_PATH"
            | "NVM_DIR"
            | "PNPM_HOME"
            | "VIRTUAL_ENV"
            | "ELIXIR_ERL_OPTIONS"
            | "TCLLIBPATH"
            | "PHPRC"
            | "PHP_INI_SCAN_DIR"
            | "VIMINIT"
            | "EXINIT"
            | "VIM"
            | "VIMRUNTIME"
            | "INPUTRC"
            | "MANPATH"
            | "MANROFFOPT"
            | "TEXINPUTS"
            | "GCC_EXEC_PREFIX"
            | "COMPILER_PATH"
            | "FZF_DEFAULT_OPTS"
            | "FZF_DEFAULT_OPTS_FILE"
            | "BAT_CONFIG_PATH"
            | "WGETRC"
            | "CURL_HOME"
            | "PSQLRC"
            | "SCREENRC"
            | "GLIBC_TUNABLES"
            | "http_proxy"
            | "https_proxy"
            | "HTTP_PROXY"
            | "HTTPS_PROXY"
            | "ALL_PROXY"
            | "all_proxy"
    ) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with("_PAGER")
        || name.ends_with("_EDITOR")
        || name.ends_with("_ASKPASS")
}

/// Returns whether a shell that starts with `name` set runs code that the value determines, or
/// reads scripts in another way.
pub(crate) fn is_shell_startup_variable(name: &str) -> bool {
    matches!(
        name,
        "BASH_ENV" | "ENV" | "POSIXLY_CORRECT" | "BASH_COMPAT" | "BASHOPTS" | "SHELLOPTS"
    ) || name.starts_with("BASH_FUNC_")
}

/// Returns whether a shell that starts takes the value of `name` as the path of its working
/// directory.
pub(super) fn names_place(name: &str) -> bool {
    name == "PWD"
}

/// Returns whether the value of `name` is the name of a locale or of a time zone.
pub(super) fn names_locale(name: &str) -> bool {
    matches!(name, "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_")
}

/// Returns whether `value` names a locale or a time zone that leaves programs unchanged.
///
/// A value with a path selects files outside of the system directories. gettext reads translations
/// from `$LANGUAGE/LC_MESSAGES`, and programs use them as formats of `printf`. bash expands the
/// translation of `$"…"`.
pub(super) fn is_harmless_locale(name: &str, value: &str) -> bool {
    match name {
        "LANG" | "LC_ALL" | "LC_CTYPE" => is_ascii_compatible_locale(value),
        "TZ" => !value.starts_with(['/', ':']) && !value.contains(".."),
        _ => !value.contains('/'),
    }
}

/// Returns whether each ASCII byte is a separate character in this locale. In GBK and similar
/// encodings, a backslash or a quote can be the second byte of a character.
#[must_use]
pub fn is_ascii_compatible_locale(locale: &str) -> bool {
    let charset = locale.split_once('.').map(|(_, charset)| charset);
    let utf8 = charset.is_some_and(|charset| {
        ["utf-8", "utf8"].iter().any(|utf8| charset.eq_ignore_ascii_case(utf8))
    });
    matches!(locale, "" | "C" | "POSIX") || utf8 && !locale.contains('/')
}

/// Returns whether a program does the same with and without `name` in its environment, as far as it
/// matters to rules.
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    is_build_variable(name)
        || matches!(
            name,
            "CI" | "NODE_ENV"
                | "RUST_LOG"
                | "RUST_BACKTRACE"
                | "RUST_TEST_THREADS"
                | "LANG"
                | "LANGUAGE"
                | "LC_ALL"
                | "LC_CTYPE"
                | "LC_COLLATE"
                | "LC_MESSAGES"
                | "LC_NUMERIC"
                | "LC_TIME"
                | "TZ"
                | "NO_COLOR"
                | "FORCE_COLOR"
                | "CLICOLOR"
                | "CLICOLOR_FORCE"
                | "TERM"
                | "COLUMNS"
                | "LINES"
                | "DEBIAN_FRONTEND"
                | "DEBUG"
                | "VERBOSE"
                | "CARGO_TERM_COLOR"
                | "COLORTERM"
        )
}

/// Returns whether an assignment only disables a pager or a prompt.
pub(super) fn is_disabling_assignment(name: &str, value: &str) -> bool {
    match name {
        "PAGER" | "GIT_PAGER" | "MANPAGER" | "GH_PAGER" | "AWS_PAGER" | "SYSTEMD_PAGER" => {
            matches!(value, "" | "cat")
        }
        "GIT_TERMINAL_PROMPT" | "GIT_OPTIONAL_LOCKS" => matches!(value, "0" | "1"),
        _ => false,
    }
}

/// Returns whether the shell evaluates the value that is assigned to `name` as an expression
/// (`variables.c`: the integer variables).
pub(super) fn is_integer_variable(name: &str) -> bool {
    matches!(
        name,
        "RANDOM"
            | "SRANDOM"
            | "SECONDS"
            | "HISTCMD"
            | "BASHPID"
            | "OPTIND"
            | "LINENO"
            | "EPOCHSECONDS"
            | "EPOCHREALTIME"
            | "BASH_SUBSHELL"
            | "BASH_MONOSECONDS"
            | "PPID"
            | "UID"
            | "EUID"
            | "GROUPS"
            | "SHLVL"
            | "OPTERR"
            | "HISTSIZE"
            | "HISTFILESIZE"
            | "TMOUT"
            | "FUNCNEST"
            | "COMP_CWORD"
            | "COMP_POINT"
    )
}

/// Returns whether the shell itself assigns text of the script, of its arguments or of file names
/// to `name`.
pub(super) fn may_hold_script_text(name: &str) -> bool {
    matches!(name, "_" | "OLDPWD" | "DIRSTACK" | "FUNCNAME" | "REPLY" | "OPTARG" | "MAPFILE")
        || name.starts_with("BASH_")
        || name.starts_with("COMP_")
        || name.starts_with("COPROC")
        || name.starts_with("READLINE_")
}

/// Returns whether `name` is an array of the shell.
pub(super) fn is_shell_array(name: &str) -> bool {
    matches!(name, "DIRSTACK" | "FUNCNAME" | "GROUPS" | "MAPFILE" | "PIPESTATUS")
        || name.starts_with("BASH_")
        || name.starts_with("COMP")
        || name.starts_with("COPROC")
}

/// Returns whether the shell gives `name` its own values or a meaning, so that the value differs
/// from the assigned one.
pub(super) fn is_shell_variable(name: &str) -> bool {
    name.starts_with("BASH")
        || name.starts_with("COMP_")
        || name.starts_with("EPOCH")
        || name.starts_with("HIST")
        || name.starts_with("OPT")
        || matches!(
            name,
            "RANDOM"
                | "SRANDOM"
                | "SECONDS"
                | "LINENO"
                | "DIRSTACK"
                | "FUNCNAME"
                | "GROUPS"
                | "PIPESTATUS"
                | "UID"
                | "EUID"
                | "PPID"
                | "SHELLOPTS"
                | "PWD"
                | "OLDPWD"
                | "IFS"
                | "_"
                | "COLUMNS"
                | "LINES"
                | "REPLY"
                | "MAPFILE"
                | "SHLVL"
                | "HOSTNAME"
                | "HOSTTYPE"
                | "OSTYPE"
                | "MACHTYPE"
                | "COPROC"
                | "HOME"
                | "PATH"
                | "TMOUT"
                | "READLINE_LINE"
        )
}

/// Returns whether the shell itself keeps a number in `name`.
pub(super) fn is_shell_number(name: &str) -> bool {
    matches!(
        name,
        "#" | "?"
            | "$"
            | "RANDOM"
            | "SRANDOM"
            | "SECONDS"
            | "LINENO"
            | "EPOCHSECONDS"
            | "UID"
            | "EUID"
            | "PPID"
            | "BASHPID"
            | "SHLVL"
    )
}

/// Returns whether a variable may have a value from the environment that the script is started in.
///
/// Names with lowercase letters are names of scripts, except for a few that programs use. The shell
/// sets the others itself when it starts.
pub(super) fn may_be_inherited(name: &str) -> bool {
    let of_programs = name.starts_with("npm_") || name.contains("proxy") || name == "container";
    let of_shell = matches!(
        name,
        "OPTIND" | "OPTERR" | "HISTCMD" | "EPOCHREALTIME" | "PIPESTATUS" | "!" | "@" | "*"
    );
    let is_script_name = name.contains(|letter: char| letter.is_ascii_lowercase());
    let is_argument = name != "0" && name.bytes().all(|byte| byte.is_ascii_digit());
    of_programs || !of_shell && !is_script_name && !is_argument
}

/// Returns whether the name of a variable suggests that it contains a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    const PARTS: &[&str] = &[
        "APIKEY",
        "API_KEY",
        "AUTH",
        "CREDENTIAL",
        "DATABASE_URL",
        "PASSPHRASE",
        "PASSWD",
        "PASSWORD",
        "PRIVATE_KEY",
        "SECRET",
        "TOKEN",
        "ACCESS_KEY",
    ];
    let name = name.to_ascii_uppercase();
    PARTS.iter().any(|part| name.contains(part)) && name != "SSH_AUTH_SOCK"
}
