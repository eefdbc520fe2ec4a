//! Repositories whose files are made so that reading them takes long.

use std::{fs, io, os::unix::fs::symlink, path::Path};

/// The repositories, by the name of their directory.
pub(super) const NAMES: [&str; 7] =
    ["config", "include", "chain", "index", "nested", "long-line", "pipe"];

/// Makes all of them below this directory.
pub(super) fn make(below: &Path) -> io::Result<()> {
    for name in NAMES {
        let git = below.join(name).join(".git");
        for directory in ["objects", "refs/heads"] {
            fs::create_dir_all(git.join(directory))?;
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), "[core]\n\tbare = false\n")?;
    }
    let git = |name: &str| below.join(name).join(".git");
    // Just below the length up to which a configuration is read.
    let sections: String = (0..18_000)
        .map(|number| format!("[remote \"r{number}\"]\n\turl = https://x.io/{number}\n"))
        .collect();
    fs::write(git("config").join("config"), sections)?;
    let includes: String =
        (0..20_000).map(|number| format!("[include]\n\tpath = {number}\n")).collect();
    fs::write(git("include").join("config"), includes)?;
    fs::write(
        git("long-line").join("config"),
        format!("[core]\n\tx = {}\n", "\\\n".repeat(400_000)),
    )?;
    fs::write(git("index").join("index"), index(40_000))?;
    chain(&git("chain"))?;
    nest(&below.join("nested"))?;
    // Nothing is ever written to the pipe.
    fs::remove_file(git("pipe").join("config"))?;
    let made = std::process::Command::new("mkfifo").arg(git("pipe").join("config")).status()?;
    if made.success() { Ok(()) } else { Err(io::Error::other("mkfifo failed")) }
}

/// Each `commondir` names the next one, and the last one is a loop of links.
fn chain(git: &Path) -> io::Result<()> {
    for number in 0..200 {
        let next = git.join(number.to_string());
        fs::create_dir(&next)?;
        fs::write(next.join("commondir"), format!("../{}\n", number + 1))?;
    }
    symlink("loop", git.join("loop"))?;
    fs::write(git.join("commondir"), "0\n")
}

/// A repository in a repository in a repository.
fn nest(top: &Path) -> io::Result<()> {
    let mut place = top.to_owned();
    for _ in 0..40 {
        place.push("sub");
        for directory in [".git/objects", ".git/refs"] {
            fs::create_dir_all(place.join(directory))?;
        }
        fs::write(place.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(place.join(".git/config"), "[core]\n\tbare = false\n")?;
    }
    Ok(())
}

/// Returns an index in version 2 (gitformat-index(5)) with this number of submodules.
fn index(entries: u32) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(2_u32.to_be_bytes());
    bytes.extend(entries.to_be_bytes());
    for number in 0..entries {
        let name = format!("submodule{number:07}");
        let mut entry = [0; 24].to_vec();
        entry.extend(0o160_000_u32.to_be_bytes());
        entry.extend([0; 32]);
        entry.extend(u16::try_from(name.len()).unwrap_or(0).to_be_bytes());
        entry.extend(name.as_bytes());
        // One to eight NULs, up to a multiple of eight.
        entry.resize(entry.len() / 8 * 8 + 8, 0);
        bytes.extend(entry);
    }
    bytes
}
