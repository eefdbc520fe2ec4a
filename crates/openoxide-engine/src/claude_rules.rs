//! The rules of Claude Code's own settings, which do not see a command that runs in the sandbox.

use std::{fs, io, path::PathBuf};

use openoxide_adapters::claude_code::{ClaudeSettings, translate_settings};
use openoxide_permission::{
    EvaluationContext, LayerKind, PathAnchors, PolicyStack, ReasonCode, decide_access,
    default_layer,
};
use openoxide_protocol::{AbsPath, Effect, OperationFacts, PermissionMode, SandboxAutoAllow};

use crate::engine::Engine;

/// The maximum size of a settings file.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;

impl Engine {
    /// Returns whether a rule in the settings of Claude Code could ask about or deny a script. An
    /// ask rule about every tool is left out, because it also applies to what replaces the script.
    ///
    /// Claude Code applies its rules to the replaced command. Rules of its command line are not
    /// known here. A file that cannot be read or parsed may contain such a rule.
    #[must_use]
    pub fn claude_rules_restrict(
        &self,
        script: &str,
        cwd: &AbsPath,
        facts: &OperationFacts,
    ) -> bool {
        let call = (script, cwd, facts);
        self.claude_settings_files()
            .into_iter()
            .any(|(kind, path)| self.claude_file_restricts(kind, &path, call).unwrap_or(true))
    }

    /// Returns the settings files, each with its layer.
    fn claude_settings_files(&self) -> Vec<(LayerKind, PathBuf)> {
        let home = self.home().map(|home| PathBuf::from(home.as_str()).join(".claude"));
        let named = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let project = PathBuf::from(self.project.as_str()).join(".claude");
        let user = [home, named]
            .into_iter()
            .flatten()
            .map(|directory| (LayerKind::User, directory.join("settings.json")));
        let managed = fs::read_dir("/etc/claude-code/managed-settings.d").into_iter().flatten();
        let managed = managed.flatten().map(|entry| (LayerKind::Managed, entry.path()));
        user.chain(managed)
            .chain([
                (LayerKind::Managed, PathBuf::from("/etc/claude-code/managed-settings.json")),
                (LayerKind::Project, project.join("settings.json")),
                (LayerKind::Local, project.join("settings.local.json")),
            ])
            .collect()
    }

    /// Returns `None` if the file cannot be evaluated.
    fn claude_file_restricts(
        &self,
        kind: LayerKind,
        path: &PathBuf,
        (script, cwd, facts): (&str, &AbsPath, &OperationFacts),
    ) -> Option<bool> {
        let text = match fs::metadata(path) {
            Ok(found) if found.is_file() && found.len() <= MAX_SETTINGS_BYTES => {
                fs::read_to_string(path).ok()?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
            Ok(_) | Err(_) => return None,
        };
        let settings = ClaudeSettings::parse(&text, &path.to_string_lossy(), &self.project).ok()?;
        if settings.restricts_script(script) {
            return Some(true);
        }
        let anchors = PathAnchors { home: self.home(), base: &self.project };
        let layer = translate_settings(&text, kind, &path.to_string_lossy(), anchors).ok()?;
        if !layer.errors.is_empty() {
            return None;
        }
        let policy = PolicyStack::compile(&[layer.layer, default_layer()]).ok()?;
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd,
            roots: &self.roots,
            policy_error: None,
            auto_allow: SandboxAutoAllow::Off,
        };
        Some(facts.accesses.iter().any(|access| {
            let outcome = decide_access(&policy, &context, access);
            let by_rule = matches!(outcome.reason, ReasonCode::Rule | ReasonCode::PartialMatch(_));
            let is_general = outcome
                .rule_match
                .is_some_and(|found| found.matches_everything || found.layer == LayerKind::Default);
            outcome.effect != Effect::Allow && by_rule && !is_general
        }))
    }
}
