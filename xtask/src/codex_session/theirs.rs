//! The real program: a thread for each group, and all its calls in one turn.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    generate::Group,
    model::{Model, line},
    stage::Stage,
};

/// Returns the answers of Codex to the calls of the group with this number. Its requests are
/// declined, so that the turn continues.
pub(super) fn answers(
    stage: &mut Stage,
    model: &Model,
    number: u64,
    group: &Group,
) -> Result<Vec<Answer>, String> {
    let setting = &group.setting;
    let thread = stage.thread(&setting.policy, setting.sandbox, &setting.files)?;
    let ids: Vec<String> = (0..group.calls.len()).map(|at| format!("call-{number}-{at}")).collect();
    let lines = ids.iter().zip(&group.calls).map(|(id, call)| line(id, &asked(&call.arguments)));
    let prompt = stage.there(&lines.collect::<String>());
    let requests = stage.client.turn(&thread, &prompt, |_| json!("decline"))?;
    let answer = |id: &String| {
        let asked = requests.iter().find(|request| request.get("itemId") == Some(&json!(id)));
        let asked = asked.map(|asked| stage.here(&asked.to_string()));
        let asked: Option<Value> = asked.and_then(|text| serde_json::from_str(&text).ok());
        let output = model.take(id).map(|output| stage.here(&output));
        Answer::theirs(asked.as_ref(), output.as_deref())
    };
    let answers = ids.iter().zip(&group.calls).map(|(id, call)| {
        answer(id).map_err(|why| format!("{why}\nafter {} in {:?}", call.arguments, group.setting))
    });
    answers.collect()
}

/// The client does not wait for a command that blocks.
fn asked(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("yield_time_ms".to_owned(), json!(3_000));
    }
    arguments
}
