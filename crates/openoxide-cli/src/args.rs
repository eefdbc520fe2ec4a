//! The command line.

mod codex;
mod rules;
mod sandbox;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use openoxide_protocol::{Effect, GrantScope, PermissionMode, SessionId};
use openoxide_store::audit::{DAY, Moment};

use crate::{commands::tools::ToolsVerb, formats::Program};
pub(crate) use codex::{
    CodexAmendArgs, CodexDecideArgs, CodexReviewArgs, CodexVerb, ExecpolicyCheckArgs,
    ExecpolicyVerb,
};
pub(crate) use rules::{
    AddArgs, ConvertArgs, DiffArgs, ExportArgs, FmtArgs, ImportArgs, Least, LintArgs, RemoveArgs,
    RulesVerb, TestArgs, Where,
};
pub(crate) use sandbox::{RunSandbox, SandboxRunArgs, SandboxVerb};

/// One approval and permission layer for AI agents: it decides, asks, and says why.
#[derive(Debug, Parser)]
#[command(name = "openoxide", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 allow or success, 1 failure, 2 usage or configuration, 3 deny, 4 ask (a person is \
needed and none can be asked), 5 expired, 130 interrupted. `run` passes the program's own status on; 125 OpenOxide failed, 126 refused, 127 not found.";

/// What every verb takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Global {
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// Never ask: fail with the command to run instead.
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, or if CLICOLOR_FORCE is set; never if NO_COLOR is.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The agents; all whose settings are here, if none is named.
    pub(crate) agents: Vec<Agent>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take it out again.
    #[arg(long)]
    pub(crate) undo: bool,
}

/// An agent that can call us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code: `~/.claude`, or CLAUDE_CONFIG_DIR.
    Claude,
    /// Codex: `~/.codex`, or CODEX_HOME.
    Codex,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Decide, ask if need be, and run a command.
    Run(RunArgs),
    /// Decide only; nothing runs, no hook either: what it says is the policy's own answer.
    Check(CheckArgs),
    /// Say why: every layer, rule, file and line that spoke, why the others lost, and which hooks would be asked first.
    Explain(CallArgs),
    /// Answer one tool call of an agent: its payload on standard input, its answer on standard output.
    Hook {
        /// The agent: `claude` or `codex`.
        agent: String,
        /// For `codex`, whose approval policy is `untrusted`: it asks a person about all that its own rules do not allow, so what has to
        /// be asked is left to it. Otherwise that is blocked.
        #[arg(long)]
        untrusted: bool,
        /// How long the client waits for the answer, if its settings name another time than those of `init`: 10 seconds for `claude`, 600 for `codex`. The answer comes at least a second earlier;
        /// if nothing is decided by then, it is `ask`, or `deny` where the agent cannot ask.
        #[arg(long, value_name = "SECONDS")]
        client_timeout: Option<u64>,
    },
    /// Have the agents that are here call us before each tool; what stands in their settings stays.
    Init(InitArgs),
    /// Vouch for what this project's own settings would allow, or take it back.
    Trust(TrustArgs),
    /// Show the requests that wait for an answer.
    Pending {
        /// One request a line, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say yes to a request that waits, from any terminal.
    Approve(ApproveArgs),
    /// Say no to a request that waits, and to all others of its session.
    Deny(DenyArgs),
    /// Look at what you said yes to for good in this project, or take it back.
    #[command(subcommand)]
    Grants(GrantsVerb),
    /// Look at rules, check them, change them, and carry them from one program to another.
    #[command(subcommand)]
    Rules(RulesVerb),
    /// Look at tools under the policy in force.
    #[command(subcommand)]
    Tools(ToolsVerb),
    /// Look at the settings themselves.
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Look at what was decided, by whom and why, and at what came of it.
    Audit {
        #[command(subcommand)]
        what: AuditVerb,
    },
    /// Confinement alone: run a program in the sandbox.
    #[command(subcommand)]
    Sandbox(SandboxVerb),
    /// Codex: what it would answer, to the letter, and its requests for approvals.
    #[command(subcommand)]
    Codex(CodexVerb),
    /// Print the JSON Schema of a shape.
    Schema {
        /// Which shape.
        #[arg(default_value = "decision")]
        shape: Shape,
    },
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of the program or of one verb.
    Man {
        /// Which verb.
        verb: Option<String>,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// A directory of the project, this one if none is named; or a settings file whose hooks you vouch for.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Show what the settings would allow, and whether somebody vouched for it.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) show: bool,
    /// Forget what was said of the project.
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The request; the beginning of its id is enough.
    pub(crate) id: String,
    /// For how long: this once, exactly this until its session ends, or the rules that are shown for the project.
    #[arg(long, value_name = "SCOPE", value_parser = scope, default_value = "once")]
    pub(crate) scope: GrantScope,
    /// What `pending` showed: the beginning of its digest, eight digits or more. What needs a yes of its own needs this.
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Option<String>,
    /// With `--scope project`: keep this rule, one of those that `pending` shows, in the place of those that are offered; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Vec<String>,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DenyArgs {
    /// The request; the beginning of its id is enough.
    pub(crate) id: String,
    /// What to do instead; it reaches the one who asked.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Only this request: others of its session go on waiting.
    #[arg(long, conflicts_with = "message")]
    pub(crate) alone: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn scope(word: &str) -> Result<GrantScope, String> {
    match word {
        "once" => Ok(GrantScope::Once),
        "session" => Ok(GrantScope::Session),
        "project" => Ok(GrantScope::Project),
        _ => Err("known are once, session, project".to_owned()),
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GrantsVerb {
    /// List them.
    List {
        /// One grant a line, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Grant a rule about commands for this project, without being asked first.
    Add(GrantArgs),
    /// Take one back.
    Revoke {
        /// Its rule, or its number in the list.
        #[arg(value_name = "RULE|NUMBER")]
        which: String,
    },
    /// Remove what grants nothing: entries of somebody else, of another directory, or changed by hand.
    Prune,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// The rule: `Bash(npm run *)`.
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
}

/// How far a grant reaches.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BoundArgs {
    /// Let it end after this time: `30m`, `12h`, `7d`.
    #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
    pub(crate) time: Option<u64>,
    /// Let it count for so many decisions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: Option<u32>,
    /// Let it count only for commands that run in this directory or below.
    #[arg(long, value_name = "DIR")]
    pub(crate) below: Option<PathBuf>,
    /// Let it count until the task has ended: that of the request, or, for `grants add`, the job that this call is part of or the
    /// task that is named.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) task: Option<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// List the files that are looked for, the most precedent first, and what became of each.
    Path {
        /// The directory that relative paths count from.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// One file a line, as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// A shape that leaves or enters the program.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shape {
    /// The native policy file.
    Policy,
    /// The answer of `check --json`.
    Decision,
    /// A question to a reviewer.
    Request,
    /// A reviewer's answer.
    Response,
    /// What happens in a session.
    Event,
}

/// Which policy counts, and where.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PolicyArgs {
    /// A policy file; repeatable, the most precedent first. Only these, the built-in rules and the safety floor count then.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// How the policy files are written; without it their names say so.
    #[arg(long, value_name = "FORMAT", requires = "policy")]
    pub(crate) format: Option<Program>,
    /// The mode: default, accept_edits, plan, dont_ask or bypass_permissions.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) mode: Option<PermissionMode>,
    /// The directory that relative paths count from.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A rule that allows, such as `Bash(npm run *)`; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// A rule that asks; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// A rule that denies; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Another directory that counts as the project's; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
}

fn mode(word: &str) -> Result<PermissionMode, String> {
    PermissionMode::parse(word).ok_or_else(|| {
        let known = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
        format!("known are {known}")
    })
}

/// One tool call.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A shell script: the same as `--tool Bash --input '{"command": SCRIPT}'`.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "tool")]
    pub(crate) script: Option<String>,
    /// A tool, in our spelling or in an agent's.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The tool's input.
    #[arg(long, value_name = "JSON", requires = "tool", conflicts_with = "script")]
    pub(crate) input: Option<String>,
    /// Answer as the program would whose policy it is, to the letter; our own analysis and safety floor do not count.
    #[arg(long, requires = "policy")]
    pub(crate) exact: bool,
    /// The agent of OpenCode whose rules hold.
    #[arg(long, value_name = "NAME", requires = "exact")]
    pub(crate) agent: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
    /// Read one call from each line of standard input, and write one answer a line.
    #[arg(long, conflicts_with_all = ["script", "tool", "input"])]
    pub(crate) batch: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Where nobody can be asked here, wait so many seconds for `openoxide approve` in another terminal; an hour if no number
    /// is given.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3600",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) wait: Option<u32>,
    /// The conversation that this belongs to, as a UUID: what waits in one session falls together.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// What the kernel holds while it runs.
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    pub(crate) sandbox: RunSandbox,
    /// Keep what it changes in the writable directories aside, show the differences when it has ended, and ask whether they are to be made.
    #[arg(long)]
    pub(crate) stage: bool,
    /// Hold changes of files that the sandbox would refuse, and ask about each; what you say yes to is done on its behalf.
    #[arg(long, conflicts_with = "stage")]
    pub(crate) live: bool,
    /// A variable of the environment that it is given in the sandbox, too: NAME, or NAME=VALUE; repeatable.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A shell script, run by bash.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "command")]
    pub(crate) script: Option<String>,
    /// A program and its arguments, run as they are.
    #[arg(last = true, value_name = "PROG")]
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// Show the records, the oldest first. Times are UTC.
    Log(LogArgs),
    /// Follow the chain of hashes: exit code 1 if a record was changed, removed, inserted or moved.
    Verify {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
    /// Decide what was recorded again, under the policy in force or another one: exit code 1 if something would be decided otherwise.
    Replay(ReplayArgs),
    /// Count: questions per day, what was asked about most, the rules that decided, and those that never did.
    Stats {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// Look at so many days, today included.
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Only what is younger: `12h`, `7d`, `2w`, `2026-11-22`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = since)]
    pub(crate) since: Option<Moment>,
    /// Show so many differences.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// One difference a line, as JSON, and the counts at last.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Only what is younger: `90s`, `30m`, `12h`, `7d`, `2w`, `2026-11-22` or `2026-11-22T06:00:00Z`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = since)]
    pub(crate) since: Option<Moment>,
    /// Only these decisions: `allow`, `ask` or `deny`.
    #[arg(long, value_name = "DECISION", value_parser = effect)]
    pub(crate) decision: Option<Effect>,
    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only this session; the beginning of its name is enough.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// So many records, the youngest: 50 unless said otherwise, with `--json` all.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Go on showing records as they are written.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print the records as they stand in the journal, one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

fn effect(word: &str) -> Result<Effect, String> {
    let mut known = [Effect::Allow, Effect::Ask, Effect::Deny].into_iter();
    known.find(|effect| effect.as_str() == word).ok_or("known are allow, ask, deny".to_owned())
}

/// Reads a duration, in milliseconds.
fn duration(text: &str) -> Result<u64, String> {
    let unit = match text.bytes().last() {
        Some(b's') => Some(1_000),
        Some(b'm') => Some(60_000),
        Some(b'h') => Some(3_600_000),
        Some(b'd') => Some(DAY),
        Some(b'w') => Some(7 * DAY),
        _ => None,
    };
    let count = text.get(..text.len().saturating_sub(1)).and_then(|count| count.parse().ok());
    let duration = unit.zip(count).map(|(unit, count): (u64, u64)| unit.saturating_mul(count));
    duration.ok_or_else(|| "no duration: `30m`, `12h`, `7d`".to_owned())
}

/// Reads a duration that something can last for.
fn some_time(text: &str) -> Result<u64, String> {
    match duration(text)? {
        0 => Err("it would be over at once".to_owned()),
        time => Ok(time),
    }
}

/// Reads a date, or how long ago.
fn since(text: &str) -> Result<Moment, String> {
    let ago = duration(text).ok().map(|ago| Moment(Moment::now().0.saturating_sub(ago)));
    ago.or_else(|| Moment::parse(text)).ok_or_else(|| {
        "neither a duration (`30m`, `12h`, `7d`) nor a date (`2026-11-22`)".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
