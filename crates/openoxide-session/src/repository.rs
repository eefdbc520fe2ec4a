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

/// Submodules deeper than this are not looked at.
const DEEPEST: usize = 4;

/// No index is longer.
const LONGEST_INDEX: u64 = 1 << 27;

/// Where git keeps what belongs to a working tree, and what belongs to the repository.
struct Directories {
    own: PathBuf,
    common: PathBuf,
}

/// Says whether the repository that git would find from `cwd` configures nothing but what is known to run nothing; also when
/// there is none.
pub(crate) fn is_plain(cwd: &AbsPath) -> bool {
    let mut place = Some(Path::new(cwd.as_str()));
    while let Some(directory) = place {
        let git = directory.join(".git");
        // A directory of that name that is no repository is passed by.
        if git.is_file() || is_bare(&git) {
            return is_plain_tree(directory, false, DEEPEST);
        }
        if is_bare(directory) {
            return false;
        }
        place = directory.parent();
    }
    true
}

/// Says whether the repository of this working tree is plain, and those of its submodules are: `git status` and `git diff` run
/// git in each of them, with the configuration that lies there.
fn is_plain_tree(tree: &Path, is_submodule: bool, deep: usize) -> bool {
    let git = tree.join(".git");
    let Some(found) = directories(&git, git.is_dir()) else { return false };
    // What git does not take for a repository it passes by, for one above.
    if !is_whole(&found) {
        return false;
    }
    let Some(config) = plain_config(&found.common, is_submodule.then_some(tree)) else {
        return false;
    };
    let Some(links) = links(&found.own, &config) else { return false };
    let mut there = links.iter().map(|name| tree.join(name));
    there.all(|below| {
        !below.join(".git").exists() || deep > 0 && is_plain_tree(&below, true, deep - 1)
    })
}

/// Returns the paths of the submodules that an index holds (gitformat-index(5)); nothing if it cannot be read. What is in
/// `.gitmodules` does not matter to git here.
fn links(own: &Path, config: &str) -> Option<Vec<String>> {
    // An index can go on in another file.
    let names = fs::read_dir(own).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    if names.into_iter().any(|name| name.to_string_lossy().starts_with("sharedindex.")) {
        return None;
    }
    let path = own.join("index");
    if !path.exists() {
        return Some(Vec::new());
    }
    let meta = fs::metadata(&path).ok()?;
    let bytes = (meta.is_file() && meta.len() <= LONGEST_INDEX).then(|| fs::read(&path).ok())??;
    match number(&bytes, 4, 4)? {
        2 | 3 => entries(&bytes, hash_length(config)?),
        // Its names are shortened: that there is no submodule is all that can be told.
        _ => (!bytes.windows(4).any(|four| four == [0, 0, 0xE0, 0])).then(Vec::new),
    }
}

/// Returns how many bytes a name of an object has: nothing if that is said in a way of its own.
fn hash_length(config: &str) -> Option<usize> {
    let said = config.lines().filter_map(|line| line.split_once('='));
    let mut formats = said.filter(|(name, _)| name.trim().eq_ignore_ascii_case("objectformat"));
    match (formats.next().map(|(_, format)| format.trim()), formats.next()) {
        (None | Some("sha1"), None) => Some(20),
        (Some("sha256"), None) => Some(32),
        _ => None,
    }
}

fn entries(bytes: &[u8], hash: usize) -> Option<Vec<String>> {
    const LINK: usize = 0o160_000;
    const EXTENDED: usize = 0x4000;
    let mut found = Vec::new();
    let mut at = 12;
    for _ in 0..number(bytes, 8, 4)? {
        let flags = number(bytes, at + 40 + hash, 2)?;
        let name_at = at + 42 + hash + if flags & EXTENDED == 0 { 0 } else { 2 };
        let rest = bytes.get(name_at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        if number(bytes, at + 24, 4)? == LINK {
            found.push(String::from_utf8(rest.get(..length)?.to_vec()).ok()?);
        }
        at += (name_at - at + length + 8) & !7;
    }
    Some(found)
}

/// Returns the number that lies there, the highest byte first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Says whether git could take a directory itself for a repository (gitrepository-layout(5)). `HEAD` may be a link that leads
/// nowhere, and the rest may lie where `commondir` says.
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && (directory.join("commondir").exists()
            || directory.join("objects").exists() && directory.join("refs").exists())
}

/// Says whether git is certain to take this for a repository: `HEAD` names a branch or a commit, and what belongs to all
/// working trees can be entered.
fn is_whole(found: &Directories) -> bool {
    let head = found.own.join("HEAD");
    let named = read(&head).is_some_and(|text| {
        let commit = || text.trim_end().len() >= 40 && text.trim_end().bytes().all(is_hex);
        text.starts_with("ref: refs/") || commit()
    });
    named
        && !head.is_symlink()
        && ["objects", "refs"].iter().all(|name| found.common.join(name).join(".").exists())
}

const fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Returns the directories of a repository: `.git` itself, or what a file in its place leads to.
fn directories(git: &Path, is_directory: bool) -> Option<Directories> {
    let own = if is_directory {
        git.to_path_buf()
    } else {
        let text = read(git)?;
        git.parent()?.join(path_of(text.strip_prefix("gitdir: ")?))
    };
    if own.join("config.worktree").exists() {
        return None;
    }
    let said = own.join("commondir");
    let common = match said.symlink_metadata() {
        Ok(_) => own.join(path_of(&read(&said)?)),
        Err(_) => own.clone(),
    };
    Some(Directories { own, common })
}

/// Returns the path in a file that holds nothing else: git drops ends of lines, and no other blanks.
fn path_of(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// Returns the configuration, if nothing in it runs anything. That of a submodule may name its own working tree, as git writes
/// it.
fn plain_config(directory: &Path, submodule: Option<&Path>) -> Option<String> {
    // Commands that only look write the index anew, and then this hook runs (githooks(5)).
    if directory.join("hooks/post-index-change").exists()
        || directory.join("config.worktree").exists()
    {
        return None;
    }
    let text = read(&directory.join("config"))?;
    let rest = match submodule {
        Some(tree) => without_own_tree(&text, directory, tree),
        None => text.clone(),
    };
    is_plain_config(&rest).then_some(text)
}

/// Leaves out the lines that name this very working tree.
fn without_own_tree(text: &str, directory: &Path, tree: &Path) -> String {
    let own = |line: &&str| match line.trim().split_once('=') {
        Some((name, value)) if name.trim() == "worktree" => {
            let named = fs::canonicalize(directory.join(value.trim())).ok();
            named.is_some() && named == fs::canonicalize(tree).ok()
        }
        _ => false,
    };
    text.lines().filter(|line| !own(line)).fold(String::new(), |all, line| all + line + "\n")
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
            return !header.contains(']'); // A key may follow, and a comment that ends so.
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        !line.ends_with('\\') && is_plain_key(&section, name.trim()) && is_plain_value(value)
    })
}

fn is_plain_key(section: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PLAIN.iter().any(|(known, names)| *known == section && names.contains(&name.as_str()))
}

/// `ext::` addresses run what they say. Quotes stand anywhere in a value, and are dropped.
fn is_plain_value(value: &str) -> bool {
    !value.replace('"', "").contains("::")
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
            "[core] fsmonitor = x #]",
            "[remote \"o\"]\nurl = ext:\":\"sh -c x",
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
        fs::write(project.join(".git/config.worktree"), "").unwrap();
        assert!(!is_plain(&path(&project)));
    }

    /// A project with a repository, and a directory beside it.
    fn project(root: &Path) -> PathBuf {
        for name in ["p/.git/objects", "p/.git/refs", "p/c"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("p/.git/HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(root.join("p/.git/config"), CLONED).unwrap();
        root.join("p")
    }

    #[test]
    fn what_git_takes_for_a_repository_is_not_passed_by() {
        let dir = tempfile::tempdir().unwrap();
        let project = project(&dir.path().canonicalize().unwrap());
        let git = project.join(".git");
        assert!(is_plain(&path(&project)));
        fs::write(git.join("HEAD"), "nothing").unwrap();
        assert!(!is_plain(&path(&project)), "git would go on above");
        fs::remove_file(git.join("HEAD")).unwrap();
        std::os::unix::fs::symlink("refs/heads/none", git.join("HEAD")).unwrap();
        assert!(!is_plain(&path(&project)), "a link to a branch without a commit");
        fs::remove_file(git.join("HEAD")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        for name in ["objects", "refs"] {
            fs::rename(git.join(name), project.join("c").join(name)).unwrap();
        }
        fs::write(project.join("c/config"), "[core]\nfsmonitor = x\n").unwrap();
        fs::write(git.join("commondir"), "../c\n").unwrap();
        assert!(!is_plain(&path(&project)), "the rest lies elsewhere");
        fs::write(project.join("c/config"), CLONED).unwrap();
        assert!(is_plain(&path(&project)));
        for text in [b"../c \n".as_slice(), b"../c\xff\n"] {
            fs::write(git.join("commondir"), text).unwrap();
            assert!(!is_plain(&path(&project)), "another directory: {text:?}");
        }
    }

    #[test]
    fn a_comment_says_nothing_of_the_hashes() {
        for (config, length) in [
            (CLONED.to_owned(), Some(20)),
            (format!("{CLONED}; sha256\n"), Some(20)),
            ("[extensions]\n\tobjectFormat = sha256\n".to_owned(), Some(32)),
            ("[extensions]\n\tobjectFormat = sha2\"56\"\n".to_owned(), None),
            ("[extensions]\nobjectformat=sha256\nobjectformat=sha1\n".to_owned(), None),
        ] {
            assert_eq!(hash_length(&config), length, "{config}");
        }
    }

    #[test]
    fn a_file_in_its_place_leads_to_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["main/.git/worktrees/w", "main/.git/objects", "main/.git/refs"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("main/.git/worktrees/w/HEAD"), "ref: refs/heads/w\n").unwrap();
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("main/.git/config"), CLONED).unwrap();
        fs::write(root.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        let gitdir = format!("gitdir: {}\n", root.join("main/.git/worktrees/w").display());
        fs::write(root.join("w/.git"), gitdir).unwrap();
        assert!(is_plain(&path(&root.join("w"))));
        fs::write(root.join("main/.git/config"), "[core]\nfsmonitor = x\n").unwrap();
        assert!(!is_plain(&path(&root.join("w"))));
    }

    /// An index of the second version with one entry.
    fn index(mode: u32, name: &str) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 32]);
        bytes.extend([0, u8::try_from(name.len()).unwrap()]);
        bytes.extend(name.as_bytes());
        bytes.resize(12 + ((62 + name.len() + 8) & !7), 0);
        bytes
    }

    #[test]
    fn a_submodule_has_a_configuration_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let modules = [".git/modules/s/objects", ".git/modules/s/refs", "s"];
        for name in [".git/objects", ".git/refs"].into_iter().chain(modules) {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write(".git/HEAD", "ref: refs/heads/main");
        write(".git/config", CLONED);
        fs::write(root.join(".git/index"), index(0o160_000, "s")).unwrap();
        assert!(is_plain(&path(&root)), "it is not there yet");
        write("s/.git", "gitdir: ../.git/modules/s\n");
        write(".git/modules/s/HEAD", &"0".repeat(40));
        let own = format!("{CLONED}[core]\n\tworktree = ../../../s\n");
        write(".git/modules/s/config", &own);
        assert!(is_plain(&path(&root)));
        write(".git/modules/s/config", &own.replace("../s", ".."));
        assert!(!is_plain(&path(&root)), "another working tree");
        write(".git/modules/s/config", &format!("{own}\tfsmonitor = ./x\n"));
        assert!(!is_plain(&path(&root)), "git status runs it");
        fs::write(root.join(".git/index"), index(0o100_644, "s")).unwrap();
        assert!(is_plain(&path(&root)), "no submodule");
        write(".git/sharedindex.00", "");
        assert!(!is_plain(&path(&root)), "the index goes on elsewhere");
    }
}
