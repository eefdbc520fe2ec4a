//! The recorded lists of the agents' own tools (`corpus/tools`).

/// The tools of the pinned Claude Code.
const CLAUDE: &str = include_str!("../../corpus/tools/claude-code.tsv");

/// The tools of the pinned Codex.
const CODEX: &str = include_str!("../../corpus/tools/codex.tsv");

/// Fails if Claude Code has a tool that its list does not contain.
pub(crate) fn check_claude<'a>(offered: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    // The client reports its tool `Agent` by its old name.
    let names = offered.into_iter().map(|name| if name == "Task" { "Agent" } else { name });
    check(names, CLAUDE, "claude-code.tsv")
}

/// Fails if Codex has a tool that its list does not contain.
pub(crate) fn check_codex<'a>(offered: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    check(offered, CODEX, "codex.tsv")
}

fn check<'a>(
    offered: impl IntoIterator<Item = &'a str>,
    list: &str,
    file: &str,
) -> Result<(), String> {
    let offered: Vec<_> = offered.into_iter().filter(|name| !is_server_tool(name)).collect();
    if offered.is_empty() {
        return Err("the client offers no tool".to_owned());
    }
    let is_listed = |name: &&str| list.lines().skip(1).any(|line| first_field(line) == *name);
    let unknown: Vec<_> = offered.into_iter().filter(|name| !is_listed(name)).collect();
    match unknown[..] {
        [] => Ok(()),
        _ => Err(format!("not in corpus/tools/{file}: {}", unknown.join(", "))),
    }
}

fn first_field(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

/// Returns whether a server of the user offers the tool.
fn is_server_tool(name: &str) -> bool {
    name.starts_with("mcp__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_not_listed_is_named() {
        assert_eq!(check_claude(["Bash", "Task", "mcp__x__y"]), Ok(()));
        let unknown = check_claude(["Bash", "Teleport"]).unwrap_err();
        assert_eq!(unknown, "not in corpus/tools/claude-code.tsv: Teleport");
        assert!(check_codex([]).is_err());
    }
}
