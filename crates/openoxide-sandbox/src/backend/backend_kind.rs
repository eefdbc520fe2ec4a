//! The backends.

use serde::{Deserialize, Serialize};

/// A way to confine a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxBackend {
    /// Own namespaces, Landlock and seccomp, without any other program.
    Namespaces,
    /// The `bwrap` program of the system.
    Bubblewrap,
    /// Only Landlock and seccomp.
    Landlock,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

impl SandboxBackend {
    /// The backends of this system, in order of preference.
    pub const HERE: &[Self] = if cfg!(target_os = "macos") {
        &[Self::Seatbelt]
    } else {
        &[Self::Namespaces, Self::Bubblewrap, Self::Landlock]
    };

    /// Returns the name of the backend, as in JSON.
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
