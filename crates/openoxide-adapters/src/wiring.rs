//! The OpenOxide hook in the settings of agents: installing, finding and removing it. Everything
//! else in the settings stays unchanged.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
    errors::ParseError,
};
use serde::de::IgnoredAny;
use serde_json::Value;
use thiserror::Error;

/// The reason for which settings cannot be changed, or for which a hook cannot be written.
#[derive(Debug, Error)]
pub enum WiringError {
    /// The settings are not JSON.
    #[error("invalid JSON: {0}")]
    InvalidJson(#[source] serde_json::Error),
    /// The settings cannot be parsed with their formatting.
    #[error("invalid JSON: {0}")]
    InvalidSyntax(#[source] Box<ParseError>),
    /// The settings are JSON, but not an object.
    #[error("expected a JSON object")]
    NotObject,
    /// An entry is not an object. Contains its key.
    #[error("`{0}` is not an object")]
    EntryNotObject(String),
    /// An entry is not a list. Contains its key.
    #[error("`{0}` is not a list")]
    EntryNotList(String),
    /// A key occurs more than once.
    #[error("`{0}` occurs more than once")]
    DuplicateKey(String),
    /// The path of the program cannot be written for a shell.
    #[error("{0:?}: invalid path for a hook")]
    UnusablePath(String),
}

/// The hook that is installed into the settings of an agent.
#[derive(Clone, Debug)]
pub struct HookWiring {
    /// The events at which the agent runs OpenOxide, each with its hook.
    pub hooks: Vec<(&'static str, CstInputValue)>,
    /// The matcher next to the hook in its group: the tools that the hook is called for.
    pub matcher: Option<&'static str>,
    /// Returns whether a hook belongs to OpenOxide, including hooks of earlier versions and of
    /// other directories.
    pub is_ours: fn(&Value) -> bool,
}

/// Settings after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiredSettings {
    /// The full text of the settings.
    pub text: String,
    /// The locations of the OpenOxide hooks, or their former locations if they were removed.
    pub hook_locations: Vec<HookLocation>,
}

/// The location of a hook: its event, its group and its index in the group, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookLocation {
    /// The name of the event.
    pub event: &'static str,
    /// The index of the group.
    pub group: usize,
    /// The index of the hook in its group.
    pub hook: usize,
}

impl HookWiring {
    /// Installs the hook after all others, or updates an existing one. An empty text is treated as
    /// empty settings.
    ///
    /// # Errors
    /// Returns an error if the text is not a JSON object, or if the key of the hooks has a value of
    /// another type. Such a value must not be overwritten.
    pub fn install(&self, text: &str) -> Result<WiredSettings, WiringError> {
        let settings = AgentSettings::parse(text)?;
        let hooks = get_or_insert_object(&settings.object, "hooks")?;
        let mut places = Vec::new();
        for (event, hook) in &self.hooks {
            let groups = get_or_insert_array(&hooks, event)?;
            places.push(HookLocation { event, group: self.install_into(&groups, hook), hook: 0 });
        }
        Ok(WiredSettings { text: settings.to_text(), hook_locations: places })
    }

    /// Adds or updates the hook's group and returns its index. A group that also contains other
    /// hooks is not changed.
    fn install_into(&self, groups: &CstArray, hook: &CstInputValue) -> usize {
        let elements = groups.elements();
        for (at, element) in elements.iter().enumerate() {
            let there = element.to_serde_value().unwrap_or_default();
            if self.has_only_our_hooks(&there) {
                if there != to_json_value(self.build_group(hook)) {
                    replace_element(element, self.build_group(hook));
                }
                return at;
            }
        }
        groups.append(self.build_group(hook));
        elements.len()
    }

    /// Removes the hook. Other groups keep their indexes, because an agent may identify hooks by
    /// them.
    ///
    /// # Errors
    /// Returns an error if the text is not a JSON object.
    pub fn uninstall(&self, text: &str) -> Result<WiredSettings, WiringError> {
        let settings = AgentSettings::parse(text)?;
        let mut places = Vec::new();
        let Some(hooks) = settings.object.object_value("hooks") else {
            return Ok(WiredSettings { text: text.to_owned(), hook_locations: places });
        };
        for (event, _) in &self.hooks {
            let Some(groups) = hooks.array_value(event) else { continue };
            places.extend(self.uninstall_from(event, &groups));
            if groups.elements().is_empty() {
                hooks.get(event).into_iter().for_each(|property| property.remove());
            }
        }
        if places.is_empty() {
            return Ok(WiredSettings { text: text.to_owned(), hook_locations: places });
        }
        if hooks.properties().is_empty() {
            settings.object.get("hooks").into_iter().for_each(|property| property.remove());
        }
        Ok(WiredSettings { text: settings.to_text(), hook_locations: places })
    }

    fn uninstall_from(&self, event: &'static str, groups: &CstArray) -> Vec<HookLocation> {
        let mut places = Vec::new();
        for (group, element) in groups.elements().into_iter().enumerate().rev() {
            let there = element.to_serde_value().unwrap_or_default();
            let ours = group_hooks(&there).iter().map(self.is_ours).collect::<Vec<_>>();
            let found = ours.iter().enumerate().filter(|(_, ours)| **ours);
            places.extend(found.map(|(hook, _)| HookLocation { event, group, hook }));
            if self.has_only_our_hooks(&there) {
                match groups.elements().len() == group + 1 {
                    true => element.remove(),
                    false => replace_element(&element, empty_group()),
                }
            } else if let Some(hooks) = element.as_object().and_then(|one| one.array_value("hooks"))
            {
                let gone = hooks.elements().into_iter().zip(ours).filter(|(_, ours)| *ours);
                gone.for_each(|(hook, _)| hook.remove());
            }
        }
        places
    }

    fn has_only_our_hooks(&self, group: &Value) -> bool {
        let hooks = group_hooks(group);
        !hooks.is_empty() && hooks.iter().all(self.is_ours)
    }

    fn build_group(&self, hook: &CstInputValue) -> CstInputValue {
        let matcher = self.matcher.map(|matcher| ("matcher".to_owned(), matcher.into()));
        let hooks = ("hooks".to_owned(), CstInputValue::Array(vec![hook.clone()]));
        CstInputValue::Object(matcher.into_iter().chain([hooks]).collect())
    }
}

/// Returns a group without hooks, which replaces a group of OpenOxide.
fn empty_group() -> CstInputValue {
    CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(Vec::new()))])
}

/// The settings of an agent, with their formatting and comments.
#[derive(Debug)]
pub struct AgentSettings {
    /// The root node. The other nodes refer to it.
    root: CstRootNode,
    /// The outermost object.
    pub object: CstObject,
}

impl AgentSettings {
    /// Parses settings. An empty text is an empty object.
    ///
    /// # Errors
    /// Returns an error with the line if the text is not JSON (RFC 8259: agents skip a file with
    /// comments), or if it is not an object.
    pub fn parse(text: &str) -> Result<Self, WiringError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        // A more lenient parser than the agent's could put a hook into a file that the agent does
        // not accept.
        serde_json::from_str::<IgnoredAny>(text).map_err(WiringError::InvalidJson)?;
        let root = CstRootNode::parse(text, &ParseOptions::default())
            .map_err(|error| WiringError::InvalidSyntax(Box::new(error)))?;
        let object = root.object_value().ok_or(WiringError::NotObject)?;
        Ok(Self { root, object })
    }

    /// Returns the text of the settings.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.root.to_string()
    }
}

/// Returns the object under a key, and creates it if the key is missing.
pub fn get_or_insert_object(parent: &CstObject, key: &str) -> Result<CstObject, WiringError> {
    check_unique_key(parent, key)?;
    parent.object_value_or_create(key).ok_or_else(|| WiringError::EntryNotObject(key.to_owned()))
}

/// Returns the list under a key, and creates it if the key is missing.
pub fn get_or_insert_array(parent: &CstObject, key: &str) -> Result<CstArray, WiringError> {
    check_unique_key(parent, key)?;
    parent.array_value_or_create(key).ok_or_else(|| WiringError::EntryNotList(key.to_owned()))
}

/// Checks that a key does not occur twice. If it does, the agent decides which occurrence it uses.
fn check_unique_key(parent: &CstObject, key: &str) -> Result<(), WiringError> {
    let same = |name: &String| name == key;
    let names = parent.properties().into_iter().filter_map(|property| property.decoded_name());
    match names.filter(same).count() {
        0 | 1 => Ok(()),
        _ => Err(WiringError::DuplicateKey(key.to_owned())),
    }
}

fn group_hooks(group: &Value) -> &[Value] {
    group.get("hooks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn replace_element(element: &CstNode, with: CstInputValue) {
    if let Some(object) = element.as_object() {
        object.replace_with(with);
    }
}

/// Converts a value in the form for writing into a JSON value.
fn to_json_value(written: CstInputValue) -> Value {
    let root = CstRootNode::parse("null", &ParseOptions::default());
    let whole = |root: CstRootNode| {
        root.set_value(written);
        root.to_serde_value()
    };
    root.ok().and_then(whole).unwrap_or_default()
}

/// Returns the words of a hook's command, if the hook starts a program.
pub fn hook_command_words(hook: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let command = hook.get("command").and_then(Value::as_str)?;
    match hook.get("args").and_then(Value::as_array) {
        Some(args) => {
            std::iter::once(Some(command.to_owned())).chain(args.iter().map(text)).collect()
        }
        None => shlex::split(command),
    }
}

/// The shell text after the program in an OpenOxide hook.
pub const BLOCK_ON_FAILURE: &str =
    " || { echo 'OpenOxide gave no answer, so the call is blocked' >&2; exit 2; }";

/// The part of a client's hook timeout that is reserved for work other than the wait for an answer,
/// in seconds.
const TIMEOUT_MARGIN_SECONDS: u32 = 10;

/// Returns the timeout of a client's hook in which a question can wait for an answer in another
/// terminal, in seconds.
#[must_use]
pub const fn timeout_for_wait(wait_seconds: u32) -> u32 {
    wait_seconds.saturating_add(TIMEOUT_MARGIN_SECONDS)
}

/// The program that a hook starts, with its options.
#[derive(Clone, Copy, Debug)]
pub struct HookInvocation<'a> {
    /// The absolute path of the program.
    pub program: &'a str,
    /// How long a question waits for an answer in another terminal, in seconds.
    pub wait: Option<u32>,
}

impl<'a> From<&'a str> for HookInvocation<'a> {
    fn from(program: &'a str) -> Self {
        Self { program, wait: None }
    }
}

/// Returns the wait of the OpenOxide hooks in the settings of an agent, in seconds.
#[must_use]
pub fn wired_wait(settings: &Value, agent: &str) -> Option<u32> {
    let groups = settings.get("hooks")?.as_object()?.values().filter_map(Value::as_array).flatten();
    let mut hooks = groups.flat_map(group_hooks).filter(|hook| starts_openoxide(hook, agent));
    hooks.find_map(|hook| {
        let words = hook_command_words(hook)?;
        words.iter().find_map(|word| word.strip_prefix("--wait=")?.parse().ok())
    })
}

/// Returns the shell command that answers a hook of this agent, and blocks the call if the program
/// is missing or crashes. Agents continue after every status except 2, and Codex requires a reason
/// with it.
///
/// # Errors
/// Returns an error if the path cannot be written for a shell.
pub fn blocking_command(
    invocation: HookInvocation<'_>,
    agent: &str,
) -> Result<String, WiringError> {
    let wait = invocation.wait.map_or_else(String::new, |seconds| format!(" --wait={seconds}"));
    Ok(hook_command(invocation.program, agent)? + &wait + BLOCK_ON_FAILURE)
}

/// The shell text after the program in a hook that reports the end of a call. The status 2 would
/// tell the model about an error of a call that has run.
const IGNORE_FAILURE: &str =
    " || { echo 'OpenOxide did not run, so the end of this call is not recorded' >&2; exit 1; }";

/// Returns the shell command that reports the end of a call to OpenOxide. If the program is missing
/// or crashes, only the report is lost.
///
/// # Errors
/// Returns an error if the path cannot be written for a shell.
pub fn reporting_command(program: &str, agent: &str) -> Result<String, WiringError> {
    Ok(hook_command(program, agent)? + IGNORE_FAILURE)
}

fn hook_command(program: &str, agent: &str) -> Result<String, WiringError> {
    shlex::try_join([program, "hook", agent])
        .map_err(|_| WiringError::UnusablePath(program.to_owned()))
}

/// Returns whether a hook starts OpenOxide for this agent: the program is called `openoxide`, or the
/// rest of the command is what `init` writes. The program may have another name, such as
/// `openoxide-0.2`.
pub fn starts_openoxide(hook: &Value, agent: &str) -> bool {
    let words = hook_command_words(hook).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [program, "hook", name, ..] => {
            *name == agent
                && (program.rsplit('/').next() == Some("openoxide") || has_written_ending(hook))
        }
        _ => false,
    }
}

/// Returns whether a shell command continues after its program as `init` writes it.
fn has_written_ending(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    [BLOCK_ON_FAILURE, IGNORE_FAILURE].into_iter().any(|ending| command.contains(ending))
}
