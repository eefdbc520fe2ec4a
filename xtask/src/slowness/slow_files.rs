//! A file system that takes long to answer: FUSE, served by a Python program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Debian's Python, which finds the packages of Debian.
const PYTHON: &str = "/usr/bin/python3";

/// Serves directories in directories. Each answer takes a millisecond, and one below `never` does
/// not come.
const SERVER: &str = r#"
import stat, sys, time
from fusepy import FUSE, Operations

class Slow(Operations):
    def getattr(self, path, fh=None):
        time.sleep(3600 if "/never/" in path else 0.001)
        if path.endswith(".txt"):
            return dict(st_mode=stat.S_IFREG | 0o644, st_nlink=1, st_size=4)
        return dict(st_mode=stat.S_IFDIR | 0o755, st_nlink=2)

    def readdir(self, path, fh):
        time.sleep(0.001)
        if path.count("/") > 4:
            return [".", ".."]
        return [".", ".."] + [f"{kind}{number}{end}" for kind, end in [("d", ""), ("f", ".txt")] for number in range(5)]

    def read(self, path, size, offset, fh):
        time.sleep(0.001)
        return b"slow"[offset:offset + size]

FUSE(Slow(), sys.argv[1], foreground=True, attr_timeout=0, entry_timeout=0)
"#;

/// How long it may take until the file system is there.
const PATIENCE: Duration = Duration::from_secs(20);

/// The mounted file system; it is unmounted when this is dropped.
#[derive(Debug)]
pub(super) struct SlowFiles {
    place: PathBuf,
    server: Child,
}

impl SlowFiles {
    /// Mounts the file system in this empty directory.
    ///
    /// # Errors
    /// When this machine does not mount it.
    pub(super) fn mount(place: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| {
            format!("cannot mount a slow file system on {}: {error}", place.display())
        };
        let mut server = Command::new(PYTHON);
        server.args(["-c", SERVER]).arg(place).stdin(Stdio::null());
        let server = server.spawn().map_err(|error| failed(&error))?;
        let mut mounted = Self { place: place.to_owned(), server };
        let since = Instant::now();
        while !place.join("d0").is_dir() {
            let ended = mounted.server.try_wait().map_err(|error| failed(&error))?;
            if ended.is_some() || since.elapsed() > PATIENCE {
                return Err(failed(&"the server has ended, or does not answer"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(mounted)
    }
}

impl Drop for SlowFiles {
    fn drop(&mut self) {
        // Requests that wait for ever end with the server.
        self.server.kill().ok();
        self.server.wait().ok();
        let mut unmount = Command::new("fusermount3");
        unmount.args(["-u", "-z"]).arg(&self.place).stdin(Stdio::null()).status().ok();
        fs::remove_dir(&self.place).ok();
    }
}
