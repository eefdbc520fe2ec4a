//! One thing that an operation does: the unit that rules judge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbsPath, CommandWords, Span};

/// One thing that an operation does. An operation is a list of them, and the strictest answer among them is its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "access", rename_all = "snake_case")]
pub enum Access {
    /// Runs a program (or a builtin or function of the shell).
    Exec(ExecAccess),
    /// Reads a file or lists a directory.
    Read(PathAccess),
    /// Creates, changes or removes a file.
    Edit(PathAccess),
    /// Reaches a host.
    Fetch {
        /// Lower case, without port, user or trailing dot.
        host: String,
        /// The whole address, as it was asked for.
        url: String,
        /// Who reaches it.
        #[serde(default, skip)]
        route: AccessRoute,
    },
    /// Calls a tool that is none of the above.
    CallTool {
        /// `mcp__server__tool`, or the agent's name for a tool of its own.
        tool: String,
    },
    /// Starts a subagent.
    Delegate {
        /// Its type.
        agent: String,
    },
    /// Repeats one tool call again and again.
    DoomLoop {
        /// The tool that is repeated.
        tool: String,
    },
    /// Leaves the directories of the project.
    ExternalDirectory(PathAccess),
    /// Does something that was not understood. No rule can allow it.
    Opaque {
        /// What was not understood, as it was written.
        text: String,
        /// Where it stands in the script.
        #[serde(default, skip)]
        span: Span,
    },
}

/// A program that would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecAccess {
    /// The program and its arguments; `null` where they are not statically known.
    pub argv: CommandWords,
    /// The command as it was written.
    pub text: String,
    /// What is known of it without asking any rule.
    #[serde(default, skip)]
    pub class: CommandClass,
    /// Where it stands in the script.
    #[serde(default, skip)]
    pub span: Span,
    /// How many leading words "always" would keep (arity); 0 when no prefix may be offered.
    #[serde(default, skip)]
    pub arity: u8,
    /// Where it runs, if that is not the working directory of the operation; the root, where it is not known.
    #[serde(default, skip)]
    pub cwd: Option<AbsPath>,
    /// The same command without the options before its subcommand, and with the subcommand's own name, if it was written
    /// otherwise: `git push` for `git -C . push`. A rule that holds this back holds the command back.
    #[serde(default, skip)]
    pub normalized_argv: Option<CommandWords>,
    /// The commands that it runs and that a rule for it covers, at any depth: `uv run rm x` and `rm x` for `npx uv run rm x`. A rule
    /// that holds one of them back holds the command back.
    #[serde(default, skip)]
    pub carried_commands: Vec<CommandWords>,
    /// The version control systems that it starts. Their repository at `place` decides what else they run.
    #[serde(default, skip)]
    pub version_control: VersionControl,
    /// Words that git takes for a configured remote, or for a directory of that name.
    #[serde(default, skip)]
    pub remotes: Vec<String>,
    /// The data bases of SQLite that it opens.
    #[serde(default, skip)]
    pub databases: Vec<SqliteDatabase>,
    /// Whether the program was never run to check that it is harmless: what is known of it was read in manuals only.
    #[serde(default, skip)]
    pub unproved: bool,
}

/// A data base of SQLite that a program opens to read. That can make files: the data base if it is missing, and those beside
/// it that a write-ahead log or an interrupted change needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteDatabase {
    /// The name of its file.
    pub file: String,
    /// Whether an empty file is made where there is none.
    pub creates_if_missing: bool,
}

/// The version control systems that a program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionControl {
    /// None.
    #[default]
    None,
    /// Git only.
    Git,
    /// Any: the program looks for the metadata of several systems, and starts the one that they belong to.
    Any,
}

/// What is known of a command without asking any rule.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CommandClass {
    /// It reads at most the files that are listed beside it, and changes nothing.
    Harmless,
    /// It reads and changes at most the files that are listed beside it, and does nothing else.
    Edits,
    /// Nothing is known of it.
    #[default]
    Unknown,
}

/// Who touches a file or a host, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessRoute {
    /// The tool or the shell itself.
    #[default]
    Direct,
    /// A program that is listed beside it. Whether it may run is asked of the program.
    Program,
    /// A program that is listed beside it, and that looks at names, sizes and the like only.
    Metadata,
}

/// Which files below a directory a program searches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSearch {
    /// Patterns of which a file's name has to match one; without any, all files are searched.
    pub include_patterns: Vec<String>,
    /// Patterns of names of files that are left out.
    pub exclude_patterns: Vec<String>,
    /// Patterns of names of directories that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_directories: Vec<String>,
    /// Whether files and directories are searched whose names begin with a dot.
    pub includes_hidden: bool,
    /// Whether files are searched that `.gitignore` names.
    pub includes_ignored: bool,
}

impl FileSearch {
    /// Returns the search of all files.
    #[must_use]
    pub fn all_files() -> Self {
        Self { includes_hidden: true, includes_ignored: true, ..Self::default() }
    }
}

/// A file or directory that is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathAccess {
    /// The path by its letters.
    pub path: AbsPath,
    /// Where it leads once symbolic links are followed, if that is somewhere else. Both spellings are judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<AbsPath>,
    /// The path as it was written, which may be relative; what the file system is asked about.
    #[serde(default, skip)]
    pub raw_path: String,
    /// Who touches it, and how.
    #[serde(default, skip)]
    pub route: AccessRoute,
    /// It is a pattern of the shell: the files that match it are meant.
    #[serde(default, skip)]
    pub is_pattern: bool,
    /// It is a directory: files below it are meant, whose names another program has printed.
    #[serde(default, skip)]
    pub has_piped_names: bool,
    /// It is a pattern whose matches are only looked at for names that the program would take for options: those that begin with one
    /// of these texts. Blanks separate them, and a text with a `*` before it can be anywhere in the name.
    #[serde(default, skip)]
    pub option_prefixes: Option<String>,
    /// It is a directory in which a program searches files and prints lines of them.
    #[serde(default, skip)]
    pub search: Option<Box<FileSearch>>,
    /// Where it stands in the script.
    #[serde(default, skip)]
    pub span: Span,
}

impl PathAccess {
    /// Returns the access to `path`, not yet resolved.
    #[must_use]
    pub fn new(path: AbsPath) -> Self {
        let raw_path = path.to_string();
        Self {
            path,
            resolved: None,
            raw_path,
            route: AccessRoute::default(),
            is_pattern: false,
            has_piped_names: false,
            option_prefixes: None,
            search: None,
            span: Span::default(),
        }
    }

    /// Returns both spellings, the resolved one last.
    pub fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        std::iter::once(&self.path).chain(&self.resolved)
    }
}

impl Access {
    /// Returns the name under which rules and people know this kind of access.
    #[must_use]
    pub const fn permission_name(&self) -> &'static str {
        match self {
            Self::Exec(_) => "bash",
            Self::Read(_) => "read",
            Self::Edit(_) => "edit",
            Self::Fetch { .. } => "webfetch",
            Self::CallTool { .. } => "tool",
            Self::Delegate { .. } => "task",
            Self::DoomLoop { .. } => "doom_loop",
            Self::ExternalDirectory(_) => "external_directory",
            Self::Opaque { .. } => "opaque",
        }
    }

    /// Returns what it touches, in one line for a person.
    #[must_use]
    pub fn summary(&self) -> &str {
        match self {
            Self::Exec(exec) => &exec.text,
            Self::Read(path) | Self::Edit(path) | Self::ExternalDirectory(path) => {
                path.path.as_str()
            }
            Self::Fetch { url, .. } => url,
            Self::CallTool { tool } | Self::DoomLoop { tool } => tool,
            Self::Delegate { agent } => agent,
            Self::Opaque { text, .. } => text,
        }
    }
}
