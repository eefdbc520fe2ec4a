//! The order of the commands in a script, where it is certain.

use openoxide_protocol::Span;

use crate::syntax::{
    self,
    syntax_tree::{Pipeline, ShellCommand, SimpleCommand},
};

/// The parts of a script that run one after the other. Each simple command or pipeline of simple
/// commands at the top level is a part, and so is the text between two of them. The order inside
/// one part is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptSequence {
    /// The simple pipelines, in the order of the text. If it is empty, the whole script is one
    /// part.
    pipelines: Vec<Span>,
}

/// Words that start something that outlives the command, or that runs at a different time than the
/// text shows.
const OUT_OF_ORDER_WORDS: &[&str] = &[
    "$'",
    "<(",
    ">(",
    "<<",
    "`",
    "abduco",
    "alias",
    "batch",
    "coproc",
    "daemon",
    "dtach",
    "function",
    "screen",
    "setsid",
    "start-stop",
    "systemd-run",
    "tmux",
    "trap",
];

impl ScriptSequence {
    /// Determines the order of a script. If anything in its text could run out of order, the script
    /// is one part.
    #[must_use]
    pub fn from_script(script: &str) -> Self {
        let (tree, fault) = syntax::parse_script(script, 0);
        if fault.is_some() || tree.unusual_offset.is_some() || may_run_out_of_order(script) {
            return Self::default();
        }
        let pipelines = tree.list.iter().flat_map(|item| {
            std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
        });
        Self { pipelines: pipelines.filter_map(simple_span).collect() }
    }

    /// Returns the index of the part that contains this span of the script. A command in a part
    /// with a lower index has ended when one in a part with a higher index starts.
    #[must_use]
    pub fn part_index_at(&self, place: Span) -> usize {
        let before = self.pipelines.partition_point(|pipeline| pipeline.end <= place.start);
        match self.pipelines.get(before) {
            Some(pipeline) if pipeline.start <= place.start => 2 * before + 1,
            _ => 2 * before,
        }
    }
}

fn may_run_out_of_order(script: &str) -> bool {
    let mut rest = script.to_owned();
    for joined in ["&&", "&>", ">&", "<&", "|&"] {
        rest = rest.replace(joined, " ");
    }
    let blank_free: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    rest.contains('&')
        || blank_free.contains("()")
        || OUT_OF_ORDER_WORDS.iter().any(|word| script.contains(word))
}

/// Returns the span of a pipeline, if all its commands are simple.
fn simple_span(pipeline: &Pipeline<'_>) -> Option<Span> {
    let spans: Option<Vec<_>> = pipeline.commands.iter().map(command_span).collect();
    let spans = spans?;
    let start = spans.iter().map(|span| span.start).min()?;
    let end = spans.iter().map(|span| span.end).max()?;
    Some(Span { start, end })
}

fn command_span(command: &ShellCommand<'_>) -> Option<Span> {
    let ShellCommand::Simple(SimpleCommand { span, redirects, assignments, .. }) = command else {
        return None;
    };
    let inner = redirects.iter().map(|redirect| redirect.span);
    let inner = inner.chain(assignments.iter().map(|assignment| assignment.span));
    Some(inner.fold(*span, |all, part| Span {
        start: all.start.min(part.start),
        end: all.end.max(part.end),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the first `a` of the script certainly ends before its first `b` starts.
    fn is_before(script: &str, a: &str, b: &str) -> bool {
        let at = |word: &str| {
            let start = script.find(word).unwrap();
            Span::new(start, start + word.len())
        };
        let sequence = ScriptSequence::from_script(script);
        sequence.part_index_at(at(a)) < sequence.part_index_at(at(b))
    }

    #[test]
    fn commands_in_a_row_end_before_the_next_one_starts() {
        for script in [
            "aa; bb",
            "aa && bb",
            "aa || bb",
            "aa\nbb",
            "aa 2>&1 | x; bb",
            "aa; if x; then bb; fi",
            "for i in 1; do aa; done; x; bb",
            "aa &> x; bb",
        ] {
            assert!(is_before(script, "aa", "bb"), "{script}");
            assert!(!is_before(script, "bb", "aa"), "{script}");
        }
    }

    #[test]
    fn commands_that_may_run_at_another_time_have_no_order() {
        for script in [
            "aa | bb",
            "aa & bb",
            "{ aa; bb; }",
            "while x; do aa; bb; done",
            "{ aa; } ; { bb; }",
            "aa() { x; }; bb",
            "function aa { x; }; bb",
            "trap aa EXIT; bb",
            "trap aa DEBUG; bb",
            "setsid -f aa; bb",
            "coproc aa; bb",
            "x <(aa); bb",
            "eval $'aa \\x26'; bb",
            "x <<E; bb\n$(aa)\nE\n",
            "sh -c 'aa &'; bb",
            "alias x=aa; bb",
        ] {
            assert!(!is_before(script, "aa", "bb"), "{script}");
        }
    }
}
