//! The digests that approvals are bound to.

use openoxide_protocol::{Operation, OperationDigest};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of the exact operation: the tool, its input and the directory. Each part is
/// preceded by its length, so that parts cannot be confused. The keys of the input are sorted.
#[must_use]
pub fn digest_operation(operation: &Operation) -> OperationDigest {
    let input = operation.input.to_string();
    digest_parts(&[&operation.tool, operation.cwd.as_str(), &input])
}

/// Returns the SHA-256 of a call without its directory, for [`openoxide_permission::RecentCalls`].
#[must_use]
pub fn digest_call(tool: &str, input: &Value) -> OperationDigest {
    digest_parts(&[tool, &input.to_string()])
}

/// Returns the SHA-256 of a call of an agent: its tool, its directory and the identity of the
/// directory, its input, and its accesses.
pub(crate) fn digest_agent_operation(parts: [&str; 5]) -> OperationDigest {
    let [tool, cwd, directory, input, accesses] = parts;
    digest_parts(&["agent", tool, cwd, directory, input, accesses])
}

fn digest_parts(parts: &[&str]) -> OperationDigest {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part.as_bytes());
    }
    OperationDigest(sum.finalize().into())
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, Action, CallId, Principal};
    use serde_json::json;

    use super::*;

    fn of(tool: &str, input: Value) -> OperationDigest {
        digest_operation(&Operation {
            session: crate::ids::new_session_id(),
            call: CallId(String::new()),
            principal: Principal::Agent,
            tool: tool.to_owned(),
            action: Action::CallTool,
            input,
            cwd: AbsPath::root(),
        })
    }

    #[test]
    fn a_digest_depends_only_on_the_operation() {
        assert_eq!(of("Bash", json!({"a": 1, "b": 2})), of("Bash", json!({"b": 2, "a": 1})));
        assert_ne!(of("Bash", json!({"a": 1})), of("Bash", json!({"a": 2})));
        assert_ne!(of("Bash", json!("x")), of("Bas", json!("x")));
    }

    #[test]
    fn a_call_is_the_same_wherever_it_runs_and_however_its_keys_are_ordered() {
        let input = |text: &str| serde_json::from_str(text).unwrap();
        let call = |text: &str| digest_call("T", &input(text));
        assert_eq!(
            call(r#"{"a":[1,{"x":2,"y":3}],"b":0}"#),
            call(r#"{"b":0,"a":[1,{"y":3,"x":2}]}"#)
        );
        assert_ne!(call(r#"{"a":[1,2]}"#), call(r#"{"a":[2,1]}"#));
    }

    #[test]
    fn a_digest_is_the_sha_256_of_its_parts() {
        // printf '\1\0\0\0\0\0\0\0T\1\0\0\0\0\0\0\0/\3\0\0\0\0\0\0\0"x"' | sha256sum
        let expected = "4ca0e7ac2dc21acc0e162117e83e7a226aa051387ebceaaa9563a73a911ed91a";
        assert_eq!(of("T", json!("x")).to_string(), expected);
    }
}
