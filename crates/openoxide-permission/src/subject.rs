//! Subjects without allocation: paths and names in the form that rules match.

use crate::pattern::host;

/// Paths and names up to this length need no memory of their own.
const SMALL: usize = 512;

/// Hands over a path without its leading `/` as components, each followed by `/`.
pub(crate) fn of_path<R>(path: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    if path.is_empty() { take(&[]) } else { with_end(path.as_bytes(), b'/', take) }
}

/// Hands over a name followed by NUL.
pub(crate) fn of_name<R>(name: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    with_end(name.as_bytes(), 0, take)
}

/// Hands over a host as labels from the right, each followed by `.`.
pub(crate) fn of_host<R>(name: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    take(host::parts(name).as_bytes())
}

fn with_end<R>(text: &[u8], end: u8, take: impl FnOnce(&[u8]) -> R) -> R {
    let mut small = [0; SMALL];
    match small.get_mut(..=text.len()) {
        Some(place) => {
            if let Some((last, head)) = place.split_last_mut() {
                head.copy_from_slice(text);
                *last = end;
            }
            take(place)
        }
        None => take(&[text, &[end]].concat()),
    }
}
