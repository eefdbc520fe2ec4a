//! Modes of subagents.

use openoxide_protocol::PermissionMode;

/// Returns the mode of a subagent: its parent's mode, unless its own is stricter.
///
/// `bypass_permissions` passes to every subagent and cannot be replaced by another mode. In the
/// other modes, a subagent can request more restrictions, but never more permissions than its
/// parent.
#[must_use]
pub const fn inherit_mode(
    parent: PermissionMode,
    wanted: Option<PermissionMode>,
) -> PermissionMode {
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan, Sandboxed};
    match (parent, wanted) {
        (Default, Some(stricter @ (Plan | DontAsk)))
        | (AcceptEdits | Sandboxed, Some(stricter @ (Default | Plan | DontAsk))) => stricter,
        (Default | AcceptEdits | Sandboxed | Plan | DontAsk | BypassPermissions, _) => parent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan, Sandboxed};

    #[test]
    fn bypass_passes_to_every_subagent() {
        for wanted in PermissionMode::ALL {
            assert_eq!(inherit_mode(BypassPermissions, Some(wanted)), BypassPermissions);
        }
        assert_eq!(inherit_mode(BypassPermissions, None), BypassPermissions);
    }

    /// Guards I17.
    #[test]
    fn a_subagent_never_may_do_more_than_its_parent() {
        for parent in [Default, AcceptEdits, Sandboxed, Plan, DontAsk] {
            assert_eq!(inherit_mode(parent, None), parent);
            assert_eq!(inherit_mode(parent, Some(BypassPermissions)), parent);
            assert_eq!(inherit_mode(Plan, Some(parent)), Plan);
            assert_eq!(inherit_mode(DontAsk, Some(parent)), DontAsk);
        }
        assert_eq!(inherit_mode(Default, Some(AcceptEdits)), Default);
        assert_eq!(inherit_mode(Default, Some(Plan)), Plan);
        assert_eq!(inherit_mode(AcceptEdits, Some(Default)), Default);
        assert_eq!(inherit_mode(Sandboxed, Some(Default)), Default);
        assert_eq!(inherit_mode(Sandboxed, Some(AcceptEdits)), Sandboxed);
        assert_eq!(inherit_mode(AcceptEdits, Some(Sandboxed)), AcceptEdits);
    }
}
