//! Whether a repository can make git run programs.
//!
//! `git status` runs what `core.fsmonitor` names, `git diff` what `diff.external` and filters name, `git log` what
//! `gpg.program` names. A repository that was cloned has a configuration that git wrote itself; one that came in an archive,
//! or that lies inside another as plain directories (`HEAD`, `objects`, `refs`), has whatever its author wrote.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

/// No configuration of a repository is longer.
const LONGEST: u64 = 1 << 20;

/// Says whether the repository that git would find from `cwd` configures nothing but what is known to run nothing; also when
/// there is none.
pub(crate) fn is_plain(cwd: &AbsPath) -> bool {
    let mut place = Some(Path::new(cwd.as_str()));
    while let Some(directory) = place {
        let git = directory.join(".git");
        // A directory of that name that is no repository is passed by.
        if git.is_file() || is_bare(&git) {
            return common_directory(&git, git.is_dir())
                .is_some_and(|common| has_plain_config(&common) && has_plain_modules(&common));
        }
        if is_bare(directory) {
            return false;
        }
        place = directory.parent();
    }
    true
}

/// Says whether git would take a directory itself for a repository (gitrepository-layout(5)).
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").exists()
        && directory.join("objects").exists()
        && directory.join("refs").exists()
}

/// Returns the directory that holds the configuration: `.git` itself, or what a file in its place leads to.
fn common_directory(git: &Path, is_directory: bool) -> Option<PathBuf> {
    let own = if is_directory {
        git.to_path_buf()
    } else {
        let text = read(git)?;
        git.parent()?.join(text.strip_prefix("gitdir: ")?.trim_end())
    };
    if own.join("config.worktree").exists() {
        return None;
    }
    match read(&own.join("commondir")) {
        Some(common) => Some(own.join(common.trim_end())),
        None => Some(own),
    }
}

fn has_plain_config(directory: &Path) -> bool {
    // Commands that only look write the index anew, and then this hook runs (githooks(5)).
    !directory.join("hooks/post-index-change").exists()
        && !directory.join("config.worktree").exists()
        && read(&directory.join("config")).is_some_and(|text| is_plain_config(&text))
}

/// More submodules than this are not looked at.
const MOST_MODULES: usize = 256;

/// Says whether the submodules' own configurations are plain: `git status` and `git diff` enter them (gitsubmodules(7)).
fn has_plain_modules(directory: &Path) -> bool {
    let mut open = vec![directory.join("modules")];
    let mut seen = 0;
    while let Some(place) = open.pop() {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        for entry in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            seen += 1;
            if seen > MOST_MODULES || entry.join("HEAD").exists() && !is_plain_module(&entry) {
                return false;
            }
            // A name with a slash in it makes directories; and modules have modules.
            let deeper = if entry.join("HEAD").exists() { entry.join("modules") } else { entry };
            open.extend(deeper.is_dir().then_some(deeper));
        }
    }
    true
}

/// A submodule says where its files lie; that and nothing more than another repository.
fn is_plain_module(directory: &Path) -> bool {
    let place = |line: &&str| !line.trim_start().starts_with("worktree = ../");
    let config = read(&directory.join("config"));
    let rest = config.map(|text| text.lines().filter(place).collect::<Vec<_>>().join("\n"));
    !directory.join("hooks/post-index-change").exists()
        && rest.is_some_and(|text| is_plain_config(&text))
}

fn read(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= LONGEST).then(|| fs::read_to_string(path).ok())?
}

/// Keys that git writes itself or that people set, and that run nothing: section and name.
const PLAIN: &[(&str, &[&str])] = &[
    ("branch", &["merge", "rebase", "remote", "vscode-merge-base", "gh-merge-base"]),
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "symlinks",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("fetch", &["prune"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default"]),
    ("remote", &["fetch", "pushurl", "tagopt", "url"]),
    ("submodule", &["active", "url"]),
    ("user", &["email", "name", "signingkey"]),
];

/// Says whether every line is a section, a comment, or a key that is known. Whatever else there is (an `include`, a value
/// that goes on in the next line, a bare working tree elsewhere) is not.
fn is_plain_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = header.split([' ', '.']).next().unwrap_or_default().to_ascii_lowercase();
            return true;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        !line.ends_with('\\') && is_plain_key(&section, name.trim()) && is_plain_value(value)
    })
}

fn is_plain_key(section: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PLAIN.iter().any(|(known, names)| *known == section && names.contains(&name.as_str()))
}

/// `ext::` addresses run what they say.
fn is_plain_value(value: &str) -> bool {
    !value.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.io/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

    #[test]
    fn what_git_writes_itself_is_plain() {
        assert!(is_plain_config(CLONED));
        for line in [
            "[core]\nfsmonitor = ./evil",
            "[core]\n\tFSMonitor=x",
            "[core] fsmonitor = x",
            "[core]\nhooksPath = x",
            "[core]\nworktree = ..",
            "[diff]\nexternal = x",
            "[diff \"a\"]\ntextconv = x",
            "[filter \"a\"]\nclean = x",
            "[gpg]\nprogram = x",
            "[format]\npretty = format:%G?",
            "[include]\npath = x",
            "[includeIf \"gitdir:x\"]\npath = x",
            "[alias]\nstatus = !x",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[remote \"o\"]\npromisor = true",
            "[user]\nname = a\\\nb",
            "[Core]\nfilemode = true\n[x]\ny",
        ] {
            assert!(!is_plain_config(line), "{line}");
        }
    }

    fn path(of: &Path) -> AbsPath {
        AbsPath::new(of.to_str().unwrap()).unwrap()
    }

    #[test]
    fn the_repository_is_the_one_that_git_would_find() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("p");
        for name in [".git/objects", ".git/refs"] {
            fs::create_dir_all(project.join(name)).unwrap();
        }
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main").unwrap();
        fs::create_dir_all(project.join("deep/er")).unwrap();
        fs::write(project.join(".git/config"), CLONED).unwrap();
        assert!(is_plain(&path(&project.join("deep/er"))));
        for name in ["objects", "refs"] {
            fs::create_dir(project.join("deep").join(name)).unwrap();
        }
        fs::write(project.join("deep/HEAD"), "ref: refs/heads/main").unwrap();
        assert!(!is_plain(&path(&project.join("deep/er"))), "a repository inside of another");
        assert!(is_plain(&path(&project)));
        let hook = project.join(".git/hooks/post-index-change");
        fs::create_dir(project.join(".git/hooks")).unwrap();
        fs::write(&hook, "").unwrap();
        assert!(!is_plain(&path(&project)), "git status runs it");
        fs::remove_file(hook).unwrap();
        assert!(is_plain(&path(&project)));
        let module = project.join(".git/modules/libs/x");
        fs::create_dir_all(&module).unwrap();
        fs::write(module.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(module.join("config"), "[core]\n\tworktree = ../../../../libs/x\n").unwrap();
        assert!(is_plain(&path(&project)));
        fs::write(module.join("config"), "[core]\n\tfsmonitor = ./x\n").unwrap();
        assert!(!is_plain(&path(&project)), "git status enters its submodules");
        fs::remove_dir_all(project.join(".git/modules")).unwrap();
        fs::write(project.join(".git/config.worktree"), "").unwrap();
        assert!(!is_plain(&path(&project)));
    }

    #[test]
    fn a_file_in_its_place_leads_to_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("main/.git/config"), CLONED).unwrap();
        fs::write(root.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        let gitdir = format!("gitdir: {}\n", root.join("main/.git/worktrees/w").display());
        fs::write(root.join("w/.git"), gitdir).unwrap();
        assert!(is_plain(&path(&root.join("w"))));
        fs::write(root.join("main/.git/config"), "[core]\nfsmonitor = x\n").unwrap();
        assert!(!is_plain(&path(&root.join("w"))));
    }
}
