//! Files of a project that name hosts which a harmless subcommand contacts.
//!
//! `docker compose ps` loads the compose file, which can include files from any host. `go list`
//! fetches missing modules from the hosts of their names, with git or another system.

use std::path::Path;

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandClass, CommandWord, ExecAccess};

use crate::{
    project_settings::{may_contain, path_spellings},
    script_edits::ScriptEdits,
};

/// The files in which a program finds hosts.
struct HostFiles {
    programs: &'static [&'static str],
    /// The subcommands that read the files, or empty for all subcommands.
    subcommands: &'static [&'static str],
    files: &'static [&'static str],
    /// Texts, one of which the file contains if it names a host.
    required_texts: &'static [&'static str],
}

/// The default names of compose files.
const COMPOSE_FILES: &[&str] = &[
    "compose.yaml",
    "compose.yml",
    "compose.override.yaml",
    "compose.override.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "docker-compose.override.yaml",
    "docker-compose.override.yml",
    "podman-compose.yaml",
    "podman-compose.yml",
    "container-compose.yaml",
    "container-compose.yml",
];

/// The texts that a compose file needs to include another file. A character of a key may be written
/// as an escaped number.
const INCLUDE_MARKERS: &[&str] = &["include", "extends", "\\", "!!binary"];

/// The prefixes of variables in `.env` that select another compose file or daemon.
const COMPOSE_VARIABLES: &[&str] = &["COMPOSE_", "DOCKER_", "PODMAN_"];

const DOCKER_PROGRAMS: &[&str] = &["docker", "podman", "nerdctl"];
const COMPOSE_PROGRAMS: &[&str] = &["docker-compose", "podman-compose"];

/// The files and texts with which go finds modules.
const MODULE_FILES: &[&str] = &["go.mod", "go.work"];
const MODULE_LINES: &[&str] = &["require", "replace", "\\"];

const HOST_FILES: [HostFiles; 6] = [
    HostFiles {
        programs: DOCKER_PROGRAMS,
        subcommands: &["compose"],
        files: COMPOSE_FILES,
        required_texts: INCLUDE_MARKERS,
    },
    HostFiles {
        programs: COMPOSE_PROGRAMS,
        subcommands: &[],
        files: COMPOSE_FILES,
        required_texts: INCLUDE_MARKERS,
    },
    HostFiles {
        programs: DOCKER_PROGRAMS,
        subcommands: &["compose"],
        files: &[".env"],
        required_texts: COMPOSE_VARIABLES,
    },
    HostFiles {
        programs: COMPOSE_PROGRAMS,
        subcommands: &[],
        files: &[".env"],
        required_texts: COMPOSE_VARIABLES,
    },
    HostFiles {
        programs: &["go"],
        subcommands: &["list", "mod", "doc"],
        files: MODULE_FILES,
        required_texts: MODULE_LINES,
    },
    // It starts `go list -m`, also before it writes.
    HostFiles {
        programs: &["goimports"],
        subcommands: &[],
        files: MODULE_FILES,
        required_texts: MODULE_LINES,
    },
];

/// Makes programs that only read or edit files require approval if they contact hosts that a file of the project names.
pub(crate) fn distrust_host_programs(accesses: &mut [Access], edits: &ScriptEdits, cwd: &AbsPath) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if exec.class != CommandClass::Unknown
            && HOST_FILES
                .iter()
                .any(|files| files.apply_to(exec) && files.exist_above(exec, edits, cwd))
        {
            exec.distrust(
                CauseCode::ContactsHost,
                "contacts hosts that files of this project name",
            );
        }
    }
}

impl HostFiles {
    /// Returns whether the command reads the files.
    fn apply_to(&self, exec: &ExecAccess) -> bool {
        let program = exec.argv.known_word(0).and_then(|name| name.rsplit('/').next());
        let is_subcommand =
            |word| matches!(word, CommandWord::Known(text) if self.subcommands.contains(&text));
        program.is_some_and(|name| self.programs.contains(&name))
            && (self.subcommands.is_empty() || exec.argv.iter().any(is_subcommand))
    }

    /// Returns whether one of the files is in the working directory or above it. If that directory
    /// is unknown, each file could exist.
    fn exist_above(&self, exec: &ExecAccess, edits: &ScriptEdits, cwd: &AbsPath) -> bool {
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        let before = edits.edits_before(exec);
        let found = |file: &Path| may_contain(file, self.required_texts) || before.may_change(file);
        exec.cwd.as_ref() == Some(&AbsPath::root())
            || path_spellings(place).iter().any(|place| {
                let mut above = place.ancestors();
                above.any(|directory| self.files.iter().any(|file| found(&directory.join(file))))
            })
    }
}
