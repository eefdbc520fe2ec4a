//! The compared programs: the cheapest processes, the OpenOxide hook under several policies,
//! interpreters, and other hooks.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use openoxide_benches::{policy, process, rules::mix};

/// The argument that makes this program end at once: a static Rust program that does nothing.
pub(crate) const NOTHING: &str = "--nothing";

/// Younger policy files are not kept compiled.
const SETTLED: Duration = Duration::from_millis(2_300);

/// A path at which nothing exists and nothing can be created, not even by root.
const NOWHERE: &str = "/proc/nowhere";

const HELLO: &str = "#include <unistd.h>\nint main(void) { char b[4096]; while (read(0, b, sizeof b) > 0) {} return 0; }\n";

/// A program and its measurements.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) command: Command,
    pub(crate) walls: Vec<f64>,
    pub(crate) rss: i64,
    pub(crate) slow: bool,
}

impl Row {
    fn new(name: &str, command: Command) -> Self {
        Self { name: name.to_owned(), command, walls: Vec::new(), rss: 0, slow: false }
    }
}

/// Returns every row, `/bin/true` first.
pub(crate) fn rows(
    place: &Path,
    payload: &Path,
    program: &Path,
    peers: &[(String, String)],
) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = vec![Row::new("/bin/true", Command::new("/bin/true"))];
    rows.extend(static_c(place));
    let mut nothing = Command::new(std::env::current_exe()?);
    nothing.arg(NOTHING);
    rows.push(Row::new("static Rust that does nothing", nothing));
    let hooks = [0, 100, 10_000].map(|count| hook(place, program, count));
    for hook in hooks {
        rows.push(hook?);
    }
    rows.push(unrecorded(place, program)?);
    warm(&mut rows, payload)?;
    rows.extend(interpreters());
    for (name, words) in peers {
        let mut words = words.split_ascii_whitespace();
        let mut command = Command::new(words.next().ok_or("a peer has a command")?);
        command.args(words).env("HOME", home(place, "peers")?);
        rows.push(Row::new(name, command));
    }
    Ok(rows)
}

fn home(place: &Path, name: &str) -> Result<PathBuf, std::io::Error> {
    let home = place.join(name);
    fs::create_dir_all(home.join(".config/openoxide"))?;
    Ok(home)
}

/// A user whose policy has this many rules.
fn hook(place: &Path, program: &Path, count: usize) -> Result<Row, Box<dyn Error>> {
    let home = home(place, &format!("user-{count}"))?;
    if count > 0 {
        fs::write(home.join(".config/openoxide/policy.toml"), policy::toml(&mix(count)))?;
    }
    let mut command = Command::new(program);
    command.args(["hook", "claude"]).env_clear().env("HOME", home);
    Ok(Row::new(&format!("openoxide hook claude, {count} rules"), command))
}

/// The hook without rules where no journal can be kept: what the audit costs is the difference.
fn unrecorded(place: &Path, program: &Path) -> Result<Row, Box<dyn Error>> {
    let mut row = hook(place, program, 0)?;
    row.name += ", nothing written down";
    row.command.env("HOME", home(place, "unrecorded")?).env("XDG_STATE_HOME", NOWHERE);
    Ok(row)
}

/// Lets every compiled policy be kept, and proves that it is.
fn warm(rows: &mut [Row], payload: &Path) -> Result<(), Box<dyn Error>> {
    thread::sleep(SETTLED);
    for row in rows.iter_mut().filter(|row| row.name.starts_with("openoxide")) {
        let taken = process::run(&mut row.command, payload)?;
        if taken.status != 0 {
            return Err(format!("{} ended with status {}", row.name, taken.status).into());
        }
        let homes = row.command.get_envs().find(|(name, _)| *name == "HOME");
        let home = homes.and_then(|(_, home)| home).ok_or("it has a home")?;
        if !Path::new(home).join(".cache/openoxide").is_dir() {
            return Err(format!("{} did not keep its compiled policy", row.name).into());
        }
    }
    Ok(())
}

fn static_c(place: &Path) -> Option<Row> {
    let (source, program) = (place.join("hello.c"), place.join("hello"));
    fs::write(&source, HELLO).ok()?;
    let mut cc = Command::new("cc");
    let built = cc.args(["-O2", "-static", "-o"]).arg(&program).arg(&source).status().ok()?;
    built.success().then(|| Row::new("static C that reads its input", Command::new(program)))
}

fn interpreters() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |name: &str, program: PathBuf, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        rows.push(Row::new(name, command));
    };
    add("sh -c :", PathBuf::from("/bin/sh"), &["-c", ":"]);
    if let Some(python) = real("python3", &["-c", "import sys; print(sys.executable)"]) {
        add("python3 -S -c pass", python, &["-S", "-c", "pass"]);
    }
    if let Some(node) = real("node", &["-p", "process.execPath"]) {
        add("node -e 0", node, &["-e", "0"]);
    }
    rows
}

/// Asks an interpreter for its own path: what `PATH` finds may be a script that looks for it each time.
fn real(program: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}
