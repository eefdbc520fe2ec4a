//! The safety floor: escalation that no setting lifts (DECISIONS 6; seed 003, command injection override).
//!
//! It looks at paths here; what it looks at in commands comes as findings from the shell analysis.

use openoxide_protocol::{AbsPath, Word, Words, steering_files::is_protected_path};

/// Says whether a path usually holds secrets: reading it asks, unless a rule names this very path.
#[must_use]
pub fn is_secret(path: &AbsPath) -> bool {
    let mut components = path.as_str().split('/').filter(|component| !component.is_empty());
    let Some(name) = components.next_back() else { return false };
    if is_example(name) {
        return false;
    }
    secret_name(name)
        || pairs(path).any(|pair| SECRET_PLACES.iter().any(|place| place.holds(&pair)))
}

/// Says whether a directory is one that usually has secrets among other things in it, such as `~/.config`.
#[must_use]
pub fn holds_secrets(path: &AbsPath) -> bool {
    let holds = |name: &str| SECRET_PLACES.iter().any(|place| name.eq_ignore_ascii_case(place.0));
    path.name().is_some_and(|name| name.starts_with('.') && holds(name))
}

/// Says whether a path steers shells, tools, agents or this program: changing it asks, in every mode.
#[must_use]
pub fn is_protected(path: &AbsPath) -> bool {
    is_protected_path(path)
}

/// Returns the places below a home, and those of the system, where secrets usually lie.
pub(crate) fn secrets(home: &AbsPath) -> Vec<AbsPath> {
    const ELSEWHERE: &[&str] = &[
        ".local/share/keyrings",
        ".local/share/opencode/auth.json",
        ".local/state/openoxide",
        "Library/Keychains",
        "/etc/gshadow",
        "/etc/krb5.keytab",
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/sudoers",
    ];
    let names = SECRET_NAMES.iter().filter(|name| name.starts_with(['.', '_']));
    names.chain(ELSEWHERE).map(|name| home.join(name)).chain(places(home, SECRET_PLACES)).collect()
}

fn places(home: &AbsPath, places: &'static [Place]) -> impl Iterator<Item = AbsPath> {
    let dotted = places.iter().filter(|place| place.0.starts_with('.'));
    dotted.map(|Place(directory, name)| home.join(directory).join(name.unwrap_or_default()))
}

/// Two neighbouring components of a path, or the last one and nothing.
type Pair<'a> = (&'a str, Option<&'a str>);

fn pairs(path: &AbsPath) -> impl Iterator<Item = Pair<'_>> {
    let components = path.as_str().split('/').filter(|component| !component.is_empty());
    let next = components.clone().skip(1).map(Some).chain([None]);
    components.zip(next)
}

/// A directory, and a file or directory in it; anything in it when none is named.
struct Place(&'static str, Option<&'static str>);

impl Place {
    fn holds(&self, (directory, next): &Pair<'_>) -> bool {
        directory.eq_ignore_ascii_case(self.0)
            && match (self.1, next) {
                (None, _) => true,
                (Some(wanted), Some(next)) => next.eq_ignore_ascii_case(wanted),
                (Some(_), None) => false,
            }
    }
}

/// Files that only look like secrets.
fn is_example(name: &str) -> bool {
    const ENDINGS: &[&str] = &[".example", ".sample", ".template", ".dist", ".pub"];
    ENDINGS.iter().any(|ending| ends(name, ending))
}

fn ends(name: &str, ending: &str) -> bool {
    name.len()
        .checked_sub(ending.len())
        .and_then(|at| name.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
}

fn begins(name: &str, beginning: &str) -> bool {
    name.get(..beginning.len()).is_some_and(|head| head.eq_ignore_ascii_case(beginning))
}

fn secret_name(name: &str) -> bool {
    SECRET_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
        || SECRET_ENDINGS.iter().any(|ending| ends(name, ending))
        || begins(name, ".env.")
        || begins(name, "firebase-adminsdk")
        || (begins(name, "id_") && SECRET_KEYS.iter().any(|key| ends(name, key)))
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
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "service_account.json",
    "shadow",
    "terraform.tfstate",
    "wallet.dat",
    "wp-config.php",
];

const SECRET_ENDINGS: &[&str] = &[
    ".env",
    ".jks",
    ".kdbx",
    ".key",
    ".keychain",
    ".keystore",
    ".p12",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfvars",
];

const SECRET_PLACES: &[Place] = &[
    Place(".aws", None),
    Place(".azure", None),
    Place(".cargo", Some("credentials")),
    Place(".cargo", Some("credentials.toml")),
    Place(".claude", Some(".credentials.json")),
    Place(".codex", Some("auth.json")),
    Place(".config", Some("gcloud")),
    Place(".config", Some("gh")),
    Place(".config", Some("google-chrome")),
    Place(".docker", Some("config.json")),
    Place(".gem", Some("credentials")),
    Place(".gnupg", None),
    Place(".kube", None),
    Place(".mozilla", None),
    Place(".password-store", None),
    Place(".ssh", None),
    Place("keyrings", None),
    Place("opencode", Some("auth.json")),
    Place(".config", Some("chromium")),
    Place(".config", Some("BraveSoftware")),
    Place(".config", Some("op")),
    Place(".config", Some("hub")),
    Place(".config", Some("rclone")),
    Place(".config", Some("sops")),
    Place(".gemini", Some("oauth_creds.json")),
    Place(".local", Some("keyrings")),
    Place(".aider", None),
    Place(".terraform.d", Some("credentials.tfrc.json")),
    Place(".oci", None),
    Place(".doctl", None),
    Place("1Password", None),
    Place("Keychains", None),
    Place("etc", Some("shadow-")),
    Place("etc", Some("sudoers")),
    Place("etc", Some("krb5.keytab")),
    // The key that proves grants, and what was asked, before it is redacted.
    Place("state", Some("openoxide")),
];

/// What this program does for everybody: it looks, or judges anew.
const LOOKS: &[&str] = &[
    "audit",
    "check",
    "completions",
    "config",
    "doctor",
    "explain",
    "help",
    "hook",
    "man",
    "pending",
    "run",
    "schema",
];
/// The same of `rules`.
const RULES_LOOKS: &[&str] = &["convert", "diff", "export", "lint", "list", "test"];
/// The same of `sandbox`: its other verbs start a program that nobody has judged.
const SANDBOX_LOOKS: &[&str] = &["status"];
/// With these `run` judges by a policy of the caller's own, or holds less than the policy wants.
const LOOSENS: &[&str] =
    &["--policy", "--mode", "--allow", "--add-dir", "--sandbox", "--env", "--session"];

/// Says whether a command could answer in a person's place: it starts this very program for more than to look.
#[must_use]
pub fn answers_for_a_person(argv: &Words) -> bool {
    let name = argv.known(0).and_then(|name| name.rsplit('/').next());
    if name != Some("openoxide") {
        return false;
    }
    let words = || argv.iter().skip(1);
    let is_option = |word: &Word<'_>| matches!(word, Word::Known(text) if text.starts_with('-'));
    let verb = words().find(|word| !is_option(word));
    let second = |known: &[&str]| {
        let mut named = words().filter(|word| !is_option(word)).skip(1);
        matches!(named.next(), Some(Word::Known(verb)) if known.contains(&verb))
    };
    let looks = match verb {
        Some(Word::Known("rules")) => second(RULES_LOOKS),
        Some(Word::Known("sandbox")) => second(SANDBOX_LOOKS),
        Some(Word::Known(verb)) => LOOKS.contains(&verb),
        Some(_) => false,
        None => true,
    };
    let loosens = |word| match word {
        Word::Known(text) => LOOSENS.iter().any(|option| text.starts_with(option)),
        Word::Begins(_) | Word::Many => true,
    };
    !looks || verb == Some(Word::Known("run")) && words().any(loosens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_cannot_answer_for_a_person() {
        let words = |text: &str| -> Words { text.split(' ').collect() };
        for own in [
            "openoxide trust",
            "/usr/bin/openoxide approve 7",
            "openoxide --color never deny 7",
            "openoxide grants revoke",
            "openoxide rules add x",
            "openoxide rules add allow Bash --reason list",
            "openoxide rules remove list",
            "openoxide rules import --write x",
            "openoxide rules fmt",
            "openoxide run --mode bypass_permissions -c x",
            "openoxide run --allow=Bash -c x",
            "openoxide run --sandbox off -- make",
            "openoxide run --sandbox=off -c x",
            "openoxide run --env TOKEN -- make",
            "openoxide sandbox",
            "openoxide sandbox run -- make",
            "openoxide sandbox run --root / --net on -- status",
            "openoxide --no-input sandbox supervise 3 4",
        ] {
            assert!(answers_for_a_person(&words(own)), "{own}");
        }
        for other in [
            "openoxide",
            "openoxide --version",
            "openoxide check -c x",
            "openoxide rules list",
            "openoxide rules lint --json x.toml",
            "openoxide run -c x",
            "openoxide sandbox status --json",
            "git trust",
        ] {
            assert!(!answers_for_a_person(&words(other)), "{other}");
        }
        let mut unknown = words("openoxide");
        unknown.push_many();
        assert!(answers_for_a_person(&unknown));
    }

    fn check(is: fn(&AbsPath) -> bool, yes: &[&str], no: &[&str]) {
        for path in yes {
            assert!(is(&AbsPath::new(path).unwrap()), "{path}");
        }
        for path in no {
            assert!(!is(&AbsPath::new(path).unwrap()), "{path}");
        }
    }

    #[test]
    fn secrets_are_known_wherever_they_lie() {
        check(
            is_secret,
            &[
                "/p/.env",
                "/p/.env.production",
                "/p/.ENV",
                "/p/prod.env",
                "/h/.local/state/openoxide/key",
                "/h/.ssh/id_ed25519",
                "/x/id_rsa",
                "/h/.aws/credentials",
                "/p/server.key",
                "/etc/shadow",
                "/h/.docker/config.json",
                "/h/.ssh",
            ],
            &[
                "/p/.env.example",
                "/p/src/env.rs",
                "/h/.docker/x",
                "/p/id_rsa.pub",
                "/",
                "/p/keys.md",
            ],
        );
    }

    #[test]
    fn what_steers_shells_tools_and_agents_is_protected() {
        check(
            is_protected,
            &[
                "/h/.bashrc",
                "/h/.zshrc",
                "/p/.git/hooks/pre-commit",
                "/p/sub/.GIT/config",
                "/p/.openoxide/policy.toml",
                "/p/.claude/settings.json",
                "/p/.mcp.json",
                "/h/.config/openoxide/policy.toml",
                "/h/.cache/openoxide/policy-1.bin",
                "/h/.local/state/openoxide/audit/journal.ndjson",
                "/etc/sudoers.d/x",
                "/p/.github/workflows/x.yml",
                "/p/CLAUDE.md",
                "/",
            ],
            &["/p/src/main.rs", "/p/.gitignore", "/p/git/x", "/p/.github/FUNDING.yml"],
        );
    }
}
