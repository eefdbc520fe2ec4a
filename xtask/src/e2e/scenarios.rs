//! The scenarios. Each is a function whose name states the expected behavior.

mod broken_policy;
mod calls;
mod dead_hook;
mod own_tools;
mod sandboxed;
mod waiting;

use serde_json::{Value, json};

use super::{
    mock_model::{Call, DELEGATED, Script},
    stage::Agent,
    world::World,
};

/// One scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    name: &'static str,
    play: fn(&Agent) -> Verdict,
}

/// The result of a scenario: `Ok` if its sentence is true, or a description of the failure.
type Verdict = Result<(), String>;

impl Scenario {
    /// Returns the sentence that this scenario proves.
    pub(crate) fn sentence(&self) -> String {
        self.name.replace('_', " ")
    }

    /// Returns whether one of `words` selects this scenario. An empty list selects every scenario.
    pub(crate) fn is_named_by(&self, words: &[String]) -> bool {
        let sentence = self.sentence();
        let holds = |word: &String| sentence.contains(word) || self.name.contains(word);
        words.is_empty() || words.iter().any(holds)
    }

    /// Runs the scenario with the programs of `agent`.
    pub(crate) fn play(&self, agent: &Agent) -> Verdict {
        (self.play)(agent)
    }
}

/// Returns the list of the scenarios of a file from their functions.
macro_rules! scenarios {
    ($($play:ident,)*) => {
        pub(super) const ALL: &[super::Scenario] =
            &[$(super::Scenario { name: stringify!($play), play: $play },)*];
    };
}
use scenarios;

/// Returns all scenarios in their order.
pub(crate) fn all() -> impl Iterator<Item = &'static Scenario> {
    let files = [calls::ALL, own_tools::ALL, sandboxed::ALL, waiting::ALL];
    files.into_iter().chain([broken_policy::ALL, dead_hook::ALL]).flatten()
}

/// Returns a call that runs `command` in a shell.
fn bash(command: &str) -> Call {
    let input = json!({ "command": command, "description": "a step of the scenario" });
    Call { tool: "Bash".into(), input }
}

/// Returns a script in which a subagent makes `calls`; the first call of all is the one for it.
fn in_a_subagent(calls: Vec<Call>) -> Script {
    let input = json!({
        "description": "a part of the scenario",
        "prompt": DELEGATED,
        "subagent_type": "general-purpose",
    });
    Script { calls: vec![Call { tool: "Agent".into(), input }], delegated: calls }
}

/// Returns a call of a file tool on `name` in the project; the client wants absolute paths.
fn file_call(world: &World<'_>, tool: &'static str, name: &str, rest: &[(&str, &str)]) -> Call {
    let path = world.path("project").join(name).display().to_string();
    let fields = [("file_path", path.as_str())].into_iter().chain(rest.iter().copied());
    Call {
        tool: tool.into(),
        input: fields.map(|(key, value)| (key, Value::from(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_a_unique_sentence() {
        let mut sentences: Vec<_> = all().map(Scenario::sentence).collect();
        sentences.sort_unstable();
        let count = sentences.len();
        sentences.dedup();
        assert_eq!(sentences.len(), count);
    }

    #[test]
    fn words_select_scenarios_by_their_sentence() {
        let chosen = |word: &str| all().filter(|s| s.is_named_by(&[word.to_owned()])).count();
        assert_eq!(chosen("the model reads why"), 1);
        assert_eq!(chosen("no such sentence"), 0);
        assert_eq!(all().filter(|s| s.is_named_by(&[])).count(), all().count());
    }
}
