//! Translation of `sandbox.paths`. Paths outside of every sandbox are denied. Paths in a sandbox
//! are allowed, asked about or denied.
//!
//! If sandboxes are nested, the strictest one applies, because the format does not define which one
//! is meant.

use openoxide_permission::{Pattern, SubjectKind, glob::Glob, pattern::path::to_subject};
use openoxide_protocol::{AbsPath, Effect};

use super::{
    LlmDoTranslator,
    config_file::{LlmDoPathConfig, LlmDoPathMode, LlmDoSandbox, value_line, value_span},
};
use crate::policy_translation::PolicyTextError;

impl LlmDoTranslator<'_> {
    pub(super) fn translate_sandbox(&mut self, sandbox: &LlmDoSandbox) {
        if let Some(required) = &sandbox.require_os_sandbox
            && required.value
        {
            self.add_note(
                value_line(required),
                "`require_os_sandbox` is about confinement: `check` decides only",
            );
        }
        let everything =
            [SubjectKind::Read, SubjectKind::Edit].map(|space| build_pattern(space, any_glob()));
        self.add_rule(Effect::Deny, "sandbox.paths".to_owned(), 0, everything.to_vec());
        let mut said: Vec<(Effect, &str, &LlmDoPathConfig, SubjectKind)> = Vec::new();
        for (name, config) in &sandbox.paths {
            let [read, edit] = path_effects(config);
            said.push((read, name, config, SubjectKind::Read));
            said.push((edit, name, config, SubjectKind::Edit));
        }
        // The last rule that matches decides.
        said.sort_by_key(|(effect, ..)| *effect);
        for (effect, name, config, space) in said {
            self.translate_path(effect, name, config, space);
        }
    }

    fn translate_path(
        &mut self,
        effect: Effect,
        name: &str,
        config: &LlmDoPathConfig,
        space: SubjectKind,
    ) {
        let Some(root) = self.parse_root(config) else { return };
        let verb = if space == SubjectKind::Read { "read" } else { "write" };
        let text = format!("sandbox.paths.{name}({verb})");
        let (line, start) = (value_line(&config.root), to_subject(&root));
        let Some(suffixes) = &config.suffixes else {
            let mut below = Glob::new();
            below.push_literal(start.as_bytes());
            below.push_any();
            return self.add_rule(effect, text, line, vec![build_pattern(space, below)]);
        };
        let mut files = Vec::new();
        for suffix in suffixes {
            match suffix_pattern(&start, &suffix.value) {
                Some(glob) => files.push(build_pattern(space, glob)),
                None if space == SubjectKind::Read => {
                    self.add_note(
                        super::config_file::value_line(suffix),
                        "no file has this suffix",
                    );
                }
                None => {}
            }
        }
        self.add_rule(effect, text.clone(), line, files);
        // Listing or searching the directory reveals files with every suffix.
        let mut itself = Glob::new();
        itself.push_literal(start.as_bytes());
        self.add_rule(effect.max(Effect::Ask), text, line, vec![build_pattern(space, itself)]);
    }

    fn parse_root(&mut self, config: &LlmDoPathConfig) -> Option<AbsPath> {
        let text = config.root.value.as_str();
        let home = text.strip_prefix('~').map(|rest| (rest.trim_start_matches('/'), text));
        match (home, self.anchors.home) {
            (None, _) if !text.is_empty() => return Some(self.anchors.base.join(text)),
            (Some((rest, text)), Some(home)) if text == "~" || text.starts_with("~/") => {
                return Some(home.join(rest));
            }
            _ => {}
        }
        let fault = PolicyTextError::new(
            format!("`{text}` is not a directory"),
            value_span(&config.root.referenced),
        );
        if !self.errors.contains(&fault) {
            self.errors.push(fault);
        }
        None
    }
}

/// Returns the effects of a read and of a write.
fn path_effects(config: &LlmDoPathConfig) -> [Effect; 2] {
    let asked = |asked| if asked { Effect::Ask } else { Effect::Allow };
    let mut effects = [asked(config.read_approval), asked(config.write_approval)];
    if config.mode == LlmDoPathMode::Ro {
        effects[1] = Effect::Deny;
    }
    // The length of a file is not known here.
    if config.max_file_bytes.is_some() {
        effects = effects.map(|effect| effect.max(Effect::Ask));
    }
    effects
}

/// Returns a pattern for files whose name ends in a suffix as defined by Python's `Path.suffix`,
/// such as `.txt` after at least one character.
fn suffix_pattern(start: &str, suffix: &str) -> Option<Glob> {
    let rest = suffix.strip_prefix('.')?;
    if rest.is_empty() || rest.contains(['.', '/', '\0']) {
        return None;
    }
    let mut glob = Glob::new();
    glob.push_literal(start.as_bytes());
    glob.push_any();
    glob.push_any_char();
    glob.push_literal(format!("{suffix}/").as_bytes());
    Some(glob)
}

fn any_glob() -> Glob {
    let mut glob = Glob::new();
    glob.push_any();
    glob
}

fn build_pattern(space: SubjectKind, glob: Glob) -> Pattern {
    Pattern { kind: space, program: glob.finish() }
}
