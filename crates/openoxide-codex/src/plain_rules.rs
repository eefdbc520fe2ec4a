//! Rule files that consist of plain calls, with errors that name the wrong argument.

use std::ops::Range;

use openoxide_permission::pattern::command;

use super::{
    exact_semantics::{
        network_rules::{NetworkRule, PROTOCOLS},
        prefix_rule::{CodexDecision, PatternToken, PrefixPattern, PrefixRule},
        rule_examples::RuleExamples,
        rule_file::ParsedRuleFile,
    },
    rule_arguments::{NETWORK_RULE_PARAMETERS, PREFIX_RULE_PARAMETERS, bind_arguments},
    rule_calls::{FunctionCall, LiteralKind, LiteralValue},
    rule_lexer::PLAIN_CALLS_ONLY,
};
use openoxide_adapters::policy_translation::PolicyTextError;

/// An example of a rule, with its location.
struct SpannedExample {
    words: Vec<String>,
    must_match: bool,
    span: Range<usize>,
}

/// The state of parsing a rule file.
#[derive(Default)]
struct PlainRuleReader {
    file: ParsedRuleFile,
    /// The examples of each rule of the file.
    examples: Vec<Vec<SpannedExample>>,
}

/// Parses plain calls. Examples are checked when all calls are known, as in Codex.
///
/// # Errors
/// Returns all errors for which Codex skips the file.
pub(super) fn read_plain_rules(
    calls: &[FunctionCall],
) -> Result<ParsedRuleFile, Vec<PolicyTextError>> {
    let (mut reader, mut faults) = (PlainRuleReader::default(), Vec::new());
    for call in calls {
        faults.extend(reader.apply_call(call).err());
    }
    faults.extend(reader.find_failing_examples());
    if faults.is_empty() { Ok(reader.file) } else { Err(faults) }
}

impl PlainRuleReader {
    fn apply_call(&mut self, call: &FunctionCall) -> Result<(), PolicyTextError> {
        match call.function.as_str() {
            "prefix_rule" => {
                let (rules, examples) = parse_prefix_rule(call)?;
                self.file.prefix_rules.push((rules, call.span.clone()));
                self.examples.push(examples);
            }
            "host_executable" => {
                let (name, paths) = parse_host_executable(call)?;
                self.file.host_executables.insert(name, paths);
            }
            "network_rule" => {
                self.file.network_rules.push((parse_network_rule(call)?, call.span.clone()));
            }
            other => {
                let fault =
                    PolicyTextError::new(format!("unknown function `{other}`"), call.span.clone());
                return Err(fault.with_help(PLAIN_CALLS_ONLY));
            }
        }
        Ok(())
    }

    fn find_failing_examples(&self) -> Vec<PolicyTextError> {
        let rules = self.file.prefix_rules.iter().zip(&self.examples);
        let check = |((rule, _), examples): (&(RuleExamples, Range<usize>), &Vec<_>)| {
            let failing = |example| self.check_example(&rule.rules, example);
            examples.iter().filter_map(failing).collect::<Vec<_>>()
        };
        rules.flat_map(check).collect()
    }

    fn check_example(
        &self,
        rules: &[PrefixRule],
        example: &SpannedExample,
    ) -> Option<PolicyTextError> {
        let SpannedExample { words, must_match, span } = example;
        let found = matches_any(rules, words) || self.matches_program_path(rules, words);
        let does = if *must_match { "does not match" } else { "matches" };
        let message = format!("the rule {does} its example `{}`", words.join(" "));
        (found != *must_match).then(|| PolicyTextError::new(message, span.clone()))
    }

    /// Returns whether a rule about a program's name matches the program at this path.
    fn matches_program_path(&self, rules: &[PrefixRule], words: &[String]) -> bool {
        let Some((program, rest)) = words.split_first() else { return false };
        let Some((_, name)) = program.rsplit_once('/') else { return false };
        let hosts = &self.file.host_executables;
        let listed = hosts.get(name).is_none_or(|paths| paths.contains(program));
        let named: Vec<String> = std::iter::once(name.to_owned()).chain(rest.to_vec()).collect();
        listed && matches_any(rules, &named)
    }
}

/// Returns whether one of the rules of a call matches a command.
fn matches_any(rules: &[PrefixRule], words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    rules.iter().any(|rule| rule.pattern.matches(program, arguments))
}

/// Returns the rules of a call, one for each program, and its examples. The rules contain no
/// examples, which are checked where their locations are known.
fn parse_prefix_rule(
    call: &FunctionCall,
) -> Result<(RuleExamples, Vec<SpannedExample>), PolicyTextError> {
    let found = bind_arguments(call, &PREFIX_RULE_PARAMETERS)?;
    let [pattern, decision, yes, no, reason, folds] = found.as_slice() else {
        return Err(PolicyTextError::new("the rule has too many arguments", call.span.clone()));
    };
    let pattern = pattern
        .ok_or_else(|| PolicyTextError::new("the rule has no `pattern`", call.span.clone()))?;
    let mut examples = Vec::new();
    for (list, wanted) in [(no, false), (yes, true)] {
        for item in list.map(parse_list).transpose()?.unwrap_or_default() {
            let (words, span) = (parse_example(item)?, item.span.clone());
            examples.push(SpannedExample { words, must_match: wanted, span });
        }
    }
    let (programs, rest) = parse_pattern(pattern)?;
    let decision = decision.map_or(Ok(CodexDecision::Allow), parse_decision)?;
    let justification = reason.map(parse_justification).transpose()?;
    let canonical_matching = folds.map_or(Ok(false), parse_bool)?;
    let rule = |first: &String| PrefixRule {
        pattern: PrefixPattern { canonical_matching, first: first.clone(), rest: rest.clone() },
        decision,
        justification: justification.clone(),
    };
    let rules = programs.words().iter().map(rule).collect();
    Ok((RuleExamples { rules, matching: Vec::new(), not_matching: Vec::new() }, examples))
}

fn parse_host_executable(call: &FunctionCall) -> Result<(String, Vec<String>), PolicyTextError> {
    let found = bind_arguments(call, &["name", "paths"])?;
    let [Some(name), Some(paths)] = found.as_slice() else {
        return Err(PolicyTextError::new(
            "`host_executable` takes `name` and `paths`",
            call.span.clone(),
        ));
    };
    let bare = parse_text(name)?;
    if bare.is_empty() || bare.contains('/') {
        return Err(PolicyTextError::new(
            "the name of a program contains no `/`",
            name.span.clone(),
        ));
    }
    let mut listed = Vec::new();
    for path in parse_list(paths)? {
        let there = parse_text(path)?;
        if !there.starts_with('/') || there.rsplit('/').next() != Some(bare) {
            let message = format!("this is not an absolute path of `{bare}`");
            return Err(PolicyTextError::new(message, path.span.clone()));
        }
        listed.push(there.to_owned());
    }
    Ok((bare.to_owned(), listed))
}

fn parse_network_rule(call: &FunctionCall) -> Result<NetworkRule, PolicyTextError> {
    let found = bind_arguments(call, &NETWORK_RULE_PARAMETERS)?;
    let [Some(host), Some(protocol), Some(decision), reason] = found.as_slice() else {
        let what = "`network_rule` takes `host`, `protocol` and `decision`";
        return Err(PolicyTextError::new(what, call.span.clone()));
    };
    if !PROTOCOLS.contains(&parse_text(protocol)?) {
        return Err(PolicyTextError::new("unknown protocol", protocol.span.clone())
            .with_help(format!("known are `{}`", PROTOCOLS.join("`, `"))));
    }
    let decision = match parse_text(decision)? {
        "deny" => CodexDecision::Forbidden,
        _ => parse_decision(decision)?,
    };
    let host = strip_host_port(parse_text(host)?)
        .ok_or_else(|| PolicyTextError::new("invalid host", host.span.clone()))?;
    let justification = reason.map(parse_justification).transpose()?;
    Ok(NetworkRule { host, decision, justification })
}

/// Returns a host without its port.
fn strip_host_port(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None if text.matches(':').count() == 1 => text.split_once(':')?.0,
        None => text,
    };
    let bare = bare.trim_end_matches('.').to_lowercase();
    let odd = bare.is_empty() || bare.contains(|c: char| c.is_whitespace() || "/*".contains(c));
    (!odd).then_some(bare)
}

/// Returns the possible programs, and the possible words at each position after the program.
fn parse_pattern(
    pattern: &LiteralValue,
) -> Result<(PatternToken, Vec<PatternToken>), PolicyTextError> {
    let place = |value: &LiteralValue| match &value.kind {
        LiteralKind::List(some) if some.is_empty() => {
            Err(PolicyTextError::new("a list of alternatives cannot be empty", value.span.clone()))
        }
        LiteralKind::List(some) => {
            some.iter().map(parse_word).collect::<Result<_, _>>().map(PatternToken::Alts)
        }
        _ => parse_word(value).map(PatternToken::Single),
    };
    let mut places = parse_list(pattern)?.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    if places.is_empty() {
        return Err(PolicyTextError::new("a pattern cannot be empty", pattern.span.clone()));
    }
    Ok((places.remove(0), places))
}

/// Parses a word of a command, which must not contain a NUL.
fn parse_word(value: &LiteralValue) -> Result<String, PolicyTextError> {
    let word = parse_text(value)?;
    if word.contains('\0') {
        return Err(PolicyTextError::new("a word cannot contain a NUL byte", value.span.clone()));
    }
    Ok(word.to_owned())
}

fn parse_example(value: &LiteralValue) -> Result<Vec<String>, PolicyTextError> {
    let words = match &value.kind {
        LiteralKind::List(words) => words.iter().map(parse_word).collect::<Result<_, _>>()?,
        _ => command::split_words(parse_text(value)?)
            .map_err(|error| PolicyTextError::new(error.message, value.span.clone()))?,
    };
    if words.is_empty() {
        return Err(PolicyTextError::new("an example cannot be empty", value.span.clone()));
    }
    Ok(words)
}

fn parse_decision(value: &LiteralValue) -> Result<CodexDecision, PolicyTextError> {
    let word = parse_text(value)?;
    CodexDecision::parse(word).ok_or_else(|| {
        let fault = PolicyTextError::new(format!("unknown decision `{word}`"), value.span.clone());
        fault.with_help("write `allow`, `prompt` or `forbidden`")
    })
}

fn parse_justification(value: &LiteralValue) -> Result<String, PolicyTextError> {
    let text = parse_text(value)?;
    if text.trim().is_empty() {
        return Err(PolicyTextError::new("a justification must not be empty", value.span.clone()));
    }
    Ok(text.to_owned())
}

fn parse_bool(value: &LiteralValue) -> Result<bool, PolicyTextError> {
    let wrong = || PolicyTextError::new("write `True` or `False`", value.span.clone());
    value.as_bool().ok_or_else(wrong)
}

fn parse_text(value: &LiteralValue) -> Result<&str, PolicyTextError> {
    value.as_text().ok_or_else(|| PolicyTextError::new("expected a string", value.span.clone()))
}

fn parse_list(value: &LiteralValue) -> Result<&[LiteralValue], PolicyTextError> {
    value.as_list().ok_or_else(|| PolicyTextError::new("expected a list", value.span.clone()))
}
