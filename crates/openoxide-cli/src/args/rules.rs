//! The arguments of `rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use openoxide_protocol::Effect;
use openoxide_store::audit::UtcTimestamp;

use super::{
    policy::PolicyArgs,
    values::{parse_effect, parse_since},
};
use openoxide_formats::PolicyProgram;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List every rule, highest precedence first.
    List {
        #[command(flatten)]
        policy: PolicyArgs,
        /// Show the file and line of each rule.
        #[arg(long)]
        origins: bool,
        /// Print one JSON object per rule.
        #[arg(long)]
        json: bool,
    },
    /// Look for rules that never decide, match nothing or allow too much; exit code 1 if there are any.
    Lint(LintArgs),
    /// Format policy files; comments, order and meaning are kept.
    Fmt(FmtArgs),
    /// Run the examples of the rules and the `[[test]]` entries of policy files; exit code 1 if one fails.
    Test(TestArgs),
    /// Show which decisions another policy would change; exits with 1 if there is a difference.
    Diff(DiffArgs),
    /// Add a rule to one of your policy files.
    Add(RuleAddArgs),
    /// Remove a rule from one of your policy files.
    Remove(RuleRemoveArgs),
    /// Suggest the fewest rules that would have answered the questions of the audit journal.
    Suggest(SuggestArgs),
    /// Write a policy to start with: rules for the programs that this project is built with.
    Starter(StarterArgs),
    /// Convert the policy of another program to OpenOxide rules.
    Import(ImportArgs),
    /// Convert an OpenOxide policy to the rules of another program.
    Export(ExportArgs),
    /// Convert the policy of one program to the rules of another.
    Convert(ConvertArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LintArgs {
    /// Policy files of any program [default: those in force here].
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The format of the files [default: from their names].
    #[arg(long, value_name = "FORMAT", requires = "files")]
    pub(crate) format: Option<PolicyProgram>,
    /// The lowest severity that makes the command exit with 1.
    #[arg(long, value_name = "LEVEL", default_value = "warning")]
    pub(crate) level: LintThreshold,
    /// Print one JSON object per finding.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LintThreshold {
    /// The rule is harder to read than necessary.
    Note,
    /// The rule has no effect, or matches more than its author probably intends.
    Warning,
    /// The rule is a restriction without effect.
    Error,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct FmtArgs {
    /// OpenOxide policy files [default: those in force here].
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; list the files that would change, and exit with 1 if there are any.
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TestArgs {
    /// OpenOxide policy files [default: those in force here]. Each file is tested separately.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The directory in which the calls are made.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DiffArgs {
    /// The policy as it was.
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The policy as it would be.
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// A file with one command or one row of `check --batch` per line. Those that are decided
    /// differently are shown.
    #[arg(long, value_name = "FILE")]
    pub(crate) commands: Option<PathBuf>,
    /// Decide recorded calls of the audit journal again, and show the differences.
    #[arg(long)]
    pub(crate) history: bool,
    /// With `--history`: only records newer than this: `12h`, `7d`, `2w`, `2026-11-22`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = parse_since, requires = "history")]
    pub(crate) since: Option<UtcTimestamp>,
    /// The directory in which the calls are made.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print one JSON object per difference.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The policy file to change.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct EditTargetArgs {
    /// Your own file for all projects, `~/.config/openoxide/policy.toml` (default).
    #[arg(long)]
    pub(crate) user: bool,
    /// The project's shared file, `.openoxide/policy.toml`.
    #[arg(long)]
    pub(crate) project: bool,
    /// Your own file for this project, `.openoxide/local.toml`.
    #[arg(long)]
    pub(crate) local: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RuleAddArgs {
    #[command(flatten)]
    pub(crate) target: EditTargetArgs,
    /// The effect: `allow`, `ask` or `deny`.
    #[arg(value_name = "allow|ask|deny", value_parser = parse_effect)]
    pub(crate) effect: Effect,
    /// The rule, such as `Bash(npm run *)` or `Read(~/.ssh/**)`.
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
    /// A reason, which is shown when the rule decides.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RuleRemoveArgs {
    #[command(flatten)]
    pub(crate) target: EditTargetArgs,
    /// The rule, as `rules list` shows it.
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SuggestArgs {
    /// Only questions newer than this: `12h`, `7d`, `2w`, `2026-11-22`.
    #[arg(long, value_name = "DURATION|DATE", value_parser = parse_since, default_value = "30d")]
    pub(crate) since: UtcTimestamp,
    /// The percentage of the questions to answer.
    #[arg(long, alias = "share", value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) cover: u8,
    /// Add the rules to your policy, after you have confirmed the change.
    #[arg(long)]
    pub(crate) write: bool,
    /// With `--write`: do not ask.
    #[arg(long, requires = "write")]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StarterArgs {
    #[command(flatten)]
    pub(crate) target: StarterTargetArgs,
    /// Print the rules without writing them.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Write the rules without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// The policy file to create. Without one, it is the project's shared file.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct StarterTargetArgs {
    /// Write your own file for all projects, `~/.config/openoxide/policy.toml`, without rules for
    /// tests and builds. An existing file is never changed.
    #[arg(long)]
    user: bool,
    /// Write your own file for this project, `.openoxide/local.toml` [default: the project's shared
    /// file, `.openoxide/policy.toml`].
    #[arg(long)]
    local: bool,
}

impl StarterTargetArgs {
    /// Returns the file to create.
    pub(crate) const fn edit_target(self) -> EditTargetArgs {
        let Self { user, local } = self;
        EditTargetArgs { user, project: !user && !local, local }
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ImportArgs {
    /// The policy: `settings.json`, `opencode.json`, `*.rules`, `*.yaml`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The format of the policy [default: from its name].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PolicyProgram>,
    /// Add the rules to one of your policy files instead of printing them.
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) target: EditTargetArgs,
    /// Print the rules that cannot be converted as JSON, one per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// The policy file [default: your own].
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The program whose format to print.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: PolicyProgram,
    /// Print the result even if it is less strict than the policy.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Print the rules that cannot be converted as JSON, one per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The policy.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The format of the policy [default: from its name].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<PolicyProgram>,
    /// The program whose format to print.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: PolicyProgram,
    /// Print the result even if it is less strict than the policy.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Print the rules that cannot be converted as JSON, one per line.
    #[arg(long)]
    pub(crate) json: bool,
}
