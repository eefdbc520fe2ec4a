//! A rule file to what it says: plain calls are read here, and for all else Codex's own language is needed.

use super::{
    LONGEST, Place,
    policy::{Hosts, Policy},
    refusal::{Refusal, Unreadable},
    said::{Given, NetworkCall, PrefixCall, Said},
};
use crate::codex::{
    calls::{Call, Kind, Value, calls},
    rules::named,
};

/// A rule file that is evaluated, and what the files before it say of programs.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What the file is called in messages.
    pub name: &'a str,
    /// What stands in it.
    pub text: &'a str,
    /// Where programs may lie.
    pub hosts: &'a Hosts,
}

/// Evaluates rule files as Codex does. Its answer is what a file says, whose examples were not checked yet; or why Codex takes
/// nothing from it.
pub type Language = fn(Source<'_>) -> Result<Said, Unreadable>;

impl Policy {
    /// Adds the rules of a file.
    ///
    /// # Errors
    /// Where Codex would not take the file, in its words; and where the file goes over a bound of ours.
    pub fn read(
        &mut self,
        name: &str,
        text: &str,
        place: &Place<'_>,
        language: Language,
    ) -> Result<(), Unreadable> {
        let source = Source { name, text, hosts: &self.hosts };
        self.add(Said::read(source, place, language)?);
        Ok(())
    }
}

impl Said {
    /// Reads a file, and checks its examples.
    ///
    /// # Errors
    /// Where Codex would not take the file, in its words; and where the file goes over a bound of ours.
    pub(in crate::codex) fn read(
        source: Source<'_>,
        place: &Place<'_>,
        language: Language,
    ) -> Result<Self, Unreadable> {
        if source.text.len() > LONGEST {
            return Err(Unreadable::bound("the file is longer than one MiB"));
        }
        let said = plainly(source).map_or_else(|| language(source), Ok)?;
        said.check(place)?;
        Ok(said)
    }
}

/// Reads a file that consists of plain calls without a mistake; what is wrong in others, the language says.
fn plainly(source: Source<'_>) -> Option<Said> {
    // What becomes of a carriage return within a text is the language's to say.
    if source.text.contains('\r') {
        return None;
    }
    let mut said = Said::after(source.hosts.clone());
    for call in calls(source.text).ok()? {
        take(&mut said, &call)?.ok()?;
    }
    Some(said)
}

fn take(said: &mut Said, call: &Call) -> Option<Result<(), Refusal>> {
    let at = call.span.clone();
    match call.function.as_str() {
        "prefix_rule" => {
            let [pattern, decision, yes, no, why, folds] = arguments(call, super::PREFIX)?;
            let call = PrefixCall {
                pattern: list(pattern?)?,
                decision: optional(decision, text).ok()?,
                matching: optional(yes, list).ok()?.unwrap_or_default(),
                not_matching: optional(no, list).ok()?.unwrap_or_default(),
                justification: optional(why, text).ok()?,
                canonical_matching: optional(folds, truth).ok()?.unwrap_or_default(),
            };
            Some(said.prefix(&call, at))
        }
        "host_executable" => {
            let [name, paths] = arguments(call, ["name", "paths"])?;
            Some(said.host(text(name?)?, &list(paths?)?))
        }
        "network_rule" => {
            let [host, protocol, decision, why] = arguments(call, super::NETWORK)?;
            let (host, protocol, decision) = (text(host?)?, text(protocol?)?, text(decision?)?);
            let justification = optional(why, text).ok()?;
            Some(said.network(&NetworkCall { host, protocol, decision, justification }, at))
        }
        _ => None,
    }
}

fn arguments<'c, const N: usize>(
    call: &'c Call,
    names: [&str; N],
) -> Option<[Option<&'c Value>; N]> {
    named(call, &names).ok()?.try_into().ok()
}

/// Returns what an argument is read as, nothing where it is not given; and fails where it cannot be read so.
fn optional<'c, T>(
    value: Option<&'c Value>,
    read: impl Fn(&'c Value) -> Option<T>,
) -> Result<Option<T>, ()> {
    value.map(|value| read(value).ok_or(())).transpose()
}

fn text(value: &Value) -> Option<&str> {
    match &value.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    }
}

fn truth(value: &Value) -> Option<bool> {
    match &value.kind {
        Kind::Word(word) if word == "True" => Some(true),
        Kind::Word(word) if word == "False" => Some(false),
        _ => None,
    }
}

fn list(value: &Value) -> Option<Vec<Given>> {
    match &value.kind {
        Kind::List(items) => items.iter().map(given).collect(),
        _ => None,
    }
}

fn given(value: &Value) -> Option<Given> {
    match &value.kind {
        Kind::Text(text) => Some(Given::Text(text.clone())),
        Kind::List(_) => list(value).map(Given::List),
        Kind::Word(_) => None,
    }
}
