//! Tools that declare the permissions that they need.

use openoxide_permission::Permit;
use serde_json::Value;

/// A tool that declares which permission a call needs.
///
/// The methods are called before anything runs. They only compute: they read no file and wait for
/// nothing.
///
/// A tool has no knowledge of modes, terminals and grants. The gate knows only what this trait
/// returns.
pub trait Approvable {
    /// Returns the name of the permission: `bash`, `read`, `edit`, `webfetch`, `task`, `external_directory`, or the tool's own.
    fn permission_name(&self) -> &str;

    /// Returns the subjects that the call accesses: commands, paths or addresses, depending on the
    /// permission. Each one is checked separately. If the list is empty, the effects of the call
    /// are unknown, and no rule can allow it.
    fn patterns(&self, args: &Value) -> Vec<String>;

    /// Returns the rule patterns that a permanent approval covers, such as `/docs/**`, or `*` for
    /// every call of a custom tool. They are shown to the reviewer. If the list is empty, the gate
    /// suggests its own patterns, as it always does for commands.
    fn suggested_patterns(&self, _args: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns additional data for the reviewer. `diff`, `command` and `description` have a
    /// presentation of their own.
    fn metadata(&self, _args: &Value) -> Value {
        Value::Null
    }

    /// Returns the keys under which a session approval is remembered. A later call is allowed if
    /// all of its keys were approved. Leave out values that change from call to call. If the list
    /// is empty, the approval covers exactly this call.
    fn approval_keys(&self, _args: &Value) -> Vec<Value> {
        Vec::new()
    }

    /// Returns a one-line description of the call.
    fn title(&self, args: &Value) -> String {
        format!("{}: {}", self.permission_name(), self.patterns(args).join(", "))
    }

    /// Returns the group of requests that this one may be answered with.
    fn group(&self, _args: &Value) -> Option<String> {
        None
    }

    /// Returns whether each call requires its own explicit approval (Aider's
    /// `explicit_yes_required`).
    fn requires_explicit_approval(&self, _args: &Value) -> bool {
        false
    }
}

/// A tool that cannot run without a permit.
pub trait GatedTool: Approvable {
    /// The type of the tool's result.
    type Output;

    /// Runs the tool. This uses the permit.
    fn run(&self, permit: Permit, args: &Value) -> impl Future<Output = Self::Output> + Send;
}
