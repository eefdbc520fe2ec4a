//! Scripts in an encoding in which a quote can be part of a character.
//!
//! A shell reads a script in the encoding of its locale. In GBK and similar encodings, a backslash
//! or a quote after a non-ASCII byte is the second byte of a character.

use openoxide_protocol::{Access, OperationFacts, Span};
use openoxide_shell::is_ascii_compatible_locale;

/// Makes a script with non-ASCII characters opaque if the locale of this process has an encoding
/// other than UTF-8. The shell would be started with that locale.
pub(crate) fn check(facts: &mut OperationFacts, script: &str) {
    let variable = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(variable);
    let locale = locale.unwrap_or_default();
    let known = locale.to_str().is_some_and(is_ascii_compatible_locale);
    if !known && holds_longer_characters(script) {
        let text = "characters that another encoding reads otherwise".to_owned();
        facts.accesses.push(Access::Opaque { text, span: Span::new(0, script.len()) });
    }
}

/// Returns whether a script contains non-ASCII bytes, directly or in quotes such as `$'\xb6'`.
fn holds_longer_characters(script: &str) -> bool {
    !script.is_ascii() || script.contains("$'")
}
