//! Copies of files that share their data where the file system can, and keep holes.

use std::{fs::File, io, os::fd::AsFd as _};

use rustix::{
    fs::{SeekFrom, copy_file_range, fstat, ftruncate, ioctl_ficlone, seek},
    io::Errno,
};

/// The maximum number of bytes that one system call copies.
const MAX_STEP: u64 = 1 << 30;

/// Copies the content of a file into a new, empty one.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub(crate) fn copy_content(from: &File, to: &File) -> io::Result<()> {
    let size = u64::try_from(fstat(from)?.st_size).unwrap_or(0);
    if size == 0 || ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    ftruncate(to, size)?;
    let mut position = 0;
    while position < size {
        let start = match seek(from, SeekFrom::Data(position)) {
            // There is no data after this position.
            Err(Errno::NXIO) => return Ok(()),
            // The file system does not report holes.
            Err(Errno::INVAL) => position,
            found => found?,
        };
        let end = match seek(from, SeekFrom::Hole(start)) {
            Err(Errno::INVAL) => size,
            found => found?,
        };
        copy_range(from, to, start, end.min(size))?;
        position = end;
    }
    Ok(())
}

fn copy_range(from: &File, to: &File, start: u64, end: u64) -> io::Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let step = usize::try_from((end - read_at).min(MAX_STEP)).unwrap_or(usize::MAX);
        let (input, output) = (from.as_fd(), to.as_fd());
        match copy_file_range(input, Some(&mut read_at), output, Some(&mut write_at), step) {
            // The file was truncated in the meantime.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                return copy_by_reading(from, to, read_at, end);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn copy_by_reading(mut from: &File, mut to: &File, start: u64, end: u64) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    from.seek(io::SeekFrom::Start(start))?;
    to.seek(io::SeekFrom::Start(start))?;
    let copied = io::copy(&mut from.take(end - start), &mut to)?;
    let whole = copied == end - start;
    whole.then_some(()).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
