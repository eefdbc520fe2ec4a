//! The state of a reviewer: its settings, and its watch for signals.

use crate::{
    args::{CodexReviewArgs, GlobalArgs},
    signal_watch::SignalWatch,
};

/// A reviewer that answers by the policy, or asks the person at this terminal.
pub(super) struct CodexReviewer<'a> {
    pub(super) args: &'a CodexReviewArgs,
    pub(super) global: GlobalArgs,
    /// True if a person can be asked here.
    pub(super) at_terminal: bool,
    /// The watch for Ctrl-C. Hooks have their own while they run.
    pub(super) signals: Option<SignalWatch>,
}

impl<'a> CodexReviewer<'a> {
    pub(super) fn new(args: &'a CodexReviewArgs, global: GlobalArgs, at_terminal: bool) -> Self {
        Self { args, global, at_terminal, signals: Some(SignalWatch::start()) }
    }
}
