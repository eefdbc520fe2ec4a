use std::{
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
};

use super::*;

/// A temporary directory with a repository `main` in it.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        disk.git(&["init", "--quiet", "main"]);
        disk.git(&["-C", "main", "commit", "--quiet", "--allow-empty", "--message", "first"]);
        disk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
        git.args(args).current_dir(self.0.path());
        git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.0.path());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn add(&self, name: &str) {
        self.git(&["-C", "main", "worktree", "add", "--quiet", self.path(name).to_str().unwrap()]);
    }

    fn main_of(&self, name: &str) -> Option<PathBuf> {
        let directory = AbsPath::new(self.path(name).to_str().unwrap()).unwrap();
        find_main_checkout(&directory).map(|main| PathBuf::from(main.as_str()))
    }

    fn repository_of(&self, name: &str) -> Option<PathBuf> {
        let directory = AbsPath::new(self.path(name).to_str().unwrap()).unwrap();
        find_linked_repository(&directory).map(|main| PathBuf::from(main.as_str()))
    }

    fn is_worktree(&self, name: &str) -> bool {
        let main = self.main_of(name);
        assert!(main.is_none() || main == Some(self.path("main")), "{main:?}");
        main.is_some()
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_worktree_that_git_created_is_found_anywhere() {
    let disk = Disk::new();
    for name in ["w", "main/.worktrees/inside", "elsewhere/deep/w2"] {
        disk.add(name);
        assert!(disk.is_worktree(name), "{name}");
    }
    symlink(disk.path("w"), disk.path("link")).unwrap();
    assert!(disk.is_worktree("link"), "under another name");
    assert!(!disk.is_worktree("main"), "the main checkout is none");
    assert!(!disk.is_worktree("main/.git"));
    assert!(!disk.is_worktree("none"));
    fs::create_dir(disk.path("w/below")).unwrap();
    assert!(!disk.is_worktree("w/below"), "the directory itself is meant");
}

#[test]
fn a_worktree_whose_links_are_relative_is_one() {
    let disk = Disk::new();
    disk.add("w");
    // The format of git 2.48 with `worktree.useRelativePaths`.
    fs::write(disk.path("w/.git"), "gitdir: ../main/.git/worktrees/w\n").unwrap();
    fs::write(disk.path("main/.git/worktrees/w/gitdir"), "../../../../w/.git\n").unwrap();
    assert!(disk.is_worktree("w"));
}

#[test]
fn the_repository_of_a_worktree_can_be_bare() {
    let disk = Disk::new();
    disk.git(&["clone", "--quiet", "--bare", "main", "bare.git"]);
    disk.git(&["-C", "bare.git", "worktree", "add", "--quiet", disk.path("b").to_str().unwrap()]);
    disk.add("w");
    assert_eq!(disk.repository_of("b"), Some(disk.path("bare.git")));
    assert_eq!(disk.repository_of("w"), Some(disk.path("main/.git")));
    assert_eq!(disk.repository_of("main"), None);
    assert!(!disk.is_worktree("b"), "it has no main checkout");
    fs::create_dir(disk.path("forged")).unwrap();
    fs::copy(disk.path("b/.git"), disk.path("forged/.git")).unwrap();
    assert_eq!(disk.repository_of("forged"), None);
    disk.set_mode("bare.git/worktrees/b/gitdir", 0o666);
    assert_eq!(disk.repository_of("b"), None, "others can write its entry");
}

/// Guards I11.
#[test]
fn a_directory_that_the_repository_does_not_name_is_none() {
    let disk = Disk::new();
    disk.add("w");
    fs::create_dir(disk.path("forged")).unwrap();
    fs::copy(disk.path("w/.git"), disk.path("forged/.git")).unwrap();
    assert!(!disk.is_worktree("forged"), "it names another one's entry");
    disk.git(&["-C", "forged", "status"]);
    assert!(!disk.is_worktree("forged"), "git does not take it for the worktree either");
    fs::write(disk.path("forged/.git"), format!("gitdir: {}\n", disk.path("main/.git").display()))
        .unwrap();
    assert!(!disk.is_worktree("forged"), "it names the repository");
    fs::write(disk.path("forged/.git"), "gitdir: ../main/.git/worktrees/none\n").unwrap();
    assert!(!disk.is_worktree("forged"));
    fs::remove_file(disk.path("forged/.git")).unwrap();
    symlink(disk.path("w/.git"), disk.path("forged/.git")).unwrap();
    assert!(!disk.is_worktree("forged"), "its `.git` is a link");
    assert!(disk.is_worktree("w"));
}

#[test]
fn a_worktree_that_was_moved_is_none_until_git_repairs_it() {
    let disk = Disk::new();
    disk.add("w");
    fs::rename(disk.path("w"), disk.path("moved")).unwrap();
    assert!(!disk.is_worktree("moved"));
    disk.git(&["-C", "main", "worktree", "repair", disk.path("moved").to_str().unwrap()]);
    assert!(disk.is_worktree("moved"));
    disk.git(&["-C", "main", "worktree", "move", disk.path("moved").to_str().unwrap(), "again"]);
    fs::rename(disk.path("main"), disk.path("main2")).unwrap();
    assert_eq!(disk.main_of("again"), None, "the main checkout was moved");
}

#[test]
fn a_removed_worktree_or_one_with_a_wrong_entry_is_not_a_worktree() {
    let disk = Disk::new();
    disk.add("w");
    let entry = disk.path("main/.git/worktrees/w");
    for (name, text) in [
        ("commondir", "/\n"),
        ("commondir", "../../../other\n"),
        ("gitdir", "../../../../w/other\n"),
        ("gitdir", ""),
        ("gitdir", "\n"),
        ("gitdir", &"x".repeat(5000)),
    ] {
        let before = fs::read(entry.join(name)).unwrap();
        fs::write(entry.join(name), text).unwrap();
        assert!(!disk.is_worktree("w"), "{name}: {text}");
        fs::write(entry.join(name), before).unwrap();
        assert!(disk.is_worktree("w"));
    }
    fs::remove_dir_all(&entry).unwrap();
    assert!(!disk.is_worktree("w"));
}

#[test]
fn a_link_in_the_place_of_a_removed_worktree_leads_to_none() {
    let disk = Disk::new();
    disk.add("w");
    disk.add("deep/w2");
    for (gone, link) in [("w", "w"), ("deep/w2", "deep")] {
        let stranger = disk.path("stranger").join(gone);
        fs::create_dir_all(&stranger).unwrap();
        fs::copy(disk.path(gone).join(".git"), stranger.join(".git")).unwrap();
        assert!(disk.is_worktree(gone));
        fs::remove_dir_all(disk.path(link)).unwrap();
        symlink(disk.path("stranger").join(link), disk.path(link)).unwrap();
        assert!(
            !disk.is_worktree(gone) && !disk.is_worktree(&format!("stranger/{gone}")),
            "{gone}"
        );
    }
}

/// Guards I11.
#[test]
fn a_worktree_that_others_could_have_written_is_not_linked() {
    let disk = Disk::new();
    disk.add("w");
    for name in [
        "w",
        "w/.git",
        "main",
        "main/.git",
        "main/.git/worktrees/w",
        "main/.git/worktrees/w/gitdir",
    ] {
        let before = fs::metadata(disk.path(name)).unwrap().permissions().mode();
        disk.set_mode(name, before | 0o002);
        assert!(!disk.is_worktree("w"), "{name}");
        disk.set_mode(name, before);
        assert!(disk.is_worktree("w"), "{name}");
    }
}

#[test]
fn bare_repositories_and_submodules_have_no_worktrees() {
    let disk = Disk::new();
    disk.git(&["clone", "--quiet", "--bare", "main", "bare.git"]);
    disk.git(&["-C", "bare.git", "worktree", "add", "--quiet", "../of-bare", "-b", "x"]);
    assert_eq!(disk.main_of("of-bare"), None);
    disk.git(&["clone", "--quiet", "--bare", "main", "hidden/.git"]);
    disk.git(&["-C", "hidden/.git", "worktree", "add", "--quiet", "../../of-hidden", "-b", "x"]);
    assert_eq!(disk.main_of("of-hidden"), None, "a bare repository that is called `.git`");
    disk.git(&["clone", "--quiet", "main", "super"]);
    disk.git(&[
        "-C",
        "super",
        "submodule",
        "--quiet",
        "add",
        disk.path("main").to_str().unwrap(),
        "sub",
    ]);
    assert_eq!(disk.main_of("super/sub"), None);
    disk.git(&["-C", "super/sub", "worktree", "add", "--quiet", "../../of-sub", "-b", "x"]);
    assert_eq!(disk.main_of("of-sub"), None, "a worktree of a submodule");
    let apart = disk.path("apart");
    disk.git(&["init", "--quiet", "--separate-git-dir", apart.to_str().unwrap(), "front"]);
    assert_eq!(disk.main_of("front"), None, "a repository that lies elsewhere");
}

#[test]
fn a_repository_is_bare_by_its_configuration() {
    let disk = Disk::new();
    let config = disk.path("main/.git/config");
    for (text, expected) in [
        ("[core]\n\tbare = true\n", true),
        ("[core] Bare=TRUE ; really\n", true),
        ("[core]\n\tbare\n", true),
        ("[core]\n\tbare = \"yes\"\n", true),
        ("[core]\n\tbare = false # no\n", false),
        ("[remote \"bare\"]\n\turl = bare=true\n\tbarely = 1\n", false),
    ] {
        fs::write(&config, text).unwrap();
        assert_eq!(is_bare(&disk.path("main/.git")), expected, "{text}");
    }
    fs::remove_file(&config).unwrap();
    assert!(is_bare(&disk.path("main/.git")), "nobody knows");
}
