//! Doing what a person said yes to.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use super::{Change, Changes, LeftOut, Stage, Thing, hands::Spot};
use crate::{Found, Guarded, found_and_put_aside, protect::Opened};

/// What came of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The changes that were not made, and why.
    pub left_out: Vec<LeftOut>,
    /// What a person should look at now.
    pub found: Vec<Found>,
}

/// Makes the changes. What takes another's place needs that to be gone, so it comes last; else what goes does.
pub(super) fn apply(stage: &Stage, changes: &Changes, guarded: &Guarded) -> io::Result<Committed> {
    let all = &changes.changes;
    let turning: Vec<&Path> =
        all.iter().filter(|change| change.turns()).map(|change| change.host()).collect();
    let turned = |change: &&Change| turning.iter().any(|path| change.host().starts_with(path));
    let comes = |change: &&Change| change.after.is_some();
    let mut work =
        Work { stage, guarded, opened: Opened::default(), committed: Committed::default() };
    all.iter().filter(comes).filter(|change| !turned(change)).for_each(|change| work.put(change));
    all.iter().rev().filter(|change| !comes(change)).for_each(|change| work.take_away(change));
    all.iter().filter(comes).filter(turned).for_each(|change| work.put(change));
    Ok(work.finish(changes))
}

struct Work<'a> {
    stage: &'a Stage,
    guarded: &'a Guarded,
    opened: Opened,
    committed: Committed,
}

impl Work<'_> {
    fn put(&mut self, change: &Change) {
        let Some(after) = &change.after else { return };
        let stage = self.stage;
        self.work(change, |spot| spot.put(stage, change, after));
    }

    fn take_away(&mut self, change: &Change) {
        let Some(before) = &change.before else { return };
        self.work(change, |spot| spot.take_away(before));
    }

    /// Does one thing, in directories that are opened for it where they are ours and closed.
    fn work(&mut self, change: &Change, does: impl Fn(&Spot<'_>) -> io::Result<()>) {
        let tried =
            || Spot::of(self.stage.root(change)?, &change.rest).and_then(|spot| does(&spot));
        let closed = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        let done = match self.protected(change) {
            true => Err(io::Error::other("is protected")),
            false => tried().or_else(|error| match change.host().parent() {
                Some(parent) if closed(&error) && self.opened.open(parent) => tried(),
                _ => Err(error),
            }),
        };
        if let Err(error) = done {
            self.leave(change, &error);
        }
    }

    fn protected(&self, change: &Change) -> bool {
        self.guarded.holds(change.host()) || !self.stage.profile.may_write(&change.path)
    }

    fn leave(&mut self, change: &Change, error: &io::Error) {
        let left = LeftOut { path: change.path.to_string(), why: error.to_string() };
        self.committed.left_out.push(left);
    }

    /// Gives directories their modes, when nothing is made in them any more; and looks for what must not be run yet.
    fn finish(mut self, changes: &Changes) -> Committed {
        drop(std::mem::take(&mut self.opened));
        for change in changes.changes.iter().rev() {
            let directory = change.after.as_ref().filter(|after| after.is_directory());
            if let Some(Err(error)) = directory.map(|after| self.close(change, after)) {
                self.leave(change, &error);
            }
        }
        self.committed.found = found_and_put_aside(self.guarded, &self.stage.profile);
        self.committed
    }

    fn close(&self, change: &Change, after: &Thing) -> io::Result<()> {
        let left = |left: &LeftOut| left.path == change.path.as_str();
        if self.committed.left_out.iter().any(left) {
            return Ok(());
        }
        Spot::of(self.stage.root(change)?, &change.rest)?.set_mode(after.mode)
    }
}

impl Change {
    fn host(&self) -> &Path {
        Path::new(self.path.as_str())
    }
}
