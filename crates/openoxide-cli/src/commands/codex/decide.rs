//! `codex decide`: Codex's decisions about calls of its shell tool, one per line.

use std::{
    env,
    io::{self, Write},
    path::Path,
};

use openoxide_codex::exact_semantics::{
    CallEvaluator, CallOutcome, CodexDialect, ExecPolicy, LaunchContext, SandboxPermissions,
    ShellToolCall, WritableRoots,
};
use openoxide_protocol::SCHEMA;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    args::CodexDecideArgs,
    codex_rule_files::{absolute_directory_and_home, read_bounded_text, read_rule_files},
    commands::check::{batch_exit, row_id},
    error::codex_error::{CodexPolicyError, CodexRowError},
    json_lines,
    program_exit::ProgramExit,
};

/// A line of input: a call's fields, an object that contains a call, or a patch.
#[derive(Deserialize)]
struct CodexDecideRow {
    #[serde(default)]
    id: Option<Value>,
    cmd: Option<CodexCommandField>,
    patch: Option<String>,
    workdir: Option<String>,
    login: Option<bool>,
    sandbox_permissions: Option<SandboxPermissions>,
    additional_permissions: Option<Value>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`cmd` must be a string, or an object with a string `cmd`")]
enum CodexCommandField {
    Script(String),
    Call(ShellToolCall),
}

impl CodexDecideRow {
    fn into_call_outcome(self, judge: &CallEvaluator<'_>) -> Result<CallOutcome, CodexRowError> {
        match (self.cmd, self.patch) {
            (Some(CodexCommandField::Script(cmd)), None) => Ok(judge.decide(ShellToolCall {
                cmd,
                login: self.login,
                sandbox_permissions: self.sandbox_permissions,
                additional_permissions: self.additional_permissions,
                justification: self.justification,
                prefix_rule: self.prefix_rule,
                workdir: self.workdir,
            })),
            (Some(CodexCommandField::Call(call)), None) => Ok(judge.decide(call)),
            (None, Some(patch)) => Ok(judge.decide_apply_patch(&patch)),
            (Some(_), Some(_)) => Err(CodexRowError::TwoCalls),
            (None, None) => Err(CodexRowError::NoCall),
        }
    }
}

#[derive(Serialize)]
struct CodexDecideLine {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(flatten)]
    answer: CallOutcome,
}

/// Answers each line.
///
/// # Errors
///
/// If a rule file cannot be read, or Codex would reject it.
pub(super) fn decide_lines(args: &CodexDecideArgs) -> Result<ProgramExit, CodexPolicyError> {
    let (cwd, home) = absolute_directory_and_home(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let place = LaunchContext { cwd: &cwd, home: home.as_deref() };
    let mut policy = read_rule_files(&args.rules, &place)?;
    args.requirements
        .iter()
        .try_for_each(|path| add_requirements(&mut policy, path, args.dialect))?;
    let roots = writable_directories(args)?;
    let judge = CallEvaluator {
        policy: &policy,
        approval: args.policy,
        sandbox: args.sandbox,
        dialect: args.dialect,
        context: place,
        shell: &args.shell,
        writable_roots: WritableRoots { roots: &roots },
    };
    Ok(batch_exit(json_lines::answer_each_line(|line, output| write_answer(&judge, line, output))))
}

fn add_requirements(
    policy: &mut ExecPolicy,
    path: &Path,
    dialect: CodexDialect,
) -> Result<(), CodexPolicyError> {
    let text = read_bounded_text(path)?;
    Ok(policy.add_requirements(&path.to_string_lossy(), &text, dialect)?)
}

/// Returns the directories that a patch may write to: the named ones, and those for temporary
/// files.
fn writable_directories(args: &CodexDecideArgs) -> Result<Vec<String>, CodexPolicyError> {
    let set = env::var_os("TMPDIR").filter(|value| !value.is_empty());
    let temporary = ["/tmp".into()].into_iter().chain(set.map(Into::into));
    let all = args.writable.iter().cloned().chain(temporary);
    all.map(|directory| absolute_directory_and_home(&directory).map(|(absolute, _)| absolute))
        .collect()
}

fn decide_row(
    judge: &CallEvaluator<'_>,
    line: &[u8],
) -> Result<(Option<Value>, CallOutcome), CodexRowError> {
    let mut row = json_lines::parse_object::<CodexDecideRow>(line)?;
    Ok((row.id.take(), row.into_call_outcome(judge)?))
}

fn write_answer(judge: &CallEvaluator<'_>, line: &[u8], output: &mut dyn Write) -> io::Result<()> {
    match decide_row(judge, line) {
        Ok((id, answer)) => {
            serde_json::to_writer(&mut *output, &CodexDecideLine { schema: SCHEMA, id, answer })?;
        }
        Err(error) => {
            let answer =
                json!({ "schema": SCHEMA, "id": row_id(line), "error": error.to_string() });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}
