use std::{fs, path::Path, process::Command};

use super::*;

fn git(directory: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(directory);
    git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", directory);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the index that `git` writes for these files.
fn index_of(files: &[&str], init: &[&str], settings: &[&str]) -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    git(directory, &[&["init", "--quiet"], init].concat());
    for file in files {
        fs::create_dir_all(directory.join(file).parent().unwrap()).unwrap();
        fs::write(directory.join(file), "x").unwrap();
    }
    let settings: Vec<_> = settings.iter().flat_map(|one| ["-c", one]).collect();
    git(directory, &[settings.as_slice(), &["add", "."]].concat());
    fs::read(directory.join(".git/index")).unwrap()
}

/// Replaces a name by another one of the same length.
fn with_name(index: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let at = index.windows(old.len()).position(|part| part == old.as_bytes()).unwrap();
    [&index[..at], new.as_bytes(), &index[at + old.len()..]].concat()
}

const FILES: &[&str] = &["a", "dir/foo.git/x", "dir/Xgit/hooks/x", "dir/Xgit/y", "z"];

#[test]
fn every_version_that_git_writes_is_understood() {
    for version in ["2", "3", "4"] {
        let settings = [format!("index.version={version}")];
        let settings: Vec<_> = settings.iter().map(String::as_str).collect();
        let index = index_of(FILES, &[], &settings);
        assert_eq!(check(&index, 20), IndexCheck::Safe, "{version}");
        let index = index_of(FILES, &["--object-format=sha256"], &settings);
        assert_eq!(check(&index, 32), IndexCheck::Safe, "{version}");
    }
    // With a table of blocks, which `git` reads in parallel.
    let names: Vec<_> = (0..300).map(|number| format!("directory/file-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for version in ["index.version=2", "index.version=4"] {
        let index = index_of(&names, &[], &[version, "index.threads=2"]);
        assert!(index.windows(4).any(|part| part == b"EOIE"));
        assert_eq!(check(&index, 20), IndexCheck::Safe);
    }
}

#[test]
fn names_outside_of_the_checkout_are_found_in_every_version() {
    for version in ["index.version=2", "index.version=4"] {
        let index = index_of(FILES, &[], &[version]);
        // In version 4, the second name is stored without `dir/`.
        for (old, new) in [("Xgit/hooks", ".git/hooks"), ("Xgit/hooks", ".GiT/hooks")] {
            assert_eq!(check(&with_name(&index, old, new), 20), IndexCheck::Unsafe, "{version}");
        }
    }
    let index = index_of(&["abc/d", "xy/z"], &[], &[]);
    for (old, new) in [("abc/d", "../ad"), ("abc/d", "/etcd"), ("abc/d", "a//bd"), ("xy/z", "./yz")]
    {
        assert_eq!(check(&with_name(&index, old, new), 20), IndexCheck::Unsafe, "{new}");
    }
}

#[test]
fn anything_else_is_not_understood() {
    let index = index_of(FILES, &[], &[]);
    // The cache of trees and the checksum follow the entries.
    let end = index.windows(4).position(|part| part == b"TREE").unwrap_or(index.len() - 20);
    for length in 0..end {
        assert_eq!(check(&index[..length], 20), IndexCheck::NotUnderstood, "{length}");
    }
    assert_eq!(check(&index, 32), IndexCheck::NotUnderstood);
    assert_eq!(check(&with_name(&index, "DIRC", "DIRX"), 20), IndexCheck::NotUnderstood);
    // A table that names other places in the file.
    let names: Vec<_> = (0..300).map(|number| format!("file-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut index = index_of(&names, &[], &["index.threads=2"]);
    for (name, offset) in [(b"EOIE", 11), (b"IEOT", 15)] {
        let at = index.windows(4).position(|part| part == name).unwrap();
        index[at + offset] ^= 8;
        assert_eq!(check(&index, 20), IndexCheck::NotUnderstood);
        index[at + offset] ^= 8;
    }
}
