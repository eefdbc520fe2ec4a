//! Files that usually contain secrets. The safety floor and the sandbox use the same table: the
//! safety floor asks before such a file is read, and the sandbox hides it.

mod known_secret_files;

use std::sync::OnceLock;

use openoxide_protocol::AbsPath;

use self::known_secret_files::KNOWN_SECRET_FILES;
pub use self::known_secret_files::SecretFile;
use crate::HomeDirectories;

/// Returns all entries of the table.
#[must_use]
pub const fn all_secret_files() -> &'static [SecretFile] {
    KNOWN_SECRET_FILES
}

/// Returns the paths to hide from a program that this user starts: the paths in the table, and
/// files in the home directories whose names indicate secrets. The files that belong to `program`,
/// the name of the program, are left out.
#[must_use]
pub fn hidden_secret_paths(user: &HomeDirectories, program: Option<&str>) -> Vec<AbsPath> {
    let owns = |place: &SecretFile| program.is_some_and(|name| place.programs.contains(&name));
    let hidden = KNOWN_SECRET_FILES.iter().filter(|place| !owns(place));
    let places = hidden.flat_map(|place| match place.path.strip_prefix('/') {
        Some(path) => vec![AbsPath::root().join(path)],
        None => user.resolve_relative(place.path),
    });
    let dotted = SECRET_NAMES.iter().filter(|name| name.starts_with(['.', '_']));
    let named = dotted.flat_map(|name| user.resolve_relative(name));
    places.chain(named).collect()
}

/// Returns the files that belong to this program.
#[must_use]
pub fn program_secret_paths(user: &HomeDirectories, program: &str) -> Vec<AbsPath> {
    let own = KNOWN_SECRET_FILES.iter().filter(|place| place.programs.contains(&program));
    own.flat_map(|place| user.resolve_relative(place.path)).collect()
}

/// Returns whether a path usually contains secrets. Reading it asks, unless a rule names exactly
/// this path.
#[must_use]
pub fn is_secret(path: &AbsPath) -> bool {
    let mut components = path.as_str().split('/').filter(|component| !component.is_empty());
    let Some(name) = components.next_back() else { return false };
    if is_example(name) {
        return false;
    }
    is_secret_name(name)
        || is_secret_name(without_backup_endings(name))
        || is_below_secret_file(path)
}

/// Returns whether a directory usually contains secrets among other files, such as `~/.config`.
#[must_use]
pub fn contains_secrets(path: &AbsPath) -> bool {
    path.file_name()
        .is_some_and(|name| MIXED_DIRECTORIES.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Returns whether the path is in the table or below a path in it. A path relative to home is
/// searched below every directory, because a path alone does not show whether a directory is a home
/// directory. In the root of a container or of another system, the same path contains the same
/// secrets.
fn is_below_secret_file(path: &AbsPath) -> bool {
    let index = SecretFileIndex::get_or_init();
    let mut rest = path.as_str().trim_start_matches('/');
    loop {
        if index.candidates(rest).iter().any(|place| starts_with_path(rest, place)) {
            return true;
        }
        match rest.split_once('/') {
            Some((_, next)) => rest = next.trim_start_matches('/'),
            None => return false,
        }
    }
}

/// The entries by their first letter. A scan asks about every file of a project, and few names have
/// the same first letter as an entry.
struct SecretFileIndex(Vec<Vec<&'static str>>);

impl SecretFileIndex {
    fn get_or_init() -> &'static Self {
        static INDEX: OnceLock<SecretFileIndex> = OnceLock::new();
        INDEX.get_or_init(|| {
            let mut by_first_letter = vec![Vec::new(); 256];
            let anywhere = KNOWN_SECRET_FILES.iter().filter(|place| !place.in_home_only);
            let places = anywhere.map(|place| place.path.trim_start_matches('/'));
            for place in places.chain(SECRET_PATH_ENDINGS.iter().copied()) {
                if let Some(bucket) = by_first_letter.get_mut(first_letter(place)) {
                    bucket.push(place);
                }
            }
            Self(by_first_letter)
        })
    }

    /// Returns the entries that a path with this first letter can match.
    fn candidates(&self, path: &str) -> &[&'static str] {
        self.0.get(first_letter(path)).map_or(&[], Vec::as_slice)
    }
}

fn first_letter(path: &str) -> usize {
    path.bytes().next().unwrap_or_default().to_ascii_lowercase().into()
}

/// Returns whether the path starts with the components of this entry. Case is ignored, as on some
/// file systems.
fn starts_with_path(path: &str, place: &str) -> bool {
    let head = path.get(..place.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(place))
        && path.as_bytes().get(place.len()).is_none_or(|next| *next == b'/')
}

/// Returns whether a file only looks like a secret.
fn is_example(name: &str) -> bool {
    const ENDINGS: &[&str] = &[".example", ".sample", ".template", ".dist", ".pub"];
    ENDINGS.iter().any(|ending| ends_with_ignore_case(name, ending))
}

fn ends_with_ignore_case(name: &str, ending: &str) -> bool {
    name.len()
        .checked_sub(ending.len())
        .and_then(|at| name.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
}

fn starts_with_ignore_case(name: &str, beginning: &str) -> bool {
    name.get(..beginning.len()).is_some_and(|head| head.eq_ignore_ascii_case(beginning))
}

/// Returns the name of the file that a copy is made of: `id_rsa.bak`, `.env~`.
fn without_backup_endings(mut name: &str) -> &str {
    const ENDINGS: &[&str] = &["~", ".backup", ".bak", ".old", ".orig", ".save"];
    while let Some(ending) = ENDINGS.iter().find(|ending| ends_with_ignore_case(name, ending)) {
        name = name.get(..name.len() - ending.len()).unwrap_or_default();
    }
    name
}

fn is_secret_name(name: &str) -> bool {
    SECRET_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
        || SECRET_ENDINGS.iter().any(|ending| ends_with_ignore_case(name, ending))
        || starts_with_ignore_case(name, ".env.")
        || (starts_with_ignore_case(name, "ssh_host_") && ends_with_ignore_case(name, "_key"))
        || starts_with_ignore_case(name, "firebase-adminsdk")
        || (starts_with_ignore_case(name, "client_secret") && ends_with_ignore_case(name, ".json"))
        || (starts_with_ignore_case(name, "id_")
            && SECRET_KEYS.iter().any(|key| ends_with_ignore_case(name, key)))
}

/// OpenSSH's default key files (ssh(1)).
const SECRET_KEYS: &[&str] =
    &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"];

const SECRET_NAMES: &[&str] = &[
    ".bash_history",
    ".boto",
    ".dev.vars",
    ".dockercfg",
    ".dockerconfigjson",
    ".env",
    ".envrc",
    ".ftpconfig",
    ".git-credentials",
    ".htpasswd",
    ".irb_history",
    ".lesshst",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".rediscli_history",
    ".s3cfg",
    ".secrets",
    ".secrets.toml",
    ".sqlite_history",
    ".terraformrc",
    ".vault-token",
    ".viminfo",
    ".zsh_history",
    "Login Data",
    "_netrc",
    "auth.json",
    "client_secret.json",
    "cookies.sqlite",
    "credentials.csv",
    "credentials.json",
    "deploy_key",
    "gcp-key.json",
    "gshadow",
    "key4.db",
    "kubeconfig",
    "local.settings.json",
    "login.keychain-db",
    "logins.json",
    "master.key",
    "rclone.conf",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "service_account.json",
    "serviceAccountKey.json",
    "sftp-config.json",
    "shadow",
    "terraform.tfstate",
    "wallet.dat",
    "wp-config.php",
];

const SECRET_ENDINGS: &[&str] = &[
    ".env",
    ".jks",
    ".jwk",
    ".kdbx",
    ".key",
    ".keychain",
    ".keystore",
    ".ovpn",
    ".p12",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfvars",
];

/// Directories in a home directory that contain secrets among other files. Caches are not in this
/// list, because their secrets are hidden individually.
const MIXED_DIRECTORIES: &[&str] = &[
    ".cargo",
    ".claude",
    ".codex",
    ".config",
    ".docker",
    ".gem",
    ".gemini",
    ".local",
    ".terraform.d",
];

/// Directories and files that contain secrets at any location.
const SECRET_PATH_ENDINGS: &[&str] = &[
    ".envs/.production",
    ".vscode/sftp.json",
    "1Password",
    "Keychains",
    "keyrings",
    "opencode/auth.json",
    "state/openoxide",
];

#[cfg(test)]
mod tests;
