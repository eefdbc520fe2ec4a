//! The ways to confine, and what each can hold.

pub(crate) mod bubblewrap;
mod landlock;
mod namespaces;
pub mod seatbelt;

use openoxide_protocol::Confined;

use crate::{Backend, Clause, Held, Lack, Support};

/// How one clause is held, with a reason where there is something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding(pub(crate) Held, pub(crate) Option<String>);

impl Holding {
    const ENFORCED: Self = Self(Held::Enforced, None);

    fn stricter(why: &str) -> Self {
        Self(Held::Stricter, Some(why.to_owned()))
    }

    fn not(why: impl Into<String>) -> Self {
        Self(Held::Unenforced, Some(why.into()))
    }
}

impl From<&Lack> for Holding {
    /// What is lacking is not held.
    fn from(lack: &Lack) -> Self {
        Self::not(lack.why.as_str())
    }
}

/// Says how a backend holds a clause of a profile on this machine.
pub(crate) fn holding(
    backend: Backend,
    clause: Clause,
    profile: &Confined,
    support: &Support,
) -> Holding {
    let by = match backend {
        Backend::Namespaces => namespaces::holding,
        Backend::Bubblewrap => bubblewrap::holding,
        Backend::Landlock => landlock::holding,
        Backend::Seatbelt => seatbelt::holding,
    };
    by(clause, profile, support)
}
