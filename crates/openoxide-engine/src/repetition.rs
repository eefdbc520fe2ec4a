//! The same call again and again, where each call is a process: noticed if the policy has a rule about it.

use openoxide_adapters::hook::{Call, Event};
use openoxide_protocol::{Access, Facts};
use openoxide_store::{Environment, RepeatFile};

use crate::digest_of_call;

/// Notes a call, and adds its repetition to what it does. Whether it repeats is not known where it could not be noted: then
/// it counts as if it did.
pub(crate) fn note_repetition(call: &Call, environment: &Environment, facts: &mut Facts) {
    let (file, digest) = (RepeatFile::of(environment), digest_of_call(&call.tool, &call.input));
    let repeats = match call.event {
        Event::PreToolUse => file.note(&call.session, digest),
        // The question about a call that was noted before.
        Event::PermissionRequest => file.is_loop(&call.session, digest),
    };
    if repeats.unwrap_or(true) {
        facts.accesses.push(Access::DoomLoop { tool: call.tool.clone() });
    }
}
