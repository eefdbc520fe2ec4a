//! Tools that say themselves what they need permission for (seeds 001, 003 and 004).

use openoxide_permission::Permit;
use serde_json::Value;

/// Says what a call of a tool needs permission for. It is asked before anything runs, and computes, no more: it reads no
/// file and waits for nobody.
///
/// A tool knows nothing of modes, terminals and grants; the gate knows nothing of the tool but this.
pub trait Approvable {
    /// Returns the name of the permission: `bash`, `read`, `edit`, `webfetch`, `task`, `external_directory`, or the tool's own.
    fn permission_name(&self) -> &str;

    /// Returns what the call touches: commands, paths, addresses, as the permission has it. Each is judged by itself. Where
    /// there is none, nobody knows what the call does, and no rule can allow it.
    fn patterns(&self, args: &Value) -> Vec<String>;

    /// Returns what a yes for good covers, in the patterns of rules (`/docs/**`; `*` for every call of a tool of its own).
    /// The reviewer is shown them. Where there are none, the gate offers its own, as it does for commands always.
    fn suggested_patterns(&self, _args: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns what else a reviewer is shown: `diff`, `command` and `description` are shown as such.
    fn metadata(&self, _args: &Value) -> Value {
        Value::Null
    }

    /// Returns what a yes for the session is remembered under (seed 001's payload): a later call passes when all of its keys
    /// were said yes to. Leave out what changes from call to call. Without any it is exactly this call.
    fn approval_keys(&self, _args: &Value) -> Vec<Value> {
        Vec::new()
    }

    /// Returns one line that says what is wanted.
    fn title(&self, args: &Value) -> String {
        format!("{}: {}", self.permission_name(), self.patterns(args).join(", "))
    }

    /// Returns the group of requests that this one may be answered with.
    fn group(&self, _args: &Value) -> Option<String> {
        None
    }

    /// Says whether nothing but a yes to this very call counts (Aider's `explicit_yes_required`).
    fn requires_explicit_approval(&self, _args: &Value) -> bool {
        false
    }
}

/// A tool that cannot run without a permit.
pub trait GatedTool: Approvable {
    /// What it returns.
    type Output;

    /// Runs, once: the permit is used up.
    fn run(&self, permit: Permit, args: &Value) -> impl Future<Output = Self::Output> + Send;
}
