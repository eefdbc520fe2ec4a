//! The facts that were already recorded for the same commands. Another round of a loop must not
//! record them again.

use openoxide_protocol::{Access, Finding, OperationFacts};

/// The positions at which the facts of all rounds and of this round begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopFacts {
    accesses: (usize, usize),
    findings: (usize, usize),
}

impl LoopFacts {
    /// Returns the positions after the existing facts.
    pub(super) fn start_after(facts: &OperationFacts) -> Self {
        let (accesses, findings) = (facts.accesses.len(), facts.findings.len());
        Self { accesses: (accesses, accesses), findings: (findings, findings) }
    }

    /// Drops the facts of this round that earlier rounds have also recorded, and begins the next
    /// round.
    pub(super) fn drop_repeated(&mut self, facts: &mut OperationFacts) {
        retain_new_facts::<Access>(&mut facts.accesses, &mut self.accesses);
        retain_new_facts::<Finding>(&mut facts.findings, &mut self.findings);
    }
}

fn retain_new_facts<T: PartialEq>(all: &mut Vec<T>, (first, round): &mut (usize, usize)) {
    for fact in all.split_off((*round).min(all.len())) {
        if !all.iter().skip(*first).any(|known| *known == fact) {
            all.push(fact);
        }
    }
    *round = all.len();
}
