//! Placeholders on the host: what is put where something must not be made, and taken away when nobody needs it.

mod entry;

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use entry::Placed;
pub(crate) use entry::looks_like_one;

use crate::{Guard, Guarded, Placeholder, stage};

/// The directory in which each run writes down what it is about to put on the host, before it does. It is the user's own.
///
/// Each run has a file of its own there, and holds a lock on it until it has ended, however it ends. Who changes anything
/// holds a lock on the directory. So whatever is named only in files that nobody holds is nobody's, and can go.
#[derive(Clone, Debug)]
pub struct Registry {
    path: PathBuf,
}

/// The placeholders that a run uses. They stay as long as anybody holds one of these that names them.
///
/// Dropping it leaves them there, as a killed process does; the next [`Registry::sweep`] takes them away.
#[derive(Debug)]
#[must_use = "the placeholders lie on the host until it is released"]
pub struct Placeholders {
    registry: Registry,
    /// Locked. A run without placeholders has none.
    entry: Option<File>,
    passed_over: Vec<PathBuf>,
}

/// How long a run waits for the lock of the registry. Hundreds of runs that start at once take less.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// Files of one process differ by this.
static COUNT: AtomicU64 = AtomicU64::new(0);

impl Registry {
    /// Returns the registry in this directory, which is made if it is not there.
    ///
    /// # Errors
    /// When the directory cannot be made, or anybody else could write in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let registry = Self { path: path.to_owned() };
        let found = path.symlink_metadata()?;
        let own = found.is_dir() && found.uid() == own_uid() && found.mode() & 0o077 == 0;
        let others = || {
            io::Error::new(
                ErrorKind::PermissionDenied,
                format!("{}: others may write here", path.display()),
            )
        };
        own.then_some(registry).ok_or_else(others)
    }

    /// Takes away what runs have left behind that were killed.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub fn sweep(&self) -> io::Result<()> {
        stage::sweep(&self.path)?;
        if self.entries()?.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.clear()
    }

    /// Says whether [`Registry::hold`] may have something to do.
    #[must_use]
    pub fn is_needed(&self, guarded: &Guarded) -> bool {
        guarded.guards.iter().any(|(path, guard)| needs_one(path, *guard))
    }

    /// Puts a placeholder where a guard says that something is missing, and makes sure that those that another run has
    /// put there stay.
    ///
    /// # Errors
    /// When a placeholder cannot be made or written down. What was made until then is taken away.
    pub fn hold(&self, guarded: &Guarded) -> io::Result<Placeholders> {
        let mut held =
            Placeholders { registry: self.clone(), entry: None, passed_over: Vec::new() };
        let needed: Vec<_> =
            guarded.guards.iter().filter(|(path, guard)| needs_one(path, **guard)).collect();
        if needed.is_empty() {
            return Ok(held);
        }
        let _lock = self.lock()?;
        held.entry = Some(self.entry()?);
        match needed.into_iter().try_for_each(|(path, guard)| self.place(&mut held, path, *guard)) {
            Ok(()) => Ok(held),
            Err(error) => {
                held.let_go()?;
                self.clear()?;
                Err(error)
            }
        }
    }

    fn place(&self, held: &mut Placeholders, path: &Path, guard: Guard) -> io::Result<()> {
        if let Some(placed) = self.made_by_others(path)? {
            return held.write(&placed);
        }
        match guard {
            Guard::Missing(placeholder) => held.make(path, placeholder),
            // A run has ended since we looked, and took it away.
            Guard::Present | Guard::Link if is_missing(path) => {
                held.make(path, Placeholder::Directory)
            }
            Guard::Present | Guard::Link => Ok(()),
        }
    }

    /// Returns what somebody's entry says about this path, if that is what lies there.
    fn made_by_others(&self, path: &Path) -> io::Result<Option<Placed>> {
        let named = self.entries()?.into_iter().flat_map(|entry| entry::read(&entry));
        let mut there = named.filter(|placed| placed.path == path && placed.is_there());
        Ok(there.next())
    }

    /// Makes a file for this run. Needs the lock, so that nobody sees it before it is locked, too.
    fn entry(&self) -> io::Result<File> {
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = self.path.join(format!("{}-{number}", std::process::id()));
            match OpenOptions::new().create_new(true).append(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => return file.lock().map(|()| file),
            }
        }
    }

    /// Takes away what is named by no entry that somebody holds, and the entries that nobody holds. Needs the lock.
    fn clear(&self) -> io::Result<()> {
        let (held, left) = self.entries()?.into_iter().partition::<Vec<_>, _>(|path| is_held(path));
        let used: Vec<_> =
            held.iter().flat_map(|path| entry::read(path)).map(|placed| placed.path).collect();
        for entry in left {
            let gone = |placed: &Placed| used.contains(&placed.path) || placed.remove();
            // What cannot be taken away now is tried again the next time.
            if entry::read(&entry).iter().filter(|placed| !gone(placed)).count() == 0 {
                fs::remove_file(&entry)?;
            }
        }
        Ok(())
    }

    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn lock(&self) -> io::Result<File> {
        locked(&self.path)
    }
}

impl Placeholders {
    /// Returns guarded places that are missing and stay so, because nobody can write there.
    #[must_use]
    pub fn passed_over(&self) -> &[PathBuf] {
        &self.passed_over
    }

    /// Takes the placeholders away that no other run uses.
    ///
    /// # Errors
    /// When the registry cannot be read or written. Then the next sweep tries again.
    pub fn release(mut self) -> io::Result<()> {
        if self.entry.is_none() {
            return Ok(());
        }
        let _lock = self.registry.lock()?;
        self.let_go()?;
        self.registry.clear()
    }

    /// A process that we have made may have the file open, too: closing it would not be enough.
    fn let_go(&mut self) -> io::Result<()> {
        self.entry.take().map_or(Ok(()), |entry| entry.unlock())
    }

    fn write(&mut self, placed: &Placed) -> io::Result<()> {
        self.entry.as_mut().map_or(Ok(()), |entry| entry.write_all(&placed.line()))
    }

    /// Makes one, and writes it down before and after: whoever is killed between the two has left the name.
    fn make(&mut self, path: &Path, placeholder: Placeholder) -> io::Result<()> {
        self.write(&Placed::intended(path))?;
        match make(path, placeholder) {
            // Somebody has made the thing itself since we looked.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error)
                if error.kind() == ErrorKind::ReadOnlyFilesystem || is_for_others(path, &error) =>
            {
                self.passed_over.push(path.to_owned());
                Ok(())
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            Ok(()) => self.write(&Placed::found(path)?),
        }
    }
}

/// Makes a placeholder.
pub(crate) fn make(path: &Path, placeholder: Placeholder) -> io::Result<()> {
    match placeholder {
        Placeholder::Directory => DirBuilder::new().mode(entry::DIRECTORY).create(path),
        Placeholder::File(text) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(entry::FILE).open(path);
            file?.write_all(text.as_bytes())
        }
    }
}

/// Says whether a guard may have to do with placeholders: ours, or of a run beside us.
fn needs_one(path: &Path, guard: Guard) -> bool {
    let like_one = || path.symlink_metadata().map_or(true, |found| entry::is_like_one(&found));
    matches!(guard, Guard::Missing(_)) || like_one()
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Says whether a name could not be made because its directory is somebody else's, who has not opened it to us. Who is
/// confined is not let in either; a directory of our own he could open.
fn is_for_others(path: &Path, error: &io::Error) -> bool {
    let parent = path.parent().and_then(|parent| parent.metadata().ok());
    error.kind() == ErrorKind::PermissionDenied
        && parent.is_some_and(|parent| parent.uid() != own_uid())
}

/// Opens a directory and locks it. A run holds this lock for some milliseconds; whoever enforces all of it longer does not keep other
/// runs from starting without a word.
pub(crate) fn locked(directory: &Path) -> io::Result<File> {
    let opened = File::open(directory)?;
    let limit = Instant::now() + LOCK_TIMEOUT;
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(opened),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < limit => thread::sleep(LOCK_RETRY),
            Err(TryLockError::WouldBlock) => return Err(lock_timeout(directory)),
        }
    }
}

fn lock_timeout(directory: &Path) -> io::Error {
    let seconds = LOCK_TIMEOUT.as_secs();
    let text = format!(
        "another process has kept `{}` locked for {seconds} seconds (`fuser` names it)",
        directory.display()
    );
    io::Error::new(ErrorKind::TimedOut, text)
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Says whether the run of this entry goes on.
fn is_held(entry: &Path) -> bool {
    let opened = OpenOptions::new().read(true).open(entry);
    opened.is_ok_and(|file| file.try_lock_shared().is_err())
}

#[cfg(test)]
mod tests;
