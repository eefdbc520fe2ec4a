//! `rules`: what is in force, what is wrong with it, and how it is changed.

mod convert;
mod diff;
mod directories;
mod edit;
mod files;
mod fmt;
mod lint;
mod list;
mod native;
mod sandbox;
mod test;

use crate::{
    args::{Global, RulesVerb},
    error::CliError,
    exit::Exit,
};

/// Does what one of its verbs says.
pub(crate) fn rules(verb: &RulesVerb, global: Global) -> Result<Exit, CliError> {
    match verb {
        RulesVerb::List { policy, origins, json } => list::list(policy, *origins, *json, global),
        RulesVerb::Lint(args) => Ok(lint::lint(args, global)?),
        RulesVerb::Fmt(args) => Ok(fmt::fmt(args, global)?),
        RulesVerb::Test(args) => test::test(args, global),
        RulesVerb::Diff(args) => diff::diff(args, global),
        RulesVerb::Add(args) => Ok(edit::add(args, global)?),
        RulesVerb::Remove(args) => Ok(edit::remove(args, global)?),
        RulesVerb::Import(args) => Ok(convert::import(args, global)?),
        RulesVerb::Export(args) => Ok(convert::export(args, global)?),
        RulesVerb::Convert(args) => Ok(convert::convert(args, global)?),
    }
}
