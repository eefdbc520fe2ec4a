//! `codex decide`: what Codex makes of calls of its shell tool, line by line.

use std::{
    io::{self, Write},
    path::Path,
};

use openoxide_adapters::codex::exact::{
    Answer, Call, Dialect, Judge, Place, Policy, SandboxPermissions,
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

/// A line: a call, or an object in which it stands.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    id: Option<Value>,
    cmd: Cmd,
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
    fn call(self) -> Call {
        let Self { sandbox_permissions, additional_permissions, .. } = self;
        let Self { login, justification, prefix_rule, .. } = self;
        match self.cmd {
            Cmd::Script(cmd) => Call {
                cmd,
                login,
                sandbox_permissions,
                additional_permissions,
                justification,
                prefix_rule,
            },
            Cmd::Call(call) => call,
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
    let judge = Judge {
        policy: &policy,
        approval: args.policy,
        sandbox: args.sandbox,
        dialect: args.dialect,
        place,
        shell: &args.shell,
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

fn answer(judge: &Judge<'_>, line: &[u8], output: &mut dyn Write) -> io::Result<()> {
    match lines::object::<Row>(line) {
        Ok(mut row) => {
            let (id, answer) = (row.id.take(), judge.answer(row.call()));
            serde_json::to_writer(&mut *output, &Line { schema: SCHEMA, id, answer })?;
        }
        Err(error) => {
            let answer = json!({ "schema": SCHEMA, "id": id_of(line), "error": error });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}
