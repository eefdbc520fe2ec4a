//! Parsing of rule files. Plain calls are parsed here; everything else requires Codex's own
//! language.

use super::{
    exec_policy::ExecPolicy,
    launch_context::LaunchContext,
    prefix_rule_index::HostExecutables,
    rule_errors::{RuleCallError, RuleFileError},
    rule_file::{NetworkRuleCall, ParsedRuleFile, PrefixRuleCall, RuleArgument},
};
use crate::{
    rule_arguments::{NETWORK_RULE_PARAMETERS, PREFIX_RULE_PARAMETERS, bind_arguments},
    rule_calls::{FunctionCall, LiteralKind, LiteralValue, parse_calls},
};

/// The maximum size of a rule file. A longer file is not read.
pub const MAX_RULE_FILE_SIZE: usize = 1 << 20;

/// A rule file to evaluate, with the program paths of the files before it.
#[derive(Clone, Copy, Debug)]
pub struct RuleFileSource<'a> {
    /// The name of the file in messages.
    pub name: &'a str,
    /// The text of the file.
    pub text: &'a str,
    /// The permitted paths of programs.
    pub hosts: &'a HostExecutables,
}

/// A function that evaluates rule files as Codex does. It returns the contents of a file without
/// checking its examples, or the reason why Codex rejects the file.
pub type RuleFileEvaluator = fn(RuleFileSource<'_>) -> Result<ParsedRuleFile, RuleFileError>;

impl ExecPolicy {
    /// Adds the rules of a file.
    ///
    /// # Errors
    /// Returns an error with Codex's message if Codex would reject the file, or an error if the
    /// file exceeds a limit of OpenOxide.
    pub fn add_source(
        &mut self,
        name: &str,
        text: &str,
        place: &LaunchContext<'_>,
        language: RuleFileEvaluator,
    ) -> Result<(), RuleFileError> {
        let source = RuleFileSource { name, text, hosts: &self.hosts };
        self.add_file(ParsedRuleFile::parse(source, place, language)?);
        Ok(())
    }
}

impl ParsedRuleFile {
    /// Parses a file, and checks its examples.
    ///
    /// # Errors
    /// Returns an error with Codex's message if Codex would reject the file, or an error if the
    /// file exceeds a limit of OpenOxide.
    pub(crate) fn parse(
        source: RuleFileSource<'_>,
        place: &LaunchContext<'_>,
        language: RuleFileEvaluator,
    ) -> Result<Self, RuleFileError> {
        if source.text.len() > MAX_RULE_FILE_SIZE {
            return Err(RuleFileError::limit_exceeded("the file is longer than one MiB"));
        }
        let said = parse_plain_calls(source).map_or_else(|| language(source), Ok)?;
        said.check_examples(place)?;
        Ok(said)
    }
}

/// Parses a file that consists only of valid plain calls. Returns `None` for all other files, whose
/// errors the Starlark evaluator reports.
fn parse_plain_calls(source: RuleFileSource<'_>) -> Option<ParsedRuleFile> {
    // A file with a carriage return is left to the evaluator, because it can be within a string.
    if source.text.contains('\r') {
        return None;
    }
    let mut said = ParsedRuleFile::with_host_executables(source.hosts.clone());
    for call in parse_calls(source.text).ok()? {
        apply_call(&mut said, &call)?.ok()?;
    }
    Some(said)
}

fn apply_call(said: &mut ParsedRuleFile, call: &FunctionCall) -> Option<Result<(), RuleCallError>> {
    let at = call.span.clone();
    match call.function.as_str() {
        "prefix_rule" => {
            let [pattern, decision, yes, no, why, folds] =
                bind_call_arguments(call, PREFIX_RULE_PARAMETERS)?;
            let call = PrefixRuleCall {
                pattern: parse_list(pattern?)?,
                decision: parse_optional(decision, LiteralValue::as_text).ok()?,
                matching: parse_optional(yes, parse_list).ok()?.unwrap_or_default(),
                not_matching: parse_optional(no, parse_list).ok()?.unwrap_or_default(),
                justification: parse_optional(why, LiteralValue::as_text).ok()?,
                canonical_matching: parse_optional(folds, LiteralValue::as_bool)
                    .ok()?
                    .unwrap_or_default(),
            };
            Some(said.add_prefix_rule(&call, at))
        }
        "host_executable" => {
            let [name, paths] = bind_call_arguments(call, ["name", "paths"])?;
            Some(said.add_host_executable(name?.as_text()?, &parse_list(paths?)?))
        }
        "network_rule" => {
            let [host, protocol, decision, why] =
                bind_call_arguments(call, NETWORK_RULE_PARAMETERS)?;
            let (host, protocol, decision) =
                (host?.as_text()?, protocol?.as_text()?, decision?.as_text()?);
            let justification = parse_optional(why, LiteralValue::as_text).ok()?;
            Some(
                said.add_network_rule(
                    &NetworkRuleCall { host, protocol, decision, justification },
                    at,
                ),
            )
        }
        _ => None,
    }
}

fn bind_call_arguments<'c, const N: usize>(
    call: &'c FunctionCall,
    names: [&str; N],
) -> Option<[Option<&'c LiteralValue>; N]> {
    bind_arguments(call, &names).ok()?.try_into().ok()
}

/// Parses an optional argument. Returns `None` if it is missing, and an error if it is invalid.
fn parse_optional<'c, T>(
    value: Option<&'c LiteralValue>,
    read: impl Fn(&'c LiteralValue) -> Option<T>,
) -> Result<Option<T>, ()> {
    value.map(|value| read(value).ok_or(())).transpose()
}

fn parse_list(value: &LiteralValue) -> Option<Vec<RuleArgument>> {
    value.as_list()?.iter().map(to_rule_argument).collect()
}

fn to_rule_argument(value: &LiteralValue) -> Option<RuleArgument> {
    match &value.kind {
        LiteralKind::Text(text) => Some(RuleArgument::Text(text.clone())),
        LiteralKind::List(_) => parse_list(value).map(RuleArgument::List),
        LiteralKind::Word(_) => None,
    }
}
