//! What a command line means: every program that bash would start, every file that it would open by itself, and
//! whatever else could be told from the text alone.
//!
//! It never says what is allowed, and it never guesses: what it does not understand is an
//! [`Access::Opaque`](openoxide_protocol::Access::Opaque).
//!
//! ```
//! use openoxide_protocol::{AbsPath, Access};
//! use openoxide_shell::{Setting, analyse};
//!
//! let cwd = AbsPath::new("/home/me/project")?;
//! let facts = analyse("cd src && cat main.rs > /tmp/copy", &Setting { cwd: &cwd, home: None });
//! let edits: Vec<_> = facts.accesses.iter().filter(|access| matches!(access, Access::Edit(_))).collect();
//! assert_eq!(edits.len(), 1);
//! assert_eq!(edits[0].summary(), "/tmp/copy");
//! # Ok::<(), openoxide_protocol::PathError>(())
//! ```
#![forbid(unsafe_code)]

pub mod arity;
pub mod classify;
pub mod danger;
pub mod findings;
mod options;
mod syntax;
mod text;
mod walk;
pub mod wrappers;

use openoxide_protocol::{AbsPath, Facts};

/// Longer scripts are not read.
pub const MAX_SCRIPT: usize = 64 * 1024;

/// Where a script would run.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The working directory that it starts in.
    pub cwd: &'a AbsPath,
    /// The home directory of who runs it, if that is known.
    pub home: Option<&'a AbsPath>,
}

/// Returns what `script` would do if bash ran it.
///
/// Every program that bash would start, and every file that a redirection would open, is among the accesses, or one of
/// them is opaque. A script without commands has no accesses.
#[must_use]
pub fn analyse(script: &str, setting: &Setting<'_>) -> Facts {
    if let Some(facts) = text::refused(script) {
        return facts;
    }
    let mut facts = walk::facts(script, setting);
    text::look(script, &mut facts.findings);
    facts
}
