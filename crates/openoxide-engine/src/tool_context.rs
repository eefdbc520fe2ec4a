//! The context of a running tool: `ctx.ask` for questions in its code, and access to permits.

use std::sync::{Arc, Mutex, PoisonError};

use openoxide_permission::{CheckRequest, GrantCoverage, Hook, Permit, RecentCalls};
use openoxide_protocol::{
    AbsPath, Access, Action, CallId, HookAnswer, Operation, OperationFacts, PermissionMode,
    PresentationKind, Principal, RequestPresentation, SessionId,
};
use serde_json::{Value, json};

use crate::{
    approvable_tool::{Approvable, GatedTool},
    digest::{digest_call, digest_operation},
    dispatcher::{GateHandle, SessionClosedError},
    hooks::{HookCall, ask_hooks},
    ids::{new_approval_id, new_session_id},
    not_permitted_error::{NotPermittedError, permit_from_reply},
    operation_facts::{CallLocation, collect_question_facts},
};

/// The gate for the tools of one session. Clones belong to the same session.
///
/// ```
/// # use std::sync::Arc;
/// # use openoxide_permission::{PermissionGate, PolicyStack, default_layer};
/// # use openoxide_protocol::{AbsPath, ApprovalResponse, GrantScope, PermissionMode};
/// # use openoxide_engine::{GateDispatcher, NotPermittedError, ToolContext};
/// # use serde_json::json;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let root = AbsPath::new("/work/project")?;
/// # let policy = Arc::new(PolicyStack::compile(&[default_layer()])?);
/// # let gate = PermissionGate::new(policy, PermissionMode::Default, vec![root.clone()]);
/// let (dispatcher, handle, mut requests) = GateDispatcher::new(gate);
/// tokio::spawn(dispatcher.run());
/// let reviewer = handle.clone();
/// tokio::spawn(async move {
///     while let Some(request) = requests.recv().await {
///         let no = ApprovalResponse::Rejected { message: Some("write to docs/".to_owned()) };
///         drop(reviewer.answer(request.id, no).await);
///     }
/// });
///
/// let ctx = ToolContext::new(handle, root);
/// ctx.ask("read", &["src/main.rs"], json!({})).await?; // inside of the project: free
/// let refused = ctx.ask("edit", &["src/main.rs"], json!({ "diff": "-a\n+b\n" })).await;
/// assert!(matches!(refused, Err(NotPermittedError::Corrected(error)) if error.message == "write to docs/"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ToolContext {
    gate: GateHandle,
    session: SessionId,
    principal: Principal,
    cwd: AbsPath,
    home: Option<AbsPath>,
    recent_calls: Arc<Mutex<RecentCalls>>,
    hooks: Option<Arc<SessionHooks>>,
}

/// The hooks that run before the gate, and the session data that they receive.
#[derive(Debug)]
struct SessionHooks {
    hooks: Vec<Hook>,
    project: AbsPath,
    mode: PermissionMode,
}

/// A question with its presentation.
struct PermissionQuery<'a> {
    permission: &'a str,
    patterns: Vec<String>,
    input: Value,
    metadata: Value,
    title: String,
    grant_coverage: GrantCoverage,
    group: Option<String>,
    requires_explicit_approval: bool,
}

impl ToolContext {
    /// Returns the context of a new session. Relative paths are resolved against `cwd`.
    #[must_use]
    pub fn new(gate: GateHandle, cwd: AbsPath) -> Self {
        let (session, principal) = (new_session_id(), Principal::Agent);
        Self {
            gate,
            session,
            principal,
            cwd,
            home: None,
            recent_calls: Arc::default(),
            hooks: None,
        }
    }

    /// Sets the hooks of a project's policy, which run before every question. They require a
    /// runtime with I/O and time enabled.
    #[must_use]
    pub fn with_hooks(self, all: Vec<Hook>, project: AbsPath, mode: PermissionMode) -> Self {
        Self { hooks: Some(Arc::new(SessionHooks { hooks: all, project, mode })), ..self }
    }

    /// Sets the home directory for `~`.
    #[must_use]
    pub fn with_home(self, home: AbsPath) -> Self {
        Self { home: Some(home), ..self }
    }

    /// Returns the session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Sets the task of the session. Approvals for the previous task end.
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn set_task(&self, task: Option<String>) -> Result<(), SessionClosedError> {
        self.gate.set_task(self.session, task).await
    }

    /// Returns the context of a subagent: a separate session that inherits the mode of this one and
    /// ends with it.
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn start_subagent(
        &self,
        agent: &str,
        mode: Option<PermissionMode>,
    ) -> Result<Self, SessionClosedError> {
        let session = new_session_id();
        self.gate.start_subagent(self.session, session, mode).await?;
        let principal = Principal::Subagent { agent: agent.to_owned() };
        Ok(Self { session, principal, recent_calls: Arc::default(), ..self.clone() })
    }

    /// Asks for permission in the middle of a tool's code and waits for the answer. The accesses
    /// are determined as in [`collect_question_facts`]. A session approval is remembered for each
    /// pattern separately. `metadata` is shown to the reviewer.
    ///
    /// # Errors
    /// Returns an error if the tool may not continue. The text of the error is for the model.
    pub async fn ask(
        &self,
        permission: &str,
        patterns: &[&str],
        metadata: Value,
    ) -> Result<Permit, NotPermittedError> {
        let patterns: Vec<_> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let keys = patterns.iter().map(|pattern| json!([permission, pattern]).to_string());
        let asking = PermissionQuery {
            permission,
            grant_coverage: GrantCoverage { keys: keys.collect(), rules: Vec::new() },
            input: json!({ "patterns": patterns, "metadata": metadata }),
            title: format!("{permission}: {}", patterns.join(", ")),
            patterns,
            metadata,
            group: None,
            requires_explicit_approval: false,
        };
        self.check_query(asking, false).await
    }

    /// Records a call of a tool that asks in its code. The third identical call in a row requires
    /// approval.
    ///
    /// # Errors
    /// Returns an error if the tool should leave its loop.
    pub async fn check_repetition(
        &self,
        tool: &str,
        input: &Value,
    ) -> Result<(), NotPermittedError> {
        if self.is_repeated_call(tool, input) {
            let metadata = json!({ "tool": tool, "input": input });
            drop(self.ask("doom_loop", &[tool], metadata).await?);
        }
        Ok(())
    }

    /// Returns the permit for one call of a tool. The third call in a row with the same arguments
    /// requires approval.
    ///
    /// # Errors
    /// Returns an error if the tool may not run. The text of the error is for the model.
    pub async fn request_permit(
        &self,
        tool: &(impl Approvable + ?Sized),
        args: &Value,
    ) -> Result<Permit, NotPermittedError> {
        let permission = tool.permission_name();
        let key = |key: Value| json!([permission, key]).to_string();
        let rule = |pattern: String| format!("{permission}({pattern})");
        let asking = PermissionQuery {
            permission,
            patterns: tool.patterns(args),
            input: args.clone(),
            metadata: tool.metadata(args),
            title: tool.title(args),
            grant_coverage: GrantCoverage {
                keys: tool.approval_keys(args).into_iter().map(key).collect(),
                rules: tool.suggested_patterns(args).into_iter().map(rule).collect(),
            },
            group: tool.group(args),
            requires_explicit_approval: tool.requires_explicit_approval(args),
        };
        let repeats = self.is_repeated_call(permission, args);
        self.check_query(asking, repeats).await
    }

    /// Runs a tool if it is permitted.
    ///
    /// The example defines a complete tool. A reviewer approves the deletion of one record for the
    /// session:
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use openoxide_permission::{PermissionGate, Permit, PolicyStack, default_layer};
    /// # use openoxide_protocol::{AbsPath, ApprovalResponse, GrantScope, PermissionMode};
    /// # use openoxide_engine::{Approvable, GateDispatcher, GatedTool, ToolContext};
    /// # use serde_json::{Value, json};
    /// struct Delete;
    ///
    /// impl Approvable for Delete {
    ///     fn permission_name(&self) -> &str {
    ///         "delete_record"
    ///     }
    ///
    ///     fn patterns(&self, args: &Value) -> Vec<String> {
    ///         vec![args["table"].to_string()]
    ///     }
    ///
    ///     /// Returns the table. The approval covers every record of it.
    ///     fn approval_keys(&self, args: &Value) -> Vec<Value> {
    ///         vec![json!({ "table": args["table"] })]
    ///     }
    /// }
    ///
    /// impl GatedTool for Delete {
    ///     type Output = String;
    ///
    ///     async fn run(&self, _permit: Permit, args: &Value) -> String {
    ///         format!("deleted {} of {}", args["number"], args["table"])
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let root = AbsPath::new("/work/project")?;
    /// # let policy = Arc::new(PolicyStack::compile(&[default_layer()])?);
    /// # let gate = PermissionGate::new(policy, PermissionMode::Default, vec![root.clone()]);
    /// # let (dispatcher, handle, mut requests) = GateDispatcher::new(gate);
    /// # tokio::spawn(dispatcher.run());
    /// # let reviewer = handle.clone();
    /// # let asked = tokio::spawn(async move {
    /// #     let request = requests.recv().await.unwrap();
    /// #     assert_eq!(request.presentation.metadata["covers"], json!([r#"["delete_record",{"table":"logs"}]"#]));
    /// #     let yes = ApprovalResponse::new_approval(GrantScope::Session);
    /// #     reviewer.answer(request.id, yes).await.unwrap().unwrap();
    /// #     requests
    /// # });
    /// let ctx = ToolContext::new(handle, root);
    /// let first = ctx.run_tool(&Delete, &json!({ "table": "logs", "number": 7 })).await?;
    /// assert_eq!(first, "deleted 7 of \"logs\"");
    /// # let mut requests = asked.await?;
    /// let second = ctx.run_tool(&Delete, &json!({ "table": "logs", "number": 8 })).await?; // not asked
    /// # assert!(requests.try_recv().is_err());
    /// # drop(requests); // No reviewer is listening any more.
    /// let users = ctx.run_tool(&Delete, &json!({ "table": "users", "number": 8 })).await;
    /// assert!(users.unwrap_err().to_string().contains("no one can be asked"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the tool may not run. The text of the error is for the model.
    pub async fn run_tool<T: GatedTool>(
        &self,
        tool: &T,
        args: &Value,
    ) -> Result<T::Output, NotPermittedError> {
        let permit = self.request_permit(tool, args).await?;
        Ok(tool.run(permit, args).await)
    }

    fn is_repeated_call(&self, tool: &str, input: &Value) -> bool {
        let call = digest_call(tool, input);
        self.recent_calls.lock().unwrap_or_else(PoisonError::into_inner).record(call)
    }

    async fn check_query(
        &self,
        asking: PermissionQuery<'_>,
        repeats: bool,
    ) -> Result<Permit, NotPermittedError> {
        let mut question = self.to_check_request(asking, repeats);
        question.hooks = self.run_hooks(&question).await;
        permit_from_reply(self.gate.check(question).await?)
    }

    async fn run_hooks(&self, question: &CheckRequest) -> Vec<HookAnswer> {
        let Some(hooks) = &self.hooks else { return Vec::new() };
        let call = HookCall::from_operation(
            &question.operation,
            &hooks.project,
            hooks.mode,
            &question.facts,
        );
        ask_hooks(&hooks.hooks, &call).await
    }

    fn to_check_request(&self, asking: PermissionQuery<'_>, repeats: bool) -> CheckRequest {
        let tool = asking.permission.to_owned();
        let mut facts = self.collect_query_facts(&asking);
        if repeats {
            facts.accesses.push(Access::Repetition { tool: tool.clone() });
        }
        let operation = Operation {
            session: self.session,
            call: CallId::default(),
            principal: self.principal.clone(),
            tool,
            action: Action::CallTool,
            input: asking.input,
            cwd: self.cwd.clone(),
        };
        CheckRequest {
            digest: digest_operation(&operation),
            operation,
            facts,
            id: new_approval_id(),
            presentation: metadata_presentation(&asking.patterns, &asking.metadata),
            title: asking.title,
            group: asking.group,
            requires_explicit_approval: asking.requires_explicit_approval,
            hooks: Vec::new(),
            coverage: asking.grant_coverage,
            offered_directory: None,
        }
    }

    /// Returns the facts of a query. A query without patterns is opaque, because it could access
    /// anything.
    fn collect_query_facts(&self, asking: &PermissionQuery<'_>) -> OperationFacts {
        if asking.patterns.is_empty() {
            let text = format!("`{}` does not declare what it accesses", asking.permission);
            let nothing = Access::Opaque { text, span: Default::default() };
            return OperationFacts { accesses: vec![nothing], findings: Vec::new() };
        }
        let place = CallLocation { cwd: &self.cwd, home: self.home.as_ref() };
        collect_question_facts(asking.permission, &asking.patterns, place)
    }
}

/// Returns the presentation that the tool asks for. The accesses are in the parts of the decision,
/// whatever the presentation shows.
fn metadata_presentation(patterns: &[String], metadata: &Value) -> RequestPresentation {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    let (kind, content) = match (text("diff"), text("command")) {
        (Some(diff), _) => (PresentationKind::Diff, diff),
        (None, Some(command)) => (PresentationKind::Command, command),
        (None, None) => (PresentationKind::Text, patterns.join("\n")),
    };
    let metadata = metadata.as_object().into_iter().flatten();
    let metadata = metadata.map(|(name, value)| (name.clone(), value.clone())).collect();
    RequestPresentation { kind, content, summary: None, language: None, metadata }
}

#[cfg(test)]
mod tests;
