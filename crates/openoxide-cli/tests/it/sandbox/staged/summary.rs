//! The summary of many changes: what is on the screen, and what an answer to it does.

use std::{fs, path::Path, thread, time::Duration};

use super::{ASKS, Place, project};
use crate::{
    prompt::Terminal,
    support::{World, stderr, stdout},
};

const MANY: &str = "mkdir -p docs src/a
for i in $(seq 200); do echo $i > docs/f$i; echo $i > src/a/g$i; done
ln -s /etc/passwd src/out; ln -s a/g1 src/in; mkfifo src/pipe
echo '{}' > package.json; echo x > src/run; chmod +x src/run; rm old.txt; echo two >> a.txt";

fn start(script: &str) -> (World, Terminal) {
    let world = project(script);
    world.file("a.txt", "one\n");
    world.file("old.txt", "old\n");
    let terminal = Terminal::run(&world, &["run", "--stage", "--", "./do.sh"]);
    terminal.wait_for("[y]");
    (world, terminal)
}

fn count(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

#[test]
fn many_changes_fit_one_screen_and_one_key_makes_them() {
    for keys in ["y", "vy"] {
        let (world, mut terminal) = start(MANY);
        for line in [
            "407 files: 405 new, 1 changed, 1 removed",
            "new       src/out → /etc/passwd (leads out of this directory)",
            "removed   old.txt (-1)",
            "new       package.json (+1) (steers tools)",
            "new       src/run (+1, executable)",
            "new       src/in → a/g1",
            "new       src/pipe (a named pipe)",
            "changed   a.txt (+1 -0)",
            "new       docs/ (200 files,",
            "new       src/a/ (200 files,",
            "change 407 paths",
        ] {
            terminal.wait_for(line);
        }
        for key in keys.chars() {
            terminal.press(&key.to_string());
            thread::sleep(Duration::from_millis(500));
        }
        let (code, text) = terminal.end();
        assert_eq!(code, 0, "{text}");
        let project = world.project();
        assert_eq!((count(&project.join("docs")), count(&project.join("src/a"))), (200, 200));
        assert!(!project.join("old.txt").exists(), "{text}");
        assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "one\ntwo\n");
    }
}

/// Links that lead out of the project are all on the screen before an answer applies.
#[test]
fn dangerous_changes_that_do_not_fit_the_screen_are_shown_before_an_approval() {
    let script = "mkdir l; for i in $(seq 100); do ln -s /etc/x$i l/n$i; echo x > f$i; done";
    let (world, mut terminal) = start(script);
    terminal.press("y");
    terminal.wait_for("page 1 of");
    assert_eq!(count(&world.project().join("l")), 0);
    terminal.press_until_end("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert_eq!(count(&world.project().join("l")), 100, "{text}");
}

/// Without a terminal, the summary is printed. `stage show` prints it before all files.
#[test]
fn changes_that_wait_are_summarized() {
    let place = Place::new(ASKS, None);
    let output = place.run(&["--stage"], "mkdir d; for i in $(seq 50); do echo $i > d/f$i; done");
    let said = stderr(&output);
    assert!(
        said.contains("50 files: 50 new") && said.contains("new       d/ (50 files,"),
        "{said}"
    );
    assert!(!said.contains("d/f7"), "{said}");
    let [stage] = place.staged().try_into().unwrap();
    let id = stage.file_name().unwrap().to_str().unwrap();
    let shown = place.command(&place.path("openoxide"), &["stage", "show", id]).output().unwrap();
    let shown = stdout(&shown);
    assert!(shown.contains("50 files: 50 new"), "{shown}");
    assert!((1..=50).all(|n| shown.contains(&format!("new       d/f{n} (+1)\n"))), "{shown}");
}

/// The objects of a repository are counted. Its configuration and its hooks are named.
#[test]
fn a_new_repository_fits_one_screen() {
    let script = "git init -q new && cd new && for i in $(seq 60); do echo $i > f$i; done
        git add . && git -c user.name=a -c user.email=a@b.c commit -qm first";
    let (world, mut terminal) = start(script);
    terminal.wait_for("new/.git/config (+");
    terminal.wait_for("files of a repository");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(world.project().join("new/.git/config").exists(), "{text}");
    assert!(world.project().join("new/.git/refs/heads").exists(), "{text}");
    assert_eq!(count(&world.project().join("new")), 61, "{text}");
}
