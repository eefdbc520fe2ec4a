//! Caches, settings and data of tools: confined programs write private ones.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use super::{Arena, names};

fn sh(arena: &Arena, script: &str) -> String {
    stdout(&arena.run(&[], &["sh", "-c", script]).output().unwrap())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The state of a directory tree: all names with their types, modes, sizes and times of change.
fn state(directory: &Path) -> String {
    let mut find = Command::new("find");
    find.arg(directory).args(["-printf", "%P %y %m %s %C@ %l\n", "-not", "-path", "*/openoxide*"]);
    stdout(&find.output().unwrap())
}

fn layers(arena: &Arena) -> Vec<std::path::PathBuf> {
    names(&arena.path("home/.local/state/openoxide/sandbox-caches"))
        .into_iter()
        .filter(|path| path.is_dir())
        .collect()
}

#[test]
fn missing_directories_can_be_created_and_leave_nothing_behind() {
    let arena = Arena::new();
    let script = "for d in .cache/go-build .config/app .local/share/app .local/state/app; do \
        mkdir -p ~/$d && echo x > ~/$d/file && cat ~/$d/file; done";
    assert_eq!(sh(&arena, script), "x\nx\nx\nx\n");
    let home = arena.path("home");
    assert_eq!(names(&home), [home.join(".local")], "the state of this program");
    assert_eq!(names(&home.join(".local")), [home.join(".local/state")]);
    assert_eq!(arena.registered(), Vec::<std::path::PathBuf>::new());
    let home = sh(&arena, "echo x > ~/file || echo refused");
    assert_eq!(home, "refused\n", "other names stay read-only");
}

#[test]
fn caches_stay_for_the_project_and_settings_do_not() {
    let arena = Arena::new();
    fs::create_dir_all(arena.path("home/.cache/pip")).unwrap();
    fs::create_dir_all(arena.path("home/.config")).unwrap();
    fs::write(arena.path("home/.cache/pip/index"), "real").unwrap();
    let before = state(&arena.path("home"));
    sh(
        &arena,
        "cd ~/.cache/pip && echo evil > index && echo new > new && rm -rf ../gone; \
        mkdir -p ~/.config/app ~/.local/bin && echo a > ~/.config/app/a && echo a > ~/.local/bin/ls",
    );
    let script = "cat ~/.cache/pip/index ~/.cache/pip/new; cat ~/.config/app/a ~/.local/bin/ls";
    assert_eq!(sh(&arena, script), "evil\nnew\n");
    // Another project, and the host.
    let mut other = arena.run(&[], &["sh", "-c", script]);
    fs::create_dir(arena.path("other")).unwrap();
    assert_eq!(stdout(&other.current_dir(arena.path("other")).output().unwrap()), "real");
    assert_eq!(fs::read_to_string(arena.path("home/.cache/pip/index")).unwrap(), "real");
    assert!(!arena.path("home/.cache/pip/new").exists());
    let after = state(&arena.path("home"));
    let without_state = |text: &str| {
        let lines =
            text.lines().filter(|line| line.starts_with(".cache") || line.starts_with(".config"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_state(&before), without_state(&after), "not even a time has changed");
    assert_eq!(layers(&arena).len(), 2);
    for layer in layers(&arena) {
        assert_eq!(fs::metadata(layer).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

/// Programs that a run creates in a directory of `PATH` are not found by the next run.
#[test]
fn directories_of_programs_do_not_stay() {
    let arena = Arena::new();
    let bin = arena.path("home/.cache/tool/bin");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = |script: &str| {
        let mut run = arena.run(&[], &["sh", "-c", script]);
        stdout(&run.env("PATH", &path).output().unwrap())
    };
    let plant = "mkdir -p ~/.cache/tool/bin ~/.cargo/bin; \
        printf '#!/bin/sh\\necho planted' > ~/.cache/tool/bin/planted; \
        chmod +x ~/.cache/tool/bin/planted; planted; echo stays > ~/.cache/tool/data";
    assert_eq!(run(plant), "planted\n", "the same run finds it");
    assert_eq!(run("planted; cat ~/.cache/tool/data"), "stays\n");
    // A link in place of the directory above does not help.
    sh(
        &arena,
        "rm -rf ~/.cache/tool; mkdir -p ~/.cache/x/bin; ln -s x ~/.cache/tool; \
        printf '#!/bin/sh\\necho planted' > ~/.cache/x/bin/planted; chmod +x ~/.cache/x/bin/planted",
    );
    assert_eq!(run("planted; ls -A ~/.cache"), "tool\n", "the layer is not used");
    assert!(!arena.path("home/.cache").exists());
}

/// A layer is written by hostile programs. Nothing in it leads to what is hidden or read-only.
#[test]
fn a_planted_layer_opens_nothing() {
    let arena = Arena::new();
    let secret = arena.path("home/.cache/huggingface/token");
    fs::create_dir_all(secret.parent().unwrap()).unwrap();
    fs::write(&secret, "top-secret").unwrap();
    fs::create_dir_all(arena.path("home/.ssh")).unwrap();
    fs::write(arena.path("home/.ssh/id_rsa"), "top-secret").unwrap();
    let attack = "cd ~/.cache; mv huggingface moved; cat moved/token; cp -a huggingface copied; \
        cat copied/token; ln huggingface/token linked; cat linked; \
        rm -rf huggingface; ln -s ../.ssh huggingface; ln -s ~/.ssh keys; ln -s / root; \
        mknod device c 1 1; mknod null c 0 0; cp /bin/sh suid; chmod 4755 suid; \
        setfattr -n user.overlay.redirect -v /.ssh dir; setfattr -n user.overlay.opaque -v y .; \
        mkfifo pipe; true";
    let read = "cat ~/.cache/huggingface/token ~/.cache/huggingface/id_rsa ~/.cache/keys/id_rsa \
        ~/.cache/root/etc/shadow ~/.cache/moved/token ~/.cache/copied/token ~/.cache/linked; \
        echo x > ~/.cache/keys/new; echo x > ~/.cache/root/new; true";
    for script in [attack, read, attack, read] {
        let output = arena.run(&[], &["sh", "-c", script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(!stdout(&output).contains("top-secret"), "{output:?}");
        assert!(!stdout(&output).contains("root:"), "{output:?}");
    }
    assert_eq!(names(&arena.path("home/.ssh")).len(), 1);
    assert!(!Path::new("/new").exists());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "top-secret");
    let mut find = Command::new("find");
    find.arg(arena.path("home")).args(["-type", "b", "-o", "-perm", "/6000"]);
    let found = stdout(&find.output().unwrap());
    assert!(!found.contains("suid") && !found.contains("device"), "{found}");
}

/// The directory of the layers is hidden, under its own name and through the overlay.
#[test]
fn layers_are_not_visible_inside() {
    let arena = Arena::new();
    sh(&arena, "mkdir -p ~/.cache/a; echo mine > ~/.cache/a/a");
    fs::create_dir(arena.path("other")).unwrap();
    let script = "ls -A ~/.local/state/openoxide; find ~ -name '*%2F*' 2> /dev/null; \
        cat ~/.local/state/openoxide/sandbox-caches/*/*/upper/.cache/a/a";
    let mut run = arena.run(&[], &["sh", "-c", script]);
    assert_eq!(stdout(&run.current_dir(arena.path("other")).output().unwrap()), "");
}

#[test]
fn a_second_run_at_once_does_not_share_the_layer() {
    let arena = Arena::new();
    let script = "mkdir -p ~/.cache/a; echo first > ~/.cache/a/a; touch begun; \
        while ! test -e go; do sleep 0.02; done; cat ~/.cache/a/a";
    let first = arena.run(&[], &["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    while !arena.path("w/begun").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let second = sh(&arena, "ls -A ~/.cache; mkdir -p ~/.cache/a; echo second > ~/.cache/a/a");
    assert_eq!(second, "");
    fs::write(arena.path("w/go"), "").unwrap();
    assert_eq!(stdout(&first.wait_with_output().unwrap()), "first\n");
    assert_eq!(sh(&arena, "cat ~/.cache/a/a"), "first\n");
}

/// A run that was killed leaves no lock and no mount point.
#[test]
fn a_killed_run_leaves_its_layer_usable() {
    let arena = Arena::new();
    let script = "mkdir -p ~/.cache/a; echo kept > ~/.cache/a/a; touch begun; sleep 1000";
    let mut run = arena.run(&[], &["sh", "-c", script]).spawn().unwrap();
    while !arena.path("w/begun").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let begun = std::time::Instant::now();
    while sh(&arena, "cat ~/.cache/a/a") != "kept\n" {
        assert!(begun.elapsed() < Duration::from_secs(20), "the layer is locked");
        thread::sleep(Duration::from_millis(50));
    }
    let home = arena.path("home");
    assert_eq!(names(&home), [home.join(".local")]);
}

/// Another user can neither replace the directory of the layers nor read it; a directory that
/// others can write to is not used.
#[test]
fn a_layer_directory_of_others_is_not_used() {
    let arena = Arena::new();
    let root = arena.path("home/.local/state/openoxide/sandbox-caches");
    sh(&arena, "mkdir ~/.cache/a; echo a > ~/.cache/a/a");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(sh(&arena, "cat ~/.cache/a/a"), "", "writable by others");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(sh(&arena, "cat ~/.cache/a/a"), "a\n");
    let layer = layers(&arena).remove(0);
    fs::rename(&layer, arena.path("outside/layer")).unwrap();
    symlink(arena.path("outside/layer"), &layer).unwrap();
    assert_eq!(sh(&arena, "cat ~/.cache/a/a; mkdir ~/.cache/b"), "", "a link");
    assert!(!arena.path("outside/layer").join("b").exists());
}

/// A directory that a person shares is changed itself.
#[test]
fn a_writable_directory_is_shared() {
    let arena = Arena::new();
    fs::create_dir_all(arena.path("home/.cache/pip")).unwrap();
    let roots =
        [arena.path("w"), arena.path("home/.cache/pip")].map(|path| path.display().to_string());
    let script = "echo shared > ~/.cache/pip/a; echo private > ~/.cache/b";
    let options = ["--root", &roots[0], "--root", &roots[1]];
    arena.run(&options, &["sh", "-c", script]).output().unwrap();
    assert_eq!(fs::read_to_string(arena.path("home/.cache/pip/a")).unwrap(), "shared\n");
    assert!(!arena.path("home/.cache/b").exists());
    // A layer in which the shared directory was replaced by a link is not used.
    sh(&arena, "cd ~/.cache; rm -rf pip; ln -s / pip");
    arena.run(&options, &["sh", "-c", "echo again > ~/.cache/pip/a"]).output().unwrap();
    assert_eq!(fs::read_to_string(arena.path("home/.cache/pip/a")).unwrap(), "again\n");
}

/// A mode allows every name, so the files stay private. A rule is about one: the directory is not
/// private then.
#[test]
fn files_that_only_a_mode_allows_are_private() {
    let arena = Arena::new();
    let script = "mkdir -p ~/.config/tool && echo a > ~/.config/tool/settings && cat ~/.config/tool/settings";
    let run = |policy: &str| {
        let settings = arena.path("home/.config/openoxide");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("policy.toml"), policy).unwrap();
        arena.command().args(["run", "--no-input", "-c", script]).output().unwrap()
    };
    let output = run("mode = \"bypass_permissions\"");
    let note = String::from_utf8(output.stderr.clone()).unwrap();
    let path = arena.path("home/.config/tool");
    assert_eq!(stdout(&output), "a\n", "{note}");
    assert!(note.contains(&format!("`{}` will not exist", path.display())), "{note}");
    let output = run("permissions.allow = [\"Bash(*)\", \"Edit(~/.config/tool/**)\"]");
    assert_eq!(stdout(&output), "", "{}", String::from_utf8(output.stderr.clone()).unwrap());
    assert!(!path.exists());
}

#[test]
fn caches_are_listed_and_cleared() {
    let arena = Arena::new();
    fs::create_dir_all(arena.path("w/sub")).unwrap();
    let caches = |directory: &str, arguments: &[&str]| {
        let mut command = arena.command();
        command.current_dir(arena.path(directory)).args(["sandbox", "caches"]).args(arguments);
        command.output().unwrap()
    };
    let listed = || {
        let text = stdout(&caches("home", &["list", "--json"]));
        let rows =
            text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.collect::<Vec<_>>()
    };
    let message = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    assert!(message(&caches("home", &["list"])).contains("no private changes"));
    let fill = "mkdir -p ~/.cache/a; head -c 3000000 /dev/zero > ~/.cache/a/a";
    sh(&arena, fill);
    fs::create_dir(arena.path("other")).unwrap();
    arena.run(&[], &["sh", "-c", fill]).current_dir(arena.path("other")).output().unwrap();
    // The cleanup of a run ends a little later than the run.
    let mut rows = listed();
    while rows.iter().any(|row| row["in_use"] == true) {
        thread::sleep(Duration::from_millis(20));
        rows = listed();
    }
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["project"], arena.path("other").to_str().unwrap(), "the last one first");
    let used = rows[0]["bytes"].as_u64().unwrap();
    assert!((3_000_000..4_000_000).contains(&used), "{used}");
    let text = stdout(&caches("home", &["list"]));
    assert!(text.lines().all(|line| line.contains(" MiB  /") && line.starts_with("20")), "{text}");

    // A run that uses the changes of one project.
    let script = "echo; sleep 600";
    let mut run = arena.run(&[], &["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0];
    std::io::Read::read_exact(run.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let w = arena.path("w").display().to_string();
    let row = listed().into_iter().find(|row| row["project"] == w.as_str()).unwrap();
    assert!(row["bytes"].is_null() && row["in_use"] == true, "{row}");
    let output = caches("w/sub", &["clear"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(message(&output).contains(&format!("a run is using the private changes of `{w}`")));
    let output = caches("w", &["clear", "--all"]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    assert!(message(&output).contains("other`\n"), "{}", message(&output));
    assert_eq!(listed().len(), 1, "the other one was deleted");
    run.kill().unwrap();
    run.wait().unwrap();
    // The first process inside keeps the lock until it has ended.
    while !caches("w/sub", &["clear"]).status.success() {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(listed().is_empty());
    let output = caches("w", &["clear"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("no private changes of a project at"));
    // A link in place of the layers of a project is not followed.
    fs::write(arena.path("outside/file"), "").unwrap();
    let name = w.replace('/', "%2F");
    let link = arena.path("home/.local/state/openoxide/sandbox-caches").join(name);
    symlink(arena.path("outside"), link).unwrap();
    assert!(listed().is_empty());
    caches("w", &["clear", "--all"]);
    assert!(arena.path("outside/file").exists());
}
