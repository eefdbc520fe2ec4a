//! `schema`: the JSON Schemas of the input and output of OpenOxide.

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Decision, SCHEMA, SessionEvent};
use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use crate::{args::SchemaShape, program_exit::ProgramExit, user_messages};

/// Prints a schema.
pub(crate) fn print_schema(shape: SchemaShape) -> Result<ProgramExit, serde_json::Error> {
    let schema = match shape {
        SchemaShape::Policy => policy_schema(),
        SchemaShape::Decision => decision_schema(),
        SchemaShape::Request => schema_value(schema_for!(ApprovalRequest)),
        SchemaShape::Response => schema_value(schema_for!(ApprovalResponse)),
        SchemaShape::Event => schema_value(schema_for!(SessionEvent)),
    };
    let text = serde_json::to_string_pretty(&schema)?;
    Ok(user_messages::print_data(&format!("{text}\n"), ProgramExit::Success))
}

fn schema_value(schema: Schema) -> Value {
    schema.to_value()
}

/// Returns the schema of a decision as it is printed: with the version of its schema and, in a
/// batch, the id of its line.
fn decision_schema() -> Value {
    let mut schema = schema_value(schema_for!(Decision));
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let id = json!({ "description": "The id of the line in a batch." });
        properties.insert("schema".to_owned(), json!({ "const": SCHEMA }));
        properties.insert("id".to_owned(), id);
    }
    schema
}

/// Returns the schema of the policy file. It is written by hand, because the parser of the file is
/// not derived either: it reports the location of each error.
fn policy_schema() -> Value {
    let rules = json!({ "type": "array", "items": { "type": "string", "examples": ["Bash(git push *)", "Read(~/.ssh/**)"] } });
    let examples = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "OpenOxide policy",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "audit": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "required": { "type": "boolean", "description": "Operations that cannot be recorded require approval. If one file sets this, no \
                 other file can unset it." } },
            },
            "directories": { "type": "array", "maxItems": 32, "items": { "type": "string", "minLength": 1, "examples": ["../shared-lib", "~/notes"] } },
            "hooks": hooks_schema(),
            "sandbox": sandbox_schema(),
            "mode": { "enum": ["default", "accept_edits", "sandboxed", "plan", "dont_ask", "bypass_permissions"] },
            "test": tests_schema(),
            "permissions": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "combining": { "enum": ["strictest", "deny-allow-ask", "last-match"] },
                    "deny": rules,
                    "ask": rules,
                    "allow": rules,
                    "rule": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["permission", "pattern", "action"],
                            "properties": {
                                "permission": { "type": "string" },
                                "pattern": { "type": "string" },
                                "action": { "enum": ["allow", "ask", "deny"] },
                                "reviewer": { "enum": ["human"] },
                                "reason": { "type": "string" },
                                "match": examples,
                                "not_match": examples,
                            },
                        },
                    },
                },
            },
        },
    })
}

fn sandbox_schema() -> Value {
    let list = |examples: &[&str]| json!({ "type": "array", "maxItems": 64, "items": { "type": "string", "minLength": 1, "examples": examples } });
    let limit = |what: &str| json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX, "description": what });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "require": { "enum": ["fail_fast", "refuse_tools"], "description": "Nothing runs without the sandbox. If one file sets this, no other file can unset \
                 it." },
            "auto_allow": { "enum": ["off", "project", "all"], "description": "The commands that need no approval, because the sandbox confines them. The strictest \
                 value of all files applies." },
            "network": { "enum": ["off", "hosts", "internet", "host", "on"], "description": "The strictest value of all files applies. `on` means `internet`." },
            "writable": list(&["~/.cache/pip"]),
            "unreadable": list(&["~/company"]),
            "protected": list(&["deploy/"]),
            "environment": list(&["DATABASE_URL"]),
            "publish": publish_schema(),
            "checkpoint_size": { "type": "string", "pattern": "^ *0*[1-9][0-9]* *([KkMmGgTt][Ii][Bb]) *$", "default": "1 GiB", "description": "The maximum size of the previous versions that all checkpoints keep. The smallest value of all files applies." },
            "limits": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "seconds": limit("Wall time."), "memory": limit("MiB, for all processes together."), "processes": limit("The number of processes at the same time.") },
            },
        },
    })
}

fn publish_schema() -> Value {
    let number = json!({ "type": "integer", "minimum": 1024, "maximum": 65535 });
    let text = json!({ "type": "string", "pattern": "^[0-9]{4,5}(:[0-9]{1,5})?$", "examples": ["8080:80"] });
    let list = json!({ "type": "array", "maxItems": 64, "items": { "oneOf": [number, text] } });
    json!({
        "oneOf": [list, { "const": "off" }],
        "description": "The ports that are published when a command listens on them. `off` in any file forbids all ports.",
    })
}

fn hooks_schema() -> Value {
    let words = json!({ "type": "array", "minItems": 1, "items": { "type": "string" } });
    json!({
        "type": "array",
        "maxItems": 32,
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["event", "command"],
            "properties": {
                "event": { "enum": ["pre_tool_use", "PreToolUse"] },
                "matcher": { "type": "string", "examples": ["Bash", "Edit|Write", "mcp__github__*"] },
                "command": { "oneOf": [{ "type": "string", "minLength": 1 }, words] },
                "timeout": { "type": "integer", "minimum": 1, "maximum": 300, "default": 30 },
            },
        },
    })
}

fn tests_schema() -> Value {
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["expect"],
            "properties": {
                "command": { "type": "string" },
                "tool": { "type": "string" },
                "input": { "type": "object" },
                "mode": { "enum": ["default", "accept_edits", "sandboxed", "plan", "dont_ask", "bypass_permissions"] },
                "expect": { "enum": ["allow", "ask", "deny"] },
            },
        },
    })
}
