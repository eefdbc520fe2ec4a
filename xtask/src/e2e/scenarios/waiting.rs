//! Questions that wait for an answer in another terminal.

use super::{
    super::{
        other_terminal::{answer_next, join},
        stage::Agent,
    },
    Verdict, World, bash, scenarios,
};

scenarios! {
    a_question_waits_until_another_terminal_approves_it,
    a_denial_of_another_terminal_reaches_the_model,
    an_unanswered_question_is_a_denial_in_a_session_without_a_person,
}

fn a_question_waits_until_another_terminal_approves_it(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.wired_with_wait("--wait=60");
    let answered = answer_next(&world, "approve", &[]);
    let session = world.run(vec![bash("touch made"), bash("ls")])?;
    join(answered)?;
    session.made("made")
}

fn a_denial_of_another_terminal_reaches_the_model(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.wired_with_wait("--wait=60");
    let answered = answer_next(&world, "deny", &["--message", "use src"]);
    let session = world.run(vec![bash("touch made")])?;
    join(answered)?;
    session.left_no("made")?;
    session.refused(0, "use src")
}

fn an_unanswered_question_is_a_denial_in_a_session_without_a_person(agent: &Agent) -> Verdict {
    let session = World::new(agent)?.wired_with_wait("--wait=1").run(vec![bash("touch made")])?;
    session.left_no("made")?;
    session.refused(0, "")
}
