//! The arguments of `sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use openoxide_protocol::{HostPort, NetworkAccess};
use openoxide_sandbox::Backend;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a program confined. Nothing is decided, and nobody is asked but with --live: the kernel holds what is said here.
    Run(Box<SandboxRunArgs>),
    /// The supervisor of a `run`, started by it.
    #[command(hide = true)]
    Supervise {
        /// The descriptor of what is to be run.
        launch: String,
        /// The descriptor of the socket to who has started it.
        wire: String,
    },
    /// Say what this machine can hold, by which backend, what not and why.
    Status {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What the kernel holds while a command runs that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunSandboxMode {
    /// What the policy and the decision say: it changes files in the project and what was said yes to, and reaches hosts that
    /// rules or a person allow.
    Auto,
    /// The same, and it changes no file.
    ReadOnly,
    /// Nothing: it has all your rights.
    Off,
}

/// The backends that a program can be run by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// Our own namespaces.
    Namespaces,
    /// The system's `bwrap`: no host is reached, and there is no control of jobs.
    Bubblewrap,
}

impl From<BackendName> for Backend {
    fn from(by: BackendName) -> Self {
        match by {
            BackendName::Namespaces => Self::Namespaces,
            BackendName::Bubblewrap => Self::Bubblewrap,
        }
    }
}

#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct SandboxRunArgs {
    /// It changes no file at all.
    #[arg(long, conflicts_with_all = ["workspace_write", "root"])]
    pub(crate) read_only: bool,
    /// It changes files below the working directory, or below each --root; this is what holds if nothing is said.
    #[arg(long)]
    pub(crate) workspace_write: bool,
    /// A directory below which files may be changed.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Keep what it changes aside, show the differences when it has ended, and ask whether they are to be made.
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) stage: bool,
    /// What it cannot read, besides files that usually hold secrets and the files of this program.
    #[arg(long, value_name = "PATH")]
    pub(crate) deny_read: Vec<PathBuf>,
    /// A file or directory that it can read although it usually contains secrets, such as ~/.config/gh.
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// What stays as it is inside the writable directories, besides what always does (.git, settings of agents and editors).
    #[arg(long, value_name = "PATH")]
    pub(crate) protect: Vec<PathBuf>,
    /// The hosts that it reaches: `off`; `internet` (or `on`), which leaves this machine, its neighbours and metadata services out; `host`,
    /// this machine's own network with all of these; or `HOST[:PORT],*.DOMAIN[:PORT]`.
    #[arg(long, value_name = "NET", default_value = "off", value_parser = parse_network)]
    pub(crate) net: NetworkAccess,
    /// Hold changes of other files, ask about each in this terminal, and do what is said yes to on its behalf.
    #[arg(long, conflicts_with_all = ["read_only", "backend", "stage"])]
    pub(crate) live: bool,
    /// A variable of the environment that it is given, too: NAME, or NAME=VALUE.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// End it after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Let its processes together have no more memory than so many MiB, with temporary files. Where no control group can be made, a note
    /// says so, and each process may have as much address space.
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Let it have no more than so many processes at the same time. Where that cannot be enforced, as for root without a control
    /// group, a note says so.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) processes: Option<u64>,
    /// Where it runs, if not here.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// By which backend it is held; nothing is run if that does not hold everything here. What is chosen if nothing is said:
    /// `sandbox status`.
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<BackendName>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

const AFTER_HELP: &str = "The program's own status is passed on; 125: the sandbox could not be set up, and nothing was run; \
126: the program cannot be started; 127: it was not found.";

fn parse_network(text: &str) -> Result<NetworkAccess, String> {
    match text {
        "off" => Ok(NetworkAccess::Off),
        "internet" | "on" => Ok(NetworkAccess::Internet),
        "host" => Ok(NetworkAccess::On),
        hosts => hosts
            .split(',')
            .map(|host| host.parse::<HostPort>().map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()
            .map(NetworkAccess::Hosts),
    }
}
