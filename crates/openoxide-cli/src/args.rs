//! The command line.

mod allow;
mod codex;
mod policy;
mod rules;
mod sandbox;
mod stage;
mod tools;
mod values;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use openoxide_protocol::{Effect, GrantScope, PublishedPort, SessionId};
use openoxide_store::audit::UtcTimestamp;

pub(crate) use allow::AllowArgs;
pub(crate) use codex::{
    CodexAmendArgs, CodexCommand, CodexDecideArgs, CodexReviewArgs, ExecpolicyCheckArgs,
    ExecpolicyCommand,
};
pub(crate) use policy::PolicyArgs;
pub(crate) use rules::{
    ConvertArgs, DiffArgs, EditTargetArgs, ExportArgs, FmtArgs, ImportArgs, LintArgs,
    LintThreshold, RuleAddArgs, RuleRemoveArgs, RulesCommand, StarterArgs, SuggestArgs, TestArgs,
};
pub(crate) use sandbox::{CachesCommand, RunSandboxMode, SandboxCommand, SandboxRunArgs};
pub(crate) use stage::{StageCommand, UndoArgs};
pub(crate) use tools::ToolsCommand;
use values::{parse_effect, parse_nonzero_duration, parse_scope, parse_since};

/// One approval and permission layer for AI agents.
#[derive(Debug, Parser)]
#[command(name = "openoxide", version, after_help = EXIT_CODES)]
pub(crate) struct CliArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const EXIT_CODES: &str = "Exit codes: 0 allow or success, 1 failure, 2 usage or configuration, 3 deny, 4 ask (a person is \
needed and none can be asked), 5 expired, 130 interrupted. `run` passes the program's own status on; 124 its time limit passed, 125 OpenOxide failed, 126 refused, 127 not found.";

/// The heading of the options that every command accepts, which are listed last.
const GLOBAL_OPTIONS: &str = "Global options";

/// Options that every command accepts.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Control when color is used.
    ///
    /// `auto` means on a terminal, or if CLICOLOR_FORCE is set, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL_OPTIONS)]
    pub(crate) color: ColorWhen,
    /// Never ask; fail and print the command to run instead.
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub(crate) no_input: bool,
}

/// The conditions under which color is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    // Without doc comments, because the help would list one line for each value.
    Auto,
    Always,
    Never,
}

/// The maximum time that a question can wait, in seconds.
pub(crate) const MAX_WAIT_SECONDS: u32 = 86_400;

/// The time that a question waits if `--wait` names none, in seconds.
const DEFAULT_WAIT: &str = "3600";

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The agents to configure [default: all that are installed].
    pub(crate) agents: Vec<AgentName>,
    /// Show the changes without making them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the hook, and the settings of a preset.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Make Claude Code ask about every tool itself, in addition to the hook. Then no call runs if
    /// a project disables hooks, but your own allow rules of Claude Code have no effect.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) strict: bool,
    /// Let questions also wait for `openoxide approve` in another terminal, for this many seconds
    /// [default: one hour]. The agent's own dialog appears as before. 0 removes the wait.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_WAIT,
        conflicts_with = "undo",
        value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_WAIT_SECONDS))
    )]
    pub(crate) wait: Option<u32>,
    /// Set what you are asked about, in your policy.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) preset: Option<PresetName>,
    #[command(flatten)]
    pub(crate) program: HookProgramArgs,
}

/// What you are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    /// Each command and edit that no rule allows and that is not known to be harmless.
    Careful,
    /// Packages, hosts, secrets, and what cannot be undone or leaves the project. Other commands
    /// run in the sandbox.
    Balanced,
    /// Named hosts, secrets, files that configure tools, and changes outside the project. Other
    /// commands run in the sandbox.
    HandsOff,
}

/// The program that the hook starts.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct HookProgramArgs {
    /// Copy this program to ~/.local/bin and use the copy. Needed in a build directory, which may
    /// be cleaned.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) install: bool,
    /// Use this program although it is in a build directory.
    #[arg(long, conflicts_with_all = ["undo", "install"])]
    pub(crate) from_build: bool,
}

/// An agent with a supported hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentName {
    /// Claude Code: `~/.claude`, or CLAUDE_CONFIG_DIR.
    Claude,
    /// Codex: `~/.codex`, or CODEX_HOME.
    Codex,
}

impl AgentName {
    /// Returns the name of the agent for people.
    pub(crate) const fn display_name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// Returns the name of the agent in `openoxide hook NAME`.
    pub(crate) const fn hook_name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// The agent to check [default: all that are installed].
    pub(crate) agent: Option<AgentName>,
    /// Print one JSON object per agent.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Check a command, ask for approval if needed, and run it in the sandbox.
    Run(RunArgs),
    /// Check a call against the policy without running anything, hooks included.
    Check(CheckArgs),
    /// Explain a decision: matching rules with file and line, overridden rules, and hooks.
    Explain(CallArgs),
    /// Answer one hook call of an agent: payload on standard input, answer on standard output.
    Hook {
        /// The agent: `claude` or `codex`.
        agent: String,
        /// For `codex` with the approval policy `untrusted`: leave calls that need approval to Codex, which asks about
        /// everything that its own rules do not allow. Without this option they are blocked.
        #[arg(long)]
        untrusted: bool,
        /// The timeout of the client's hook, if it differs from the one that `init` sets: 10
        /// seconds for `claude`, 600 for `codex`. The answer is sent at least a second earlier. If
        /// no decision is made by then, the answer is `ask`, or `deny` where the agent cannot ask.
        #[arg(long, value_name = "SECONDS")]
        client_timeout: Option<u64>,
        /// Register questions, so that `openoxide approve` in another terminal can answer them, and
        /// wait this long [default: one hour]. Claude Code shows its dialog meanwhile, and the
        /// first answer applies. The client's hook needs a timeout of 10 seconds more: see
        /// `openoxide init --wait`.
        #[arg(
            long,
            value_name = "SECONDS",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = DEFAULT_WAIT,
            conflicts_with = "untrusted",
            value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_WAIT_SECONDS))
        )]
        wait: Option<u32>,
    },
    /// Install the hook into the settings of detected agents; other settings are kept.
    Init(InitArgs),
    /// Show the agents, the policy, the sandbox and today's decisions.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Prove with test calls that the policy decides the calls of each agent.
    Doctor(DoctorArgs),
    /// Trust the settings of a project, or revoke that trust.
    Trust(TrustArgs),
    /// List pending requests.
    Pending {
        /// Print one JSON object per request.
        #[arg(long)]
        json: bool,
    },
    /// Approve a pending request, from any terminal.
    Approve(ApproveArgs),
    /// Deny a pending request and all others of its session.
    Deny(DenyArgs),
    /// Allow calls like the last one that you were asked about.
    Allow(AllowArgs),
    /// List, add or revoke saved grants.
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// List, check, change, suggest, compare and convert rules.
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Show tools under the current policy.
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Show settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show, verify and replay the audit journal.
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Run a program in the sandbox, without a policy decision.
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Show, commit or delete staged changes of `run --stage` that wait for a decision.
    #[command(subcommand)]
    Stage(StageCommand),
    /// Undo what a `run --checkpoint` has changed, or list such runs.
    Undo(UndoArgs),
    /// Codex: exact decisions of its policy, and its approval requests.
    #[command(subcommand)]
    Codex(CodexCommand),
    /// Print a JSON Schema.
    Schema {
        /// The schema to print.
        #[arg(default_value = "decision")]
        shape: SchemaShape,
    },
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a manual page.
    Man {
        /// The command [default: the program itself].
        verb: Option<String>,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project directory [default: the current one], or a settings file whose hooks to trust.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Show what the settings would allow, and whether they are trusted.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) show: bool,
    /// Revoke the trust.
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The request id or a unique prefix of it.
    pub(crate) id: String,
    /// The scope of the approval: once, session, directory (the changes in the directory that the request offers, until the command ends), or project (saved rules).
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope, default_value = "once")]
    pub(crate) scope: GrantScope,
    /// The request's digest as shown by `pending`, at least eight digits. Required for explicit approvals.
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Option<String>,
    /// With `--scope project`: save this rule, one of those that `pending` lists, instead of the suggested ones; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: GrantLimitArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DenyArgs {
    /// The request id or a unique prefix of it.
    pub(crate) id: String,
    /// A message for the agent: what to do instead.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Deny only this request; others of its session stay pending.
    #[arg(long, conflicts_with = "message")]
    pub(crate) alone: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List them.
    List {
        /// Print one JSON object per grant.
        #[arg(long)]
        json: bool,
    },
    /// Grant a command rule for this project.
    Add(GrantAddArgs),
    /// Revoke a grant.
    Revoke {
        /// The rule, or its number in the list.
        #[arg(value_name = "RULE|NUMBER")]
        which: String,
    },
    /// Print the valid grants as the rules of a policy file, for example to add them to your own
    /// policy for all projects. Limited grants are left out.
    Export {
        /// Print rules. This is the only format.
        #[arg(long)]
        as_rules: bool,
    },
    /// Remove invalid entries: those of other users and directories, and those that were edited by
    /// hand.
    Prune,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GrantAddArgs {
    /// The rule: `Bash(npm run *)`.
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) limits: GrantLimitArgs,
}

/// The limits of a grant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GrantLimitArgs {
    /// Expire after this time: `30m`, `12h`, `7d`.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_nonzero_duration)]
    pub(crate) time: Option<u64>,
    /// Expire after this many uses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: Option<u32>,
    /// Only for commands that run in this directory or below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) below: Option<PathBuf>,
    /// Expire when the task ends: the task of the request or, for `grants add`, the task of this
    /// call or the named one.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) task: Option<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List policy files in order of precedence, with the state of each.
    Path {
        /// The directory that relative paths are resolved against.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Print one JSON object per file.
        #[arg(long)]
        json: bool,
    },
}

/// A JSON document or file that OpenOxide reads or writes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaShape {
    /// The native policy file.
    Policy,
    /// The answer of `check --json`.
    Decision,
    /// A question to a reviewer.
    Request,
    /// A reviewer's answer.
    Response,
    /// An event of a session.
    Event,
}

/// One tool call.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A shell script: the same as `--tool Bash --input '{"command": SCRIPT}'`.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "tool")]
    pub(crate) script: Option<String>,
    /// A tool name, as OpenOxide or an agent spells it.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The tool's input.
    #[arg(long, value_name = "JSON", requires = "tool", conflicts_with = "script")]
    pub(crate) input: Option<String>,
    /// Decide exactly as the program that the policy belongs to, without OpenOxide's analysis and safety floor.
    #[arg(long, requires = "policy")]
    pub(crate) exact: bool,
    /// The OpenCode agent whose rules apply.
    #[arg(long, value_name = "NAME", requires = "exact")]
    pub(crate) agent: Option<String>,
    /// Decide for a caller that does not run commands in the sandbox.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
    /// Read one JSON call per line from standard input, and print one answer per line.
    #[arg(long, conflicts_with_all = ["script", "tool", "input"])]
    pub(crate) batch: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Without a terminal, wait this many seconds for `openoxide approve` in another one [default: one hour].
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_WAIT,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) wait: Option<u32>,
    /// The session that the request belongs to, as a UUID; a denial denies all pending requests of the session.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Sandbox mode.
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    pub(crate) sandbox: RunSandboxMode,
    /// Stage changes to writable directories, and ask for approval of the differences before they are made.
    #[arg(long)]
    pub(crate) stage: bool,
    /// Keep the previous versions of the files that the command changes, so that `openoxide undo` can
    /// restore them. The changes are made when the command has ended.
    #[arg(long, conflicts_with_all = ["stage", "live"])]
    pub(crate) checkpoint: bool,
    /// Ask about each file change that the sandbox would refuse, while the program waits.
    #[arg(long, conflicts_with = "stage")]
    pub(crate) live: bool,
    /// Publish a port of the program on the loopback interface of this machine (127.0.0.1 and ::1),
    /// where all users of this machine can connect to it; repeatable. HOSTPORT is the port of this
    /// machine [default: the same].
    #[arg(long, value_name = "PORT[:HOSTPORT]")]
    pub(crate) publish: Vec<PublishedPort>,
    /// Pass an environment variable into the sandbox: NAME or NAME=VALUE; repeatable.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A shell script, run by bash.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "command")]
    pub(crate) script: Option<String>,
    /// A program and its arguments, run without a shell.
    #[arg(last = true, value_name = "PROG")]
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print the recorded calls in their last state, oldest first. Times are in UTC.
    Log(LogArgs),
    /// Verify the hash chain; exits with 1 if a record was changed, removed, inserted or moved.
    Verify {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Decide recorded calls again under the current or another policy; exits with 1 if a decision differs.
    Replay(ReplayArgs),
    /// Print statistics: questions per day and their answers, most frequent questions, rules by
    /// use, unused rules.
    Stats {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// The number of days, including today.
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Only records newer than this: `12h`, `7d`, `2w`, `2026-11-22`.
        #[arg(long, value_name = "DURATION|DATE", value_parser = parse_since, conflicts_with = "days")]
        since: Option<UtcTimestamp>,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Only records newer than this: `12h`, `7d`, `2w`, `2026-11-22`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = parse_since)]
    pub(crate) since: Option<UtcTimestamp>,
    /// The maximum number of differences to print.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print one JSON object per difference, then the totals.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Only records newer than this: `90s`, `30m`, `12h`, `7d`, `2w`, `2026-11-22` or `2026-11-22T06:00:00Z`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = parse_since)]
    pub(crate) since: Option<UtcTimestamp>,
    /// Only these decisions: `allow`, `ask` or `deny`.
    #[arg(long, value_name = "DECISION", value_parser = parse_effect)]
    pub(crate) decision: Option<Effect>,
    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only this session (id or unique prefix).
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The number of most recent calls [default: 50, or all with `--json`].
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print new records as they are written.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print the last record of each call as stored, one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every record, including several about one call (an agent calls its hook again before
    /// it asks).
    #[arg(long)]
    pub(crate) all_records: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CliArgs::command().debug_assert();
    }
}
