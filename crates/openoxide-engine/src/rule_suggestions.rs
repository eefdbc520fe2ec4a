//! The smallest set of rules that would have answered the recorded questions, for
//! `rules suggest`.
//!
//! Each question is decided again with the current policy of its project. Only rules that "always"
//! would save are suggested. A rule that matches a call which a person denied is not suggested.

mod candidate_rule;
mod question_log;
mod rule_cover;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use openoxide_permission::prefix_rule;
use openoxide_protocol::{AbsPath, Access, AccessDecision, Decision, Effect};
use openoxide_store::{
    UserEnvironment,
    audit::{AuditError, UtcTimestamp},
    find_project_root,
};

use crate::{
    call_history::RecordedCall,
    engine::{Engine, EngineOptions},
    recorded_question::asking_rule,
};
use candidate_rule::{AskedAccess, CandidateRule};
use question_log::{AnsweredCall, QuestionLog};
use rule_cover::{AccessRules, CoverQuestion, count_answered, select_rules};

/// The maximum number of examples of a rule.
const MAX_EXAMPLES: usize = 5;

/// The rules that would have answered recorded questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSuggestions {
    /// The rules, the one with the most answers first.
    pub rules: Vec<RuleSuggestion>,
    /// The number of recorded questions that the current policy still asks.
    pub questions: u64,
    /// The number of these questions that the rules would have answered.
    pub answered: u64,
    /// The number of rules that are not suggested, because a person denied a call that they match.
    pub denied_rules: usize,
}

/// A rule that would have answered recorded questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSuggestion {
    /// The rule.
    pub rule: String,
    /// The number of questions that it would have answered, some of them together with other
    /// suggested rules.
    pub would_have_answered: u64,
    /// Examples of what it would have allowed, the most frequent first. They come from agents.
    /// Escape them before showing them.
    pub examples: Vec<String>,
}

impl RuleSuggestions {
    /// Suggests rules for the questions since a point in time that answer a percentage of them, or
    /// as many as rules can answer.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn read(
        environment: &UserEnvironment,
        since: UtcTimestamp,
        percentage: u8,
    ) -> Result<Self, AuditError> {
        let log = QuestionLog::read(environment, since)?;
        let mut engines = ProjectEngines { environment, engines: HashMap::new() };
        let mut questions = Questions::default();
        for (call, count) in &log.questions {
            match engines.decide(call) {
                Some(decision) => questions.add(call, *count, decision),
                None => questions.total += count,
            }
        }
        questions.total += log.unanswerable;
        let denials = Denials::new(&log, &mut engines);
        Ok(questions.suggest(&denials, percentage))
    }
}

/// The policies of the projects of the recorded calls.
struct ProjectEngines<'a> {
    environment: &'a UserEnvironment,
    engines: HashMap<AbsPath, Option<Engine>>,
}

impl ProjectEngines<'_> {
    /// Decides a call in its project; `None` if the policy there has errors.
    fn decide(&mut self, call: &RecordedCall) -> Option<Decision> {
        let home = self.environment.home.as_ref();
        let project = find_project_root(&call.cwd, home);
        let environment = self.environment;
        let engine = self.engines.entry(project).or_insert_with_key(|project| {
            let options = EngineOptions::new(environment.clone(), project.clone());
            Engine::open(options).ok().filter(Engine::is_policy_valid)
        });
        engine.as_ref().map(|engine| engine.evaluate(&call.to_approvable_call(home)).decision)
    }

    /// Returns the accesses of a call that the policy of its project does not allow without a rule,
    /// or all of them if that policy has errors.
    fn asked_accesses(&mut self, call: &RecordedCall) -> Vec<Access> {
        let Some(decision) = self.decide(call) else {
            return call.to_facts(self.environment.home.as_ref()).accesses;
        };
        let is_asked =
            |part: &AccessDecision| part.decision != Effect::Allow || part.rule.is_some();
        decision.parts.into_iter().filter(is_asked).map(|part| part.access).collect()
    }
}

/// A question that the current policy still asks and that rules can answer.
struct Question {
    count: u64,
    accesses: Vec<AskedAccess>,
    offered_rules: Vec<String>,
}

#[derive(Default)]
struct Questions {
    answerable: Vec<Question>,
    total: u64,
}

impl Questions {
    /// Adds a call that was asked about, if the current policy still asks.
    fn add(&mut self, call: &RecordedCall, count: u64, decision: Decision) {
        if decision.effect != Effect::Ask {
            return;
        }
        self.total += count;
        if asking_rule(&decision).is_some() || decision.suggested_rules.is_empty() {
            return;
        }
        let asked = decision.parts.into_iter().filter(|part| part.decision == Effect::Ask);
        let accesses =
            asked.map(|part| AskedAccess { access: part.access, cwd: call.cwd.clone() }).collect();
        let offered_rules = decision.suggested_rules;
        self.answerable.push(Question { count, accesses, offered_rules });
    }

    fn suggest(&self, denials: &Denials, percentage: u8) -> RuleSuggestions {
        let offered: BTreeSet<&String> =
            self.answerable.iter().flat_map(|question| &question.offered_rules).collect();
        let count = offered.len();
        let rules: Vec<CandidateRule> = offered
            .into_iter()
            .map(|text| CandidateRule::new(text))
            .filter(|rule| !denials.concern(rule))
            .collect();
        let covers: Vec<CoverQuestion> =
            self.answerable.iter().map(|question| question.to_cover(&rules)).collect();
        let wanted = (self.total.saturating_mul(u64::from(percentage))).div_ceil(100);
        let selected = select_rules(&covers, wanted);
        let suggested = selected.iter().filter_map(|at| {
            let rule = rules.get(*at)?;
            Some(self.suggested_rule(*at, rule, &covers, &selected))
        });
        let mut suggested: Vec<_> = suggested.collect();
        suggested.sort_by_key(|rule| (Reverse(rule.would_have_answered), rule.rule.clone()));
        RuleSuggestions {
            rules: suggested,
            questions: self.total,
            answered: count_answered(&covers, &selected),
            denied_rules: count - rules.len(),
        }
    }

    fn suggested_rule(
        &self,
        at: usize,
        rule: &CandidateRule,
        covers: &[CoverQuestion],
        selected: &BTreeSet<usize>,
    ) -> RuleSuggestion {
        let mut would_have_answered = 0;
        let mut examples: HashMap<&str, u64> = HashMap::new();
        for (question, cover) in self.answerable.iter().zip(covers) {
            let allowed = question.accesses.iter().zip(&cover.accesses);
            let allowed = allowed.filter(|(_, access)| access.allowing.contains(&at));
            let texts: BTreeSet<&str> = allowed.map(|(asked, _)| asked.access.summary()).collect();
            if !texts.is_empty() && cover.is_answered_by(selected) {
                would_have_answered += question.count;
                for text in texts {
                    *examples.entry(text).or_default() += question.count;
                }
            }
        }
        let mut examples: Vec<_> = examples.into_iter().collect();
        examples.sort_by_key(|(text, count)| (Reverse(*count), *text));
        let examples = examples.into_iter().take(MAX_EXAMPLES);
        let examples = examples.map(|(text, _)| text.to_owned()).collect();
        RuleSuggestion { rule: rule.text.clone(), would_have_answered, examples }
    }
}

impl Question {
    fn to_cover(&self, rules: &[CandidateRule]) -> CoverQuestion {
        let candidates: Vec<_> = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| self.offered_rules.iter().any(|other| rule.is_similar(other)))
            .collect();
        let accesses = self.accesses.iter().map(|asked| {
            let allowing = candidates.iter().filter(|(_, rule)| rule.allows(asked));
            let offered = allowing
                .clone()
                .find(|(_, rule)| self.offered_rules.contains(&rule.text))
                .map(|(at, _)| *at);
            AccessRules { offered, allowing: allowing.map(|(at, _)| *at).collect() }
        });
        CoverQuestion { count: self.count, accesses: accesses.collect() }
    }
}

/// The calls that a person denied, or may have denied.
struct Denials(Vec<MatchedCall>);

/// A recorded call in the form that rules are matched against.
struct MatchedCall {
    offered_rules: Vec<String>,
    accesses: Vec<AskedAccess>,
}

impl Denials {
    fn new(log: &QuestionLog, engines: &mut ProjectEngines<'_>) -> Self {
        let calls = log.denied.iter().chain(&log.unfinished);
        Self(calls.map(|call| MatchedCall::new(call, engines)).collect())
    }

    /// Returns whether the rule matches one of the calls.
    fn concern(&self, rule: &CandidateRule) -> bool {
        self.0.iter().any(|call| call.is_matched_by(rule))
    }
}

impl MatchedCall {
    fn new(answered: &AnsweredCall, engines: &mut ProjectEngines<'_>) -> Self {
        let mut offered_rules = answered.offered_rules.clone();
        let mut accesses = Vec::new();
        if let Some(call) = &answered.call {
            for access in engines.asked_accesses(call) {
                if let Access::Exec(exec) = &access {
                    offered_rules.extend(prefix_rule(exec));
                }
                accesses.push(AskedAccess { access, cwd: call.cwd.clone() });
            }
        }
        Self { offered_rules, accesses }
    }

    fn is_matched_by(&self, rule: &CandidateRule) -> bool {
        self.offered_rules.contains(&rule.text)
            || self.accesses.iter().any(|asked| rule.allows(asked))
    }
}
