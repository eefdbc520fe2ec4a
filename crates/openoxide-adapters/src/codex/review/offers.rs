//! What a person may answer: exactly what Codex offers, with its keys where ours do not mean something else.

use openoxide_protocol::{Access, ApprovalResponse, Facts, GrantScope};
use serde_json::{Value, json};

use crate::{
    codex::exact::{banned_beginning, prefix_line},
    codex::wire::{
        Asked, CommandApproval, CommandDecision, FileChangeDecision, HostRule, Kind,
        PermissionsAnswer, PermissionsScope, Persist, RequestId, ToolApproval, ToolDecision,
        response,
    },
    quote,
};

/// So many answers are offered; the rest can be given in Codex itself.
const MOST: usize = 9;
/// A longer prefix cannot be shown beside the other answers.
const LONGEST: usize = 400;
/// What stands before a banned prefix in the meaning of an answer. Codex does not compare what a client answers with them.
const BANNED: &str = "careful, it begins with the banned ";
/// The key Esc.
const ESCAPE: char = '\u{1b}';

/// An answer that Codex takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To a question about a command.
    Command(CommandDecision),
    /// To a question about files.
    Files(FileChangeDecision),
    /// To a wish for more permissions.
    Permissions(PermissionsAnswer),
    /// To a question about a tool.
    Tool {
        /// The answer.
        decision: ToolDecision,
        /// What Codex keeps in its configuration with it.
        keeps: Option<String>,
    },
}

/// One answer, as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The answer.
    pub answer: Answer,
    /// The keys that give it.
    pub keys: Vec<char>,
    /// What it means.
    pub meaning: String,
    /// Whether it deserves a second look.
    pub careful: bool,
}

/// The answers that are offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// In the order of Codex.
    pub list: Vec<Offered>,
    /// What Codex would offer and is not offered here, and why.
    pub withheld: Vec<String>,
}

impl Answer {
    /// Returns the line that answers a request.
    #[must_use]
    pub fn line(&self, id: &RequestId) -> Value {
        match self {
            Self::Command(decision) => response(id, decision),
            Self::Files(decision) => response(id, decision),
            Self::Permissions(answer) => json!({ "id": id, "result": answer }),
            Self::Tool { decision, .. } => decision.line(id),
        }
    }

    /// Returns the answer in our words, for the gate and the audit.
    #[must_use]
    pub fn response(&self) -> ApprovalResponse {
        use {CommandDecision as C, FileChangeDecision as F};
        let scope = match self {
            Self::Command(C::Accept) | Self::Files(F::Accept) => GrantScope::Once,
            Self::Command(C::AcceptForSession) | Self::Files(F::AcceptForSession) => {
                GrantScope::Session
            }
            Self::Command(C::AcceptWithExecpolicyAmendment { .. }) => GrantScope::Project,
            Self::Command(C::ApplyNetworkPolicyAmendment { network_policy_amendment: rule }) => {
                if rule.action != "allow" {
                    return ApprovalResponse::Denied;
                }
                GrantScope::Project
            }
            Self::Permissions(PermissionsAnswer { permissions, scope, .. }) => match scope {
                _ if *permissions == json!({}) => return ApprovalResponse::Denied,
                PermissionsScope::Turn => GrantScope::Once,
                PermissionsScope::Session => GrantScope::Session,
            },
            Self::Tool { decision, .. } => return of_tool(*decision),
            Self::Command(C::Decline) | Self::Files(F::Decline) => return ApprovalResponse::Denied,
            Self::Command(C::Cancel) | Self::Files(F::Cancel) => {
                return ApprovalResponse::Cancelled;
            }
        };
        ApprovalResponse::approved(scope)
    }

    /// Returns what Codex keeps with it: a rule, as its rule files say it, or a line of its configuration.
    #[must_use]
    pub fn keeps(&self) -> Option<String> {
        match self {
            Self::Command(CommandDecision::AcceptWithExecpolicyAmendment {
                execpolicy_amendment: words,
            }) => prefix_line(words).ok(),
            Self::Command(CommandDecision::ApplyNetworkPolicyAmendment {
                network_policy_amendment: HostRule { action, host },
            }) => Some(format!("network_rule(host={}, decision={})", json!(host), json!(action))),
            Self::Tool { keeps, .. } => keeps.clone(),
            _ => None,
        }
    }

    /// Returns the yes for this once that a rule's allow stands for, if Codex offers it.
    #[must_use]
    pub fn yes(asked: &Asked) -> Option<Self> {
        match asked {
            Asked::Command(approval) => approval
                .offers(&CommandDecision::Accept)
                .then_some(Self::Command(CommandDecision::Accept)),
            Asked::FileChange(_) => Some(Self::Files(FileChangeDecision::Accept)),
            Asked::Permissions(_) => None,
            Asked::Tool(_) => Some(Self::tool(ToolDecision::Accept(None))),
        }
    }

    /// Returns the no after which the model goes on.
    #[must_use]
    pub fn no(asked: &Asked) -> Self {
        match asked {
            Asked::Command(_) => Self::Command(CommandDecision::Decline),
            Asked::FileChange(_) => Self::Files(FileChangeDecision::Decline),
            Asked::Permissions(_) => {
                Self::Permissions(given(json!({}), PermissionsScope::Turn, None))
            }
            Asked::Tool(_) => Self::tool(ToolDecision::Decline),
        }
    }

    const fn tool(decision: ToolDecision) -> Self {
        Self::Tool { decision, keeps: None }
    }
}

impl Offers {
    /// Returns what may be answered to a request that means this.
    #[must_use]
    pub fn of(asked: &Asked, facts: &Facts) -> Self {
        let mut offers = Self::default();
        match asked {
            Asked::Command(approval) => offers.command(approval, facts),
            Asked::FileChange(_) => offers.files(),
            Asked::Permissions(approval) => offers.permissions(&approval.permissions),
            Asked::Tool(approval) => offers.tool(approval),
        }
        offers.also_no();
        offers
    }

    fn command(&mut self, approval: &CommandApproval, facts: &Facts) {
        use CommandDecision as C;
        let plain = [C::Accept, C::Decline, C::Cancel];
        let offered = approval.available_decisions.as_deref().unwrap_or(&plain);
        for decision in offered {
            if approval.kind == Kind::HumanCommand && !plain.contains(decision) {
                continue;
            }
            let answer = Answer::Command(decision.clone());
            let (key, meaning) = match decision {
                C::Accept => ('y', "yes, this once".to_owned()),
                C::AcceptForSession => ('a', lasting(approval)),
                C::AcceptWithExecpolicyAmendment { execpolicy_amendment: words } => {
                    match fits(words, approval, facts) {
                        Ok(()) => ('p', begins(words)),
                        Err(why) => {
                            self.withheld.push(format!("a rule for `{}`: {why}", quote(words)));
                            continue;
                        }
                    }
                }
                C::ApplyNetworkPolicyAmendment { network_policy_amendment: rule } => host(rule),
                C::Decline => ('n', "no, and the model goes on".to_owned()),
                C::Cancel => (ESCAPE, "no, and the model stops".to_owned()),
            };
            self.add(answer, key, meaning);
        }
    }

    fn files(&mut self) {
        use FileChangeDecision as F;
        let session = "yes, and Codex asks no more about these files in this conversation";
        for (decision, key, meaning) in [
            (F::Accept, 'y', "yes, this once"),
            (F::AcceptForSession, 'a', session),
            (F::Decline, 'n', "no, and the model goes on"),
            (F::Cancel, ESCAPE, "no, and the model stops"),
        ] {
            self.add(Answer::Files(decision), key, meaning.to_owned());
        }
    }

    fn permissions(&mut self, wanted: &Value) {
        use PermissionsScope::{Session, Turn};
        let strict = "yes, for this turn, and each command is reviewed by Codex";
        for (answer, key, meaning) in [
            (given(wanted.clone(), Turn, None), 'y', "yes, for this turn"),
            (given(wanted.clone(), Turn, Some(true)), 'r', strict),
            (given(wanted.clone(), Session, None), 'a', "yes, for this conversation"),
            (given(json!({}), Turn, None), 'n', "no, and the model goes on"),
        ] {
            self.add(Answer::Permissions(answer), key, meaning.to_owned());
        }
    }

    fn tool(&mut self, approval: &ToolApproval) {
        use ToolDecision::{Accept, Cancel, Decline};
        self.add(Answer::tool(Accept(None)), 'y', "yes, this once".to_owned());
        for (long, key, meaning) in [
            (
                Persist::Session,
                'a',
                "yes, and Codex asks no more about this tool in this conversation, whatever its arguments",
            ),
            (
                Persist::Always,
                'p',
                "yes, and Codex keeps it: it asks no more about this tool, whatever its arguments",
            ),
        ] {
            if approval.may_persist(long) {
                let keeps = (long == Persist::Always).then(|| approved(approval));
                let answer = Answer::Tool { decision: Accept(Some(long)), keeps };
                self.add(answer, key, meaning.to_owned());
            }
        }
        self.add(Answer::tool(Decline), 'n', "no, and the model goes on".to_owned());
        self.add(
            Answer::tool(Cancel),
            ESCAPE,
            "the question is taken away, and the model goes on".to_owned(),
        );
    }

    /// Adds an answer. Where its key is taken, a number gives it.
    fn add(&mut self, answer: Answer, key: char, meaning: String) {
        if self.list.len() >= MOST || self.list.iter().any(|offered| offered.answer == answer) {
            return;
        }
        let taken = |key: &char| self.list.iter().any(|offered| offered.keys.contains(key));
        let Some(key) = std::iter::once(key).chain('1'..='9').find(|key| !taken(key)) else {
            return;
        };
        let careful = meaning.contains(BANNED);
        self.list.push(Offered { answer, keys: vec![key], meaning, careful });
    }

    /// `d` is Codex's key for a no after which the model goes on; where there is only one that stops it, `n` is that.
    fn also_no(&mut self) {
        for (key, also) in [('n', 'd'), (ESCAPE, 'n')] {
            let taken = self.list.iter().any(|offered| offered.keys.contains(&also));
            let meant = self.list.iter_mut().find(|offered| offered.keys.first() == Some(&key));
            if let Some(offered) = meant.filter(|_| !taken) {
                offered.keys.insert(if key == ESCAPE { 0 } else { 1 }, also);
            }
        }
    }
}

const fn given(
    permissions: Value,
    scope: PermissionsScope,
    strict_auto_review: Option<bool>,
) -> PermissionsAnswer {
    PermissionsAnswer { permissions, scope, strict_auto_review }
}

/// Returns the answer in our words.
const fn of_tool(decision: ToolDecision) -> ApprovalResponse {
    ApprovalResponse::approved(match decision {
        ToolDecision::Accept(None) => GrantScope::Once,
        ToolDecision::Accept(Some(Persist::Session)) => GrantScope::Session,
        ToolDecision::Accept(Some(Persist::Always)) => GrantScope::Project,
        ToolDecision::Decline | ToolDecision::Cancel => return ApprovalResponse::Denied,
    })
}

/// Returns what 0.169 writes into its configuration.
fn approved(approval: &ToolApproval) -> String {
    let (server, tool) = (json!(approval.server_name), json!(approval.call.tool_name));
    format!("mcp_servers.{server}.tools.{tool}.approval_mode = \"approve\"")
}

fn lasting(approval: &CommandApproval) -> String {
    let what = match approval.network_approval_context {
        Some(_) => "this host",
        None => "exactly this",
    };
    format!("yes, and Codex asks no more about {what} in this conversation")
}

fn begins(words: &[String]) -> String {
    let meaning = format!(
        "yes, and Codex keeps a rule: it asks no more about commands that begin with `{}`",
        quote(words)
    );
    banned_beginning(words)
        .map_or(meaning.clone(), |prefix| format!("{meaning}; {BANNED}`{prefix}`"))
}

fn host(rule: &HostRule) -> (char, String) {
    let HostRule { action, host } = rule;
    match action.as_str() {
        "allow" => ('p', format!("yes, and Codex keeps a rule that allows the host {host}")),
        _ => ('d', format!("no, and Codex keeps a rule ({action}) about the host {host}")),
    }
}

/// Says whether a rule that is proposed is about what is shown, and can be shown itself.
fn fits(words: &[String], approval: &CommandApproval, facts: &Facts) -> Result<(), &'static str> {
    let proposed = approval.proposed_execpolicy_amendment.as_deref();
    let whole = approval.command.as_deref().and_then(shlex::split).unwrap_or_default();
    if words.is_empty() {
        Err("it would be about every command")
    } else if proposed.is_some_and(|proposed| proposed != words) {
        Err("Codex proposes another one")
    } else if words.iter().any(|word| word.contains(['\n', '\r', '\0'])) {
        Err("it cannot be shown in one line")
    } else if quote(words).chars().count() > LONGEST {
        Err("it is too long to be shown whole")
    } else if whole != words && !is_shown(words, facts) {
        Err("nothing that is shown begins so")
    } else {
        Ok(())
    }
}

/// Says whether one of the commands begins with just these words.
fn is_shown(words: &[String], facts: &Facts) -> bool {
    facts.accesses.iter().any(|access| {
        let Access::Exec(exec) = access else { return false };
        words.iter().enumerate().all(|(at, word)| exec.argv.known(at) == Some(word))
    })
}
