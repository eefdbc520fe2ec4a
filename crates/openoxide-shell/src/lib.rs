//! Analysis of a command line: every program that bash would start, every file that it would open
//! itself, and everything else that can be determined from the text alone.
//!
//! The analysis does not decide what is allowed, and it does not guess. Input that it does not
//! understand becomes an [`Access::Opaque`](openoxide_protocol::Access::Opaque).
//!
//! ```
//! use openoxide_protocol::{AbsPath, Access};
//! use openoxide_shell::{AnalysisContext, analyze_script};
//!
//! let cwd = AbsPath::new("/home/me/project")?;
//! let facts = analyze_script("cd src && cat main.rs > /tmp/copy", &AnalysisContext { cwd: &cwd, home: None });
//! let edits: Vec<_> = facts.accesses.iter().filter(|access| matches!(access, Access::Edit(_))).collect();
//! assert_eq!(edits.len(), 1);
//! assert_eq!(edits[0].summary(), "/tmp/copy");
//! # Ok::<(), openoxide_protocol::PathError>(())
//! ```
#![forbid(unsafe_code)]

mod analysis_context;
pub mod arity;
pub mod danger;
mod effect_phrases;
pub mod findings;
#[cfg(test)]
mod notation;
mod patch;
mod programs;
mod rare_syntax;
mod script_properties;
mod script_sequence;
mod script_text;
mod syntax;
mod walk;

use openoxide_protocol::OperationFacts;

pub use analysis_context::AnalysisContext;
pub use patch::{applies_patch, patched_files};
pub use programs::extends_own_settings;
pub use script_properties::ScriptProperties;
pub use script_sequence::ScriptSequence;
pub use script_text::MAX_SCRIPT_SIZE;
pub use walk::environment_variables::is_ascii_compatible_locale;

/// The maximum size of a script that is tried as one plain command. Longer scripts are seldom one.
const MAX_PLAIN_SCRIPT_SIZE: usize = 4096;

/// Returns the facts about what `script` would do if bash ran it.
///
/// Every program that bash would start, and every file that a redirection would open, is among the
/// accesses, or one of them is opaque. A script without commands has no accesses.
#[must_use]
pub fn analyze_script(script: &str, setting: &AnalysisContext<'_>) -> OperationFacts {
    if script.len() < MAX_PLAIN_SCRIPT_SIZE
        && let Some(facts) = walk::analyze_plain_script(script, setting)
    {
        return facts;
    }
    analyze_fully(script, setting)
}

/// Returns whether a script parses completely. This parses the script without analyzing it.
#[must_use]
pub fn is_parsable(script: &str) -> bool {
    script_text::reject_unreadable(script).is_none() && syntax::parse_script(script, 0).1.is_none()
}

/// Like [`analyze_script`], without the fast path for plain scripts.
fn analyze_fully(script: &str, setting: &AnalysisContext<'_>) -> OperationFacts {
    if let Some(facts) = script_text::reject_unreadable(script) {
        return facts;
    }
    let mut facts = walk::analyze_walk(script, setting);
    script_text::add_deceptive_findings(script, &mut facts.findings);
    facts
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;

    use super::*;

    const WORDS: &[&str] = &[
        "git", "cd", "..", "exit", "eval", "ls", "-la", "export", "a=b", "PATH=/x", "x+=1",
        "command", "builtin", "set", "-e", "-x", "env", "sudo", "rm", "-rf", "/", ".", "trap",
        "EXIT", "read", "test", "-v", "printf", "exec", "hash", "shopt", "-s", "let", "1", "unset",
        "source", "bash", "-c", "-", "--", "%1", "@", "a:b", "time", "if", "true", "xargs", "find",
        "-delete", "declare", "-i", "./run.sh", "a,b", "return", ":", "pushd",
    ];

    #[test]
    fn the_short_way_leads_to_the_same_facts() {
        let (cwd, home) = (AbsPath::new("/home/me/p").unwrap(), AbsPath::new("/home/me").unwrap());
        let setting = AnalysisContext { cwd: &cwd, home: Some(&home) };
        let mut state = 1_u64;
        let mut short = 0;
        for _ in 0..20_000 {
            let mut script = String::new();
            for _ in 0..=state % 5 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let word = usize::try_from(state >> 33).unwrap() % WORDS.len();
                script.push_str(if script.is_empty() { "" } else { " " });
                script.push_str(WORDS[word]);
            }
            short += usize::from(walk::analyze_plain_script(&script, &setting).is_some());
            assert_eq!(
                analyze_script(&script, &setting),
                analyze_fully(&script, &setting),
                "{script}"
            );
        }
        assert!(short > 15_000, "{short}");
    }
}
