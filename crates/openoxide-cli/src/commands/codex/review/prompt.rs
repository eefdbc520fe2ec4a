//! Asking the person in this terminal, while the server is listened to.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, TryRecvError},
    },
    thread,
};

use openoxide_adapters::codex::{
    review::{Answer, Offered, Offers},
    wire::RequestId,
};
use openoxide_protocol::{ApprovalRequest, Decision};
use openoxide_tui::{AskError, AskOptions, Input, Offer, choose};

use super::{Reviewer, Stop};
use crate::{commands::run::options, exit::Exit, report};

/// How a question ended.
pub(super) enum End {
    /// The person chose.
    Said(Answer),
    /// Somebody else was quicker.
    Elsewhere,
    /// Nobody can be asked after all.
    Unasked(AskError),
}

impl Reviewer<'_> {
    /// Asks, and goes on listening to the server: what it asks meanwhile waits, and what is answered elsewhere goes away.
    pub(super) fn ask(
        &mut self,
        id: &RequestId,
        request: &ApprovalRequest,
        offers: &Offers,
    ) -> Result<End, Stop> {
        let request = without_ours(request);
        let list: Vec<_> = offers.list.iter().map(offer).collect();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let raised = Some(Arc::clone(&withdrawn));
        let options = AskOptions { withdrawn: raised, ..options(self.global) };
        let (said, here) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| drop(said.send(choose(&request, &list, &options))));
            loop {
                match here.try_recv() {
                    Ok(chosen) => return ended(chosen, offers),
                    Err(TryRecvError::Disconnected) => return Err(Stop::Interrupted),
                    Err(TryRecvError::Empty) => {}
                }
                let Some(over) = self.over(id) else { continue };
                withdrawn.store(true, Ordering::Relaxed);
                if options.input == Input::Lines {
                    press_enter(&over);
                }
                drop(here.recv());
                return over;
            }
        })
    }

    /// Listens for a moment, and says how the question has ended, if it has.
    fn over(&mut self, id: &RequestId) -> Option<Result<End, Stop>> {
        match self.listen() {
            Err(stop) => Some(Err(stop)),
            Ok(()) => self.resolved.remove(id).then_some(Ok(End::Elsewhere)),
        }
    }
}

fn ended(chosen: Result<Option<usize>, AskError>, offers: &Offers) -> Result<End, Stop> {
    match chosen {
        Ok(chosen) => {
            let offered = chosen.and_then(|at| offers.list.get(at));
            offered.map(|offered| End::Said(offered.answer.clone())).ok_or(Stop::Interrupted)
        }
        Err(AskError::HungUp | AskError::Withdrawn) => Err(Stop::Interrupted),
        Err(error) => Ok(End::Unasked(error)),
    }
}

/// Where lines are read, the prompt ends with the next line only.
fn press_enter(over: &Result<End, Stop>) {
    let why = match over {
        Ok(_) => "it was answered elsewhere".to_owned(),
        Err(Stop::Lost(lost)) => lost.to_string(),
        Err(Stop::Interrupted) => {
            #[expect(clippy::exit, reason = "the thread that reads the line cannot be woken")]
            std::process::exit(Exit::Interrupted.code().into());
        }
    };
    report::say(&format!("\nopenoxide: {why}; press Enter"));
}

/// What Codex offers stands in the place of what we would keep.
fn without_ours(request: &ApprovalRequest) -> ApprovalRequest {
    let decision = Decision { always: Vec::new(), ..request.decision.clone() };
    ApprovalRequest { decision, alternatives: Vec::new(), ..request.clone() }
}

fn offer(offered: &Offered) -> Offer {
    let Offered { keys, meaning, careful, .. } = offered;
    Offer { keys: keys.clone(), meaning: meaning.clone(), careful: *careful }
}
