//! Adding a line to a file that other programs add lines to, too.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
    time::{Duration, Instant},
};

/// A file that is locked longer is held by something that hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A longer file is not added to.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Adds a line at the end of a file unless the file already contains it. Returns whether it was
/// added.
///
/// The file itself is locked with flock meanwhile. Codex writes its rules in the same way, so no
/// writer's line is lost. Existing content stays unchanged; a last line without a line feed gets
/// one. The directory of the file is created if it does not exist, but none above it.
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

/// The lock ends with the file.
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
                    // Each also writes what another does.
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
