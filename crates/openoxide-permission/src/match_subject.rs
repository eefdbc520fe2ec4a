//! Subjects without allocation: paths and names in the form that rules match.

use crate::pattern::host;

/// The maximum length of paths and names that need no heap allocation.
const STACK_BUFFER_SIZE: usize = 512;

/// Passes a path without its leading `/` as components, each followed by `/`.
pub(crate) fn with_path_subject<R>(path: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    if path.is_empty() { take(&[]) } else { with_terminator(path.as_bytes(), b'/', take) }
}

/// Passes a name followed by NUL.
pub(crate) fn with_name_subject<R>(name: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    with_terminator(name.as_bytes(), 0, take)
}

/// Passes a host as labels from the right, each followed by `.`.
pub(crate) fn with_host_subject<R>(name: &str, take: impl FnOnce(&[u8]) -> R) -> R {
    take(host::to_subject(name).as_bytes())
}

fn with_terminator<R>(text: &[u8], end: u8, take: impl FnOnce(&[u8]) -> R) -> R {
    let mut small = [0; STACK_BUFFER_SIZE];
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
