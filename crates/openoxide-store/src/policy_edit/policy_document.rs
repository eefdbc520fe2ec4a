//! Parsing a policy file into a document that can be changed.

use toml_edit::DocumentMut;

/// The text is not valid TOML, or does not have the structure of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyEditError(pub(super) String);

/// Parses a policy, with its comments and order.
pub(super) fn parse_document(text: &str) -> Result<DocumentMut, PolicyEditError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        PolicyEditError(error.to_string().trim_end().to_owned())
    })
}
