//! The content of `default.rules` after a client of the real program has accepted amendments.

use serde_json::{Value, json};

use crate::{codex_diff::generate::words::one, crash::chance::Chance};

use super::{
    model::{Model, line},
    options::Options,
    stage::Stage,
};

/// The initial content of the file, and the lists that are accepted one after the other.
#[derive(Debug)]
struct Case {
    start: Option<String>,
    lists: Vec<Vec<String>>,
}

/// Returns this number of rows.
pub(super) fn rows(options: &Options) -> Result<Vec<Value>, String> {
    let model = Model::start().map_err(|error| error.to_string())?;
    let mut stage = Stage::new(&options.binary, &model)?;
    let cases = (0..options.cases).map(|number| Case::new(options.seed, number));
    cases.map(|case| case.row(&mut stage)).collect()
}

impl Case {
    fn new(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let count = chance.below(4) + 1;
        let mut lists: Vec<_> = (0..count).map(|_| list(&mut chance)).collect();
        if chance.percent(40) {
            lists.push(one(&mut chance, &lists));
        }
        let start = start(&mut chance, &lists);
        Self { start, lists }
    }

    /// Makes Codex ask about a program for each list, and approves with that list, whatever was
    /// proposed.
    fn row(&self, stage: &mut Stage) -> Result<Value, String> {
        let thread = stage.amendable(self.start.as_ref())?;
        let calls = (0..self.lists.len()).map(|at| {
            line(&format!("amend-{at}"), &json!({ "cmd": format!("uu-{at}"), "login": false }))
        });
        let mut lists = self.lists.iter();
        let prompt: String = calls.collect();
        let asked = stage.client.turn(&thread, &prompt, |_| {
            json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": lists.next() } })
        })?;
        let (had, wanted) = (asked.len(), self.lists.len());
        if had != wanted {
            return Err(format!("{had} of {wanted} commands were asked about: {self:?}"));
        }
        Ok(json!({ "start": self.start, "lists": self.lists, "result": stage.amended() }))
    }
}

/// Words that must be quoted, and words that need not be.
fn list(chance: &mut Chance) -> Vec<String> {
    let words = [
        "git",
        "a",
        "-x",
        "é",
        "e\u{301}",
        "日本語",
        "😀",
        "\"",
        "'",
        "\\",
        "\t",
        "\n",
        "\r",
        "",
        " ",
        "a b",
        "\u{1}",
        "\u{7f}",
        "\u{200b}",
        "\u{2028}",
        "/",
        "</x>",
        "#",
        "\\n",
        "$x",
        "&",
        "python3",
        "\u{8}\u{c}",
    ];
    if chance.percent(4) {
        return Vec::new();
    }
    (0..chance.below(3) + 1).map(|_| one(chance, &words).to_owned()).collect()
}

/// Returns `None`, or lines of which some repeat an accepted list. The text may lack a final
/// newline.
fn start(chance: &mut Chance, lists: &[Vec<String>]) -> Option<String> {
    if chance.percent(35) {
        return None;
    }
    let known = json!(one(chance, lists)).to_string().replace("\",\"", "\", \"");
    let known = if known == "[]" { "[\"a\"]".to_owned() } else { known };
    let same = format!("prefix_rule(pattern={known}, decision=\"allow\")");
    let lines = [
        same.clone(),
        same.clone(),
        format!("{same} "),
        format!("{same} # kept"),
        format!("prefix_rule(pattern={known})"),
        format!("prefix_rule(pattern={known}, decision=\"prompt\")"),
        "# a remark".to_owned(),
        String::new(),
        "prefix_rule(pattern=[\"vv\"], decision=\"allow\")".to_owned(),
    ];
    let count = chance.below(3);
    let lines: Vec<String> = (0..count).map(|_| one(chance, &lines)).collect();
    let end = if chance.percent(60) { "\n" } else { "" };
    let between = if chance.percent(25) { "\r\n" } else { "\n" };
    Some(lines.join(between) + end)
}
