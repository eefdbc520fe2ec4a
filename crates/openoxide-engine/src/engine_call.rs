//! A call to evaluate.

use openoxide_adapters::tool_action;
use openoxide_protocol::{AbsPath, Action, Operation, OperationFacts, PermissionMode};
use serde_json::Value;

use crate::operation_facts::{CallLocation, collect_question_facts, facts_of_call};

/// A call to evaluate: its facts and its directory.
#[derive(Clone, Debug)]
pub struct EngineCall {
    subject: CallSubject,
    cwd: AbsPath,
    mode: Option<PermissionMode>,
    roots: Option<Vec<AbsPath>>,
}

#[derive(Clone, Debug)]
enum CallSubject {
    Tool { tool: String, action: Action, input: Value },
    Question { permission: String, patterns: Vec<String> },
    Facts(OperationFacts),
}

impl EngineCall {
    /// Returns the call of an operation.
    #[must_use]
    pub fn from_operation(operation: &Operation) -> Self {
        let Operation { tool, action, input, cwd, .. } = operation.clone();
        Self::new(CallSubject::Tool { tool, action, input }, cwd)
    }

    /// Returns the call of a tool with the input that an agent sends.
    #[must_use]
    pub fn from_tool(name: &str, input: &Value, cwd: AbsPath) -> Self {
        let (action, tool, input) =
            (tool_action::parse_action(name, input), name.to_owned(), input.clone());
        Self::new(CallSubject::Tool { tool, action, input }, cwd)
    }

    /// Returns the call of a bare question: a permission and patterns for the accessed subjects.
    #[must_use]
    pub fn from_question(permission: &str, patterns: &[String], cwd: AbsPath) -> Self {
        let (permission, patterns) = (permission.to_owned(), patterns.to_vec());
        Self::new(CallSubject::Question { permission, patterns }, cwd)
    }

    /// Returns a call whose facts are known.
    #[must_use]
    pub const fn from_facts(facts: OperationFacts, cwd: AbsPath) -> Self {
        Self::new(CallSubject::Facts(facts), cwd)
    }

    const fn new(subject: CallSubject, cwd: AbsPath) -> Self {
        Self { subject, cwd, mode: None, roots: None }
    }

    /// Sets the mode, unless the managed policy disables it.
    #[must_use]
    pub fn with_mode(self, mode: Option<PermissionMode>) -> Self {
        Self { mode, ..self }
    }

    /// Sets the directories of the project.
    #[must_use]
    pub fn with_roots(self, roots: Vec<AbsPath>) -> Self {
        Self { roots: Some(roots), ..self }
    }

    pub(crate) const fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    pub(crate) const fn mode(&self) -> Option<PermissionMode> {
        self.mode
    }

    pub(crate) fn roots(&self) -> Option<&[AbsPath]> {
        self.roots.as_deref()
    }

    pub(crate) fn collect_facts(&self, place: CallLocation<'_>) -> OperationFacts {
        match &self.subject {
            CallSubject::Tool { tool, action, input } => facts_of_call(action, tool, input, place),
            CallSubject::Question { permission, patterns } => {
                collect_question_facts(permission, patterns, place)
            }
            CallSubject::Facts(facts) => facts.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Effect;
    use openoxide_store::UserEnvironment;
    use serde_json::json;

    use super::*;
    use crate::engine::{Engine, EngineOptions};

    /// Otherwise a rule with the name of a tool would have no effect on its calls.
    #[test]
    fn a_deny_with_the_name_of_a_tool_denies_its_calls() {
        let project = AbsPath::new("/work/project").unwrap();
        let input = json!({
            "command": "git status", "file_path": "a.txt", "url": "https://example.org/",
            "pattern": "*.rs", "socket": "/run/example.sock",
        });
        let patch = json!("*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n");
        let others = ["send_email", "mcp__server__tool"];
        for tool in tool_action::known_tool_names().chain(others) {
            let mut options = EngineOptions::new(UserEnvironment::default(), project.clone());
            options.extra_rules = vec![(Effect::Deny, tool.to_owned())];
            let engine = Engine::open(options).unwrap();
            let input = if tool.ends_with("patch") { &patch } else { &input };
            let call = EngineCall::from_tool(tool, input, project.clone());
            assert_eq!(engine.evaluate(&call).decision.effect, Effect::Deny, "{tool}");
        }
    }
}
