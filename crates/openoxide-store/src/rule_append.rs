//! Adding a line to a file to which other programs also add lines.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
    time::{Duration, Instant},
};

/// The maximum time to wait for the lock. A process that holds it longer probably hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of the file. Nothing is added to a longer file.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Adds a line at the end of a file unless the file already contains it. Returns whether it was
/// added.
///
/// The file is locked with flock while it is changed. Codex writes its rules in the same way, so no
/// writer's line is lost. Existing content stays unchanged; if the last line has no line feed, one
/// is added. The directory of the file is created if it does not exist, but not its parents.
///
/// # Errors
/// Returns an error if the file is not a regular file, or if it cannot be locked within five
/// seconds, read as text, or written.
pub fn append_line_once(path: &Path, line: &str) -> io::Result<bool> {
    if let Some(directory) = path.parent()
        && let Err(error) = fs::create_dir(directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    lock_file(&file)?;
    let text = read_to_end(&file)?;
    if text.lines().any(|there| there == line) {
        return Ok(false);
    }
    let break_before = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{break_before}{line}\n").as_bytes())?;
    Ok(true)
}

fn read_to_end(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other("it is too long"));
    }
    Ok(text)
}

/// Locks the file. The lock is released when the file is closed.
fn lock_file(file: &File) -> io::Result<()> {
    let since = Instant::now();
    while let Err(error) = file.try_lock() {
        match error {
            fs::TryLockError::WouldBlock if since.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            fs::TryLockError::WouldBlock => {
                return Err(io::Error::other("another process kept it locked for too long"));
            }
            fs::TryLockError::Error(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_once_and_the_rest_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rules/default.rules");
        assert!(append_line_once(&path, "a").unwrap());
        assert!(!append_line_once(&path, "a").unwrap());
        fs::write(&path, "# mine\r\n  a\nb").unwrap();
        assert!(append_line_once(&path, "a").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\r\n  a\nb\na\n");
        let nowhere = home.path().join("x/y/default.rules");
        assert_eq!(append_line_once(&nowhere, "a").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!home.path().join("x").exists());
        assert!(append_line_once(home.path(), "a").is_err());
    }

    #[test]
    fn no_line_of_several_writers_is_lost() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rules/default.rules");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    // All threads write some of the same lines.
                    for number in 0..50 {
                        append_line_once(path, &format!("{} {number}", writer % 2)).unwrap();
                    }
                });
            }
        });
        let mut lines: Vec<String> =
            fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        let mut all: Vec<String> = (0..2)
            .flat_map(|writer| (0..50).map(move |number| format!("{writer} {number}")))
            .collect();
        all.sort();
        assert_eq!(lines, all);
    }
}
