//! Changes of files outside the profile: held, asked about, and done on behalf.
//!
//! The filter hands over every call that opens a file to write, or that makes, removes or renames one. We look at what it means,
//! with a copy of its path. Where the mounts let it pass, and wherever we would not do it ourselves, the call goes on: whatever
//! another thread has put into its memory by then, the same mounts and Landlock judge it, so that going on widens nothing. What they
//! would refuse is asked about by its real path, and what is granted we do ourselves, outside, in the directory that was looked at:
//! the program gets the open file, or the result. Its own call is never made then.

mod act;
mod spot;
mod wish;

use std::{collections::BTreeSet, os::fd::OwnedFd, sync::Arc, time::Duration};

use openoxide_protocol::{AbsPath, Confined};
use rustix::{
    fs::{OFlags, Stat},
    io::Errno,
    process::geteuid,
};
use serde::{Deserialize, Serialize};

use crate::{Denial, LiveAnswer, network::Refused, notify::Call, questions::Questions, sys};
pub(crate) use spot::Spot;
use spot::identity;
pub(crate) use wish::Wish;

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many questions stand at once. Rules answer most, and programs have many threads.
const MOST_OPEN: usize = 64;
/// What is nobody's file: settings of the kernel, and devices.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A change that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LiveChange {
    /// What is done.
    pub deed: Deed,
    /// To which file: where it really is.
    pub path: AbsPath,
    /// What it is called afterwards, if it is renamed.
    pub to: Option<AbsPath>,
    /// How many other names a file has that is changed (hard links): they change with it.
    pub other_names: u64,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It is opened to be written, and made if it is not there.
    Write,
    /// A directory is made.
    MakeDirectory,
    /// It is removed.
    Remove,
    /// It is called otherwise; what had that name is removed.
    Rename,
}

/// Who answers for changes.
pub(crate) struct Live {
    /// What is never offered, nor anything below it: what the profile speaks of, and our own.
    closed: BTreeSet<AbsPath>,
    /// The same, by whatever name it is reached.
    files: BTreeSet<(u64, u64)>,
    user: u32,
    questions: Arc<Questions<LiveChange>>,
    refused: Arc<Refused>,
}

impl Live {
    /// `own` are places of our own; what no one may be asked about is held by `ask`, which answers no.
    pub(crate) fn new(
        profile: &Confined,
        own: impl IntoIterator<Item = AbsPath>,
        refused: Arc<Refused>,
        ask: impl Fn(&LiveChange, &dyn Fn() -> bool) -> LiveAnswer + Send + Sync + 'static,
    ) -> Self {
        let spoken_of =
            profile.writable.iter().chain(&profile.protected).chain(&profile.unreadable);
        let known: BTreeSet<_> = spoken_of.cloned().chain(own).collect();
        let files = known.iter().filter_map(spot::file_at).collect();
        let no_files = NO_FILES.map(|place| AbsPath::root().join(place));
        let closed = known.into_iter().chain(no_files).collect();
        let questions = Questions::new(ask, PATIENCE, MOST_OPEN);
        Self { closed, files, user: geteuid().as_raw(), questions, refused }
    }

    /// Looks at a call. None: it is the kernel's to judge.
    pub(crate) fn look(&self, call: &Call<'_>) -> Option<Wish<Spot>> {
        let wish = Wish::read(call).ok()??.look(call)?;
        self.offers(&wish).then_some(wish)
    }

    /// Asks, and does it or lets the kernel refuse it.
    pub(crate) fn settle(&self, call: &Call<'_>, wish: &Wish<Spot>) {
        let change = wish.change();
        let waits = || call.still().is_ok();
        if !self.questions.may(&change, waits) {
            if waits() {
                self.refused.add(Denial::Write { path: change.to.unwrap_or(change.path) });
            }
            return call.go_on();
        }
        match self.act(call, wish) {
            Ok(Some((file, close_on_exec))) => call.give(&file, close_on_exec),
            Ok(None) => call.answer(Ok(())),
            Err(error) => call.answer(Err(error)),
        }
    }

    fn act(&self, call: &Call<'_>, wish: &Wish<Spot>) -> Result<Option<(OwnedFd, bool)>, Errno> {
        let mask = call.umask()?;
        sys::own_umask(mask).map_err(|_| Errno::PERM)?;
        // Whoever was killed while a person thought wants nothing any more.
        call.still()?;
        // What was looked at may have become another kind of file since.
        if !self.offers(wish) {
            return Err(Errno::ACCESS);
        }
        match wish {
            Wish::Open { file, flags, mode } => {
                let opened = act::open(file, *flags, *mode, |found| self.is_plain(found))?;
                Ok(Some((opened, flags.contains(OFlags::CLOEXEC))))
            }
            Wish::MakeDirectory { file, mode } => act::make_directory(file, *mode).map(|()| None),
            Wish::Remove { file, directory } => act::remove(file, *directory).map(|()| None),
            Wish::Rename { from, to, flags } => act::rename(from, to, *flags).map(|()| None),
        }
    }

    /// Says whether a change can be asked about at all.
    fn offers(&self, wish: &Wish<Spot>) -> bool {
        wish.files().all(|spot| self.is_open(spot)) && self.can_be(wish)
    }

    fn can_be(&self, wish: &Wish<Spot>) -> bool {
        match wish {
            Wish::Open { file, flags, .. } if file.is_there() => {
                let new = flags.contains(OFlags::CREATE | OFlags::EXCL);
                !new && self.is_file(file) && file.may_write()
            }
            Wish::Open { file, flags, .. } => flags.contains(OFlags::CREATE) && self.may_name(file),
            Wish::MakeDirectory { file, .. } => !file.is_there() && self.may_name(file),
            Wish::Remove { file, directory: true } => self.may_name(file) && file.is_directory(),
            Wish::Remove { file, directory: false } => self.may_name(file) && self.is_file(file),
            Wish::Rename { from, to, .. } => {
                let over = !to.is_there() || self.is_file(to);
                self.may_name(from) && self.may_name(to) && self.is_file(from) && over
            }
        }
    }

    /// Says whether nothing speaks of this place: neither by its path nor by what lies on the way there.
    fn is_open(&self, spot: &Spot) -> bool {
        let closed = |place: &AbsPath| spot.path().below(place).is_some();
        !self.closed.iter().any(closed) && !spot.way().any(|file| self.files.contains(&file))
    }

    /// Says whether names can be made and removed there: the directory is this user's own.
    fn may_name(&self, spot: &Spot) -> bool {
        spot.may_name() && spot.owner() == Some(self.user)
    }

    fn is_file(&self, spot: &Spot) -> bool {
        matches!(spot.found(), Some(Ok(found)) if self.is_plain(&found))
    }

    /// Says whether this is a file of this user that nobody runs as somebody else.
    fn is_plain(&self, found: &Stat) -> bool {
        spot::is_plain(found) && found.st_uid == self.user && !self.files.contains(&identity(found))
    }
}

#[cfg(test)]
mod tests;
