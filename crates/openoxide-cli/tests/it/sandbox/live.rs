//! Tests of `--live`: who answers for a change, the effect of the answer, and its record.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::is_root;
use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr},
};

/// A project with a script, and a directory outside that is none for temporary files.
struct Outside {
    world: World,
    outside: tempfile::TempDir,
}

impl Outside {
    fn new(script: &str, rules: &str) -> Self {
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let here = outside.path().canonicalize().unwrap();
        let placed = |text: &str| text.replace("OUT", here.to_str().unwrap());
        let world = World::new().policy(&format!(
            "[permissions]\nallow = [\"Bash(./write)\", \"Edit(/OUT/free/**)\"]\n{rules}\n"
        ));
        let policy = fs::read_to_string(world.user_policy()).unwrap();
        let world = world.policy(&placed(&policy));
        let file = world.file("write", &format!("#!/bin/sh\n{}\n", placed(script)));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(here.join("free")).unwrap();
        Self { world, outside }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn log(&self) -> String {
        let log = self.world.run(&["audit", "log", "--json"], b"");
        String::from_utf8(log.stdout).unwrap()
    }
}

#[test]
fn rules_answer_first_and_each_answer_is_written_down() {
    let outside = Outside::new(
        "for n in $(seq 40); do echo $n > OUT/free/$n || exit 1; done\n\
         mkdir OUT/free/d && mv OUT/free/1 OUT/free/d/one && rm OUT/free/2\n\
         echo x > OUT/free/denied; echo x > OUT/elsewhere; echo x > OUT/free/.bashrc; exit 0",
        "deny = [\"Edit(/OUT/free/denied)\"]",
    );
    let output = outside.world.run(&["run", "--live", "-c", "./write"], b"");
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert_eq!(
        (outside.read("free/40"), outside.read("free/d/one")),
        ("40\n".into(), "1\n".into())
    );
    for (name, there) in
        [("free/2", false), ("free/denied", false), ("elsewhere", false), ("free/.bashrc", false)]
    {
        assert_eq!(outside.path(name).exists(), there, "{name} {said}");
    }
    assert_eq!(said.matches("Read-only file system").count(), 3, "{said}");
    assert!(said.contains("refused: changing"), "{said}");
    let log = outside.log();
    let edits = |with: &str| {
        let edit = |line: &&str| line.contains(r#""tool":"Edit""#) && line.contains(with);
        log.lines().filter(edit).count()
    };
    assert!(edits("/free/40\"") == 1 && edits("/free/d/one\"") == 1, "{log}");
    assert!(edits("/free/denied\"") == 1 && edits("/elsewhere\"") == 1, "{log}");
    assert_eq!(edits(".bashrc"), 0, "it is never asked about: {log}");
}

/// A rule that allows the directory of the policy itself does not let a command change what answers next.
#[test]
fn a_policy_that_was_named_is_not_changed() {
    let outside =
        Outside::new("echo 'mode = \"bypass\"' >> OUT/free/policy.toml; echo x > OUT/free/x", "");
    let policy = fs::read_to_string(outside.world.user_policy()).unwrap();
    let file = outside.path("free/policy.toml");
    fs::write(&file, &policy).unwrap();
    let words = ["run", "--live", "--policy", file.to_str().unwrap(), "-c", "./write"];
    let output = outside.world.run(&words, b"");
    assert_eq!(fs::read_to_string(&file).unwrap(), policy, "{}", stderr(&output));
    assert_eq!(outside.read("free/x"), "x\n", "{}", stderr(&output));
}

#[test]
fn a_person_answers_while_the_program_waits_and_is_not_asked_again() {
    let outside = Outside::new("echo yes > OUT/one; echo no > OUT/two || exit 3", "");
    let mut terminal = Terminal::run(&outside.world, &["run", "--live", "-c", "./write"]);
    terminal.wait_for("[y]");
    assert!(!outside.path("one").exists());
    terminal.press("y");
    terminal.wait_for("two");
    terminal.wait_for("[y]");
    terminal.press("n");
    let (code, text) = terminal.end();
    assert_eq!((code, outside.read("one").as_str()), (3, "yes\n"), "{text}");
    assert!(!outside.path("two").exists());
    assert!(text.contains("not retried"), "{text}");
    assert!(!text.contains("writable?") && !text.contains("without sandbox"), "{text}");
}

#[test]
fn without_a_policy_a_person_at_the_terminal_answers() {
    let outside = Outside::new("", "");
    let script =
        format!("echo x > {0}/one; echo x > {0}/.env; echo x > .git/x", outside.path("").display());
    let words = ["sandbox", "run", "--live", "--", "sh", "-c", &script];
    let output = outside.world.run(&words, b"y\n");
    assert!(stderr(&output).contains("Read-only"), "nobody can be asked: {}", stderr(&output));
    let mut terminal = Terminal::run(&outside.world, &words);
    terminal.wait_for("[y]");
    terminal.press("y");
    let (_, text) = terminal.end();
    assert_eq!(outside.read("one"), "x\n", "{text}");
    assert!(
        !outside.path(".env").exists() && text.matches("OpenOxide asks").count() == 1,
        "{text}"
    );
}

/// One answer approves the changes in a directory until the command ends, but not what is protected
/// in it, or what a rule denies or asks about.
const MANY_FILES: &str = "for n in $(seq 40); do echo $n > OUT/many/$n || exit 1; done; mkdir OUT/many/d; \
    mv OUT/many/1 OUT/many/d/one; rm OUT/many/2; \
    echo x > OUT/many/.bashrc; echo x > OUT/many/.env; echo x > OUT/many/denied; exit 0";

fn check_many(outside: &Outside, text: &str) {
    assert_eq!(outside.read("many/40"), "40\n", "{text}");
    assert_eq!(outside.read("many/d/one"), "1\n", "{text}");
    for name in ["many/1", "many/2", "many/.bashrc", "many/.env", "many/denied"] {
        assert!(!outside.path(name).exists(), "{name} {text}");
    }
}

fn many_files() -> Outside {
    let outside = Outside::new(MANY_FILES, "deny = [\"Edit(/OUT/many/denied)\"]");
    fs::create_dir(outside.path("many")).unwrap();
    outside
}

#[test]
fn a_person_approves_a_directory_until_the_command_ends() {
    let outside = many_files();
    let mut terminal = Terminal::run(&outside.world, &["run", "--live", "-c", "./write"]);
    terminal.wait_for("[d] yes, in this directory");
    terminal.press("d");
    let (code, text) = terminal.end();
    assert_eq!((code, text.matches("OpenOxide asks").count()), (0, 1), "{text}");
    let shown = format!(
        "changes in {} and below it, until the command ends",
        outside.path("many").display()
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&shown), "{text}");
    check_many(&outside, &text);
    let log = outside.log();
    let edits = log.lines().filter(|line| line.contains(r#""tool":"Edit""#));
    assert!(edits.count() > 40, "each change is recorded: {log}");
    // The next command asks again.
    let mut terminal = Terminal::run(&outside.world, &["run", "--live", "-c", "./write"]);
    terminal.wait_for("[d]");
    terminal.press("n");
    terminal.end();
}

/// The same answer from another terminal.
#[test]
fn a_directory_is_approved_from_another_terminal() {
    let outside = many_files();
    let waiting = ["run", "--live", "--wait=50", "-c", "./write"];
    let run = outside.world.command(&waiting).stderr(Stdio::piped()).spawn().unwrap();
    let find = || {
        let list = outside.world.run(&["pending", "--json"], b"");
        serde_json::from_slice::<serde_json::Value>(
            list.stdout.split(|byte| *byte == b'\n').next()?,
        )
        .ok()
    };
    let request = (0..200).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        find()
    });
    let request = request.expect("a request waits");
    let id = request["id"].as_str().or(request["request"]["id"].as_str()).unwrap();
    let answered = outside.world.run(&["approve", id, "--scope", "directory"], b"");
    assert_eq!(code(&answered), 0, "{}", stderr(&answered));
    let output = run.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    check_many(&outside, &stderr(&output));
}

#[test]
fn a_question_ends_with_the_program_that_asked() {
    let outside = Outside::new("echo x > OUT/late & sleep 2; kill -9 $!; wait; echo over", "");
    let terminal = Terminal::run(&outside.world, &["run", "--live", "-c", "./write"]);
    terminal.wait_for("[y]");
    terminal.wait_for("over");
    let (code, text) = terminal.end();
    assert_eq!((code, outside.path("late").exists()), (0, false), "{text}");
}

#[test]
fn where_nothing_or_everything_is_held_there_is_nothing_to_ask() {
    let outside = Outside::new("", "");
    for held in ["off", "read-only"] {
        let output = outside.world.run(&["run", "--live", "--sandbox", held, "-c", "./write"], b"");
        assert!(code(&output) == 2 && stderr(&output).contains("--live"), "{}", stderr(&output));
    }
}

/// An ordinary user, where this is root.
#[test]
fn another_user_can_change_their_own_files() {
    const SCRIPT: &str = "mount -t tmpfs none /mnt && cp \"$0\" /mnt/openoxide && cd /mnt && mkdir -p home/p out theirs && \
        printf '#!/bin/sh\\numask 077; echo a > /mnt/out/a; mv /mnt/out/a /mnt/out/b; echo x > /mnt/theirs/x; id -u\\n' > home/p/write && \
        printf '[permissions]\\nallow = [\"Bash(./write)\", \"Edit(//mnt/**)\"]\\n' > home/policy.toml && chmod 755 home/p/write && \
        chmod 777 theirs && chown -R 1234:1234 home out && cd home/p && \
        setpriv --reuid 1234 --regid 1234 --clear-groups env -i PATH=/usr/bin:/bin HOME=/mnt/home \
        /mnt/openoxide run --live --policy ../policy.toml -c ./write; ls -ln /mnt/out /mnt/theirs";
    if !is_root() {
        return; // All the others are run by an ordinary user then.
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", SCRIPT, OPENOXIDE]);
    let output = command.output().unwrap();
    let (said, text) = (stderr(&output), String::from_utf8_lossy(&output.stdout).into_owned());
    assert!(text.contains("1234\n") && text.contains("-rw------- 1 1234 1234 2"), "{text}{said}");
    assert!(text.contains("/mnt/theirs:\ntotal 0\n"), "{text}{said}");
    assert!(said.contains("/mnt/theirs/x: Read-only file system"), "{said}");
}
