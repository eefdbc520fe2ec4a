//! Limits of memory and processes that stop a program: the message names the limit and the setting.

use std::process::Stdio;

use super::Arena;
use crate::support::{World, code, stderr};

/// The message if the machine has no control group for a limit. There is nothing to count then.
const NO_GROUP: &str = "cannot create a control group";

const FILL_MEMORY: &str = "x = []\nwhile True: x.append(b'x' * (1 << 20))\n";
const FORK: &str = "import os, time\n\
    for _ in range(60):\n    if os.fork() == 0:\n        time.sleep(2); os._exit(0)\n";

#[test]
fn a_program_that_is_stopped_by_a_limit_of_the_policy_is_explained() {
    let policy = "[permissions]\nallow = [\"Bash(python3 *)\"]\n\
        [sandbox.limits]\nmemory = 100\nprocesses = 30\n";
    let world = World::new().policy(policy);
    world.file("fill.py", FILL_MEMORY);
    world.file("fork.py", FORK);
    for (command, message) in [
        (
            "python3 fill.py",
            "openoxide: a process was killed, because the command used 100 MiB of memory, its \
             limit; a higher `memory` in `[sandbox.limits]` of your policy allows more\n",
        ),
        (
            "python3 fork.py",
            "openoxide: a process was not started, because 30 were running, the limit of the \
             command; a higher `processes` in `[sandbox.limits]` of your policy allows more\n",
        ),
    ] {
        let output = world.run(&["run", "--no-input", "-c", command], b"");
        let text = stderr(&output);
        assert_ne!(code(&output), 0, "{text}");
        assert!(text.contains(NO_GROUP) || text.matches(message).count() == 1, "{text}");
    }
    let output = world.run(&["run", "--no-input", "-c", "python3 -c 'print(1)'"], b"");
    assert!(!stderr(&output).contains("limit"), "{}", stderr(&output));
}

#[test]
fn sandbox_run_names_its_own_options() {
    for (option, limit, program) in [("--memory", "64", FILL_MEMORY), ("--processes", "30", FORK)] {
        let arena = Arena::new();
        let mut command = arena.run(&[option, limit], &["python3", "-c", program]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = stderr(&output);
        let hint = format!("a higher `{option}` allows more\n");
        assert!(text.contains(NO_GROUP) || text.contains(&hint), "{text}");
    }
}

/// Node reserves more addresses (`MAP_NORESERVE`, 0x4000) than it uses.
#[test]
fn a_memory_limit_does_not_restrict_reserved_addresses() {
    let arena = Arena::new();
    let reserve = "import mmap; mmap.mmap(-1, 4 << 30, mmap.MAP_PRIVATE | 0x4000); print('fine')";
    let mut command = arena.run(&["--memory", "200"], &["python3", "-c", reserve]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = stderr(&output);
    assert!(text.contains(NO_GROUP) || output.stdout == b"fine\n", "{text}");
}
