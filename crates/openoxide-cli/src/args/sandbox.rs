//! The arguments of `sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use openoxide_protocol::{HostPort, NetworkAccess, PublishedPort};
use openoxide_sandbox::SandboxBackend;

use crate::error::value_error::ValueError;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a program in the sandbox. No policy applies, and approval is requested only with --live;
    /// the kernel enforces these options.
    Run(Box<SandboxRunArgs>),
    /// The supervisor of a `run`, started by it.
    #[command(hide = true)]
    Supervise {
        /// The descriptor of the launch configuration.
        launch: String,
        /// The descriptor of the socket to the process that started it.
        wire: String,
    },
    /// Run a command that the hook of an agent permitted, once.
    #[command(hide = true)]
    Exec {
        /// The ticket of the hook.
        #[arg(long, value_name = "ID")]
        ticket: String,
    },
    /// Show which restrictions each backend can enforce on this machine, and why others are not
    /// available.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List and delete the private changes of confined programs in caches of tools.
    #[command(subcommand)]
    Caches(CachesCommand),
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CachesCommand {
    /// List the projects with private changes and their sizes, the most recently used first.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Delete the private changes of a project. Those that a run is using stay.
    Clear {
        /// A directory of the project [default: the working directory].
        #[arg(value_name = "DIR", conflicts_with = "all")]
        directory: Option<PathBuf>,
        /// Delete the private changes of all projects.
        #[arg(long)]
        all: bool,
    },
}

/// The restrictions that the kernel enforces while a permitted command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunSandboxMode {
    /// As the policy and the decision require: the command can change the project and other
    /// approved files, and reach allowed hosts.
    Auto,
    /// The same, but the command cannot change files.
    ReadOnly,
    /// No sandbox: the command runs with your full permissions.
    Off,
}

/// The backends that can be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// OpenOxide's own namespaces.
    Namespaces,
    /// The system's `bwrap`: no host can be reached, and job control is not available.
    Bubblewrap,
}

impl From<BackendName> for SandboxBackend {
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
    /// Allow no file changes.
    #[arg(long, conflicts_with_all = ["workspace_write", "root"])]
    pub(crate) read_only: bool,
    /// Allow changes below the working directory, or below each --root (default).
    #[arg(long)]
    pub(crate) workspace_write: bool,
    /// A directory below which files may be changed.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Stage the changes, show the differences when the program has ended, and ask whether to make
    /// them.
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) stage: bool,
    /// A path that the program cannot read, in addition to secret files and the files of OpenOxide;
    /// repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) deny_read: Vec<PathBuf>,
    /// A file or directory that the program can read although it usually contains secrets, such as
    /// ~/.config/gh.
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// A path inside the writable directories that cannot be changed, in addition to .git and the
    /// settings of agents and editors; repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) protect: Vec<PathBuf>,
    /// The hosts that the program can reach: `off`; `internet` (or `on`), which excludes this
    /// machine, local networks and metadata services; `host`, the network of this machine without
    /// restrictions; or `HOST[:PORT],*.DOMAIN[:PORT]`.
    #[arg(long, value_name = "NET", default_value = "off", value_parser = parse_network)]
    pub(crate) net: NetworkAccess,
    /// Ask in this terminal about each change of another file, and make approved changes on the
    /// program's behalf.
    #[arg(long, conflicts_with_all = ["read_only", "backend", "stage"])]
    pub(crate) live: bool,
    /// Publish a port of the program on the loopback interface of this machine (127.0.0.1 and ::1),
    /// where all users of this machine can connect to it; repeatable. HOSTPORT is the port of this
    /// machine [default: the same].
    #[arg(long, value_name = "PORT[:HOSTPORT]")]
    pub(crate) publish: Vec<PublishedPort>,
    /// Pass an environment variable into the sandbox: NAME or NAME=VALUE.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Kill the program after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Limit the memory of all its processes together, with temporary files, to this many MiB. If
    /// no control group can be made, a note is printed, and the limit applies to the address space
    /// of each process.
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Limit the number of its processes. If that cannot be enforced, as for root without a control
    /// group, a note is printed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) processes: Option<u64>,
    /// The working directory [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The backend; if it cannot enforce every restriction, the program is not run [default: see
    /// `sandbox status`].
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<BackendName>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

const AFTER_HELP: &str = "The program's own status is passed on; 125: the sandbox could not be set up, and nothing was run; \
126: the program cannot be started; 127: it was not found.";

fn parse_network(text: &str) -> Result<NetworkAccess, ValueError> {
    match text {
        "off" => Ok(NetworkAccess::Off),
        "internet" | "on" => Ok(NetworkAccess::Internet),
        "host" => Ok(NetworkAccess::On),
        hosts => hosts
            .split(',')
            .map(|host| Ok(host.parse::<HostPort>()?))
            .collect::<Result<_, _>>()
            .map(NetworkAccess::Hosts),
    }
}
