//! `codex decide`: what Codex makes of calls of its shell tool, line by line.

use std::{
    io::{self, Write},
    path::Path,
};

use openoxide_adapters::codex::exact::{Answer, Call, Judge, Place};
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
struct Flat {
    #[serde(default)]
    id: Option<Value>,
    #[serde(flatten)]
    call: Call,
}

#[derive(Deserialize)]
struct Nested {
    #[serde(default)]
    id: Option<Value>,
    cmd: Call,
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
    let judge = Judge {
        policy: &super::policy(&args.rules, &place)?,
        approval: args.policy,
        sandbox: args.sandbox,
        dialect: args.dialect,
        place,
        shell: &args.shell,
    };
    Ok(ended(lines::each(|line, output| answer(&judge, line, output))))
}

fn answer(judge: &Judge<'_>, line: &[u8], output: &mut dyn Write) -> io::Result<()> {
    match read(line) {
        Ok((id, call)) => {
            let answer = judge.answer(call);
            serde_json::to_writer(&mut *output, &Line { schema: SCHEMA, id, answer })?;
        }
        Err(error) => {
            let answer = json!({ "schema": SCHEMA, "id": id_of(line), "error": error });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}

fn read(line: &[u8]) -> Result<(Option<Value>, Call), String> {
    let flat = lines::object(line).map(|Flat { id, call }| (id, call));
    flat.or_else(|error| lines::object(line).map(|Nested { id, cmd }| (id, cmd)).map_err(|_| error))
}
