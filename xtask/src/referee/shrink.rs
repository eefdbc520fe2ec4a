//! Shortening of a script with a miss, as long as it has a miss of the same kind.

use super::{compare, report::Found, stage::Stage};

/// The maximum number of runs of a script while it is shortened.
const MOST_RUNS: usize = 400;

/// The number of runs so far, and the stage that they use.
struct Search<'a> {
    stage: &'a mut Stage,
    runs: usize,
}

/// Returns the shortest script.
pub(crate) fn shrink(found: Found, stage: &mut Stage) -> Found {
    let mut search = Search { stage, runs: 0 };
    let mut best = found;
    loop {
        let before = best.case.script.len();
        for split in [lines, commands, words, characters] {
            best = search.without_pieces(best, split);
        }
        if best.case.script.len() == before || search.runs >= MOST_RUNS {
            return best;
        }
    }
}

impl Search<'_> {
    /// Removes sequences of pieces: half of them first, then fewer and fewer.
    fn without_pieces(&mut self, mut best: Found, split: fn(&str) -> Vec<&str>) -> Found {
        let mut size = split(&best.case.script).len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < split(&best.case.script).len() && self.runs < MOST_RUNS {
                let pieces = split(&best.case.script);
                let kept = pieces.iter().take(at).chain(pieces.iter().skip(at + size));
                match self.still(&best, kept.copied().collect()) {
                    Some(shorter) => best = shorter,
                    None => at += size,
                }
            }
            size /= 2;
        }
        best
    }

    /// Returns the miss of `script`, if it is of the same kind.
    fn still(&mut self, found: &Found, script: String) -> Option<Found> {
        let mut shorter = found.clone();
        shorter.case.script = script;
        let facts = compare::facts(&shorter.case);
        if compare::is_opaque(&facts) {
            return None;
        }
        self.runs += 1;
        let deeds = self.stage.run(&shorter.case).ok()?;
        shorter.miss = compare::judge(&facts, &deeds).filter(|miss| miss.is_like(&found.miss))?;
        Some(shorter)
    }
}

fn lines(script: &str) -> Vec<&str> {
    script.split_inclusive('\n').collect()
}

fn commands(script: &str) -> Vec<&str> {
    script.split_inclusive([';', '\n', '|', '&']).collect()
}

fn words(script: &str) -> Vec<&str> {
    script.split_inclusive([' ', '\n', '\t', ';']).collect()
}

fn characters(script: &str) -> Vec<&str> {
    script.split_inclusive(|_: char| true).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole() {
        let script = "a | b; c 'é'\nd && e";
        for split in [lines, commands, words, characters] {
            assert_eq!(split(script).concat(), script);
        }
        assert_eq!(lines(script).len(), 2);
        assert_eq!(characters("aé").len(), 2);
    }
}
