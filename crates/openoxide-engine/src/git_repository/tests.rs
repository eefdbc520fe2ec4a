use super::{git_index::hash_length, harmless_config::is_harmless_config, *};

fn is_plain(cwd: &AbsPath) -> bool {
    super::is_harmless(cwd, &PriorEdits::Paths(Vec::new()))
}

const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.io/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

#[test]
fn a_configuration_written_by_git_is_harmless() {
    assert!(is_harmless_config(CLONED));
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
        assert!(!is_harmless_config(line), "{line}");
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

/// Creates a project with a repository and a directory `c` next to `.git`.
fn project(root: &Path) -> PathBuf {
    for name in ["p/.git/objects", "p/.git/refs", "p/c"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("p/.git/HEAD"), "ref: refs/heads/main").unwrap();
    fs::write(root.join("p/.git/config"), CLONED).unwrap();
    root.join("p")
}

#[test]
fn a_directory_that_git_accepts_as_a_repository_is_not_skipped() {
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
    assert!(!is_plain(&path(&project)), "another repository");
    for text in [b"../c \n".as_slice(), b"../c\xff\n"] {
        fs::write(git.join("commondir"), text).unwrap();
        assert!(!is_plain(&path(&project)), "another directory: {text:?}");
    }
}

#[test]
fn comments_do_not_change_the_hash_length() {
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
    assert!(!is_plain(&path(&root.join("w"))), "the repository does not name the worktree");
    let back = format!("{}\n", root.join("w/.git").display());
    fs::write(root.join("main/.git/worktrees/w/gitdir"), back).unwrap();
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
fn the_configuration_of_a_submodule_is_checked() {
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

#[test]
fn another_repository_is_not_that_of_the_working_tree() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let other = project(&root.join("other"));
    assert!(is_plain(&path(&other)));
    for name in ["file", "link"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let text = format!("gitdir: {}\n", other.join(".git").display());
    fs::write(root.join("file/.git"), text).unwrap();
    std::os::unix::fs::symlink(other.join(".git"), root.join("link/.git")).unwrap();
    assert!(!is_plain(&path(&root.join("file"))));
    assert!(!is_plain(&path(&root.join("link"))));
}

/// Each submodule is looked up, and an index can name any number of them.
#[test]
fn a_repository_with_too_many_submodules_is_not_plain() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for name in [".git/objects", ".git/refs"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main").unwrap();
    fs::write(root.join(".git/config"), CLONED).unwrap();
    for (count, plain) in [(500_u32, true), (40_000, false)] {
        let one = index(0o160_000, "s");
        let (head, entry) = one.split_at(12);
        let head = [&head[..8], &count.to_be_bytes()].concat();
        let entries = entry.repeat(usize::try_from(count).unwrap());
        fs::write(root.join(".git/index"), [head, entries].concat()).unwrap();
        assert_eq!(is_plain(&path(&root)), plain, "{count}");
    }
}
