//! The measurement. It is the first process in the namespaces of a script, outside of the sandbox.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    base::{PRIVATE, PROGRAMS, SECRETS},
    listeners::Listeners,
    observation::{Snapshot, leaves},
    texts,
};

/// The argument that starts the measurement.
pub(super) const WORD: &str = "--inside";

/// Processes for the scripts to kill.
pub(super) const PLANTED: [&str; 34] = [
    "apple",
    "orange",
    "banana",
    "sshd",
    "dockerd",
    "containerd",
    "docker-proxy",
    "docker-containerd-shim",
    "runc",
    "NetworkManager",
    "wpa_supplicant",
    "init",
    "systemd",
    "cron",
    "rsyslogd",
    "dbus-daemon",
    "Xorg",
    "nginx",
    "apache2",
    "httpd",
    "mysqld",
    "postgres",
    "redis-server",
    "mongod",
    "sssd",
    "gdm",
    "cupsd",
    "lightdm",
    "bluetoothd",
    "avahi-daemon",
    "ntpd",
    "chronyd",
    "firewalld",
    "polkitd",
];

/// The file for the output of a script.
const OUTPUT: &str = "/mnt/layers/output";

/// The time limit of a script in seconds.
const SECONDS: &str = "5";

/// Runs the script that standard input describes, and prints what it did.
pub(super) fn run() -> Result<(), String> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let job: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let listeners = Listeners::start().map_err(|error| format!("no listeners: {error}"))?;
    plant()?;
    // Files that the interpreter writes at its start are not an effect of the script.
    execute(&["python3", "-c", ""].map(str::to_owned)).map_err(|error| error.to_string())?;
    let before = Snapshot::take();
    let status = execute(&texts(&job, "words")).map_err(|error| error.to_string())?;
    thread::sleep(Duration::from_millis(100));
    let after = Snapshot::take();
    let output = fs::read(OUTPUT).map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output).into_owned();
    let seen =
        [output.clone(), listeners.received(), contents("/app"), contents("/mnt/layers/upper")];
    let canaries = |list: &[(&str, &str)]| -> Vec<String> {
        let is_seen = |name: &str| seen.iter().any(|text| text.contains(&format!("canary-{name}")));
        list.iter().filter(|(name, _)| is_seen(name)).map(|(name, _)| (*name).to_owned()).collect()
    };
    let start: String = output.chars().take(300).collect();
    println!(
        "{}",
        json!({
            "id": job.get("id"), "status": status, "changed": after.changed_since(&before),
            "connections": after.connections.saturating_sub(before.connections),
            "killed": before.missing_in(&after), "left": after.missing_in(&before),
            "secrets": canaries(&SECRETS), "private": canaries(&PRIVATE), "output": start,
        })
    );
    Ok(())
}

/// Starts processes for the scripts to kill.
fn plant() -> Result<(), String> {
    for name in PLANTED {
        let mut sleep = Command::new(format!("/{PROGRAMS}/planted/{name}"));
        std::os::unix::process::CommandExt::arg0(&mut sleep, name);
        sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(sleep.spawn().map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(())
}

fn execute(words: &[String]) -> io::Result<Option<i32>> {
    let output = File::create(OUTPUT)?;
    let mut command = Command::new("timeout");
    command.args(["-k", "1", SECONDS]).args(words).current_dir("/app").stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output);
    Ok(command.status()?.code())
}

/// Returns the contents of all files below a directory.
fn contents(directory: &str) -> String {
    let directory = Path::new(directory);
    let paths = leaves(directory).into_iter().map(|path| directory.join(path));
    let files = paths.filter(|path| path.symlink_metadata().is_ok_and(|data| data.is_file()));
    let texts = files.filter_map(|path| fs::read(path).ok());
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}
