//! `sandbox.paths`: what lies in no sandbox is blocked, what lies in one is free, asked about or blocked.
//!
//! Where sandboxes lie inside of each other, the strictest counts, because the format does not say which one is meant.

use openoxide_permission::{Pattern, Space, glob::Glob, pattern::path::parts};
use openoxide_protocol::{AbsPath, Effect};

use super::{
    Translator,
    config::{Access, PathConfig, Sandbox, line, place},
};
use crate::foreign::Fault;

impl Translator<'_> {
    pub(super) fn sandbox(&mut self, sandbox: &Sandbox) {
        if let Some(required) = &sandbox.require_os_sandbox
            && required.value
        {
            self.note(
                line(required),
                "`require_os_sandbox` is about confinement: `check` decides only",
            );
        }
        let everything = [Space::Read, Space::Edit].map(|space| pattern(space, any()));
        self.rule(Effect::Deny, "sandbox.paths".to_owned(), 0, everything.to_vec());
        let mut said: Vec<(Effect, &str, &PathConfig, Space)> = Vec::new();
        for (name, config) in &sandbox.paths {
            let [read, edit] = effects(config);
            said.push((read, name, config, Space::Read));
            said.push((edit, name, config, Space::Edit));
        }
        // The last match decides.
        said.sort_by_key(|(effect, ..)| *effect);
        for (effect, name, config, space) in said {
            self.path(effect, name, config, space);
        }
    }

    fn path(&mut self, effect: Effect, name: &str, config: &PathConfig, space: Space) {
        let Some(root) = self.root(config) else { return };
        let verb = if space == Space::Read { "read" } else { "write" };
        let text = format!("sandbox.paths.{name}({verb})");
        let (line, start) = (line(&config.root), parts(&root));
        let Some(suffixes) = &config.suffixes else {
            let mut below = Glob::new();
            below.literal(start.as_bytes());
            below.any();
            return self.rule(effect, text, line, vec![pattern(space, below)]);
        };
        let mut files = Vec::new();
        for suffix in suffixes {
            match with_suffix(&start, &suffix.value) {
                Some(glob) => files.push(pattern(space, glob)),
                None if space == Space::Read => {
                    self.note(super::config::line(suffix), "no file has this suffix");
                }
                None => {}
            }
        }
        self.rule(effect, text.clone(), line, files);
        // Who lists or searches the directory sees files of every suffix.
        let mut itself = Glob::new();
        itself.literal(start.as_bytes());
        self.rule(effect.max(Effect::Ask), text, line, vec![pattern(space, itself)]);
    }

    fn root(&mut self, config: &PathConfig) -> Option<AbsPath> {
        let text = config.root.value.as_str();
        let home = text.strip_prefix('~').map(|rest| (rest.trim_start_matches('/'), text));
        match (home, self.anchors.home) {
            (None, _) if !text.is_empty() => return Some(self.anchors.base.join(text)),
            (Some((rest, text)), Some(home)) if text == "~" || text.starts_with("~/") => {
                return Some(home.join(rest));
            }
            _ => {}
        }
        let fault =
            Fault::new(format!("`{text}` is not a directory"), place(&config.root.referenced));
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
        None
    }
}

/// Returns what becomes of a read and of a write.
fn effects(config: &PathConfig) -> [Effect; 2] {
    let asked = |asked| if asked { Effect::Ask } else { Effect::Allow };
    let mut effects = [asked(config.read_approval), asked(config.write_approval)];
    if config.mode == Access::Ro {
        effects[1] = Effect::Deny;
    }
    // How long a file is, is not known here.
    if config.max_file_bytes.is_some() {
        effects = effects.map(|effect| effect.max(Effect::Ask));
    }
    effects
}

/// Returns what matches files whose name ends in a suffix, as Python's `Path.suffix` has it: `.txt`, behind something.
fn with_suffix(start: &str, suffix: &str) -> Option<Glob> {
    let rest = suffix.strip_prefix('.')?;
    if rest.is_empty() || rest.contains(['.', '/', '\0']) {
        return None;
    }
    let mut glob = Glob::new();
    glob.literal(start.as_bytes());
    glob.any();
    glob.one();
    glob.literal(format!("{suffix}/").as_bytes());
    Some(glob)
}

fn any() -> Glob {
    let mut glob = Glob::new();
    glob.any();
    glob
}

fn pattern(space: Space, glob: Glob) -> Pattern {
    Pattern { space, code: glob.finish() }
}
