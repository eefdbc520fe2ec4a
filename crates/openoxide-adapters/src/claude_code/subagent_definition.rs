//! Definitions of subagents: Markdown files with front matter in YAML.

use serde::Deserialize;

/// The subagents that Claude Code has itself. A definition with the same name replaces one.
pub const BUILT_IN_SUBAGENTS: [&str; 5] = ["Explore", "Plan", "claude", "fork", "general-purpose"];

#[derive(Deserialize)]
struct FrontMatter {
    name: Option<String>,
}

/// Returns whether the text of a definition may define the subagent `name`. A text that is not
/// understood may define any.
#[must_use]
pub fn may_define_subagent(text: &str, name: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let Some(rest) = text.strip_prefix("---") else { return text.contains("---") };
    let front_matter = rest.split("\n---").next().unwrap_or(rest);
    // Claude Code ends front matter at any `---`.
    if front_matter.contains("---") {
        return true;
    }
    match serde_saphyr::from_str::<FrontMatter>(front_matter) {
        Ok(FrontMatter { name: Some(defined) }) => defined.trim().eq_ignore_ascii_case(name),
        Ok(FrontMatter { name: None }) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_the_name_of_its_front_matter() {
        for (text, expected) in [
            ("---\nname: Explore\nhooks: {}\n---\nSearch.\n", true),
            ("---\ndescription: x\n\"name\": \"\\x45xplore\"\n---\n", true),
            ("\u{feff}---\r\nname: explore\r\n---\r\n", true),
            ("---\nname: review\ndescription: Like Explore\n---\nExplore\n", false),
            ("# Notes about Explore\n", false),
            // These are not understood.
            ("---\nname: review\nname: Explore\n---\n", true),
            ("---\nname: [Explore\n---\n", true),
            ("---\nname: Explore---\n---\n", true),
            ("---\nname: Explore --- x\n---\n", true),
            ("---\ndescription: x\n---\n", true),
            ("x\n---\nname: Explore\n---\n", true),
        ] {
            assert_eq!(may_define_subagent(text, "Explore"), expected, "{text}");
        }
    }
}
