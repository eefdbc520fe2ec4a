//! The environment of the programs: separate namespaces, without a network, in a copy of the trap,
//! under strace.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::trap::Trap;
use crate::workspace;

/// The directories in which programs are looked for.
pub(super) const PATH: &str =
    "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/games";

/// The calls that are recorded.
const CALLS: &str = "execve,execveat,connect,sendto,sendmsg,sendmmsg,open,openat,openat2,creat,unlink,unlinkat,\
    write,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,mknod,mknodat,\
    chmod,fchmodat,chown,lchown,fchownat,setxattr,lsetxattr,chdir";

/// Prepares the namespaces and starts the program. The trap is mounted over itself as an overlay, so that its paths
/// stay the same and each run finds it unchanged.
const DRIVER: &str = r#"set -e
trap=$1 root=$2 trace=$3 layers=$4 script=$5
mount -t tmpfs -o mode=1777 none "$root/tmp"
mkdir -p "$root$trap" "$layers"
# What the programs change goes to a layer of its own.
mount -t tmpfs none "$layers"
mkdir -m 755 "$layers/upper" "$layers/work"; chown 65534:65534 "$layers/upper"
mount -t overlay -o "lowerdir=$trap,upperdir=$layers/upper,workdir=$layers/work" none "$root$trap"
mount -t proc none "$root/proc"
if [ -n "$root" ]; then mkdir -p "$root/dev/pts"; mount -t devpts -o newinstance,ptmxmode=666,mode=620 none "$root/dev/pts"; fi
# A resolver that is not there: what is asked of it shows in the record.
printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' > "$root$trap/resolv.conf"
mount --bind "$root$trap/resolv.conf" "$root/etc/resolv.conf"
# Some programs ask for the home directory of the user, and not for HOME.
sed "s|^nobody:.*|nobody:x:65534:65534:nobody:$trap/home:/bin/bash|" "$root/etc/passwd" > "$root$trap/passwd"
mount --bind "$root$trap/passwd" "$root/etc/passwd"
chmod 700 "$root$trap"/home/.gnupg "$root$trap"/home/.ssh 2>/dev/null || true
chmod 600 "$root$trap"/home/.msmtprc 2>/dev/null || true
if [ -d "$root/run" ]; then mount -t tmpfs none "$root/run"; fi
ip link set lo up 2>/dev/null || true
exec 3>"$trace"; chmod 666 "$trace"
exec chroot "$root/" /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
  /usr/bin/env -i HOME="$trap/home" PATH="$PATH" LANG=C.UTF-8 TERM=xterm USER=nobody PWD="$trap/p" \
  /bin/sh -c 'cd "$0/p" && exec timeout -k 1 '"$SECONDS_MOST"' strace -f -qq -y -s 300 --seccomp-bpf -e signal=none -e trace='"$CALLS"' -o /proc/self/fd/3 -- bash --norc --noprofile -c "$1" 2>&1' \
  "$trap" "$script"
"#;

/// No more of what a program prints is looked at.
const MOST_OUTPUT: u64 = 1 << 20;

/// The observations of a run.
pub(super) struct Record {
    /// The record of strace.
    pub(super) trace: String,
    /// The output of the program.
    pub(super) output: String,
    /// The exit status, or none after a signal.
    pub(super) status: Option<i32>,
}

impl Record {
    /// Returns whether it was ended because it exceeded its time limit.
    pub(super) fn is_stopped(&self) -> bool {
        self.status == Some(124)
    }
}

/// A root directory with programs in it, and a place for traps.
pub(super) struct Machine {
    root: PathBuf,
    work: PathBuf,
    runs: AtomicUsize,
}

impl Machine {
    /// Uses the programs below `root`, or those of this machine.
    pub(super) fn new(root: Option<&Path>) -> Result<Self, String> {
        let work = workspace::target().join("programs/work");
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

    /// Returns the root directory; it is empty for this machine.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs a script in a copy of the trap, and returns the record of the run.
    pub(super) fn run(&self, script: &str, trap: &Trap, seconds: u32) -> Result<Record, String> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let trace = self.work.join(format!("trace-{number}"));
        let errors = self.work.join(format!("errors-{number}"));
        let failed = |error: std::io::Error| format!("unshare: {error}");
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["sh", "-c", DRIVER, "sh"]);
        command.arg(trap.directory()).arg(&self.root).arg(&trace);
        command.arg(self.work.join("layers")).arg(script);
        command.env("SECONDS_MOST", seconds.to_string());
        command.env("PATH", PATH).env("CALLS", CALLS.replace(char::is_whitespace, ""));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(fs::File::create(&errors).map_err(failed)?);
        let mut child = command.spawn().map_err(failed)?;
        let mut output = Vec::new();
        if let Some(printed) = child.stdout.take() {
            printed.take(MOST_OUTPUT).read_to_end(&mut output).map_err(failed)?;
        }
        let status = child.wait().map_err(failed)?;
        let text = fs::read(&trace).map_err(|error| format!("{}: {error}", trace.display()))?;
        let why = fs::read_to_string(&errors).unwrap_or_default();
        drop(fs::remove_file(&trace));
        drop(fs::remove_file(&errors));
        if text.is_empty() {
            return Err(format!("{status}: {}", why.trim()));
        }
        let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Record { trace: utf8(&text), output: utf8(&output), status: status.code() })
    }
}
