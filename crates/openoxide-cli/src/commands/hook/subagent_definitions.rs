//! Definitions in the project that replace the subagents of Claude Code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use openoxide_adapters::{
    agent_hook::AgentHookCall,
    claude_code::{BUILT_IN_SUBAGENTS, may_define_subagent},
    tool_action,
};
use openoxide_protocol::Action;
use openoxide_store::read_text;

/// The directory of the definitions in a project, and in the home directory.
const DEFINITIONS: &str = ".claude/agents";

/// The maximum number of files and directories that are examined.
const MAX_ENTRIES: usize = 512;

/// The maximum size of a definition.
const MAX_BYTES: u64 = 256 * 1024;

/// Returns an opaque action if the call starts a built-in subagent that a file of the project may
/// replace. Such a file can set the mode of the subagent, start servers and run hooks. The user's
/// own definitions are not examined.
pub(super) fn replaced_subagent_action(call: &AgentHookCall) -> Option<Action> {
    let Action::Delegate { agent } = tool_action::parse_action(&call.tool, &call.input) else {
        return None;
    };
    let name = BUILT_IN_SUBAGENTS.into_iter().find(|name| name.eq_ignore_ascii_case(&agent))?;
    let file = find_definition(&definition_directories(call), name)?;
    let file = file.display();
    Some(Action::Opaque { text: format!("{file} may replace the subagent {agent}") })
}

fn definition_directories(call: &AgentHookCall) -> BTreeSet<PathBuf> {
    let own = std::env::var_os("HOME").map(|home| Path::new(&home).join(DEFINITIONS));
    let own = own.and_then(|path| path.canonicalize().ok());
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let places = project.into_iter().chain([PathBuf::from(call.cwd.as_str())]);
    let above = places.flat_map(|place| {
        place.ancestors().map(|above| above.join(DEFINITIONS)).collect::<Vec<_>>()
    });
    let found = above.filter(|path| path.exists());
    found.filter(|path| own.is_none() || path.canonicalize().ok() != own).collect()
}

/// Returns a file that may define the subagent, or the first path that cannot be examined.
fn find_definition(directories: &BTreeSet<PathBuf>, name: &str) -> Option<PathBuf> {
    let mut left: Vec<PathBuf> = directories.iter().cloned().collect();
    let mut examined = 0;
    while let Some(path) = left.pop() {
        examined += 1;
        if examined > MAX_ENTRIES {
            return Some(path);
        }
        if path.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else { return Some(path) };
            left.extend(entries.flatten().take(MAX_ENTRIES + 1).map(|entry| entry.path()));
        } else if is_markdown(&path)
            && read_text(&path, MAX_BYTES).map_or(true, |text| may_define_subagent(&text, name))
        {
            return Some(path);
        }
    }
    None
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
