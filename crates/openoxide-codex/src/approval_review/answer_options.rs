//! The answers that a person may give: exactly those that Codex offers. They have the same keys as
//! in Codex, except where a key has another meaning here.

use openoxide_protocol::{Access, ApprovalResponse, GrantScope, OperationFacts};
use serde_json::{Value, json};

use crate::{
    app_server::{
        ApprovalParams, CommandApproval, CommandApprovalKind, McpToolApproval, McpToolDecision,
        PLAIN_DECISIONS, PermissionsAnswer, PermissionsScope, PersistScope, RequestId,
        render_response,
    },
    exact_semantics::{longest_banned_prefix, render_prefix_rule},
    review_decision::{CodexReviewDecision, NetworkPolicyAmendment, NetworkPolicyRuleAction},
};
use openoxide_adapters::quote_words;

/// The maximum number of answers that are offered. Others can be given in Codex itself.
const MAX_OPTIONS: usize = 9;
/// The maximum length of a prefix rule. A longer prefix cannot be shown next to the other answers.
const MAX_RULE_LENGTH: usize = 400;
/// The warning in the meaning of an answer whose rule begins with a banned prefix. Codex does not
/// compare the answers of clients with the banned prefixes.
const BANNED_PREFIX_WARNING: &str = "careful, it begins with the banned ";
/// The key Esc.
const ESCAPE: char = '\u{1b}';

/// An answer that Codex accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum CodexAnswer {
    /// The answer to a question about a command or about files.
    Review(CodexReviewDecision),
    /// The answer to a request for more permissions.
    Permissions(PermissionsAnswer),
    /// The answer to a question about a tool.
    Tool {
        /// The answer.
        decision: McpToolDecision,
        /// The line that Codex writes into its configuration with this answer.
        rule_to_save: Option<String>,
    },
}

/// An answer that is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct CodexAnswerOption {
    /// The answer.
    pub answer: CodexAnswer,
    /// The keys that select the answer.
    pub keys: Vec<char>,
    /// A description of the answer's effect.
    pub meaning: String,
    /// True if the answer deserves special attention.
    pub needs_caution: bool,
}

/// The answers that are offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodexAnswerOptions {
    /// The offered answers, in Codex's order.
    pub options: Vec<CodexAnswerOption>,
    /// The answers that Codex offers and that are not offered here, with the reasons.
    pub withheld: Vec<String>,
}

impl CodexAnswer {
    /// Returns the line that answers a request.
    #[must_use]
    pub fn render_line(&self, id: &RequestId) -> Value {
        match self {
            Self::Review(decision) => render_response(id, decision),
            Self::Permissions(answer) => json!({ "id": id, "result": answer }),
            Self::Tool { decision, .. } => decision.render_line(id),
        }
    }

    /// Returns the answer as an OpenOxide response, for the gate and the audit.
    #[must_use]
    pub fn to_approval_response(&self) -> ApprovalResponse {
        use CodexReviewDecision as R;
        let scope = match self {
            Self::Review(R::Approved) => GrantScope::Once,
            Self::Review(R::ApprovedForSession) => GrantScope::Session,
            Self::Review(R::ApprovedExecpolicyAmendment { .. } | R::ApprovedMcpPolicyAmendment) => {
                GrantScope::Project
            }
            Self::Review(R::NetworkPolicyAmendment { network_policy_amendment: rule }) => {
                if rule.action != NetworkPolicyRuleAction::Allow {
                    return ApprovalResponse::Denied;
                }
                GrantScope::Project
            }
            Self::Permissions(PermissionsAnswer { permissions, scope, .. }) => match scope {
                _ if *permissions == json!({}) => return ApprovalResponse::Denied,
                PermissionsScope::Turn => GrantScope::Once,
                PermissionsScope::Session => GrantScope::Session,
            },
            Self::Tool { decision, .. } => return tool_response(*decision),
            Self::Review(R::Denied { .. } | R::TimedOut) => return ApprovalResponse::Denied,
            Self::Review(R::Abort) => return ApprovalResponse::Cancelled,
        };
        ApprovalResponse::new_approval(scope)
    }

    /// Returns what Codex saves with the answer: a rule in the syntax of its rule files, or a line
    /// of its configuration.
    #[must_use]
    pub fn rule_to_save(&self) -> Option<String> {
        match self {
            Self::Review(CodexReviewDecision::ApprovedExecpolicyAmendment {
                proposed_execpolicy_amendment: words,
            }) => render_prefix_rule(words).ok(),
            Self::Review(CodexReviewDecision::NetworkPolicyAmendment {
                network_policy_amendment: NetworkPolicyAmendment { action, host },
            }) => Some(format!("network_rule(host={}, decision={})", json!(host), json!(action))),
            Self::Tool { rule_to_save: keeps, .. } => keeps.clone(),
            _ => None,
        }
    }

    /// Returns the one-time approval that follows from an allow rule, if Codex offers it.
    #[must_use]
    pub fn find_once_approval(asked: &ApprovalParams) -> Option<Self> {
        match asked {
            ApprovalParams::Command(approval) => approval
                .allows_decision(&CodexReviewDecision::Approved)
                .then_some(Self::Review(CodexReviewDecision::Approved)),
            ApprovalParams::FileChange(_) => Some(Self::Review(CodexReviewDecision::Approved)),
            ApprovalParams::Permissions(_) => None,
            ApprovalParams::Tool(_) => {
                Some(Self::from_tool_decision(McpToolDecision::Accept(None)))
            }
        }
    }

    /// Returns the denial after which the model continues.
    #[must_use]
    pub fn new_decline(asked: &ApprovalParams) -> Self {
        match asked {
            ApprovalParams::Command(_) | ApprovalParams::FileChange(_) => {
                Self::Review(CodexReviewDecision::new_denial())
            }
            ApprovalParams::Permissions(_) => {
                Self::Permissions(permissions_answer(json!({}), PermissionsScope::Turn, None))
            }
            ApprovalParams::Tool(_) => Self::from_tool_decision(McpToolDecision::Decline),
        }
    }

    const fn from_tool_decision(decision: McpToolDecision) -> Self {
        Self::Tool { decision, rule_to_save: None }
    }
}

impl CodexAnswerOptions {
    /// Returns the possible answers to a request. `facts` describes what the request would do.
    #[must_use]
    pub fn new(asked: &ApprovalParams, facts: &OperationFacts) -> Self {
        let mut offers = Self::default();
        match asked {
            ApprovalParams::Command(approval) => offers.add_command_options(approval, facts),
            ApprovalParams::FileChange(_) => offers.add_file_options(),
            ApprovalParams::Permissions(approval) => {
                offers.add_permission_options(&approval.permissions);
            }
            ApprovalParams::Tool(approval) => offers.add_tool_options(approval),
        }
        offers.add_decline_key();
        offers
    }

    fn add_command_options(&mut self, approval: &CommandApproval, facts: &OperationFacts) {
        use CodexReviewDecision as R;
        let offered = approval.available_decisions.as_deref().unwrap_or(&PLAIN_DECISIONS);
        let human = approval.kind == CommandApprovalKind::HumanCommand;
        for decision in offered {
            if human && !PLAIN_DECISIONS.contains(decision) {
                continue;
            }
            let answer = CodexAnswer::Review(decision.clone());
            let (key, meaning) = match decision {
                R::Approved => ('y', "yes, this once".to_owned()),
                R::ApprovedForSession => ('a', session_meaning(approval)),
                R::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: words } => {
                    match check_amendment(words, approval, facts) {
                        Ok(()) => ('p', prefix_rule_meaning(words)),
                        Err(why) => {
                            self.withheld
                                .push(format!("a rule for `{}`: {why}", quote_words(words)));
                            continue;
                        }
                    }
                }
                R::NetworkPolicyAmendment { network_policy_amendment: rule } => {
                    host_rule_option(rule)
                }
                R::Denied { .. } => ('n', "no, and the model continues".to_owned()),
                R::Abort => (ESCAPE, "no, and the model stops".to_owned()),
                // The app server offers neither of these decisions.
                R::ApprovedMcpPolicyAmendment | R::TimedOut => continue,
            };
            self.add_option(answer, key, meaning);
        }
    }

    fn add_file_options(&mut self) {
        use CodexReviewDecision as R;
        let session = "yes, and Codex does not ask again about these files in this conversation";
        for (decision, key, meaning) in [
            (R::Approved, 'y', "yes, this once"),
            (R::ApprovedForSession, 'a', session),
            (R::new_denial(), 'n', "no, and the model continues"),
            (R::Abort, ESCAPE, "no, and the model stops"),
        ] {
            self.add_option(CodexAnswer::Review(decision), key, meaning.to_owned());
        }
    }

    fn add_permission_options(&mut self, wanted: &Value) {
        use PermissionsScope::{Session, Turn};
        let strict = "yes, for this turn, and each command is reviewed by Codex";
        for (answer, key, meaning) in [
            (permissions_answer(wanted.clone(), Turn, None), 'y', "yes, for this turn"),
            (permissions_answer(wanted.clone(), Turn, Some(true)), 'r', strict),
            (permissions_answer(wanted.clone(), Session, None), 'a', "yes, for this conversation"),
            (permissions_answer(json!({}), Turn, None), 'n', "no, and the model continues"),
        ] {
            self.add_option(CodexAnswer::Permissions(answer), key, meaning.to_owned());
        }
    }

    fn add_tool_options(&mut self, approval: &McpToolApproval) {
        use McpToolDecision::{Accept, Cancel, Decline};
        self.add_option(
            CodexAnswer::from_tool_decision(Accept(None)),
            'y',
            "yes, this once".to_owned(),
        );
        for (long, key, meaning) in [
            (
                PersistScope::Session,
                'a',
                "yes, and Codex does not ask again about this tool in this conversation, whatever \
                 its arguments",
            ),
            (
                PersistScope::Always,
                'p',
                "yes, and Codex saves it: it does not ask again about this tool, whatever its \
                 arguments",
            ),
        ] {
            if approval.may_persist(long) {
                let keeps = (long == PersistScope::Always).then(|| render_approval_mode(approval));
                let answer =
                    CodexAnswer::Tool { decision: Accept(Some(long)), rule_to_save: keeps };
                self.add_option(answer, key, meaning.to_owned());
            }
        }
        self.add_option(
            CodexAnswer::from_tool_decision(Decline),
            'n',
            "no, and the model continues".to_owned(),
        );
        self.add_option(
            CodexAnswer::from_tool_decision(Cancel),
            ESCAPE,
            "the question is withdrawn, and the model continues".to_owned(),
        );
    }

    /// Adds an answer. If its key is taken, the answer gets a number as its key.
    fn add_option(&mut self, answer: CodexAnswer, key: char, meaning: String) {
        if self.options.len() >= MAX_OPTIONS
            || self.options.iter().any(|offered| offered.answer == answer)
        {
            return;
        }
        let taken = |key: &char| self.options.iter().any(|offered| offered.keys.contains(key));
        let Some(key) = std::iter::once(key).chain('1'..='9').find(|key| !taken(key)) else {
            return;
        };
        let careful = meaning.contains(BANNED_PREFIX_WARNING);
        self.options.push(CodexAnswerOption {
            answer,
            keys: vec![key],
            meaning,
            needs_caution: careful,
        });
    }

    /// Adds Codex's key `d` to the denial after which the model continues. If the only denial is
    /// one that stops the model, adds the key `n` to that one.
    fn add_decline_key(&mut self) {
        for (key, also) in [('n', 'd'), (ESCAPE, 'n')] {
            let taken = self.options.iter().any(|offered| offered.keys.contains(&also));
            let meant = self.options.iter_mut().find(|offered| offered.keys.first() == Some(&key));
            if let Some(offered) = meant.filter(|_| !taken) {
                offered.keys.insert(if key == ESCAPE { 0 } else { 1 }, also);
            }
        }
    }
}

const fn permissions_answer(
    permissions: Value,
    scope: PermissionsScope,
    strict_auto_review: Option<bool>,
) -> PermissionsAnswer {
    PermissionsAnswer { permissions, scope, strict_auto_review }
}

/// Returns the answer as an OpenOxide response.
const fn tool_response(decision: McpToolDecision) -> ApprovalResponse {
    ApprovalResponse::new_approval(match decision {
        McpToolDecision::Accept(None) => GrantScope::Once,
        McpToolDecision::Accept(Some(PersistScope::Session)) => GrantScope::Session,
        McpToolDecision::Accept(Some(PersistScope::Always)) => GrantScope::Project,
        McpToolDecision::Decline | McpToolDecision::Cancel => return ApprovalResponse::Denied,
    })
}

/// Returns the line that 0.169 writes into its configuration.
fn render_approval_mode(approval: &McpToolApproval) -> String {
    let (server, tool) = (json!(approval.server_name), json!(approval.call.tool_name));
    format!("mcp_servers.{server}.tools.{tool}.approval_mode = \"approve\"")
}

fn session_meaning(approval: &CommandApproval) -> String {
    let what = match approval.network_approval_context {
        Some(_) => "this host",
        None => "exactly this",
    };
    format!("yes, and Codex does not ask again about {what} in this conversation")
}

fn prefix_rule_meaning(words: &[String]) -> String {
    let meaning = format!(
        "yes, and Codex saves a rule: it does not ask again about commands that begin with `{}`",
        quote_words(words)
    );
    longest_banned_prefix(words)
        .map_or(meaning.clone(), |prefix| format!("{meaning}; {BANNED_PREFIX_WARNING}`{prefix}`"))
}

fn host_rule_option(rule: &NetworkPolicyAmendment) -> (char, String) {
    let NetworkPolicyAmendment { action, host } = rule;
    match action {
        NetworkPolicyRuleAction::Allow => {
            ('p', format!("yes, and Codex saves a rule that allows the host {host}"))
        }
        _ => {
            ('d', format!("no, and Codex saves a rule ({}) about the host {host}", action.as_str()))
        }
    }
}

/// Checks that a proposed rule matches the command that is shown, and that the rule itself can be
/// shown.
fn check_amendment(
    words: &[String],
    approval: &CommandApproval,
    facts: &OperationFacts,
) -> Result<(), &'static str> {
    let proposed = approval.proposed_execpolicy_amendment.as_deref();
    let whole = approval.command.as_deref().and_then(shlex::split).unwrap_or_default();
    if words.is_empty() {
        Err("it would match every command")
    } else if proposed.is_some_and(|proposed| proposed != words) {
        Err("Codex proposes another one")
    } else if words.iter().any(|word| word.contains(['\n', '\r', '\0'])) {
        Err("it cannot be shown in one line")
    } else if quote_words(words).chars().count() > MAX_RULE_LENGTH {
        Err("it is too long to be shown in full")
    } else if whole != words && !begins_shown_command(words, facts) {
        Err("no command on the screen begins with it")
    } else {
        Ok(())
    }
}

/// Returns whether one of the commands begins with exactly these words.
fn begins_shown_command(words: &[String], facts: &OperationFacts) -> bool {
    facts.accesses.iter().any(|access| {
        let Access::Exec(exec) = access else { return false };
        let mut known = exec.argv.known_words(0);
        words.iter().all(|word| known.next().flatten() == Some(word))
    })
}
