//! `--exact`: the answers that the program of a policy would give itself.

mod codex_rules;

use std::{fs, path::Path};

use openoxide_adapters::{
    claude_code, opencode,
    policy_translation::{CallContext, DiskLookup, PolicyTextError},
    tool_input_error::ToolInputError,
};
use openoxide_engine::absolute_directory;
use openoxide_formats::{
    PolicyProgram, find_worktree, settings_base_directory, to_policy_problems,
};
use openoxide_protocol::{AbsPath, Decision};
use openoxide_store::{BrokenFile, UserEnvironment, read_text};
use serde_json::Value;

use crate::{
    args::{CallArgs, GlobalArgs, PolicyArgs},
    error::{CliError, exact_policy_error::ExactPolicyError, file_error::FileError},
    user_messages,
};

/// The maximum size of a policy file.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// Another program's policy, and the directory that it applies to.
pub(crate) struct ExactPolicy {
    evaluator: ExactEvaluator,
    home: Option<AbsPath>,
    pub(crate) cwd: AbsPath,
}

enum ExactEvaluator {
    Claude(claude_code::ClaudePolicy),
    Codex(codex_rules::CodexRuleFiles),
    OpenCode(opencode::OpenCodePolicy),
}

/// A named file with its text.
struct NamedFile {
    path: std::path::PathBuf,
    text: String,
}

impl ExactPolicy {
    /// Reads the policies that the arguments name. Returns `None` if a file has errors, which have
    /// been reported then.
    pub(crate) fn from_args(args: &CallArgs, global: GlobalArgs) -> Result<Option<Self>, CliError> {
        let home = UserEnvironment::from_process().home;
        let cwd = absolute_directory(args.policy.cwd.as_deref())?;
        let files = args
            .policy
            .policy
            .iter()
            .map(|path| read_named_file(path))
            .collect::<Result<Vec<_>, _>>()?;
        let evaluator = match common_program(args)? {
            PolicyProgram::Claude => read_claude_policy(args, &files),
            PolicyProgram::Opencode => read_opencode_policy(args, &files, home.as_ref()),
            PolicyProgram::Codex => read_codex_rules(args, &cwd, home.as_ref()),
            PolicyProgram::Native => Err(ExactPolicyError::NativePolicy),
            PolicyProgram::LlmDo => Err(ExactPolicyError::UnsupportedProgram),
        };
        match evaluator {
            Ok(evaluator) => Ok(Some(Self { evaluator, home, cwd })),
            Err(ExactPolicyError::BrokenFiles(files)) => {
                files.iter().for_each(|file| user_messages::print_broken_file(file, global.color));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the answer to a tool call.
    pub(crate) fn evaluate_call(
        &self,
        tool: &str,
        input: &Value,
        cwd: &AbsPath,
    ) -> Result<Decision, ToolInputError> {
        let worktree = find_worktree(cwd);
        let at = self.call_context(cwd, worktree.as_ref());
        match &self.evaluator {
            ExactEvaluator::Claude(policy) => policy.check_call(tool, input, at),
            ExactEvaluator::Codex(rules) => {
                Ok(rules.evaluate_call(tool, input, cwd, self.home.as_ref()))
            }
            ExactEvaluator::OpenCode(policy) => policy.check_call(tool, input, at),
        }
    }

    fn call_context<'a>(
        &'a self,
        cwd: &'a AbsPath,
        worktree: Option<&'a AbsPath>,
    ) -> CallContext<'a> {
        CallContext { cwd, home: self.home.as_ref(), worktree, disk: &LocalDisk }
    }

    /// Returns the answer to a bare question.
    pub(crate) fn evaluate_question(
        &self,
        permission: &str,
        patterns: &[String],
        cwd: &AbsPath,
    ) -> Result<Decision, ToolInputError> {
        match &self.evaluator {
            ExactEvaluator::Claude(policy) => {
                policy.check_patterns(permission, patterns, self.call_context(cwd, None))
            }
            ExactEvaluator::Codex(rules) => {
                Ok(rules.evaluate_question(permission, patterns, cwd, self.home.as_ref()))
            }
            ExactEvaluator::OpenCode(policy) => Ok(policy.check_request(permission, patterns)),
        }
    }
}

/// Returns the program that all policies are for.
fn common_program(args: &CallArgs) -> Result<PolicyProgram, CliError> {
    let PolicyArgs { policy, format, .. } = &args.policy;
    let mut programs = Vec::new();
    for path in policy {
        programs.push(PolicyProgram::detect(path, *format)?);
    }
    let (first, others) = programs.split_first().ok_or(ExactPolicyError::NoPolicy)?;
    match others.iter().all(|other| other == first) {
        true => Ok(*first),
        false => Err(ExactPolicyError::SeveralPrograms.into()),
    }
}

fn read_named_file(path: &Path) -> Result<NamedFile, FileError> {
    let text = read_text(path, MAX_POLICY_BYTES).map_err(|error| FileError::new(path, error))?;
    Ok(NamedFile { path: path.to_owned(), text })
}

impl NamedFile {
    fn base_directory(&self) -> AbsPath {
        let path = std::path::absolute(&self.path).ok();
        let path = path.and_then(|path| AbsPath::new(path.to_str()?).ok());
        path.as_ref().map_or_else(AbsPath::root, settings_base_directory)
    }

    fn to_broken_file(&self, faults: Vec<PolicyTextError>) -> BrokenFile {
        let (path, text) = (self.path.clone(), self.text.clone());
        BrokenFile { path, text, problems: to_policy_problems(faults) }
    }
}

fn read_claude_policy(
    args: &CallArgs,
    files: &[NamedFile],
) -> Result<ExactEvaluator, ExactPolicyError> {
    if args.agent.is_some() {
        return Err(ExactPolicyError::NoAgents);
    }
    let (mut settings, mut broken) = (claude_code::ClaudeSettings::default(), Vec::new());
    for file in files.iter().rev() {
        match claude_code::ClaudeSettings::parse(
            &file.text,
            &file.path.to_string_lossy(),
            &file.base_directory(),
        ) {
            Ok(higher) => settings = settings.merge_with(higher),
            Err(faults) => broken.push(file.to_broken_file(faults)),
        }
    }
    if !broken.is_empty() {
        return Err(ExactPolicyError::BrokenFiles(broken));
    }
    settings.notes.iter().for_each(user_messages::print_note);
    let mode = args.policy.mode.map(Into::into);
    Ok(ExactEvaluator::Claude(claude_code::ClaudePolicy::new(settings, mode)))
}

fn read_codex_rules(
    args: &CallArgs,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) -> Result<ExactEvaluator, ExactPolicyError> {
    if args.agent.is_some() {
        return Err(ExactPolicyError::NoAgents);
    }
    if args.policy.mode.is_some() {
        return Err(ExactPolicyError::NoModes("Codex"));
    }
    let rules = codex_rules::CodexRuleFiles::read(&args.policy.policy, cwd, home)?;
    Ok(ExactEvaluator::Codex(rules))
}

/// Reads configuration files of OpenCode. The first file has the highest precedence.
fn read_opencode_policy(
    args: &CallArgs,
    files: &[NamedFile],
    home: Option<&AbsPath>,
) -> Result<ExactEvaluator, ExactPolicyError> {
    if args.policy.mode.is_some() {
        return Err(ExactPolicyError::NoModes("OpenCode"));
    }
    let (mut config, mut broken) = (opencode::OpenCodeConfig::default(), Vec::new());
    for file in files.iter().rev() {
        match opencode::OpenCodeConfig::parse(&file.text, &file.path.to_string_lossy()) {
            Ok(higher) => config = config.merge_with(higher),
            Err(faults) => broken.push(file.to_broken_file(faults)),
        }
    }
    if !broken.is_empty() {
        return Err(ExactPolicyError::BrokenFiles(broken));
    }
    let policy = opencode::OpenCodePolicy::for_agent(&config, args.agent.as_deref(), home)?;
    Ok(ExactEvaluator::OpenCode(policy))
}

struct LocalDisk;

impl DiskLookup for LocalDisk {
    fn is_directory(&self, path: &AbsPath) -> bool {
        Path::new(path.as_str()).is_dir()
    }

    fn resolve_links(&self, path: &AbsPath) -> AbsPath {
        let mut missing: Vec<String> = Vec::new();
        let mut place = path.clone();
        loop {
            let real = fs::canonicalize(place.as_str()).ok();
            if let Some(real) = real.and_then(|path| AbsPath::new(path.to_str()?).ok()) {
                return missing.iter().rev().fold(real, |path, name| path.join(name));
            }
            let (Some(name), Some(parent)) = (place.file_name(), place.parent()) else {
                return path.clone();
            };
            missing.push(name.to_owned());
            place = parent;
        }
    }
}
