//! The program from outside, and the house that it is built in.

#[cfg(test)]
mod after_call;
#[cfg(test)]
mod agent_tools;
#[cfg(test)]
mod allow;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod audit_answers;
#[cfg(test)]
mod batch;
#[cfg(test)]
mod broken;
#[cfg(test)]
mod choices;
#[cfg(test)]
mod claude_hooks;
#[cfg(test)]
mod client_rules;
#[cfg(test)]
mod codex;
#[cfg(test)]
mod codex_review;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod degraded;
#[cfg(test)]
mod directories;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod effects;
#[cfg(test)]
mod engine_examples;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod hook_codex;
#[cfg(test)]
mod hook_sandboxed;
#[cfg(test)]
mod hook_wait;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod house;
#[cfg(test)]
mod init;
#[cfg(test)]
mod init_presets;
#[cfg(test)]
mod json_text;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod links;
#[cfg(test)]
mod pending;
#[cfg(test)]
mod pipes;
#[cfg(test)]
mod prompt;
#[cfg(test)]
mod question_hints;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod repetition;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod required;
#[cfg(test)]
mod retry;
#[cfg(test)]
mod rules;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[cfg(test)]
mod sandbox;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[cfg(test)]
mod sandbox_policy;
#[cfg(test)]
mod starter;
#[cfg(test)]
mod suggest;
#[cfg(test)]
mod support;
#[cfg(test)]
mod task;
#[cfg(test)]
mod tools;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[cfg(test)]
mod unreadable;
#[cfg(test)]
mod worktrees;
