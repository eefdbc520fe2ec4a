//! Settings of formatters and linters on the command line.

use super::super::ArgumentWord;

/// Settings of rustfmt that only change how the text is formatted.
const RUSTFMT_LAYOUT: [&str; 24] = [
    "binop_separator",
    "brace_style",
    "chain_width",
    "comment_width",
    "edition",
    "fn_call_width",
    "fn_params_layout",
    "format_code_in_doc_comments",
    "format_strings",
    "group_imports",
    "hard_tabs",
    "imports_granularity",
    "indent_style",
    "match_block_trailing_comma",
    "max_width",
    "newline_style",
    "normalize_comments",
    "reorder_imports",
    "reorder_modules",
    "style_edition",
    "tab_spaces",
    "use_field_init_shorthand",
    "use_small_heuristics",
    "wrap_comments",
];

/// Returns whether `rustfmt --config KEY=VALUE,…` changes only the layout, and not where it writes.
pub(in super::super) fn is_harmless_rustfmt_setting(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    let is_layout = |setting: &str| {
        setting.split_once('=').is_some_and(|(key, _)| RUSTFMT_LAYOUT.contains(&key))
    };
    name != "config"
        || matches!(value, Some(ArgumentWord::Known(text)) if text.split(',').all(is_layout))
}

/// Returns whether yamllint extends only a configuration of its own. It prints lines of a file that
/// it extends and does not understand, and a file that `-c` names can extend others.
pub(in super::super) fn is_harmless_yamllint_setting(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    const OWN_FILES: [&str; 3] = [".yamllint", ".yamllint.yaml", ".yamllint.yml"];
    match (name, value) {
        ("d" | "config-data", Some(ArgumentWord::Known(text))) => extends_own_settings(text),
        ("c" | "config-file", Some(ArgumentWord::Known(text))) => {
            OWN_FILES.contains(&text.rsplit('/').next().unwrap_or(text))
        }
        ("d" | "config-data" | "c" | "config-file", _) => false,
        _ => true,
    }
}

/// Returns whether each `extends` in a configuration names one that is a part of yamllint. Without
/// a colon the text is itself such a name.
#[must_use]
pub fn extends_own_settings(text: &str) -> bool {
    let is_own = |name: &str| matches!(name, "" | "default" | "relaxed" | "empty");
    if !text.contains(':') {
        return is_own(text.trim());
    }
    let mut rest = text.split("extends");
    rest.next();
    !text.contains('\\')
        && rest.all(|after| {
            let value = after.trim_start().strip_prefix(':').unwrap_or("?").trim_start();
            let end = value.find([',', '}', '\n']).unwrap_or(value.len());
            is_own(value.get(..end).unwrap_or_default().trim().trim_matches(['"', '\'']))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// yamllint 1.37, `cli.py`: data without a colon is the name of a configuration.
    #[test]
    fn only_the_own_configurations_are_extended() {
        for text in ["relaxed", "{extends: default, rules: {}}", "extends: relaxed", "rules: {}"] {
            assert!(extends_own_settings(text), "{text}");
        }
        for text in [
            ".env",
            "extends: .env",
            "{extends: default, \"extends\": .env}",
            "? extends\n: .env",
            "\"e\\x78tends\": .env",
        ] {
            assert!(!extends_own_settings(text), "{text}");
        }
    }
}
