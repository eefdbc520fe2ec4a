//! A call to evaluate.

use openoxide_adapters::tool;
use openoxide_protocol::{AbsPath, Action, Facts, Operation, PermissionMode};
use serde_json::Value;

use crate::{Place, facts::facts_of_call, facts_of_question};

/// A call to evaluate: what it does, and where.
#[derive(Clone, Debug)]
pub struct Call {
    subject: Subject,
    cwd: AbsPath,
    mode: Option<PermissionMode>,
    roots: Option<Vec<AbsPath>>,
}

#[derive(Clone, Debug)]
enum Subject {
    Tool { tool: String, action: Action, input: Value },
    Question { permission: String, patterns: Vec<String> },
    Facts(Facts),
}

impl Call {
    /// Returns the call of an operation.
    #[must_use]
    pub fn from_operation(operation: &Operation) -> Self {
        let Operation { tool, action, input, cwd, .. } = operation.clone();
        Self::new(Subject::Tool { tool, action, input }, cwd)
    }

    /// Returns the call of a tool by its name, with its input as an agent sends it.
    #[must_use]
    pub fn from_tool(name: &str, input: &Value, cwd: AbsPath) -> Self {
        let (action, tool, input) = (tool::action(name, input), name.to_owned(), input.clone());
        Self::new(Subject::Tool { tool, action, input }, cwd)
    }

    /// Returns the call of a bare question: a permission, and the patterns that it is asked for.
    #[must_use]
    pub fn from_question(permission: &str, patterns: &[String], cwd: AbsPath) -> Self {
        let (permission, patterns) = (permission.to_owned(), patterns.to_vec());
        Self::new(Subject::Question { permission, patterns }, cwd)
    }

    /// Returns a call whose facts are known.
    #[must_use]
    pub const fn from_facts(facts: Facts, cwd: AbsPath) -> Self {
        Self::new(Subject::Facts(facts), cwd)
    }

    const fn new(subject: Subject, cwd: AbsPath) -> Self {
        Self { subject, cwd, mode: None, roots: None }
    }

    /// Evaluates the call in this mode, where the managed policy does not disable it.
    #[must_use]
    pub fn in_mode(self, mode: Option<PermissionMode>) -> Self {
        Self { mode, ..self }
    }

    /// Evaluates the call as one of the project with these directories.
    #[must_use]
    pub fn in_project(self, roots: Vec<AbsPath>) -> Self {
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

    pub(crate) fn facts(&self, place: Place<'_>) -> Facts {
        match &self.subject {
            Subject::Tool { tool, action, input } => facts_of_call(action, tool, input, place),
            Subject::Question { permission, patterns } => {
                facts_of_question(permission, patterns, place)
            }
            Subject::Facts(facts) => facts.clone(),
        }
    }
}
