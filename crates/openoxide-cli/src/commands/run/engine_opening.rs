//! The engine of a run.

use openoxide_engine::Engine;
use openoxide_store::UserEnvironment;

use crate::{
    args::{GlobalArgs, RunArgs},
    commands::trust,
    error::CliError,
    policy_args, user_messages,
};

/// Opens the engine. If projects are not trusted, the person is asked about them first.
pub(super) fn open_engine(args: &RunArgs, global: GlobalArgs) -> Result<Engine, CliError> {
    let mut engine = policy_args::open_engine_for_run(args)?;
    if trust::offer_trust_all(engine.untrusted_projects(), &UserEnvironment::from_process(), global)
    {
        engine = policy_args::open_engine_for_run(args)?;
    }
    let closed = engine.managed_policy_error().is_some();
    if policy_args::check_policy(&engine, global).is_err() && !closed {
        user_messages::print_note(
            &"the policy has errors; every action needs approval until they are fixed",
        );
    }
    Ok(engine)
}
