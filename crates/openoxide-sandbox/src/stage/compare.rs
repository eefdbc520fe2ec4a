//! The differences between what was staged and what lies there.

mod place;

use std::{cell::RefCell, collections::BTreeMap, ffi::OsStr, io, path::Path};

use openoxide_protocol::{AbsPath, Confined};
use rustix::fs::{FileType, Stat};

use self::place::{Both, Place, is_whiteout, kind, say_the_same};
use super::{
    Change, Changes, LeftOut, Root, Stage, Thing,
    seen::{changed, look},
    tree::{self, Tree},
};
use crate::{Guarded, registry::looks_like_one};

/// No run changes more, nor deeper, and is committed.
const MOST: usize = 100_000;
const DEPTH: usize = 100;

const PROTECTED: &str = "is protected";
const OUTSIDE: &str = "was changed by somebody else meanwhile";
const UNNAMED: &str = "has a name that no rule could name: it is not UTF-8";
const INSTEAD: &str = "would take the place of a directory of which something stays";
const SPECIAL: &str = "is neither file nor directory nor symbolic link";

pub(super) fn changes(stage: &Stage, guarded: &Guarded) -> io::Result<Changes> {
    let mut all = Changes::default();
    for (number, root) in stage.roots.iter().enumerate() {
        let mut look =
            Look { number, root, guarded, profile: &stage.profile, closed: &stage.closed, all };
        // Its own mode is not staged.
        tree::open_up(&root.upper, OsStr::new("."))?;
        let upper = tree::directory_at(Tree::Staged, &root.upper, Path::new(""))?;
        let lower = tree::directory_at(Tree::Host, &root.directory, Path::new(""))?;
        look.go_through(&Both::new(upper, Some(lower), false)?, Path::new(""))?;
        all = look.all;
    }
    all.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// One writable directory, and what was found so far.
struct Look<'a> {
    number: usize,
    root: &'a Root,
    guarded: &'a Guarded,
    profile: &'a Confined,
    closed: &'a RefCell<BTreeMap<u64, u32>>,
    all: Changes,
}

impl Look<'_> {
    fn go_through(&mut self, both: &Both, within: &Path) -> io::Result<()> {
        if within.components().count() > DEPTH {
            return Err(io::Error::other(format!("`{}` lies too deep", within.display())));
        }
        let names = tree::names(&both.upper)?;
        for name in &names {
            self.judge(&Place::new(both, within, name)?)?;
        }
        if let (Some(lower), true) = (&both.lower, both.opaque) {
            let gone = tree::names(lower)?;
            for name in gone.iter().filter(|name| names.binary_search(name).is_err()) {
                self.remove(&Place::new(both, within, name)?)?;
            }
        }
        Ok(())
    }

    /// Looks at one name that the run has touched.
    fn judge(&mut self, place: &Place<'_>) -> io::Result<()> {
        let Some(staged) = look(&place.both.upper, place.name)? else { return Ok(()) };
        if is_whiteout(&staged) {
            return self.remove(place).map(|_| ());
        }
        let Some(path) = self.path(place) else {
            return self.leave(place, UNNAMED);
        };
        if self.is_protected(&path) {
            let ours = looks_like_one(&staged);
            return if ours { Ok(()) } else { self.leave(place, PROTECTED) };
        }
        match self.staged(place, staged)? {
            None => self.leave(place, SPECIAL),
            Some(after) if after.is_directory() => self.directory(place, path, after),
            Some(after) => self.file(place, path, after),
        }
    }

    /// What was staged. A directory that is closed is opened, or nothing in it could be seen.
    #[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
    fn staged(&self, place: &Place<'_>, mut found: Stat) -> io::Result<Option<Thing>> {
        let (upper, number) = (&place.both.upper, u64::from(found.st_ino));
        if kind(&found) == FileType::Directory
            && let Some(mode) = tree::open_up(upper, place.name)?
        {
            self.closed.borrow_mut().insert(number, mode);
            found = look(upper, place.name)?.unwrap_or(found);
        }
        let thing = Thing::of(upper, place.name, &found)?;
        let closed = self.closed.borrow().get(&number).copied();
        Ok(thing.map(|thing| match closed {
            Some(mode) if thing.is_directory() => Thing { mode, ..thing },
            _ => thing,
        }))
    }

    fn directory(&mut self, place: &Place<'_>, path: AbsPath, after: Thing) -> io::Result<()> {
        if !self.may_change(place)? {
            return Ok(());
        }
        let before = place.thing()?;
        let same = before
            .as_ref()
            .is_some_and(|before| before.is_directory() && before.mode == after.mode);
        if !same {
            self.add(place, path, before, Some(after), false)?;
        }
        let upper = tree::directory_at(Tree::Staged, &place.both.upper, Path::new(place.name))?;
        let both = Both::new(upper, place.lower()?, place.both.opaque)?;
        if both.opaque && self.is_from_outside(place) {
            return self.leave(place, OUTSIDE);
        }
        self.go_through(&both, &place.rest)
    }

    fn file(&mut self, place: &Place<'_>, path: AbsPath, after: Thing) -> io::Result<()> {
        if !self.may_change(place)? {
            return Ok(());
        }
        let before = place.thing()?;
        if before.as_ref().is_some_and(Thing::is_directory)
            && (self.is_from_outside(place) || !self.remove_all_in(place)?)
        {
            return self.leave(place, INSTEAD);
        }
        let same_content = match &before {
            Some(before) => say_the_same(self.root, &place.rest, before, &after),
            None => false,
        };
        let same_mode = before.as_ref().is_some_and(|before| before.mode == after.mode);
        if same_content && same_mode {
            return Ok(());
        }
        self.add(place, path, before, Some(after), same_content)
    }

    /// Notes that something goes. Says whether nothing of it stays.
    fn remove(&mut self, place: &Place<'_>) -> io::Result<bool> {
        if place.now.is_none() {
            return Ok(true);
        }
        let Some(path) = self.path(place) else {
            return self.leave(place, UNNAMED).map(|()| false);
        };
        if self.is_protected(&path) {
            return self.leave(place, PROTECTED).map(|()| false);
        }
        if self.is_from_outside(place) {
            return self.leave(place, OUTSIDE).map(|()| false);
        }
        if !self.may_change(place)? {
            return Ok(false);
        }
        let before = place.thing()?;
        let gone =
            !before.as_ref().is_some_and(Thing::is_directory) || self.remove_all_in(place)?;
        if gone {
            self.add(place, path, before, None, false)?;
        }
        Ok(gone)
    }

    /// Notes that all in a directory goes.
    fn remove_all_in(&mut self, place: &Place<'_>) -> io::Result<bool> {
        let (Some(lower), Some(again)) = (place.lower()?, place.lower()?) else { return Ok(false) };
        if place.rest.components().count() > DEPTH {
            return Err(io::Error::other(format!("`{}` lies too deep", place.rest.display())));
        }
        let names = tree::names(&lower)?;
        let both = Both { upper: again, lower: Some(lower), opaque: true };
        let mut all = true;
        for name in &names {
            all &= self.remove(&Place::new(&both, &place.rest, name)?)?;
        }
        Ok(all)
    }

    /// Says whether what lies there is a thing that is staged, and nobody else has changed it since the run began.
    fn may_change(&mut self, place: &Place<'_>) -> io::Result<bool> {
        let Some(now) = &place.now else { return Ok(true) };
        if kind(now) != FileType::Directory && self.is_from_outside(place) {
            return self.leave(place, OUTSIDE).map(|()| false);
        }
        match place.thing()? {
            Some(_) => Ok(true),
            None => self.leave(place, SPECIAL).map(|()| false),
        }
    }

    /// Says whether somebody else has changed what lies there; in a directory, which names there are.
    fn is_from_outside(&self, place: &Place<'_>) -> bool {
        place.now.as_ref().is_some_and(|now| changed(now) >= self.root.began)
    }

    fn path(&self, place: &Place<'_>) -> Option<AbsPath> {
        AbsPath::new(self.root.path.join(&place.rest).to_str()?).ok()
    }

    fn is_protected(&self, path: &AbsPath) -> bool {
        self.guarded.holds(Path::new(path.as_str())) || !self.profile.may_write(path)
    }

    fn add(
        &mut self,
        place: &Place<'_>,
        path: AbsPath,
        before: Option<Thing>,
        after: Option<Thing>,
        same_content: bool,
    ) -> io::Result<()> {
        let (root, rest) = (self.number, place.rest.clone());
        self.all.changes.push(Change { path, before, after, same_content, root, rest });
        if self.all.changes.len() > MOST {
            return Err(io::Error::other(format!("it has changed more than {MOST} files")));
        }
        Ok(())
    }

    fn leave(&mut self, place: &Place<'_>, why: &str) -> io::Result<()> {
        let path = self.root.path.join(&place.rest).to_string_lossy().into_owned();
        self.all.left_out.push(LeftOut { path, why: why.to_owned() });
        Ok(())
    }
}
