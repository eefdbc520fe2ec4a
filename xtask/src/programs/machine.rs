//! Where the programs run: in namespaces of their own, without a network, in a copy of the trap, under strace.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::trap::Trap;
use crate::workspace;

/// The directories in which programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/games";

/// The calls that are recorded.
const CALLS: &str = "execve,execveat,connect,sendto,sendmsg,sendmmsg,open,openat,openat2,creat,unlink,unlinkat,\
    rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,mknod,mknodat,\
    chmod,fchmodat,chown,lchown,fchownat,setxattr,lsetxattr,chdir";

/// Prepares the namespaces and starts the program. The trap is copied over itself, so that its paths stay the same.
const DRIVER: &str = r#"set -e
trap=$1 root=$2 trace=$3 script=$4
mount -t tmpfs none "$root/tmp"
cp -a "$trap" "$root/tmp/.trap"
mkdir -p "$root$trap" && mount -t tmpfs -o mode=755 none "$root$trap"
cp -a "$root/tmp/.trap/." "$root$trap/"
rm -rf "$root/tmp/.trap"
chmod 1777 "$root/tmp"
chown -R 65534:65534 "$root$trap"
mount -t proc none "$root/proc"
if [ -d "$root/run" ]; then mount -t tmpfs none "$root/run"; fi
ip link set lo up 2>/dev/null || true
exec 3>"$trace"; chmod 666 "$trace"
exec chroot "$root/" /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
  /usr/bin/env -i HOME="$trap/home" PATH="$PATH" LANG=C.UTF-8 TERM=xterm USER=nobody PWD="$trap/p" \
  /bin/sh -c 'cd "$0/p" && exec timeout -k 1 12 strace -f -qq -y -s 300 --seccomp-bpf -e signal=none -e trace='"$CALLS"' -o /proc/self/fd/3 -- bash --norc --noprofile -c "$1"' \
  "$trap" "$script"
"#;

/// A root directory with programs in it, and a place for traps.
pub(super) struct Machine {
    root: PathBuf,
    work: PathBuf,
    runs: AtomicUsize,
}

impl Machine {
    /// Uses the programs below `root`, or those of this machine.
    pub(super) fn new(root: Option<&Path>) -> Result<Self, String> {
        let work = workspace::root().join("target/programs");
        let work = std::env::var_os("CARGO_TARGET_DIR")
            .map_or(work, |target| PathBuf::from(target).join("programs-work"));
        fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
        let root = root.map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { root, work, runs: AtomicUsize::new(0) })
    }

    /// Returns the directory for traps and traces.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Returns whether a program of this name, or a command of the shell, can be run.
    pub(super) fn has(&self, program: &str) -> bool {
        const BUILTINS: [&str; 9] =
            ["cd", "declare", "export", "hash", "set", "type", "ulimit", "umask", "unset"];
        let found = |directory: &str| {
            let path = self.root.join(directory.trim_start_matches('/')).join(program);
            let path = if self.root.as_os_str().is_empty() {
                Path::new(directory).join(program)
            } else {
                path
            };
            path.symlink_metadata().is_ok()
        };
        PATH.split(':').any(found) || BUILTINS.contains(&program)
    }

    /// Runs a script in a copy of the trap, and returns the record of strace.
    pub(super) fn run(&self, script: &str, trap: &Trap) -> Result<String, String> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let trace = self.work.join(format!("trace-{number}"));
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["sh", "-c", DRIVER, "sh"]);
        command.arg(trap.directory()).arg(&self.root).arg(&trace).arg(script);
        command.env("PATH", PATH).env("CALLS", CALLS.replace(char::is_whitespace, ""));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let done = command.output().map_err(|error| format!("unshare: {error}"))?;
        let text = fs::read(&trace).map_err(|error| format!("{}: {error}", trace.display()))?;
        drop(fs::remove_file(&trace));
        if text.is_empty() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
