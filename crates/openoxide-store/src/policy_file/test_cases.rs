//! `[[test]]` in a policy file: calls with the expected decision of the policy. They have no effect
//! on decisions; `rules test` runs them.

use std::ops::Range;

use openoxide_protocol::{Effect, PermissionMode};
use serde_json::Value as Json;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::policy_problem::PolicyProblem;
use crate::line_numbers::LineNumbers;

/// A call, and the decision that the author of the policy expects.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyTestCase {
    /// The line of the test case, starting at 1.
    pub line: u32,
    /// The tool.
    pub tool: String,
    /// The input of the tool.
    pub input: Json,
    /// The mode in which the call is evaluated.
    pub mode: Option<PermissionMode>,
    /// The expected decision.
    pub expect: Effect,
}

const KEYS: &[&str] = &["command", "tool", "input", "mode", "expect"];

/// The maximum nesting depth of values.
const MAX_DEPTH: usize = 32;

/// Reads only the test cases of a policy file.
///
/// # Errors
/// Returns all problems of the test cases, and any syntax error of the file.
pub fn read_cases(text: &str) -> Result<Vec<PolicyTestCase>, Vec<PolicyProblem>> {
    let table = DeTable::parse(text).map_err(|error| {
        vec![new_problem(error.message(), error.span().unwrap_or(0..text.len()))]
    })?;
    let (cases, problems) =
        table.get_ref().get("test").map(|value| parse_cases(text, value)).unwrap_or_default();
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

/// Parses the value of `test`.
pub(super) fn parse_cases(
    text: &str,
    value: &Spanned<DeValue<'_>>,
) -> (Vec<PolicyTestCase>, Vec<PolicyProblem>) {
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    let Some(items) = value.get_ref().as_array() else {
        return (cases, vec![new_problem("write `[[test]]`", value.span())]);
    };
    let lines = LineNumbers::new(text);
    for item in items {
        match item.get_ref() {
            DeValue::Table(table) => match parse_case(&lines, table, item.span()) {
                Ok(case) => cases.push(case),
                Err(problem) => problems.push(problem),
            },
            _ => problems.push(new_problem("expected a table", item.span())),
        }
    }
    (cases, problems)
}

fn new_problem(message: impl Into<String>, span: Range<usize>) -> PolicyProblem {
    PolicyProblem { message: message.into(), help: None, span, loses_restriction: false }
}

fn parse_case(
    lines: &LineNumbers,
    table: &DeTable<'_>,
    span: Range<usize>,
) -> Result<PolicyTestCase, PolicyProblem> {
    for (key, _) in table {
        if !KEYS.contains(&key.get_ref().as_ref()) {
            let help = Some(format!("known keys are `{}`", KEYS.join("`, `")));
            let unknown = format!("unknown key `{}`", key.get_ref());
            return Err(PolicyProblem { help, ..new_problem(unknown, key.span()) });
        }
    }
    let word =
        |key: &str| match table.get(key).map(|value| (value.get_ref().as_str(), value.span())) {
            None => Ok(None),
            Some((Some(text), span)) => Ok(Some((text, span))),
            Some((None, span)) => Err(new_problem(format!("`{key}` must be a string"), span)),
        };
    let (tool, input) = match (word("command")?, word("tool")?) {
        (Some((script, _)), None) => ("Bash".to_owned(), serde_json::json!({ "command": script })),
        (None, Some((tool, _))) => {
            let input = table.get("input").and_then(|value| to_json(value.get_ref(), 0));
            (tool.to_owned(), input.unwrap_or_else(|| Json::Object(serde_json::Map::new())))
        }
        _ => {
            return Err(new_problem(
                "a test requires either `command`, or `tool` and `input`",
                span,
            ));
        }
    };
    let Some((expect, at)) = word("expect")? else {
        return Err(new_problem("missing key `expect`", span));
    };
    let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
    let expect = effects.into_iter().find(|effect| effect.as_str() == expect);
    let expect = expect.ok_or_else(|| new_problem("write `allow`, `ask` or `deny`", at))?;
    let mode = word("mode")?.map(|(mode, at)| {
        PermissionMode::parse(mode).ok_or_else(|| new_problem("invalid value for `mode`", at))
    });
    let line = lines.line_at(span.start);
    Ok(PolicyTestCase { line, tool, input, mode: mode.transpose()?, expect })
}

/// Returns a value as JSON. Returns `None` if it is nested too deeply or is a date or time.
fn to_json(value: &DeValue<'_>, depth: usize) -> Option<Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match value {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Boolean(set) => Json::from(*set),
        DeValue::Integer(number) => {
            Json::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?)
        }
        DeValue::Float(number) => Json::from(number.as_str().parse::<f64>().ok()?),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => {
            items.iter().map(|item| to_json(item.get_ref(), depth + 1)).collect::<Option<_>>()?
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Some((key.to_string(), to_json(value.get_ref(), depth + 1)?))
            };
            Json::Object(table.iter().map(entry).collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn test_cases_contain_the_call_and_the_expected_effect() {
        let text = "[[test]]\ncommand = \"ls\"\nexpect = \"allow\"\n\n[[test]]\ntool = \"Read\"\n\
                    input = { file_path = \"/x\", n = [1, true] }\nmode = \"plan\"\nexpect = \"deny\"\n";
        let cases = read_cases(text).unwrap();
        assert_eq!((cases[0].line, cases[0].expect), (1, Effect::Allow));
        assert_eq!(cases[0].input, json!({ "command": "ls" }));
        assert_eq!((cases[1].line, cases[1].mode), (5, Some(PermissionMode::Plan)));
        assert_eq!(cases[1].input, json!({ "file_path": "/x", "n": [1, true] }));
        assert_eq!(read_cases("").unwrap(), []);
    }

    #[test]
    fn wrong_tests_are_pointed_at() {
        for (text, said, at) in [
            ("test = 1", "[[test]]", 7),
            ("[[test]]\ncommand = \"x\"", "missing key `expect`", 0),
            ("[[test]]\nexpect = \"ask\"", "either", 0),
            ("[[test]]\ncommand = \"x\"\nexpect = \"maybe\"", "write `allow`", 32),
            ("[[test]]\ncmd = \"x\"", "`cmd`", 9),
            ("[[test]]\ncommand = 1\nexpect = \"ask\"", "must be a string", 19),
        ] {
            let problems = read_cases(text).unwrap_err();
            assert!(problems[0].message.contains(said), "{text}: {problems:?}");
            assert_eq!(problems[0].span.start, at, "{text}");
        }
    }
}
