//! The arguments of `allow`.

use clap::{Args, ValueEnum};
use openoxide_engine::QuestionSelection;

use super::rules::EditTargetArgs;
use crate::error::value_error::ValueError;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct AllowArgs {
    /// The call: `last`, or the number of a record of `audit log`.
    #[arg(value_name = "last|NUMBER", value_parser = parse_selection)]
    pub(crate) call: QuestionSelection,
    #[command(flatten)]
    pub(crate) target: PolicyTargetArgs,
    /// Save the rule without asking. The call must be named by its number, because an agent may have
    /// made another one since you saw the last one.
    #[arg(long, conflicts_with = "print")]
    pub(crate) yes: bool,
    /// Print the rule without saving it.
    #[arg(long)]
    pub(crate) print: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The policy file to add a rule to. Without one, the rule is saved as a grant for the project.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PolicyTargetArgs {
    /// Where the rule is valid: in this project (a grant, the default), or in all your projects
    /// (the same as `--user`).
    #[arg(long, value_name = "SCOPE")]
    scope: Option<AllowScope>,
    /// Add the rule to your own file for all projects, `~/.config/openoxide/policy.toml`.
    #[arg(long)]
    user: bool,
    /// Add the rule to the project's shared file, `.openoxide/policy.toml`.
    #[arg(long)]
    project: bool,
    /// Add the rule to your own file for this project, `.openoxide/local.toml`.
    #[arg(long)]
    local: bool,
}

/// Where a rule is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AllowScope {
    // Without doc comments, because the help would list one line for each value.
    Project,
    User,
}

impl PolicyTargetArgs {
    /// Returns the selected file, if one is selected.
    pub(crate) fn edit_target(self) -> Option<EditTargetArgs> {
        let Self { scope, user, project, local } = self;
        let user = user || scope == Some(AllowScope::User);
        (user || project || local).then_some(EditTargetArgs { user, project, local })
    }

    /// Returns the option that selects the file, for a command line.
    pub(crate) fn as_option(self) -> &'static str {
        match self.edit_target() {
            Some(EditTargetArgs { project: true, .. }) => " --project",
            Some(EditTargetArgs { local: true, .. }) => " --local",
            Some(_) => " --user",
            None => "",
        }
    }
}

fn parse_selection(text: &str) -> Result<QuestionSelection, ValueError> {
    match text {
        "last" => Ok(QuestionSelection::Last),
        number => {
            number.parse().map(QuestionSelection::Record).map_err(|_| ValueError::UnknownCall)
        }
    }
}
