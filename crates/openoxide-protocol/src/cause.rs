//! The cause of a question: the effect for which an access requires approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The effect that made a question, a denial or the sandbox necessary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The kind of effect.
    pub code: CauseCode,
    /// The effect in words, for a person: a phrase that begins with a verb, as in "runs build
    /// scripts of this project".
    pub detail: String,
}

/// The kind of effect for which an access requires approval or the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseCode {
    /// Runs code, tests, tasks or settings of the project.
    RunsProjectCode,
    /// Runs code or a command that the words name.
    RunsCode,
    /// Installs, changes or removes packages.
    InstallsPackages,
    /// Contacts a host.
    ContactsHost,
    /// Connects to a Unix socket of a service on this machine.
    ConnectsSocket,
    /// Changes something on a service: a release, a cluster, a pull request.
    ChangesService,
    /// Changes commits, branches or other parts of the history of a repository.
    ChangesHistory,
    /// Discards changes of files or of the history that were not saved elsewhere.
    DiscardsChanges,
    /// Creates or changes files.
    WritesFiles,
    /// Creates or changes files outside the project.
    WritesOutside,
    /// Removes files or other stored data.
    RemovesFiles,
    /// Reads files.
    ReadsFiles,
    /// Reads or uses files that usually contain secrets.
    ReadsSecret,
    /// Accesses a directory outside the project.
    LeavesProject,
    /// Changes processes, services, permissions or settings of the system.
    ChangesSystem,
    /// Changes data in a database.
    ChangesData,
    /// Starts other programs, which are listed separately.
    StartsPrograms,
    /// Calls a tool.
    CallsTool,
    /// Starts a subagent.
    StartsAgent,
    /// Repeats the same tool call.
    RepeatsCall,
    /// Would approve requests on behalf of a person.
    ApprovesRequests,
    /// Runs a program that OpenOxide does not know.
    UnknownProgram,
    /// Depends on a value that is known only at run time.
    UnknownValue,
    /// Is not known to be read-only.
    UnknownEffect,
    /// Was not understood, or runs something that its words do not show.
    Opaque,
}

/// The cause of a command, as the analysis of its words determines it. It owns no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandCause {
    /// An effect for which there is a phrase.
    Stated {
        /// The kind of effect.
        code: CauseCode,
        /// The phrase, such as "runs build scripts of this project".
        phrase: &'static str,
    },
    /// The program is unknown.
    UnknownProgram,
    /// The command starts other programs. The first one follows it in the list of accesses.
    StartsPrograms,
    /// The program is known, but the effect of these words is unknown. The files and hosts that it
    /// accesses follow it in the list of accesses.
    Derived,
}
