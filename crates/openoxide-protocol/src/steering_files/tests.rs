use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

#[test]
fn a_path_is_protected_by_its_name_or_by_its_directory() {
    for text in [
        "/h/.bashrc",
        "/p/.git/hooks/pre-commit",
        "/p/sub/.GIT/config",
        "/p/CLAUDE.md",
        "/p/.github/workflows/ci.yml",
        "/p/.github",
        "/p/x.code-workspace",
        "/h/.local/bin/git",
        "/p/docker-compose.override.yml",
    ] {
        let place = path(text);
        let by_name = place.file_name().is_some_and(may_be_steering_component);
        assert!(by_name || place.parent().is_some_and(|above| is_protected_path(&above)), "{text}");
    }
    for file in all_steering_files() {
        let names = file.components().map(|component| component.replace('*', "x"));
        assert!(
            names.into_iter().all(|name| may_be_steering_component(&name)),
            "{}",
            file.pattern()
        );
    }
    assert!(!may_be_steering_component("main.rs") && !may_be_steering_component("a"));
}

#[test]
fn protected_paths_are_found_at_any_depth_and_in_any_case() {
    for protected in [
        "/",
        "/h/.bashrc",
        "/h/.BASHRC",
        "/p/.git/hooks/pre-commit",
        "/p/sub/.GIT/config",
        "/p/.git",
        "/p/.openoxide/policy.toml",
        "/h/.config/openoxide/policy.toml",
        "/h/.cache/openoxide/policy-1.bin",
        "/h/.local/state/openoxide/audit/journal.ndjson",
        "/etc/sudoers.d/x",
        "/image/etc/passwd",
        "/p/.aider.conf.yml",
        "/p/a/CLAUDE.md",
        "/p/AGENTS.md",
        "/p/.github/workflows/ci.yml",
        // Replacing the directory replaces its content.
        "/p/.github/workflows",
        "/p/.github",
        "/h/.config",
        "/p/.hg/hgrc",
        "/p/lefthook-local.yaml",
        "/p/.kiro/steering/x.md",
        "/p/x.code-workspace",
        "/h/.config/nvim/init.lua",
        "/h/.local/bin/git",
        "/h/.kube/config",
    ] {
        assert!(is_protected_path(&path(protected)), "{protected}");
    }
    for free in [
        "/p/src/main.rs",
        "/p/.gitignore",
        "/p/git/x",
        "/p/.github/ISSUE_TEMPLATE/bug.md",
        "/p/package.json",
        "/p/Makefile",
        "/p/bin/x",
        "/p/local/bin/x",
        "/p/claude.md.txt",
        "/p/etc",
        "/p/x.code-workspace.txt",
    ] {
        assert!(!is_protected_path(&path(free)), "{free}");
    }
}

/// Bash, lesspipe, desktops, version managers and `PATH` find these files in a home directory.
#[test]
fn programs_and_start_up_files_of_a_home_directory_are_protected() {
    for file in [
        "bin/git",
        "go/bin/x",
        "anaconda3/bin/python",
        "miniconda3/bin/python",
        "sdk/go1.22/bin/go",
        ".nix-profile/bin/x",
        ".npm-global/bin/x",
        ".lessfilter",
        ".bash_completion.d/x",
        ".config/bash_completion",
        ".local/share/bash-completion/completions/git",
        ".virtualenvs/postactivate",
        ".rvm/scripts/rvm",
        ".ghc/ghci.conf",
        ".config/qtile/config.py",
        ".config/polybar/config",
        ".config/dunst/dunstrc",
        ".hammerspoon/init.lua",
        ".SpaceVim.d/init.toml",
        ".task/hooks/on-add",
        ".hgext/x.py",
        ".config/mutt/muttrc",
        ".fetchmailrc",
        ".mozilla/firefox/x/user.js",
        ".password-store/.extensions/x.bash",
        ".local/share/uv/python/x/bin/python",
        ".local/share/pipx/venvs/x/bin/x",
        ".config/lf/lfrc",
        ".config/nnn/plugins/x",
        ".config/mc/menu",
        ".fzf.bash",
        ".zfunc/_git",
        ".config/waybar/config",
        ".yabairc",
        ".msmtprc",
        ".pyenv/shims/python",
        ".local/share/pnpm/x",
        ".nodenv/shims/node",
    ] {
        for home in ["/root", "/home/ann", "/Users/ann", "/var/home/ann"] {
            let file = path(&format!("{home}/{file}"));
            assert!(is_protected_path(&file), "{file}");
        }
    }
    for file in [
        "/home/ann/project/bin/x",
        "/root/x/go/bin/x",
        "/home/ann/src/main.rs",
        "/home/bin/x/y",
        "/p/node_modules/.bin/x",
        "/srv/home/ann/bin/x",
        "/home/ann/sdk/x/main.c",
    ] {
        assert!(!is_protected_path(&path(file)), "{file}");
    }
}

#[test]
fn a_wildcard_stays_in_one_name() {
    let patterns = |text: &str| -> Vec<_> {
        find_steering_files(&path(text)).map(SteeringFile::pattern).collect()
    };
    assert_eq!(patterns("/p/vite.config.ts"), ["vite.config.*"]);
    assert_eq!(patterns("/p/vite.config/ts"), Vec::<&str>::new());
    assert_eq!(patterns("/p/x.tf"), ["*.tf"]);
    assert_eq!(patterns("/p/é.tf"), ["*.tf"]);
    assert_eq!(patterns("/p/.t"), Vec::<&str>::new());
}

/// The index omits nothing: its first letters are those of the names that match.
#[test]
fn the_index_finds_the_same_rows_as_a_linear_search() {
    for file in all_steering_files() {
        let name = file.pattern().replace('*', "x");
        for below in ["/p/a", "/"] {
            let place = path(below).join(name.trim_start_matches('/'));
            let naive: Vec<_> = all_steering_files().filter(|file| file.matches(&place)).collect();
            let found: Vec<_> = find_steering_files(&place).collect();
            assert_eq!(naive.len(), found.len(), "{place}");
            assert!(naive.iter().all(|file| found.contains(file)), "{place}");
            let home_alone =
                matches!(file.location, SteeringLocation::Home(text) if !text.starts_with('.'));
            assert_eq!(found.contains(&file), !home_alone, "{place}");
        }
    }
}

#[test]
fn every_row_can_be_used() {
    let mut seen = std::collections::BTreeSet::new();
    for file in all_steering_files() {
        let pattern = file.pattern();
        // A file can steer different programs in different ways.
        assert!(seen.insert((pattern, file.source)), "{pattern} is listed twice");
        assert!(!file.source.is_empty(), "{pattern}");
        assert!(
            file.components().all(|component| component.matches('*').count() <= 1),
            "{pattern}"
        );
        let absolute = matches!(file.location, SteeringLocation::System(_));
        assert_eq!(pattern.starts_with('/'), absolute, "{pattern}");
        // An entry that neither protects a file nor steers a program has no effect.
        assert!(file.is_protected || !file.programs.is_empty(), "{pattern}");
        assert!(
            file.distrust == DistrustCondition::Never || !file.programs.is_empty(),
            "{pattern}"
        );
    }
}

#[test]
fn places_in_a_home_are_named_once_the_home_is_known() {
    let places = protected_home_paths(&path("/h"));
    for place in ["/h/.bashrc", "/h/bin", "/h/go/bin", "/h/.config/nvim", "/h/.ssh", "/h/.claude"] {
        assert!(places.contains(&path(place)), "{place}");
    }
    for place in ["/h/.github/workflows", "/etc/passwd", "/h/Makefile", "/h/.mvn"] {
        assert!(!places.contains(&path(place)), "{place}");
    }
}
