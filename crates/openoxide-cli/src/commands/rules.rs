//! `rules`: listing, checking, changing and converting rules.

mod convert;
mod diff;
mod directory_rows;
mod fmt;
mod lint;
mod list;
mod native_rules;
mod policy_texts;
mod rule_edit;
mod rule_proposal;
mod sandbox_difference;
mod starter;
mod suggest;
mod test;

pub(crate) use rule_edit::EditTarget;
pub(crate) use rule_proposal::RuleProposal;
pub(crate) use starter::offer_starter;

use crate::{
    args::{GlobalArgs, RulesCommand},
    error::CliError,
    program_exit::ProgramExit,
};

/// Runs a subcommand of `rules`.
pub(crate) fn run_rules_command(
    verb: &RulesCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    match verb {
        RulesCommand::List { policy, origins, json } => {
            list::list_rules(policy, *origins, *json, global)
        }
        RulesCommand::Lint(args) => lint::lint_files(args, global),
        RulesCommand::Fmt(args) => fmt::format_files(args, global),
        RulesCommand::Test(args) => test::test_files(args, global),
        RulesCommand::Diff(args) => diff::diff_policies(args, global),
        RulesCommand::Add(args) => rule_edit::add_rule(args, global),
        RulesCommand::Remove(args) => rule_edit::remove_rule(args, global),
        RulesCommand::Suggest(args) => suggest::suggest_rules(*args, global),
        RulesCommand::Starter(args) => starter::write_starter(*args, global),
        RulesCommand::Import(args) => convert::import_policy(args, global),
        RulesCommand::Export(args) => convert::export_policy(args, global),
        RulesCommand::Convert(args) => convert::convert_policy(args, global),
    }
}
