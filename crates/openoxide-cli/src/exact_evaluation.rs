//! `--exact`: what the program would answer whose policy it is.

mod codex_rules;

use std::{fs, path::Path};

use openoxide_adapters::{
    claude_code, opencode,
    policy_translation::{CallContext, DiskLookup, PolicyTextError},
};
use openoxide_protocol::{AbsPath, Decision};
use openoxide_store::{BrokenFile, UserEnvironment, read_regular_file};
use serde_json::Value;

use crate::{
    args::{CallArgs, GlobalArgs},
    policy_args,
    policy_formats::{self, PolicyProgram},
    user_messages,
    worktree::find_worktree,
};

/// No policy file is longer.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// Another program's policy, and where it holds.
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

/// A file that was named, and its text.
struct NamedFile {
    path: std::path::PathBuf,
    text: String,
}

impl ExactPolicy {
    /// Reads the policies that the arguments name. Returns `None` if one of them is not reliable,
    /// which has been reported then.
    pub(crate) fn from_args(args: &CallArgs, global: GlobalArgs) -> Result<Option<Self>, String> {
        let home = UserEnvironment::from_process().home;
        let cwd = policy_args::absolute_directory_or_cwd(args.policy.cwd.as_deref())?;
        let files = args
            .policy
            .policy
            .iter()
            .map(|path| read_named_file(path))
            .collect::<Result<Vec<_>, _>>()?;
        let judge = match common_program(args)? {
            PolicyProgram::Claude => read_claude_policy(args, &files),
            PolicyProgram::Opencode => read_opencode_policy(args, &files, home.as_ref()),
            PolicyProgram::Native => {
                return Err("--exact is about the policies of other programs".into());
            }
            PolicyProgram::Codex => Ok(read_codex_rules(args, &cwd, home.as_ref())),
            PolicyProgram::LlmDo => {
                return Err(
                    "--exact answers as Claude Code, Codex and OpenCode; leave it out".into()
                );
            }
        };
        match judge {
            Ok(judge) => Ok(Some(Self { evaluator: judge?, home, cwd })),
            Err(broken) => {
                broken.iter().for_each(|file| user_messages::print_broken_file(file, global.color));
                Ok(None)
            }
        }
    }

    /// Returns the answer to a tool call.
    pub(crate) fn evaluate_call(
        &self,
        tool: &str,
        input: &Value,
        cwd: &AbsPath,
    ) -> Result<Decision, String> {
        let worktree = find_worktree(cwd);
        let at = self.call_context(cwd, worktree.as_ref());
        match &self.evaluator {
            ExactEvaluator::Claude(policy) => {
                policy.check_call(tool, input, at).map_err(|error| error.to_string())
            }
            ExactEvaluator::Codex(rules) => {
                Ok(rules.evaluate_call(tool, input, cwd, self.home.as_ref()))
            }
            ExactEvaluator::OpenCode(policy) => {
                policy.check_call(tool, input, at).map_err(|error| error.to_string())
            }
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
    ) -> Result<Decision, String> {
        match &self.evaluator {
            ExactEvaluator::Claude(policy) => {
                let decision =
                    policy.check_patterns(permission, patterns, self.call_context(cwd, None));
                decision.map_err(|error| error.to_string())
            }
            ExactEvaluator::Codex(rules) => {
                Ok(rules.evaluate_question(permission, patterns, cwd, self.home.as_ref()))
            }
            ExactEvaluator::OpenCode(policy) => Ok(policy.check_request(permission, patterns)),
        }
    }
}

/// Returns the program that all policies are for.
fn common_program(args: &CallArgs) -> Result<PolicyProgram, String> {
    let mut all =
        args.policy.policy.iter().map(|path| PolicyProgram::detect(path, args.policy.format));
    let first = all.next().ok_or("--exact needs --policy FILE")??;
    match all.all(|other| other == Ok(first)) {
        true => Ok(first),
        false => Err("--exact judges by the policies of one program at a time".to_owned()),
    }
}

fn read_named_file(path: &Path) -> Result<NamedFile, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = read_regular_file(path, MAX_POLICY_BYTES).map_err(|error| cannot(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| cannot(&error))?;
    Ok(NamedFile { path: path.to_owned(), text })
}

impl NamedFile {
    fn base_directory(&self) -> AbsPath {
        let path = std::path::absolute(&self.path).ok();
        let path = path.and_then(|path| AbsPath::new(path.to_str()?).ok());
        path.as_ref().map_or_else(AbsPath::root, policy_formats::settings_base_directory)
    }

    fn to_broken_file(&self, faults: Vec<PolicyTextError>) -> BrokenFile {
        let (path, text) = (self.path.clone(), self.text.clone());
        BrokenFile { path, text, problems: policy_formats::faults_to_problems(faults) }
    }
}

type ExactReadResult = Result<Result<ExactEvaluator, String>, Vec<BrokenFile>>;

fn read_claude_policy(args: &CallArgs, files: &[NamedFile]) -> ExactReadResult {
    if args.agent.is_some() {
        return Ok(Err("only OpenCode has rules for agents".to_owned()));
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
        return Err(broken);
    }
    settings.notes.iter().for_each(user_messages::print_note);
    Ok(Ok(ExactEvaluator::Claude(claude_code::ClaudePolicy::new(
        settings,
        args.policy.mode.map(Into::into),
    ))))
}

fn read_codex_rules(
    args: &CallArgs,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) -> Result<ExactEvaluator, String> {
    if args.agent.is_some() || args.policy.mode.is_some() {
        return Err("Codex's rules have no modes, and none for agents".to_owned());
    }
    codex_rules::CodexRuleFiles::read(&args.policy.policy, cwd, home).map(ExactEvaluator::Codex)
}

/// The last file is the lowest layer.
fn read_opencode_policy(
    args: &CallArgs,
    files: &[NamedFile],
    home: Option<&AbsPath>,
) -> ExactReadResult {
    if args.policy.mode.is_some() {
        return Ok(Err("OpenCode has no modes".to_owned()));
    }
    let (mut config, mut broken) = (opencode::OpenCodeConfig::default(), Vec::new());
    for file in files.iter().rev() {
        match opencode::OpenCodeConfig::parse(&file.text, &file.path.to_string_lossy()) {
            Ok(higher) => config = config.merge_with(higher),
            Err(faults) => broken.push(file.to_broken_file(faults)),
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    Ok(opencode::OpenCodePolicy::for_agent(&config, args.agent.as_deref(), home)
        .map(ExactEvaluator::OpenCode)
        .map_err(|error| error.to_string()))
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
