//! A permission request of OpenCode.

/// A permission and the patterns that it is requested for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCodeRequest {
    /// The name of the permission.
    pub permission: String,
    /// The patterns that the permission is requested for.
    pub patterns: Vec<String>,
    /// The patterns that "always" would allow.
    pub always_patterns: Vec<String>,
}

impl OpenCodeRequest {
    pub(crate) fn new(
        permission: &str,
        patterns: Vec<String>,
        always_patterns: Vec<String>,
    ) -> Self {
        Self { permission: permission.to_owned(), patterns, always_patterns }
    }

    pub(super) fn for_pattern(permission: &str, pattern: impl Into<String>) -> Self {
        Self::new(permission, vec![pattern.into()], vec!["*".to_owned()])
    }
}
