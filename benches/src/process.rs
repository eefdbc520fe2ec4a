//! One whole process: from the call that starts it to the call that buries it.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The resources that a process used.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// From start to end.
    pub wall: Duration,
    /// Processor time, the kernel's share included.
    pub cpu: Duration,
    /// The most memory that was resident, in KiB.
    pub rss: i64,
    /// The wait status.
    pub status: i32,
}

/// Runs a command with a file as standard input and discards its output.
///
/// # Errors
/// Returns an error if the command cannot be started.
pub fn run(command: &mut Command, stdin: &Path) -> io::Result<Taken> {
    command.stdin(File::open(stdin)?).stdout(Stdio::null()).stderr(Stdio::null());
    let before = Instant::now();
    let child = command.spawn()?; // posix_spawn: the size of this process does not count.
    let mut status = 0;
    // SAFETY: zero is a value of every field.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers point to live values, and nothing else waits for this child.
    let waited =
        unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    let wall = before.elapsed();
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let cpu = duration(usage.ru_utime) + duration(usage.ru_stime);
    Ok(Taken { wall, cpu, rss: usage.ru_maxrss, status })
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.cast_unsigned())
        + Duration::from_micros(time.tv_usec.cast_unsigned())
}
