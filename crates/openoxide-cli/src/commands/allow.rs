//! `allow`: a rule for a recorded call that required approval.

use openoxide_engine::{Engine, QuestionSelection, RecordedQuestion, RuleOffer};
use openoxide_protocol::{Effect, ReviewDecision, SCHEMA};
use openoxide_store::{GrantFile, GrantLimits, UserEnvironment, find_project_root};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{AllowArgs, GlobalArgs, PolicyArgs},
    commands::{
        confirmation::{self, SettingChange},
        rules::RuleProposal,
    },
    error::{CliError, grant_args_error::GrantArgsError},
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// The number of characters of a timestamp up to the seconds.
const SECONDS_LENGTH: usize = 19;

/// Offers the rule that would have allowed a recorded call, and saves it.
pub(crate) fn allow_recorded_call(
    args: AllowArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let engine = policy_args::open_engine(&PolicyArgs::default())?;
    if let Err(exit) = policy_args::check_policy(&engine, global) {
        return Ok(exit);
    }
    let project = find_project_root(engine.cwd(), engine.home());
    let environment = engine.environment();
    let Some(question) = RecordedQuestion::find(environment, &project, args.call)? else {
        user_messages::print_error(&match args.call {
            QuestionSelection::Last => {
                "no recorded call in this project required approval".to_owned()
            }
            QuestionSelection::Record(seq) => {
                format!("record {seq} is not a call in this project that required approval")
            }
        });
        user_messages::print_note(
            &"`openoxide audit log --decision ask` lists the calls of all projects",
        );
        return Ok(ProgramExit::Failure);
    };
    if !args.json && !args.print {
        user_messages::print_line(&describe_question(&question));
    }
    match question.offer_rules(&engine) {
        RuleOffer::Rules(rules) => {
            OfferedRules { args, global, engine: &engine, question: &question, rules }.save()
        }
        RuleOffer::AlreadyAllowed(reason) => {
            user_messages::print_note(&format!("the call is allowed already: {reason}"));
            Ok(ProgramExit::Success)
        }
        RuleOffer::Withheld(reason) => {
            user_messages::print_error(&format!(
                "no rule is offered, because each such call requires your approval: {reason}"
            ));
            user_messages::print_note(
                &"for an earlier call: `openoxide audit log --decision ask`, then `openoxide allow NUMBER`",
            );
            Ok(ProgramExit::Failure)
        }
    }
}

/// Returns the call with the time at which it was recorded, its agent and the person's answer.
fn describe_question(question: &RecordedQuestion) -> String {
    let RecordedQuestion { seq, time, record } = question;
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let answer = record.answer.as_ref().map(|answer| match answer.decision {
        ReviewDecision::Denied | ReviewDecision::Abort => ", denied by you",
        _ => ", approved by you",
    });
    let time: String = time.to_string().chars().take(SECONDS_LENGTH).collect();
    let time = time.replace('T', " ");
    format!(
        "record {seq}, {time} UTC, {}{}, in {}:\n  {}",
        line(&record.agent),
        answer.unwrap_or_default(),
        line(&record.cwd),
        line(&record.title)
    )
}

/// The rules for a call, and where to save them.
struct OfferedRules<'a> {
    args: AllowArgs,
    global: GlobalArgs,
    engine: &'a Engine,
    question: &'a RecordedQuestion,
    rules: Vec<String>,
}

/// The file that the rules are added to.
enum RuleTarget {
    /// The grants of the project.
    Grants(GrantFile),
    /// A policy file.
    Policy(RuleProposal),
}

impl OfferedRules<'_> {
    fn save(&self) -> Result<ProgramExit, CliError> {
        if self.args.print {
            return Ok(self.print_result(false));
        }
        if self.args.yes && self.args.call == QuestionSelection::Last {
            user_messages::print_error(
                &"`--yes` requires the number of the call: this may not be the last one that you saw",
            );
            self.print_numbered_command();
            return Ok(ProgramExit::Usage);
        }
        let target = match self.open_target()? {
            Ok(target) => target,
            Err(exit) => return Ok(exit),
        };
        if !self.args.yes
            && let Some(exit) = self.new_question(&target).confirm_rules(self.global)?
        {
            if exit == ProgramExit::Ask {
                self.print_numbered_command();
            }
            return Ok(exit);
        }
        self.write(&target)?;
        self.warn_if_still_asked()?;
        Ok(self.print_result(true))
    }

    /// Prints the command that saves the rules of this call without a question.
    fn print_numbered_command(&self) {
        let rules: Vec<String> = self
            .rules
            .iter()
            .map(|rule| format!("`{}`", escape_text(rule, LineMode::SingleLine)))
            .collect();
        let (seq, option) = (self.question.seq, self.args.target.as_option());
        let rules = rules.join(", ");
        user_messages::print_note(&format!(
            "to save {rules}: `openoxide allow {seq}{option} --yes`"
        ));
    }

    /// Opens the target. Returns an exit code if its file has errors.
    fn open_target(&self) -> Result<Result<RuleTarget, ProgramExit>, CliError> {
        let Some(place) = self.args.target.edit_target() else {
            let environment = UserEnvironment::from_process();
            let project = find_project_root(self.engine.cwd(), self.engine.home());
            let grants = GrantFile::for_project(&environment, &project);
            return match self.rules.iter().find(|rule| !grants.accepts_rule(rule)) {
                Some(rule) => Err(GrantArgsError::NeedsPolicyFile(rule.clone()).into()),
                None => Ok(Ok(RuleTarget::Grants(grants))),
            };
        };
        let reason = format!("saved with `openoxide allow` on {}", confirmation::current_date());
        let rules: Vec<_> = self.rules.iter().map(|rule| (rule.clone(), reason.clone())).collect();
        let proposal = RuleProposal::new(place, &rules, self.global)?;
        Ok(proposal.map(RuleTarget::Policy))
    }

    fn new_question(&self, target: &RuleTarget) -> SettingChange {
        let (title, diff) = match target {
            RuleTarget::Grants(_) => (
                "save this for calls in this project?".to_owned(),
                self.rules.iter().map(|rule| format!("+allow {rule}\n")).collect(),
            ),
            RuleTarget::Policy(proposal) => {
                (format!("add this to {}?", proposal.source.path.display()), proposal.diff())
            }
        };
        SettingChange {
            tool: "Allow",
            title,
            reason: "the rule allows such calls without a question".to_owned(),
            diff,
            directory: self.engine.cwd().clone(),
        }
    }

    fn write(&self, target: &RuleTarget) -> Result<(), CliError> {
        match target {
            RuleTarget::Grants(grants) => {
                Ok(grants.add_limited(&self.rules, &GrantLimits::default())?)
            }
            RuleTarget::Policy(proposal) => proposal.apply(),
        }
    }

    /// Reports if the call still requires approval, for example because the project is not trusted.
    fn warn_if_still_asked(&self) -> Result<(), CliError> {
        let decision = self.question.decide(&self.engine.reopen()?);
        if let Some(decision) = decision.filter(|decision| decision.effect != Effect::Allow) {
            let reason = decision.reason;
            user_messages::print_note(&format!("the call still requires approval: {reason}"));
        }
        Ok(())
    }

    fn print_result(&self, saved: bool) -> ProgramExit {
        let text = match self.args.json {
            true => {
                let RecordedQuestion { seq, record, .. } = self.question;
                let line = json!({
                    "schema": SCHEMA, "record": seq, "tool": record.tool, "call": record.title,
                    "rules": self.rules, "saved": saved,
                });
                format!("{line}\n")
            }
            false => self
                .rules
                .iter()
                .map(|rule| format!("allow {}\n", escape_text(rule, LineMode::SingleLine)))
                .collect(),
        };
        user_messages::print_data(&text, ProgramExit::Success)
    }
}
