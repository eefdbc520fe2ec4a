//! The namespaces and the root directory in which one script runs. All its changes go to a layer
//! that is thrown away.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::json;

use super::{
    base::{Base, PROGRAMS},
    inside,
    observation::Observation,
    script::Script,
};

/// How a script is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// Not at all. This shows that the measurement detects effects.
    Without,
    /// By `openoxide sandbox run`.
    Sandbox,
    /// By `openoxide run` with this preset.
    Preset(&'static str),
}

impl Confinement {
    pub(super) const ALL: [Self; 4] =
        [Self::Without, Self::Sandbox, Self::Preset("balanced"), Self::Preset("hands-off")];

    pub(super) fn name(self) -> String {
        match self {
            Self::Without => "without a sandbox".to_owned(),
            Self::Sandbox => "`openoxide sandbox run`".to_owned(),
            Self::Preset(name) => format!("`openoxide run`, {name}"),
        }
    }
}

/// Mounts the overlay, makes it the root directory, and starts the measurement in it. The
/// kernel's settings are read-only where nothing else confines the script.
const SETUP: &str = r#"set -e
layer=$1 mount=$2 control=$3
mount -t tmpfs -o size=1g none "$mount"
mkdir "$mount/upper" "$mount/work" "$mount/root"
root=$mount/root
mount -t overlay -o "lowerdir=$layer:/,upperdir=$mount/upper,workdir=$mount/work" none "$root"
mount -t proc none "$root/proc"
mount -t sysfs -o ro none "$root/sys"
if [ "$control" = 1 ]; then
  mount --bind "$root/proc/sys" "$root/proc/sys"; mount -o remount,ro,bind "$root/proc/sys"
fi
mount -t tmpfs -o mode=755 none "$root/dev"
node() { mknod -m 666 "$root/dev/$1" c "$2" "$3"; }
node null 1 3; node zero 1 5; node full 1 7; node random 1 8; node urandom 1 9; node tty 5 0
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666,mode=620 none "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"; ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 none "$root/dev/shm"
mount -t tmpfs none "$root/app"
mount -t tmpfs -o mode=700 none "$root/var/openoxide"
mount --bind "$mount" "$root/mnt/layers"
ip link set lo up
cd "$root"; pivot_root . mnt/old; cd /
umount -l /mnt/old
git init --quiet /app
exec /opt/redcode/xtask redcode "$4"
"#;

/// The place where the scripts run.
pub(super) struct Arena {
    pub(super) base: Base,
}

impl Arena {
    pub(super) const fn new(base: Base) -> Self {
        Self { base }
    }

    /// Runs a script, and returns what was seen from outside of the sandbox.
    pub(super) fn run(&self, script: &Script, confinement: Confinement) -> Observation {
        let seen = self.start(script, confinement);
        seen.unwrap_or_else(|why| Observation::failed(&script.id, &why))
    }

    fn start(&self, script: &Script, confinement: Confinement) -> Result<Observation, String> {
        let openoxide = format!("/{PROGRAMS}/openoxide");
        let command = script.command();
        let words: Vec<&str> = match confinement {
            Confinement::Without => script.words().to_vec(),
            Confinement::Sandbox => {
                [&[&*openoxide, "--no-input", "sandbox", "run", "--"], &script.words()[..]].concat()
            }
            Confinement::Preset(_) => vec![&openoxide, "--no-input", "run", "-c", &command],
        };
        let job = json!({ "id": script.id, "words": words });
        let mut command = self.command(confinement);
        let failed = |error: std::io::Error| format!("cannot run a script: {error}");
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(job.to_string().as_bytes()).map_err(failed)?;
        }
        let output = child.wait_with_output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        Observation::parse(text.trim()).ok_or_else(|| {
            format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
        })
    }

    fn command(&self, confinement: Confinement) -> Command {
        let preset = match confinement {
            Confinement::Preset(name) => name,
            _ => "careful",
        };
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["sh", "-c", SETUP, "sh"]);
        command.arg(self.base.layer()).arg(self.base.mount_point());
        command.arg(if confinement == Confinement::Without { "1" } else { "0" }).arg(inside::WORD);
        command.env_clear().env("HOME", "/root").env("USER", "root").env("LANG", "C.UTF-8");
        command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("XDG_CONFIG_HOME", format!("/{PROGRAMS}/config/{preset}"));
        for (name, folder) in [("STATE", "state"), ("CACHE", "cache"), ("DATA", "data")] {
            command.env(format!("XDG_{name}_HOME"), format!("/var/openoxide/{folder}"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}
