//! What OpenCode's bash tool asks about: every command in a script, wherever it stands.

use tree_sitter::Node;

use super::{Question, arity, outside};
use crate::{foreign::Surroundings, script::Script};

/// Change the directory, and are not asked about themselves.
const MOVING: &[&str] = &["cd", "chdir", "popd", "pushd", "push-location", "set-location"];

/// Kinds of nodes that become words; numbers, variables and substitutions are left out.
const WORDS: &[&str] = &["command_name", "word", "string", "raw_string", "concatenation"];

/// Returns the questions of a script, in the order in which they are raised.
///
/// # Errors
/// When it is too long to be read.
pub(crate) fn questions(
    text: &str,
    workdir: Option<&str>,
    at: Surroundings<'_>,
) -> Result<Vec<Question>, String> {
    let script = Script::read(text).ok_or("the command is too long to be read")?;
    let place = workdir.map_or_else(|| at.cwd.clone(), |directory| at.cwd.join(directory));
    let (mut directories, mut patterns, mut always) = (Vec::new(), Vec::new(), Vec::new());
    for command in script.all("command") {
        let words = words(&script, command);
        let name = words.first().copied().unwrap_or_default();
        let left = outside::arguments(name, &words)
            .filter_map(|path| outside::directory(&outside::written(path, &place, at)?, at));
        left.for_each(|directory| add(&mut directories, directory));
        if !MOVING.contains(&name) {
            add(&mut patterns, source(&script, command).to_owned());
            add(&mut always, arity::always(&words));
        }
    }
    if !outside::is_inside(&place, at) {
        add(&mut directories, place);
    }
    let directories: Vec<_> = directories.iter().map(outside::pattern).collect();
    let all = [
        Question::new("external_directory", directories.clone(), directories),
        Question::new("bash", patterns, always),
    ];
    Ok(all.into_iter().filter(|question| !question.patterns.is_empty()).collect())
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Returns the text of a command, with its redirections.
fn source<'a>(script: &Script<'a>, command: Node<'_>) -> &'a str {
    let around = command.parent().filter(|parent| parent.kind() == "redirected_statement");
    script.text(around.unwrap_or(command)).trim()
}

fn words<'a>(script: &Script<'a>, command: Node<'_>) -> Vec<&'a str> {
    let mut cursor = command.walk();
    let children = command.children(&mut cursor).filter(|child| WORDS.contains(&child.kind()));
    children.map(|child| script.text(child)).collect()
}
