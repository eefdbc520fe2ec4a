//! Tests of the guide: every transcript in it is run again, chapter by chapter, each chapter in a
//! separate home and project.
//!
//! - A block that begins with ```` ```toml file=NAME ```` (or `json`, `sh`) is written to that
//!   file: `~/…` in the home, others in the project.
//! - In a `console` block each line that begins with `$ ` is run by bash. Its output must
//!   follow, and `? N` if it ends with a status other than 0. `[..]` stands for any text in a
//!   line, `...` for any lines.
//! - In a `screen keys=…` block the command runs in a terminal, and the keys are pressed when
//!   it asks, those after a dot in the second step of `p`. The final content of the screen must
//!   follow.
//!
//! The home is `/home/ann`, the project `/home/ann/project`. The homes of the chapters that run
//! commands in the sandbox are not below `/tmp`. The chapter about Rust also has the examples of
//! `openoxide-engine` in its path; its Rust code is a doctest of that crate.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use crate::{
    engine_examples::{EXAMPLES, example},
    prompt::Terminal,
    support::{OPENOXIDE, World, workspace},
};

struct Block<'a> {
    line: usize,
    info: &'a str,
    text: Vec<&'a str>,
}

fn blocks(chapter: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (number, line) in chapter.lines().enumerate() {
        match (line.strip_prefix("```"), inside) {
            (Some(info), false) => blocks.push(Block { line: number + 1, info, text: Vec::new() }),
            (None, true) => blocks.last_mut().unwrap().text.push(line),
            (Some(_), true) | (None, false) => {}
        }
        inside ^= line.starts_with("```");
    }
    blocks
}

fn word<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the commands of a block, each with its expected output.
fn commands<'a>(block: &Block<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in &block.text {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, Vec::new())),
            None => commands.last_mut().expect("a block begins with a command").1.push(line),
        }
    }
    commands
}

struct Reader {
    world: World,
}

impl Reader {
    fn new(chapter: &str) -> Self {
        // A home below /tmp is none to a confined program; and a short path is not broken by the terminal.
        let world = if ["sandbox.md", "servers.md", "undo.md", "rust.md"].contains(&chapter) {
            World::in_place(&workspace().join("target"))
        } else {
            World::new()
        };
        let bin = world.root().join(".local/bin");
        fs::create_dir_all(&bin).unwrap();
        symlink(OPENOXIDE, bin.join("openoxide")).unwrap();
        if chapter == "rust.md" {
            EXAMPLES.iter().for_each(|name| symlink(example(name), bin.join(name)).unwrap());
        }
        Self { world }
    }

    fn environment(&self) -> [(&'static str, String); 3] {
        let home = self.world.root().display().to_string();
        let path = format!("{home}/.local/bin:/usr/local/bin:/usr/bin:/bin");
        [("PATH", path), ("HOME", home), ("LC_ALL", "C.UTF-8".to_owned())]
    }

    fn play(&self, block: &Block<'_>) -> Result<(), String> {
        let kind = block.info.split(' ').next().unwrap_or_default();
        match (kind, word(block.info, "file"), word(block.info, "keys")) {
            (_, Some(name), _) => self.write(name, &block.text),
            ("console", ..) => {
                for (command, expected) in commands(block) {
                    same(command, &self.run(command), &expected)?;
                }
            }
            ("screen", _, Some(keys)) => {
                for (command, expected) in commands(block) {
                    same(command, &self.ask(command, keys), &expected)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&self, name: &str, lines: &[&str]) {
        let path = match name.strip_prefix("~/") {
            Some(name) => self.world.root().join(name),
            None => self.world.project().join(name),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, self.as_meant(&lines.join("\n")) + "\n").unwrap();
        let mode =
            if lines.first().is_some_and(|line| line.starts_with("#!")) { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn run(&self, command: &str) -> String {
        let mut bash = Command::new("bash");
        let script = format!("exec 2>&1\n{}", self.as_meant(command));
        bash.args(["-c", &script]).current_dir(self.world.project());
        bash.env_clear().envs(self.environment());
        let output = bash.output().unwrap();
        let mut text = self.as_written(&String::from_utf8_lossy(&output.stdout));
        match output.status.code() {
            Some(0) => {}
            code => text.insert_str(0, &format!("? {}\n", code.unwrap_or(-1))),
        }
        text
    }

    fn ask(&self, command: &str, keys: &str) -> String {
        let (script, environment) = (self.as_meant(command), self.environment());
        let mut terminal = Terminal::start(&self.world, "bash", &["-c", &script], &environment);
        for key in keys.split(',') {
            terminal.wait_for("[y]");
            for (at, step) in key.split('.').enumerate() {
                if at > 0 {
                    terminal.wait_for("[Esc] back");
                }
                terminal.press(step);
            }
        }
        self.as_written(&terminal.end().1)
    }

    fn as_meant(&self, text: &str) -> String {
        text.replace("/home/ann", &self.world.root().display().to_string())
    }

    fn as_written(&self, text: &str) -> String {
        text.replace(&self.world.root().display().to_string(), "/home/ann")
    }
}

fn same(command: &str, actual: &str, expected: &[&str]) -> Result<(), String> {
    let actual: Vec<&str> = actual.lines().map(str::trim_end).collect();
    let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
    let end =
        |lines: &[&str]| lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    let (actual, expected) = (&actual[..end(&actual)], &expected[..end(&expected)]);
    if lines_match(expected, actual) {
        return Ok(());
    }
    Err(format!("$ {command}\n{}\n", actual.join("\n")))
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match (expected, actual) {
        ([], []) => true,
        (["...", rest @ ..], _) => {
            (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]))
        }
        ([wanted, expected @ ..], [line, actual @ ..]) => {
            line_matches(wanted, line) && lines_match(expected, actual)
        }
        _ => false,
    }
}

fn line_matches(wanted: &str, line: &str) -> bool {
    match wanted.split_once("[..]") {
        None => wanted == line,
        Some((before, after)) => line.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| rest.get(at..).is_some_and(|rest| line_matches(after, rest)))
        }),
    }
}

fn chapters() -> Vec<(String, String)> {
    let folder = workspace().join("docs/guide/src");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let summary = read(&folder.join("SUMMARY.md"));
    let names: Vec<&str> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let there = fs::read_dir(&folder).unwrap().count();
    assert_eq!(there, names.len() + 1, "each chapter stands in SUMMARY.md");
    names.iter().map(|name| ((*name).to_owned(), read(&folder.join(name)))).collect()
}

#[test]
fn the_guide_is_true() {
    let mut wrong = Vec::new();
    let mut played = 0;
    for (name, chapter) in chapters() {
        let reader = Reader::new(&name);
        for block in blocks(&chapter) {
            played +=
                usize::from(block.info.starts_with("console") || block.info.starts_with("screen"));
            if let Err(actual) = reader.play(&block) {
                wrong.push(format!("{name}:{}:\n{actual}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played > 20, "{played}");
}
