//! The limits that are not enforced if no control group can be created.

use std::io;

use crate::interface::ResourceLimits;

/// Returns one sentence about the limits that are not enforced, or `None` if all are enforced.
pub(super) fn describe_unenforced(limits: ResourceLimits, error: &io::Error) -> Option<String> {
    let memory = "the memory limit applies to each process separately and excludes files in \
                  memory";
    let processes = "the process limit does not apply to root";
    // The kernel limits the number of processes of all users except root (RLIMIT_NPROC).
    let unbounded = limits.processes.is_some() && rustix::process::geteuid().is_root();
    let gaps = [(limits.memory.is_some(), memory), (unbounded, processes)];
    let gaps: Vec<_> = gaps.into_iter().filter_map(|(is, text)| is.then_some(text)).collect();
    let why = "cannot create a control group with these limits";
    (!gaps.is_empty()).then(|| format!("{}: {why} ({error})", gaps.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unenforced_limits_are_reported() {
        let said = |memory, processes| {
            describe_unenforced(
                ResourceLimits { memory, processes, seconds: None },
                &io::ErrorKind::NotFound.into(),
            )
        };
        assert_eq!(said(None, None), None);
        assert!(said(Some(1), None).unwrap().starts_with("the memory limit"));
        let root = rustix::process::geteuid().is_root();
        assert_eq!(said(None, Some(1)).is_some(), root);
    }
}
