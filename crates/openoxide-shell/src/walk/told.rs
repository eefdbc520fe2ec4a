//! What was said of the same commands before: another round of a loop must not say it again.

use openoxide_protocol::{Access, Finding, OperationFacts};

/// Where the facts of the rounds begin, and those of this round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    accesses: (usize, usize),
    findings: (usize, usize),
}

impl Told {
    /// Begins after what is there.
    pub(super) fn after(facts: &OperationFacts) -> Self {
        let (accesses, findings) = (facts.accesses.len(), facts.findings.len());
        Self { accesses: (accesses, accesses), findings: (findings, findings) }
    }

    /// Drops what this round says as the rounds before it did, and begins the next one.
    pub(super) fn drop_repeated(&mut self, facts: &mut OperationFacts) {
        keep_new::<Access>(&mut facts.accesses, &mut self.accesses);
        keep_new::<Finding>(&mut facts.findings, &mut self.findings);
    }
}

fn keep_new<T: PartialEq>(all: &mut Vec<T>, (first, round): &mut (usize, usize)) {
    for fact in all.split_off((*round).min(all.len())) {
        if !all.iter().skip(*first).any(|known| *known == fact) {
            all.push(fact);
        }
    }
    *round = all.len();
}
