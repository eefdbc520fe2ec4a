//! `codex decide`: what Codex makes of calls of its shell tool, line by line.

use std::{
    env,
    io::{self, Write},
    path::Path,
};

use openoxide_adapters::codex::exact::{
    Answer, Call, Dialect, Judge, Place, Policy, SandboxPermissions, Writable,
};
use openoxide_protocol::SCHEMA;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    args::CodexDecideArgs,
    commands::check::{ended, id_of},
    exit::Exit,
    lines,
};

/// A line: a call, an object in which it stands, or a patch.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    id: Option<Value>,
    cmd: Option<Cmd>,
    patch: Option<String>,
    workdir: Option<String>,
    login: Option<bool>,
    sandbox_permissions: Option<SandboxPermissions>,
    additional_permissions: Option<Value>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`cmd` is a script, or an object in which `cmd` is one")]
enum Cmd {
    Script(String),
    Call(Call),
}

impl Row {
    fn answer(self, judge: &Judge<'_>) -> Result<Answer, &'static str> {
        match (self.cmd, self.patch) {
            (Some(Cmd::Script(cmd)), None) => Ok(judge.answer(Call {
                cmd,
                login: self.login,
                sandbox_permissions: self.sandbox_permissions,
                additional_permissions: self.additional_permissions,
                justification: self.justification,
                prefix_rule: self.prefix_rule,
                workdir: self.workdir,
            })),
            (Some(Cmd::Call(call)), None) => Ok(judge.answer(call)),
            (None, Some(patch)) => Ok(judge.patch(&patch)),
            (Some(_), Some(_)) => Err("a call has `cmd` or `patch`, not both"),
            (None, None) => Err("missing field `cmd`, or `patch`"),
        }
    }
}

#[derive(Serialize)]
struct Line {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(flatten)]
    answer: Answer,
}

/// Answers each line.
///
/// # Errors
/// When a rule file cannot be read, or Codex would not take it.
pub(super) fn decide(args: &CodexDecideArgs) -> Result<Exit, String> {
    let (cwd, home) = super::here(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let place = Place { cwd: &cwd, home: home.as_deref() };
    let mut policy = super::policy(&args.rules, &place)?;
    args.requirements.iter().try_for_each(|path| require(&mut policy, path, args.dialect))?;
    let roots = writable(args)?;
    let judge = Judge {
        policy: &policy,
        approval: args.policy,
        sandbox: args.sandbox,
        dialect: args.dialect,
        place,
        shell: &args.shell,
        writable: Writable { roots: &roots },
    };
    Ok(ended(lines::each(|line, output| answer(&judge, line, output))))
}

fn require(policy: &mut Policy, path: &Path, dialect: Dialect) -> Result<(), String> {
    let text =
        super::text(path).map_err(|error| super::failed("read", path, &error.to_string()))?;
    policy
        .require(&path.to_string_lossy(), &text, dialect)
        .map_err(|error| format!("Error: {error}"))
}

/// Returns the directories that a patch may write to: those that are named, and those for temporary files.
fn writable(args: &CodexDecideArgs) -> Result<Vec<String>, String> {
    let set = env::var_os("TMPDIR").filter(|value| !value.is_empty());
    let temporary = ["/tmp".into()].into_iter().chain(set.map(Into::into));
    let all = args.writable.iter().cloned().chain(temporary);
    all.map(|directory| super::here(&directory).map(|(absolute, _)| absolute)).collect()
}

fn answer(judge: &Judge<'_>, line: &[u8], output: &mut dyn Write) -> io::Result<()> {
    let row = lines::object::<Row>(line)
        .and_then(|mut row| Ok((row.id.take(), row.answer(judge).map_err(str::to_owned)?)));
    match row {
        Ok((id, answer)) => {
            serde_json::to_writer(&mut *output, &Line { schema: SCHEMA, id, answer })?;
        }
        Err(error) => {
            let answer = json!({ "schema": SCHEMA, "id": id_of(line), "error": error });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}
