//! References from one entry of the table to others. They are numbers, because a pointer in a
//! static is relocated whenever the program starts.

/// A text of the table. The last eight bits contain its length, and the other bits contain its
/// position in the array of texts.
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

/// One name of a program or subcommand.
#[derive(Debug)]
pub(super) struct NameEntry {
    pub(super) name: TableText,
    /// The index in the array of programs and subcommands.
    pub(super) level: u16,
}

impl TableRange {
    pub(super) fn slice_of<T>(self, all: &'static [T]) -> &'static [T] {
        // INVARIANT: the build script only creates ranges within the array.
        all.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}
