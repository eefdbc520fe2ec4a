//! What of the limits is not enforced where no control group can be made.

use std::io;

use crate::ResourceLimits;

/// Says in one sentence what is not enforced, if anything is not.
pub(super) fn describe_unenforced(limits: ResourceLimits, error: &io::Error) -> Option<String> {
    let memory = "the limit on memory counts for each process alone, and files in memory are not counted with it";
    let processes = "root may start any number of processes";
    // The kernel counts processes of all other users by itself (RLIMIT_NPROC).
    let unbounded = limits.processes.is_some() && rustix::process::geteuid().is_root();
    let gaps = [(limits.memory.is_some(), memory), (unbounded, processes)];
    let gaps: Vec<_> = gaps.into_iter().filter_map(|(is, text)| is.then_some(text)).collect();
    let why = "no control group with these limits can be made here";
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
        assert!(said(Some(1), None).unwrap().starts_with("the limit on memory"));
        let root = rustix::process::geteuid().is_root();
        assert_eq!(said(None, Some(1)).is_some(), root);
    }
}
