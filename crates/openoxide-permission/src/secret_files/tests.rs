use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

#[test]
fn secrets_are_known_in_any_directory() {
    for secret in [
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
        "/h/.config/GH/hosts.yml",
        "/h/.config/google-chrome/Default/Cookies",
        "/h/.m2/settings.xml",
        "/h/.cache/huggingface/token",
        "/srv/rootfs/etc/ssl/private/x",
        "/var/spool/cron/crontabs/root",
        "/run/secrets/kubernetes.io/serviceaccount/token",
        "/h/.config/turso/settings.json",
        "/p/terraform.tfstate.backup",
        "/p/.env~",
        "/p/id_rsa.bak",
        "/p/id_rsa.bak.old~",
        "/p/.env.sample.bak",
        "/p/client_secret_1.apps.googleusercontent.com.json",
        "/p/.vscode/sftp.json",
        "/p/.envrc",
        "/p/.secrets.toml",
        "/p/credentials.csv",
        "/p/office.ovpn",
        "/p/ssh_host_ed25519_key",
        "/h/.config/obs-studio/basic/profiles/Untitled/service.json",
        "/h/.codeium/config.json",
    ] {
        assert!(is_secret(&path(secret)), "{secret}");
    }
    for other in [
        "/p/.env.example",
        "/p/ssh_host_ed25519_key.pub",
        "/p/notes.txt",
        "/p/src/env.rs",
        "/h/.docker/x",
        "/p/id_rsa.pub",
        "/",
        "/p/keys.md",
        "/p/keys.md~",
        "/p/~",
        "/p/client_secrets.md",
        "/h/.config/ghostty/config",
        "/h/.cache/huggingface/hub/x",
        "/p/.vercel/project.json",
        "/p/m2/settings.xml",
        "/etc/ssl/certs/x.crt",
    ] {
        assert!(!is_secret(&path(other)), "{other}");
    }
}

/// An attacker read these in the sandbox: the names that the documentation of the programs gives.
#[test]
fn files_with_credentials_of_less_common_programs_are_hidden() {
    let hidden = hidden_secret_paths(&user(&path("/home/ann")), None);
    for file in [
        ".yarnrc.yml",
        ".argocd/config",
        ".tsh/keys/proxy.example/ann",
        ".ovh.conf",
        ".config/dart/pub-credentials.json",
        ".okta/okta.yaml",
        ".sbt/1.0/credentials.sbt",
        ".arcrc",
        ".config/lab/lab.toml",
        ".putty/sessions/x",
        ".ansible_vault_pass",
        ".lein/credentials.clj.gpg",
        ".jupyter/jupyter_server_config.json",
        ".hgrc",
        ".wgetrc",
        ".curlrc",
        ".config/fabric/.env",
    ] {
        let file = path("/home/ann").join(file);
        assert!(hidden.iter().any(|place| file.strip_prefix(place).is_some()), "{file}");
    }
    for other in ["/p/.yarnrc.yml", "/p/.curlrc", "/p/.wgetrc", "/p/.hgrc"] {
        assert!(!is_secret(&path(other)), "{other}");
    }
    assert!(is_secret(&path("/h/.tsh/keys/x")) && is_secret(&path("/h/.arcrc")));
}

fn user(home: &AbsPath) -> HomeDirectories {
    HomeDirectories { homes: vec![home.clone()], relocated: Vec::new() }
}

#[test]
fn secrets_of_both_homes_and_of_named_directories_are_hidden() {
    let homes = vec![path("/home/ann"), path("/srv/ann")];
    let relocated = vec![(".config", path("/etc/ann")), (".local/share", path("/data"))];
    let hidden = hidden_secret_paths(&HomeDirectories { homes, relocated }, None);
    for expected in [
        "/home/ann/.ssh",
        "/srv/ann/.ssh",
        "/srv/ann/.netrc",
        "/srv/ann/.aws",
        "/etc/ann/gh",
        "/srv/ann/.config/gh",
        "/data/heroku",
    ] {
        assert!(hidden.contains(&path(expected)), "{expected}");
    }
}

/// The safety floor asks about every path that the sandbox hides.
#[test]
fn every_hidden_path_is_a_secret() {
    let home = path("/home/ann");
    let in_home_only = |path: &AbsPath| {
        KNOWN_SECRET_FILES.iter().any(|file| file.in_home_only && home.join(file.path) == *path)
    };
    for hidden in hidden_secret_paths(&user(&home), None) {
        assert!(is_secret(&hidden) || in_home_only(&hidden), "{hidden}");
        assert!(is_secret(&hidden.join("x")) || hidden.parent() == Some(home.clone()), "{hidden}");
    }
}

#[test]
fn a_program_keeps_its_own_files_and_no_others() {
    let home = path("/home/ann");
    let settings = home.join(".m2/settings.xml");
    let hidden = |program| hidden_secret_paths(&user(&home), program);
    assert!(hidden(None).contains(&settings));
    assert!(!hidden(Some("mvn")).contains(&settings));
    assert_eq!(
        hidden(None).len() - hidden(Some("mvn")).len(),
        program_secret_paths(&user(&home), "mvn").len()
    );
    assert!(hidden(Some("mvn")).contains(&home.join(".ssh")));
    assert!(program_secret_paths(&user(&home), "cat").is_empty());
}

#[test]
fn each_place_is_in_the_table_once_and_has_a_source() {
    let mut seen = std::collections::BTreeSet::new();
    for place in all_secret_files() {
        assert!(seen.insert(place.path), "{} twice", place.path);
        assert!(!place.source.is_empty() && !place.path.ends_with('/'), "{}", place.path);
    }
}
