//! Alternative names of screenshots. If a file is missing, Claude Code reads another one (observed
//! on 2.1.197).

use openoxide_protocol::Action;

use crate::{agent_hook::AgentHookCall, tool_action::parse_action};

/// The space that macOS writes before `AM` and `PM`.
const NARROW: char = '\u{202f}';

/// Returns the files that the tool `Read` opens if the named one is missing: those with the other
/// space before `AM.` or `PM.`.
#[must_use]
pub fn alternative_screenshot_paths(call: &AgentHookCall) -> Option<Action> {
    if call.tool != "Read" {
        return None;
    }
    let Action::Read { paths } = parse_action(&call.tool, &call.input) else { return None };
    let others: Vec<_> = paths.iter().flat_map(|path| other_spellings(path)).collect();
    (!others.is_empty()).then_some(Action::Read { paths: others })
}

/// Returns `path` with other spaces before `AM.` and `PM.`: one of them replaced by the other kind,
/// or all of the same kind.
fn other_spellings(path: &str) -> Vec<String> {
    let space = |(at, found): (usize, char)| {
        let rest = path.get(at + found.len_utf8()..).unwrap_or_default();
        let half = rest.get(..3).unwrap_or_default();
        let is_half = half.eq_ignore_ascii_case("am.") || half.eq_ignore_ascii_case("pm.");
        (matches!(found, ' ' | NARROW) && is_half).then_some((at, found))
    };
    let spaces: Vec<_> = path.char_indices().filter_map(space).collect();
    let with = |places: &[(usize, char)], other: Option<char>| {
        let mut text = path.to_owned();
        for (at, found) in places.iter().rev() {
            let swapped = if *found == ' ' { NARROW } else { ' ' };
            let new = other.unwrap_or(swapped).to_string();
            text.replace_range(*at..*at + found.len_utf8(), &new);
        }
        text
    };
    let one = spaces.iter().map(|space| with(&[*space], None));
    let all = [' ', NARROW].map(|other| with(&spaces, Some(other)));
    let mut others: Vec<_> = one.chain(all).filter(|other| other != path).collect();
    others.sort();
    others.dedup();
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_space_is_tried() {
        for (path, others) in [
            ("/p/Shot AM.png", &["/p/Shot\u{202f}AM.png"][..]),
            ("/p/Shot\u{202f}PM.png", &["/p/Shot PM.png"]),
            ("/p/9.41 pm.jpeg", &["/p/9.41\u{202f}pm.jpeg"]),
            ("/p/a AM.d/b", &["/p/a\u{202f}AM.d/b"]),
            ("/p/SpAM.png", &[]),
            ("/p/a AMX.png", &[]),
            ("/p/a AM", &[]),
        ] {
            assert_eq!(other_spellings(path), others, "{path}");
        }
        let two = other_spellings("a AM.b PM.c");
        assert_eq!(two, ["a AM.b\u{202f}PM.c", "a\u{202f}AM.b PM.c", "a\u{202f}AM.b\u{202f}PM.c"]);
    }
}
