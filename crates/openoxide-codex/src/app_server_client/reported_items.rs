//! The file changes and tool calls that a server has reported. Approval requests refer to them.

use std::collections::VecDeque;

use crate::{
    app_server::{ApprovalParams, ItemId, StartedMcpCall},
    file_change::FileUpdateChange,
};

/// The maximum number of items whose changes are stored. They arrive right before their request.
const MAX_CHANGED_ITEMS: usize = 16;
/// The maximum number of running tool calls. The oldest ones are removed first.
const MAX_RUNNING_CALLS: usize = 64;

/// The most recently reported file changes.
#[derive(Debug, Default)]
pub(super) struct ItemChanges(VecDeque<(ItemId, Vec<FileUpdateChange>)>);

impl ItemChanges {
    pub(super) fn insert(&mut self, item: ItemId, changes: Vec<FileUpdateChange>) {
        self.0.retain(|(kept, _)| *kept != item);
        self.0.push_back((item, changes));
        if self.0.len() > MAX_CHANGED_ITEMS {
            self.0.pop_front();
        }
    }

    pub(super) fn find_for_request(&self, asked: &ApprovalParams) -> Option<&[FileUpdateChange]> {
        let meant =
            |item: &ItemId| item.item == asked.call_name() && item.thread == asked.thread_id();
        self.0.iter().find(|(item, _)| meant(item)).map(|(_, changes)| changes.as_slice())
    }
}

/// The running tool calls.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(VecDeque<(ItemId, StartedMcpCall)>);

impl RunningCalls {
    pub(super) fn insert(&mut self, item: ItemId, call: StartedMcpCall) {
        self.remove(&item);
        self.0.push_back((item, call));
        if self.0.len() > MAX_RUNNING_CALLS {
            self.0.pop_front();
        }
    }

    pub(super) fn remove(&mut self, item: &ItemId) {
        self.0.retain(|(running, _)| running != item);
    }

    pub(super) fn calls_of_thread(&self, thread: &str) -> Vec<&StartedMcpCall> {
        let own = self.0.iter().filter(|(item, _)| item.thread == thread);
        own.map(|(_, call)| call).collect()
    }
}
