//! References from one entry of the table to others. They are numbers: a pointer in a static is
//! relocated whenever the program starts.

/// A text of the table: where it begins in the array of texts, and in the last eight bits how long it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableText(pub(super) u32);

/// A range of consecutive entries in one of the arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRange {
    pub(super) start: u16,
    pub(super) end: u16,
}

/// Several texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableTexts(pub(super) TableRange);

/// A program or subcommand, by one of its names.
#[derive(Debug)]
pub(super) struct NameEntry {
    pub(super) name: TableText,
    /// Its place in the array of programs and subcommands.
    pub(super) level: u16,
}

impl TableRange {
    pub(super) fn slice_of<T>(self, all: &'static [T]) -> &'static [T] {
        // INVARIANT: the build script has put them there.
        all.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}
