//! What becomes of what was staged: one question of the gate about all files that would change.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

use openoxide_engine::{
    CheckOptions, ConfinementRecord, InterruptedError, RecordOrigin, digest_of_call,
};
use openoxide_protocol::{Action, Operation};
use openoxide_sandbox::{Change, Changes, Stage};
use serde_json::{Value, json};

use super::{
    approval::{Approval, Verdict},
    confined::RunContext,
    ends::{interrupted, refused, unanswerable, unanswered},
    enforced, put_back,
};
use crate::{
    commands::{call, sandbox::found},
    exit::Exit,
    report,
    staged::{NOTHING_CHANGED, shown, tell, to_ask_about, worth_naming},
};

/// How often is asked again because somebody changed files meanwhile.
const TIMES: usize = 5;

/// Has somebody or a rule decide, and does it. Returns how `run` ends, where that is not how the command has ended.
pub(super) fn settle(stage: &Stage, around: &RunContext<'_>) -> Option<Exit> {
    for _ in 0..TIMES {
        let changes = match to_ask_about(stage) {
            Ok(changes) => changes?,
            Err(error) => return Some(failed(&error)),
        };
        let number = match ask(stage, &changes, around) {
            Ok(number) => number,
            Err(exit) => return Some(exit),
        };
        // What was shown is what is done.
        if stage.changes().is_ok_and(|now| now == changes) {
            return commit(stage, &changes, around, number);
        }
        report::say("openoxide: files changed in the meantime; asking again");
    }
    Some(failed(&io::Error::other("files change all the time")))
}

/// Returns the number of the record by which it may be done.
fn ask(stage: &Stage, changes: &Changes, around: &RunContext<'_>) -> Result<Option<u64>, Exit> {
    let operation = Operation { session: around.session, ..operation(changes, around) };
    let shown = shown(stage, changes, around.engine.cwd());
    let options = CheckOptions {
        title: Some(shown.title),
        presentation: Some(shown.presentation),
        ..CheckOptions::new(RecordOrigin::RUN, enforced(around.args))
    };
    let approval = around.approve(&operation, options, None);
    let Approval { verdict, review } =
        approval.map_err(|InterruptedError| interrupted(NOTHING_CHANGED))?;
    let unanswered = |review| unanswered(review, around.args, NOTHING_CHANGED);
    if let Some(exit) = review.as_ref().and_then(unanswered) {
        return Err(exit);
    }
    match verdict {
        Verdict::Allowed(permit) => {
            let number = permit.record();
            match permit.redeem(&operation) {
                true => Ok(number),
                false => Err(failed(&io::Error::other("the permit is for another operation"))),
            }
        }
        Verdict::Denied(refusal) => Err(refused(&refusal, NOTHING_CHANGED)),
        Verdict::Unanswerable(request) => {
            report::say(shown.list.trim_end());
            Err(unanswerable(&request, around.args, NOTHING_CHANGED))
        }
    }
}

/// An edit of all paths: rules about each of them speak.
fn operation(changes: &Changes, around: &RunContext<'_>) -> Operation {
    let paths = worth_naming(changes).map(|change| change.path.to_string()).collect();
    let changed: Vec<_> = worth_naming(changes).map(one).collect();
    // The yes is bound to what was staged, to the byte: nobody else writes there.
    let states = Value::from(format!("{:?}", changes.changes));
    let input = json!({ "changes": changed, "state": digest_of_call("", &states) });
    call::of("Edit".to_owned(), Action::Edit { paths }, input, around.engine.cwd())
}

fn one(change: &Change) -> Value {
    let what = match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    };
    json!({ "file_path": change.path, "change": what })
}

fn commit(
    stage: &Stage,
    changes: &Changes,
    around: &RunContext<'_>,
    number: Option<u64>,
) -> Option<Exit> {
    let began = Instant::now();
    let committed = match stage.commit(changes) {
        Ok(committed) => committed,
        Err(error) => return Some(failed(&error)),
    };
    tell(&committed);
    put_back::offer(around, &committed.found);
    let whole = committed.left_out.is_empty();
    let status = ExitStatus::from_raw(if whole { 0 } else { 1 << 8 });
    let found = committed.found.iter().map(found::text).collect();
    let record = ConfinementRecord { found, ..ConfinementRecord::default() };
    around.engine.record_outcome(number, &Ok(status), began, record, around);
    (!whole).then_some(Exit::RunFailed)
}

fn failed(error: &io::Error) -> Exit {
    report::failure(&format!("{NOTHING_CHANGED}: {error}"));
    Exit::RunFailed
}
