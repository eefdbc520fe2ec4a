//! The environment variables that name a host that a program contacts, or a file that it reads.
//!
//! An assignment to such a variable has the effect of the option that it replaces:
//! `DOCKER_HOST=tcp://h docker ps` is `docker -H tcp://h ps`.
//!
//! In the tables, a name that ends in `*` matches all names with that beginning, and each group of
//! names follows its documentation. Letters match in both cases, because the names of proxies and
//! of settings of npm may have lowercase letters.

use openoxide_protocol::{CommandClass, CommandWord};

use crate::programs::{
    ArgumentWord, ArgvRef, CommandEffect, CommandMeaning, EffectTarget, address_in,
};

/// The variables that name hosts or URLs, separated by commas, semicolons, bars or blanks.
const HOSTS: &[&str] = &[
    // docker: CLI reference; podman(1); buildctl
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "BUILDKIT_HOST",
    // gh help environment; glab: README
    "GH_HOST",
    "GITLAB_HOST",
    "GITLAB_URI",
    "GL_HOST",
    // curl(1), wget(1), lynx(1): environment; rsync(1)
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "SOCKS_PROXY",
    "SOCKS5_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "RSYNC_PROXY",
    // cargo: environment variables; rustup: environment variables
    "CARGO_HTTP_PROXY",
    "CARGO_REGISTRIES_*",
    "RUSTUP_DIST_SERVER",
    "RUSTUP_UPDATE_ROOT",
    // pip: configuration; uv: environment variables; conda: configuration
    "PIP_PROXY",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_PYTHON_INSTALL_MIRROR",
    "CONDA_CHANNEL_ALIAS",
    "HF_ENDPOINT",
    // npm: config; yarn: configuration; corepack, nvm, electron, puppeteer, playwright: README
    "NPM_CONFIG_REGISTRY",
    "NPM_CONFIG_PROXY",
    "NPM_CONFIG_HTTP_PROXY",
    "NPM_CONFIG_HTTPS_PROXY",
    "NPM_CONFIG_DISTURL",
    "YARN_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "COREPACK_NPM_REGISTRY",
    "NVM_NODEJS_ORG_MIRROR",
    "NODEJS_ORG_MIRROR",
    "ELECTRON_MIRROR",
    "PUPPETEER_DOWNLOAD_BASE_URL",
    "PUPPETEER_DOWNLOAD_HOST",
    "PLAYWRIGHT_DOWNLOAD_HOST",
    "CYPRESS_DOWNLOAD_MIRROR",
    "JSR_URL",
    // go help goproxy; gem(1); bundle-config(1); brew(1)
    "GOPROXY",
    "RUBYGEMS_HOST",
    "BUNDLE_MIRROR__*",
    "HOMEBREW_API_DOMAIN",
    "HOMEBREW_BOTTLE_DOMAIN",
    // psql: libpq environment; mysql: environment
    "PGHOST",
    "PGHOSTADDR",
    "MYSQL_HOST",
    // aws, gcloud, mc, vault, consul, nomad, etcdctl, argocd, helm, pulumi: references
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_*",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_*",
    "CLOUDSDK_PROXY_ADDRESS",
    "MC_HOST_*",
    "VAULT_ADDR",
    "VAULT_AGENT_ADDR",
    "CONSUL_HTTP_ADDR",
    "NOMAD_ADDR",
    "ETCDCTL_ENDPOINTS",
    "ARGOCD_SERVER",
    "KUBERNETES_MASTER",
    "HELM_KUBEAPISERVER",
    "PULUMI_BACKEND_URL",
    "TF_HTTP_ADDRESS",
    // Claude Code, openai, ollama, sentry-cli, influx: references
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OLLAMA_HOST",
    "SENTRY_URL",
    "INFLUX_HOST",
];

/// The variables that name a file or directory.
const FILES: &[&str] = &[
    // git(1): environment variables
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    // docker, gh, aws, gcloud, az, terraform, ansible: references
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "TF_CLI_CONFIG_FILE",
    "ANSIBLE_CONFIG",
    "ANSIBLE_INVENTORY",
    "ANSIBLE_VAULT_PASSWORD_FILE",
    "SOPS_AGE_KEY_FILE",
    // python3 --help-env; pip: configuration; uv: environment variables; pylint; coverage
    "PYTHONSTARTUP",
    "PIP_CONFIG_FILE",
    "PIP_REQUIREMENT",
    "PIP_CONSTRAINT",
    "UV_CONFIG_FILE",
    "UV_ENV_FILE",
    // GNU Make manual: The Variable MAKEFILES
    "MAKEFILES",
    "PYLINTRC",
    "COVERAGE_RCFILE",
    // npm: config; bundle-config(1); gem(1); R: Startup; dotenv: README
    "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_GLOBALCONFIG",
    "BUNDLE_GEMFILE",
    "BUNDLE_CONFIG",
    "GEMRC",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "DOTENV_CONFIG_PATH",
    // psql: libpq environment; rg(1); wget(1); bash(1); fzf(1); bat(1)
    "PGPASSFILE",
    "PGSERVICEFILE",
    "PSQLRC",
    "RIPGREP_CONFIG_PATH",
    "WGETRC",
    "INPUTRC",
    "BASH_ENV",
    "FZF_DEFAULT_OPTS_FILE",
    "BAT_CONFIG_PATH",
];

/// The variables that name files, separated by colons.
const FILE_LISTS: &[&str] = &[
    // git(1): environment variables; kubectl: kubeconfig; docker compose: environment
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "KUBECONFIG",
    "COMPOSE_FILE",
];

/// The variables that contain options of `make`, which can contain recipes.
const MAKE_OPTIONS: &[&str] = &[
    // GNU Make manual: Communicating Options
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
];

/// The options in these variables that contain no recipe.
const PLAIN_MAKE_OPTIONS: [&str; 6] = ["-k", "-s", "k", "s", "--no-print-directory", "--silent"];

/// A variable with its value, or `None` if the value is not known.
pub(super) type AssignedVariable<'a> = (&'a str, Option<String>);

/// Adds the effects of the variables that are assigned for a command or by it.
pub(super) fn add_named_resources(
    assigned: &[AssignedVariable<'_>],
    argv: ArgvRef<'_>,
    meaning: &mut CommandMeaning,
) {
    for (name, value) in assigned {
        add_variable(name, value.as_deref(), meaning);
    }
    let program = argv.known_word(0).unwrap_or_default();
    let assigns = matches!(
        program.rsplit('/').next(),
        Some("env" | "sudo" | "doas" | "export" | "declare" | "local" | "typeset" | "readonly")
    );
    for word in argv.words.iter().skip(1).filter(|_| assigns) {
        match word {
            CommandWord::Known(text) => {
                if let Some((name, value)) = text.split_once('=') {
                    add_variable(name, Some(value), meaning);
                }
            }
            CommandWord::KnownPrefix(text) => {
                if let Some((name, _)) = text.split_once('=') {
                    add_variable(name, None, meaning);
                }
            }
            CommandWord::AnyWords => {}
        }
    }
}

fn add_variable(name: &str, value: Option<&str>, meaning: &mut CommandMeaning) {
    match value {
        Some("") => {}
        Some(value) if names_host(name) => add_hosts(value, meaning),
        None if names_host(name) => {
            meaning.add_host(ArgumentWord::Many);
            let why = format!("contacts the host in `{name}`, which is not known");
            meaning.add_unknown_effect(why);
        }
        value if contains(MAKE_OPTIONS, name) && !value.is_some_and(has_plain_make_options) => {
            meaning.add_unknown_effect(format!("`{name}` can contain recipes"));
        }
        Some(value) if contains(FILES, name) => add_file(value, meaning),
        Some(value) if contains(FILE_LISTS, name) => {
            value.split(':').for_each(|file| add_file(file, meaning));
        }
        _ => {}
    }
}

fn has_plain_make_options(value: &str) -> bool {
    value.split(' ').all(is_plain_make_option)
}

fn is_plain_make_option(option: &str) -> bool {
    let jobs = option.strip_prefix("-j").or_else(|| option.strip_prefix("--jobs="));
    jobs.is_some_and(|jobs| jobs.bytes().all(|byte| byte.is_ascii_digit()))
        || PLAIN_MAKE_OPTIONS.contains(&option)
}

/// Adds the hosts of the words of a command that are addresses, if what the command does with them
/// is not known: `deno run https://h/x.ts`.
pub(super) fn add_named_addresses(argv: ArgvRef<'_>, meaning: &mut CommandMeaning) {
    if meaning.class != CommandClass::Unknown {
        return;
    }
    for word in argv.words.iter().skip(1) {
        let CommandWord::Known(text) = word else { continue };
        let value = text.strip_prefix('-').and_then(|option| option.split_once('='));
        let word = value.map_or(text, |(_, value)| value);
        // The text of a program can contain an address that it does not contact.
        let Some(address) = address_in(word).filter(|found| found.len() == word.len()) else {
            continue;
        };
        let (scheme, _) = address.split_once("://").unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        let address = address.strip_prefix("git+").unwrap_or(address);
        let reach = CommandEffect::Reaches(address.to_owned());
        let is_address = SCHEMES.contains(&scheme.strip_prefix("git+").unwrap_or(&scheme));
        if is_address && !is_loopback(address) && !meaning.effects.contains(&reach) {
            meaning.effects.push(reach);
        }
    }
}

/// The schemes of addresses of hosts.
const SCHEMES: [&str; 9] = ["ftp", "ftps", "git", "http", "https", "sftp", "ssh", "ws", "wss"];

/// Returns the addresses in the value of a variable that names hosts.
pub(super) fn find_addresses(value: &str) -> Vec<String> {
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    add_hosts(value, &mut meaning);
    let addresses = meaning.effects.into_iter().filter_map(|effect| match effect {
        CommandEffect::Reaches(address) => Some(address),
        _ => None,
    });
    addresses.collect()
}

/// Returns whether a variable names hosts.
pub(super) fn names_host(variable: &str) -> bool {
    contains(HOSTS, variable)
}

fn contains(table: &[&str], name: &str) -> bool {
    table.iter().any(|row| match row.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)),
        None => name.eq_ignore_ascii_case(row),
    })
}

fn add_hosts(value: &str, meaning: &mut CommandMeaning) {
    let addresses = value.split([',', ';', '|', ' ']).filter(|address| !address.is_empty());
    for address in addresses.map(strip_transport) {
        // The first two are values of `GOPROXY`. In the sandbox, the loopback is its own, or a
        // person or a rule permits it.
        if !matches!(address, "direct" | "off") && !is_loopback(address) {
            meaning.add_host(ArgumentWord::Known(address));
        }
    }
}

/// Removes a scheme that specifies how a host is contacted, so that the rest is a host.
fn strip_transport(address: &str) -> &str {
    const TRANSPORTS: [&str; 8] = [
        "tcp://",
        "ssh://",
        "socks://",
        "socks4://",
        "socks4a://",
        "socks5://",
        "socks5h://",
        "sparse+",
    ];
    TRANSPORTS.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address)
}

fn add_file(file: &str, meaning: &mut CommandMeaning) {
    if !file.is_empty() {
        meaning.effects.push(CommandEffect::Reads(EffectTarget::File(file.to_owned())));
    }
}

/// Returns whether an address is on this machine, perhaps with a scheme and a port.
fn is_loopback(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = host.find(['/', '?', '#']).unwrap_or(host.len());
    let host = host.get(..end).unwrap_or(host);
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let host = port.map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_listed_once() {
        let mut seen = std::collections::BTreeSet::new();
        for name in [HOSTS, FILES, FILE_LISTS].concat() {
            assert!(seen.insert(name), "{name}");
            assert_eq!(name, name.to_ascii_uppercase());
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        for address in ["localhost", "http://localhost:80/x", "127.0.0.1:1", "tcp://[::1]:5"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "localhost.example",
            "localhost@h.example",
            "http://localhost:80@h.example/",
            "http://localhost\\@h.example",
            "http://h.example/localhost",
            "127.0.0.1.example",
            "http://localhost:x",
            "",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
