//! Linked worktrees of git, created by git itself: which settings of the main checkout apply in
//! them, and which of an unrelated checkout do not.

use std::{fs, path::Path, process::Command};

use crate::{
    layers::{answer_trust, decision},
    prompt::Terminal,
    support::{World, code, stdout},
};

const POLICY: &str = "[permissions]\nallow = [\"Bash(make *)\", \"Edit(/out/**)\"]\n";

fn git(world: &World, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(world.project());
    git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", world.root());
    let output = git.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Creates a trusted project with a worktree next to it.
fn world() -> World {
    with_policy(POLICY)
}

fn with_policy(text: &str) -> World {
    let world = World::new();
    fs::remove_dir(world.project().join(".git")).unwrap();
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    fs::write(world.project().join(".openoxide/policy.toml"), text).unwrap();
    fs::write(world.project().join("guard.sh"), "exit 0\n").unwrap();
    git(&world, &["init", "--quiet"]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "--quiet", "--message", "first"]);
    let (code, text) = answer_trust(&world, "y");
    assert_eq!(code, 0, "{text}");
    git(&world, &["worktree", "add", "--quiet", "../w"]);
    world
}

fn decided(world: &World, place: &str, script: &str) -> String {
    let place = world.root().join(place);
    decision(world, &["--cwd", place.to_str().unwrap()], script)
}

#[test]
fn a_worktree_has_the_trust_of_its_main_checkout_for_the_same_content() {
    let world = world();
    assert_eq!(decided(&world, "w", "make x"), "allow");
    let edits = |file: &str| {
        let input = serde_json::json!({ "file_path": world.root().join(file), "content": "" });
        let (cwd, input) = (world.root().join("w"), input.to_string());
        let args = ["check", "--cwd", cwd.to_str().unwrap(), "--tool", "Write", "--input", &input];
        code(&world.run(&args, b""))
    };
    assert_eq!(edits("w/out/x"), 0, "`/` is the worktree");
    assert_eq!(edits("project/out/x"), 4, "the main checkout lies outside");
    let output = world.run(&["trust", "../w"], b"");
    let expected = format!(
        "{}: trusted as a worktree of {}",
        world.root().join("w").display(),
        world.project().display()
    );
    assert!(stdout(&output).starts_with(&expected), "{}", stdout(&output));
    let more = POLICY.replace("make *", "make *)\", \"Bash(touch *");
    fs::write(world.root().join("w/.openoxide/policy.toml"), more).unwrap();
    assert_eq!(decided(&world, "w", "make x"), "ask", "its own copy counts, and it says more");
    assert_eq!(decided(&world, "project", "make x"), "allow");
    assert_eq!(code(&world.run(&["trust", "--revoke"], b"")), 0);
    git(&world, &["-C", "../w", "checkout", "--quiet", "."]);
    assert_eq!(decided(&world, "w", "make x"), "ask", "nobody vouches for it any more");
}

#[test]
fn local_settings_of_the_main_checkout_apply_in_each_worktree() {
    let world = world();
    let local = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Read(/secret/**)\"]\n";
    fs::write(world.project().join(".openoxide/local.toml"), local).unwrap();
    assert_eq!(decided(&world, "w", "touch out/x"), "ask", "nobody vouched for that yet");
    assert_eq!(decided(&world, "w", "cat secret/x"), "deny", "`/` is the worktree");
    assert_eq!(answer_trust(&world, "y").0, 0);
    assert_eq!(decided(&world, "w", "touch out/x"), "allow");
    let paths = stdout(&world.run(&["config", "path", "--cwd", "../w"], b""));
    let local = world.project().join(".openoxide/local.toml");
    assert!(paths.contains(&format!("local    applies    {}", local.display())), "{paths}");
}

#[test]
fn a_hook_is_trusted_in_a_worktree_while_its_script_is_the_same() {
    let world = with_policy("[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"./guard.sh\"\n");
    let shown = || stdout(&world.run(&["trust", "--show", "../w"], b""));
    assert!(
        shown().contains("[guard.sh sha256 ") && shown().contains("a worktree of"),
        "{}",
        shown()
    );
    fs::write(world.root().join("w/guard.sh"), "exit 2\n").unwrap();
    assert!(shown().contains("w: not trusted; these settings would take effect"), "{}", shown());
}

#[test]
fn grants_are_those_of_the_main_checkout_in_both_directions() {
    let world = world();
    let add = |rule: &str, place: &str| {
        let words =
            format!("cd '{}' && openoxide grants add '{rule}'", world.root().join(place).display());
        let bin = Path::new(crate::support::OPENOXIDE).parent().unwrap().display().to_string();
        let environment = [
            ("PATH", format!("{bin}:/usr/bin:/bin")),
            ("HOME", world.root().display().to_string()),
            ("XDG_CONFIG_HOME", world.root().join("config").display().to_string()),
            ("XDG_CACHE_HOME", world.root().join("cache").display().to_string()),
        ];
        Terminal::start(&world, "bash", &["-c", &words], &environment).end()
    };
    assert_eq!(add("Bash(touch *)", "project").0, 0);
    assert_eq!(decided(&world, "w", "touch out/x"), "allow");
    assert_eq!(add("Bash(mkdir *)", "w").0, 0);
    assert_eq!(decided(&world, "project", "mkdir out/x"), "allow");
    assert!(!world.root().join("w/.openoxide/approvals.toml").exists());
}

/// Guards I11.
#[test]
fn a_strangers_directory_that_names_a_project_has_nothing_of_it() {
    let world = world();
    fs::write(
        world.project().join(".openoxide/local.toml"),
        "[permissions]\nallow = [\"Bash(touch *)\"]\n",
    )
    .unwrap();
    assert_eq!(answer_trust(&world, "y").0, 0);
    let forged = world.root().join("forged");
    fs::create_dir_all(forged.join(".openoxide")).unwrap();
    fs::write(forged.join(".openoxide/policy.toml"), POLICY).unwrap();
    let names = [
        world.project().join(".git/worktrees/w"),
        world.project().join(".git/worktrees/none"),
        world.project().join(".git"),
        forged.join("own/.git/worktrees/x"),
    ];
    // Its own repository inside, whose entry names it and whose `commondir` names the project.
    fs::create_dir_all(&names[3]).unwrap();
    fs::write(names[3].join("gitdir"), format!("{}\n", forged.join(".git").display())).unwrap();
    let common = format!("{}\n", world.project().join(".git").display());
    fs::write(names[3].join("commondir"), common).unwrap();
    for name in names {
        fs::write(forged.join(".git"), format!("gitdir: {}\n", name.display())).unwrap();
        assert_eq!(decided(&world, "forged", "make x"), "ask", "{}", name.display());
        assert_eq!(decided(&world, "forged", "touch out/x"), "ask", "{}", name.display());
    }
    assert_eq!(decided(&world, "w", "make x"), "allow");
}

#[test]
fn a_moved_or_copied_worktree_is_a_separate_project() {
    let world = world();
    let (worktree, moved) = (world.root().join("w"), world.root().join("moved"));
    let copied =
        Command::new("cp").arg("-a").args([&worktree, &world.root().join("copy")]).status();
    assert!(copied.unwrap().success());
    assert_eq!(decided(&world, "copy", "make x"), "ask");
    fs::rename(&worktree, &moved).unwrap();
    assert_eq!(decided(&world, "moved", "make x"), "ask");
    git(&world, &["worktree", "repair", moved.to_str().unwrap()]);
    assert_eq!(decided(&world, "moved", "make x"), "allow");
}

#[test]
fn changes_to_worktree_metadata_ask() {
    let world = world();
    for script in ["git worktree repair", "git worktree repair ../w", "git worktree move ../w ../x"]
    {
        assert_eq!(decision(&world, &[], script), "ask", "{script}");
    }
    let script = "echo x > .git/worktrees/w/gitdir";
    for mode in ["accept_edits", "bypass_permissions"] {
        assert_eq!(decision(&world, &["--mode", mode], script), "ask", "{mode}");
    }
}
