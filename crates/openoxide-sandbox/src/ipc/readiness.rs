//! The readiness of a descriptor.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags};

/// Returns whether data can be read, or no more data will arrive.
pub(crate) fn is_readable(from: BorrowedFd<'_>) -> bool {
    let mut one = [PollFd::from_borrowed_fd(from, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut one, Some(&now)).is_ok_and(|ready| ready > 0)
}
