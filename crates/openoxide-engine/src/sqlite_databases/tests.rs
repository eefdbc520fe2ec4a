use std::process::Command;

use openoxide_protocol::{Action, OperationFacts};

use super::*;
use crate::{CallLocation, collect_action_facts};

/// Returns the class of the command, and the files that it would edit, below the directory.
fn judge(script: &str, cwd: &Path) -> (CommandClass, Vec<String>) {
    let cwd = AbsPath::new(cwd.to_str().unwrap()).unwrap();
    let action = Action::Command { script: script.to_owned() };
    let OperationFacts { accesses, .. } =
        collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: None });
    let class = accesses.iter().find_map(|access| {
        let Access::Exec(exec) = access else { return None };
        (exec.argv.known_word(0) == Some("sqlite3")).then_some(exec.class)
    });
    let edited = accesses.iter().flat_map(|access| {
        let Access::Edit(path) = access else { return Vec::new() };
        path.paths().cloned().collect()
    });
    let below = |path: AbsPath| path.strip_prefix(&cwd).unwrap_or(path.as_str()).to_owned();
    (class.unwrap(), edited.map(below).collect())
}

fn header(format: u8) -> Vec<u8> {
    let mut header = SQLITE_MAGIC.to_vec();
    header.extend([16, 0, format, format]);
    header.resize(4096, 0);
    header
}

fn project() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().canonicalize().unwrap();
    fs::create_dir(project.join("sub")).unwrap();
    fs::write(project.join("plain.db"), header(1)).unwrap();
    fs::write(project.join("log.db"), header(2)).unwrap();
    fs::write(project.join("left.db"), header(1)).unwrap();
    fs::write(project.join("left.db-journal"), "x").unwrap();
    fs::write(project.join("empty.db"), "").unwrap();
    fs::write(project.join("text.db"), "not a data base\n").unwrap();
    std::os::unix::fs::symlink("sub/target.db", project.join("link.db")).unwrap();
    (directory, project)
}

#[test]
fn a_data_base_that_stays_as_it_is_is_only_read() {
    let (_directory, project) = project();
    for script in [
        "sqlite3 plain.db .tables",
        "sqlite3 plain.db 'select 1'",
        "sqlite3 -readonly plain.db .tables",
        "sqlite3 'file:plain.db?mode=ro' 'select 1'",
        "sqlite3 empty.db .tables",
        "sqlite3 text.db .tables",
        "sqlite3 sub .tables",
        "sqlite3 :memory: 'select 1'",
        "sqlite3 --version",
        "cd sub && sqlite3 ../plain.db .tables",
        // It is refused where there is none.
        "sqlite3 -readonly missing.db .tables",
        "sqlite3 -safe -readonly missing.db 'select 1'",
        "sqlite3 'file:missing.db?mode=ro' 'select 1'",
        "sqlite3 'file:missing.db?cache=shared&mode=rw' 'select 1'",
    ] {
        assert_eq!(judge(script, &project), (CommandClass::Harmless, Vec::new()), "{script}");
    }
}

#[test]
fn a_data_base_that_is_made_or_changed_is_an_edit() {
    let (_directory, project) = project();
    for (script, edited) in [
        ("sqlite3 missing.db .tables", "missing.db"),
        ("sqlite3 missing.db 'select 1'", "missing.db"),
        ("sqlite3 -safe missing.db 'select 1'", "missing.db"),
        ("sqlite3 'file:missing.db' 'select 1'", "missing.db"),
        ("sqlite3 'file:missing.db?mode=rwc' 'select 1'", "missing.db"),
        ("sqlite3 sub/missing.db .tables", "sub/missing.db"),
        ("cd sub && sqlite3 plain.db .tables", "sub/plain.db"),
        ("sqlite3 log.db .tables", "log.db"),
        ("sqlite3 -readonly log.db .tables", "log.db"),
        ("sqlite3 'file:log.db?mode=ro' 'select 1'", "log.db"),
        ("sqlite3 link.db .tables", "sub/target.db"),
    ] {
        let (class, edits) = judge(script, &project);
        assert_eq!(class, CommandClass::Edits, "{script}");
        assert!(edits.iter().any(|path| path == edited), "{script}: {edits:?}");
    }
    assert_eq!(
        judge("mv plain.db x.db; sqlite3 plain.db .tables", &project).0,
        CommandClass::Edits
    );
    // A rollback can remove a file elsewhere, so this is more than an edit.
    std::os::unix::fs::symlink("left.db", project.join("sub/again.db")).unwrap();
    fs::rename(project.join("sub/again.db"), project.join("again.db")).unwrap();
    std::os::unix::fs::symlink("again.db", project.join("twice.db")).unwrap();
    for script in [
        "sqlite3 left.db .tables",
        "sqlite3 -readonly left.db .tables",
        "sqlite3 -safe again.db 'select 1'",
        "sqlite3 -safe twice.db 'select 1'",
        "sqlite3 -safe file:again.db 'select 1'",
        "cp plain.db plain.db-journal; sqlite3 plain.db .tables",
    ] {
        assert_eq!(judge(script, &project).0, CommandClass::Unknown, "{script}");
    }
    assert_ne!(judge("./x; sqlite3 plain.db .tables", &project).0, CommandClass::Harmless);
}

/// The real program creates exactly the files that are reported.
#[test]
fn the_real_program_creates_only_the_reported_files() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        eprintln!("skipped: sqlite3 is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().canonicalize().unwrap();
    let sqlite = |words: &[&str]| {
        let done = Command::new("sqlite3").args(words).current_dir(&project).output().unwrap();
        drop(done);
    };
    let files = || {
        let entries = fs::read_dir(&project).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.collect();
        names.sort();
        names
    };
    sqlite(&["plain.db", "create table t(a)"]);
    sqlite(&["log.db", "pragma journal_mode=wal; create table t(a)"]);
    for (words, script) in [
        (["plain.db", ".tables"].as_slice(), "sqlite3 plain.db .tables"),
        (&["-readonly", "plain.db", ".tables"], "sqlite3 -readonly plain.db .tables"),
        (&["-readonly", "none1.db", ".tables"], "sqlite3 -readonly none1.db .tables"),
        (&["none2.db", "select 1"], "sqlite3 none2.db 'select 1'"),
        (&["-safe", "none3.db", ".tables"], "sqlite3 -safe none3.db .tables"),
        (&["-readonly", "log.db", ".tables"], "sqlite3 -readonly log.db .tables"),
    ] {
        let (class, _) = judge(script, &project);
        let before = files();
        sqlite(words);
        assert_eq!(class == CommandClass::Harmless, before == files(), "{script}");
    }
}
