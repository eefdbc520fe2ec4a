//! The backends.

use serde::{Deserialize, Serialize};

/// A way to confine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxBackend {
    /// Own namespaces, Landlock and seccomp, without any other program.
    Namespaces,
    /// The `bwrap` of the system.
    Bubblewrap,
    /// Landlock and seccomp alone.
    Landlock,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

impl SandboxBackend {
    /// Those of this system, the best first.
    pub const HERE: &[Self] = if cfg!(target_os = "macos") {
        &[Self::Seatbelt]
    } else {
        &[Self::Namespaces, Self::Bubblewrap, Self::Landlock]
    };

    /// Returns its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }
}
