//! Answers of the real `confirm_ask` of Aider 0.86.2 (`corpus/aider`).

use openoxide_adapters::aider::{ConfirmGroup, ConfirmRequest, GroupPreference, confirm_ask};
use serde::Deserialize;

const ROWS: &str = include_str!("../../../../corpus/aider/confirm.json");

#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "it is the shape of the record")]
struct Row {
    yes: Option<bool>,
    explicit: bool,
    group: String,
    allow_never: bool,
    default: String,
    input: String,
    result: bool,
    prompts: u32,
    prompt: Option<String>,
    pref: Option<String>,
    never: bool,
}

impl Row {
    fn question(&self) -> ConfirmRequest<'static> {
        let preference = match self.group.as_str() {
            "pref_all" => Some(GroupPreference::All),
            "pref_skip" => Some(GroupPreference::Skip),
            _ => None,
        };
        // A group of one is none.
        let is_group = !matches!(self.group.as_str(), "none" | "single");
        ConfirmRequest {
            text: "Q?",
            default: self.default == "y",
            explicit_yes_required: self.explicit,
            allow_never: self.allow_never,
            never_prompted: false,
            group: is_group.then_some(ConfirmGroup { preference }),
        }
    }

    fn preference(&self) -> Option<GroupPreference> {
        self.pref.as_deref().map(|name| match name {
            "all" => GroupPreference::All,
            "skip" => GroupPreference::Skip,
            other => panic!("{other}"),
        })
    }
}

#[test]
fn recorded_answers_match_except_approvals_at_the_end_of_input() {
    let rows: Vec<Row> = serde_json::from_str(ROWS).unwrap();
    assert_eq!(rows.len(), 1_440);
    let mut no_yes = 0;
    for row in rows {
        let mut shown = None;
        // An answer that is not understood is followed by `n`, as it was when the rows were
        // recorded.
        let mut typed = [row.input.as_str(), "n"].into_iter();
        let confirmed = confirm_ask(row.question(), row.yes, |line| {
            shown.get_or_insert(line.to_owned());
            typed.next().filter(|typed| *typed != "EOF").map(str::to_owned)
        });
        let ended = row.input == "EOF" && row.prompts > 0;
        no_yes += u32::from(ended && row.result);
        assert_eq!(confirmed.approved, row.result && !ended, "{row:?}");
        assert_eq!(confirmed.prompt_count, row.prompts, "{row:?}");
        assert_eq!(confirmed.preference, row.preference(), "{row:?}");
        assert_eq!(confirmed.suppress_future, row.never, "{row:?}");
        assert_eq!(shown, row.prompt, "{row:?}");
    }
    assert_eq!(no_yes, 12, "Aider took the end of the input for a yes in so many rows");
}

#[test]
fn dont_ask_again_means_no_even_under_yes_always() {
    let question = ConfirmRequest { never_prompted: true, ..Row::question(&row()) };
    let confirmed = confirm_ask(question, Some(true), |_| panic!("nobody is asked"));
    assert!(!confirmed.approved && confirmed.suppress_future);
}

fn row() -> Row {
    serde_json::from_str::<Vec<Row>>(ROWS).unwrap().remove(0)
}
