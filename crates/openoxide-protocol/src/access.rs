//! Accesses: the things that an operation does, and the unit that rules are matched against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbsPath, AccessRoute, CauseCode, CommandCause, CommandWords, SocketAccess, Span};

/// One thing that an operation does. An operation is a list of accesses, and its effect is the
/// strictest of their effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "access", rename_all = "snake_case")]
pub enum Access {
    /// Runs a program, or a builtin or function of the shell.
    Exec(ExecAccess),
    /// Reads a file or lists a directory.
    Read(PathAccess),
    /// Creates, changes or removes a file.
    Edit(PathAccess),
    /// Contacts a host.
    Fetch {
        /// The host in lower case, without port, user or trailing dot.
        host: String,
        /// The whole URL, as requested.
        url: String,
        /// The route of the access.
        #[serde(default, skip)]
        route: AccessRoute,
    },
    /// Connects to a Unix socket of a service outside of the sandbox.
    Socket(SocketAccess),
    /// Calls a tool that none of the other variants describes.
    CallTool {
        /// The name of the tool: `mcp__server__tool`, or the agent's name for one of its own tools.
        tool: String,
    },
    /// Starts a subagent.
    Delegate {
        /// The type of the subagent.
        agent: String,
    },
    /// Repeats one tool call several times in a row.
    #[serde(rename = "doom_loop")]
    Repetition {
        /// The tool that is repeated.
        tool: String,
    },
    /// Accesses a path outside the directories of the project.
    ExternalDirectory(PathAccess),
    /// Performs an action that was not understood. No rule can allow it.
    Opaque {
        /// The text that was not understood, as written.
        text: String,
        /// The position in the script.
        #[serde(default, skip)]
        span: Span,
    },
}

/// A program that would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecAccess {
    /// The program and its arguments. Words that are not statically known are `null`.
    pub argv: CommandWords,
    /// The command as it was written.
    pub text: String,
    /// The class of the command, which does not depend on any rule.
    #[serde(default, skip)]
    pub class: CommandClass,
    /// The position in the script.
    #[serde(default, skip)]
    pub span: Span,
    /// The number of leading words that "always" would save (arity), or 0 if no prefix may be
    /// suggested.
    #[serde(default, skip)]
    pub arity: u8,
    /// The directory in which it runs, if that is not the working directory of the operation. The
    /// root means that the directory is unknown.
    #[serde(default, skip)]
    pub cwd: Option<AbsPath>,
    /// The same command without the options before its subcommand, and with the canonical name of
    /// the subcommand, if it was written differently: `git push` for `git -C . push`. A rule that
    /// restricts these words restricts the command.
    #[serde(default, skip)]
    pub normalized_argv: Option<CommandWords>,
    /// The commands that this command runs and that a rule for it covers, at any depth:
    /// `uv run rm x` and `rm x` for `npx uv run rm x`. A rule that restricts one of them restricts
    /// this command.
    #[serde(default, skip)]
    pub carried_commands: Vec<CommandWords>,
    /// The version control systems that the command starts. The repository in the command's
    /// directory determines what else they run.
    #[serde(default, skip)]
    pub version_control: VersionControl,
    /// The words that git interprets as a configured remote, or as a directory of that name.
    #[serde(default, skip)]
    pub remotes: Vec<String>,
    /// The SQLite databases that the command opens.
    #[serde(default, skip)]
    pub databases: Vec<SqliteDatabase>,
    /// True if the program was never run to verify that it is harmless. Its properties come from
    /// manuals only.
    #[serde(default, skip)]
    pub unproved: bool,
    /// The cause if the command is not harmless. A question names it.
    #[serde(default, skip)]
    pub cause: Option<CommandCause>,
}

impl ExecAccess {
    /// Sets the class to unknown. The cause is only used if the command has none.
    pub fn distrust(&mut self, code: CauseCode, phrase: &'static str) {
        self.class = CommandClass::Unknown;
        self.cause.get_or_insert(CommandCause::Stated { code, phrase });
    }
}

/// An SQLite database that a program opens for reading.
///
/// Opening it can create files: the database if it is missing, and the files next to it for a
/// write-ahead log or an interrupted change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteDatabase {
    /// The name of its file.
    pub file: String,
    /// True if an empty file is created when the file does not exist.
    pub creates_if_missing: bool,
}

/// The version control systems that a program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionControl {
    /// No version control system.
    #[default]
    None,
    /// Git only.
    Git,
    /// Any version control system: the program looks for the metadata of several systems and starts
    /// the matching one.
    Any,
}

/// The class of a command, which does not depend on any rule.
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
    /// A command that reads at most the files that are listed with it, and changes nothing.
    Harmless,
    /// A command that reads and changes at most the files that are listed with it, and does nothing
    /// else.
    Edits,
    /// A command without known properties.
    #[default]
    Unknown,
}

/// The files below a directory that a program searches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct FileSearch {
    /// The patterns for names of searched files. A name must match one of them. If the list is
    /// empty, all files are searched.
    pub include_patterns: Vec<String>,
    /// The patterns for names of files that are not searched.
    pub exclude_patterns: Vec<String>,
    /// The patterns for names of directories that are not searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_directories: Vec<String>,
    /// True if files and directories whose names begin with a dot are searched.
    pub includes_hidden: bool,
    /// True if files that `.gitignore` lists are searched.
    pub includes_ignored: bool,
    /// True if symbolic links to files are followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_links: bool,
    /// True if everything below a directory is searched whose name matches one of
    /// `include_patterns`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub includes_matching_directories: bool,
    /// True if only files are searched that git tracks when the script begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tracked_only: bool,
    /// True if a program may print names of earlier versions: of files that neither the directory
    /// nor the index of git contains.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_earlier_files: bool,
    /// True if an ignore file can include hidden files again (`!.env`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub obeys_ignore_files: bool,
}

impl FileSearch {
    /// Returns a search of all files.
    #[must_use]
    pub fn all_files() -> Self {
        Self { includes_hidden: true, includes_ignored: true, ..Self::default() }
    }
}

/// A file or directory that is accessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathAccess {
    /// The absolute path, without symbolic links resolved.
    pub path: AbsPath,
    /// The target after following symbolic links, if it differs from the path. Both paths are
    /// checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<AbsPath>,
    /// The path as it was written, which may be relative. The file system is queried with this
    /// form.
    #[serde(default, skip)]
    pub raw_path: String,
    /// The route of the access.
    #[serde(default, skip)]
    pub route: AccessRoute,
    /// True if the path is a shell pattern that refers to all files that match it.
    #[serde(default, skip)]
    pub is_pattern: bool,
    /// True if the path is a directory that refers to files below it whose names another program
    /// has printed.
    #[serde(default, skip)]
    pub has_piped_names: bool,
    /// The prefixes of names that the program would interpret as options.
    ///
    /// The path is then a pattern, and its matches are only checked for such names. The prefixes
    /// are separated by spaces. A text with a leading `*` can occur anywhere in the name.
    #[serde(default, skip)]
    pub option_prefixes: Option<String>,
    /// The search, if the path is a directory in which a program searches files and prints lines of
    /// them.
    #[serde(default, skip)]
    pub search: Option<Box<FileSearch>>,
    /// The position in the script.
    #[serde(default, skip)]
    pub span: Span,
}

impl PathAccess {
    /// Returns an access to `path` that is not resolved.
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

    /// Returns the path and the resolved path, if there is one, in this order.
    pub fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        std::iter::once(&self.path).chain(&self.resolved)
    }
}

impl Access {
    /// Returns the name of this kind of access in rules and messages.
    #[must_use]
    pub const fn permission_name(&self) -> &'static str {
        match self {
            Self::Exec(_) => "bash",
            Self::Read(_) => "read",
            Self::Edit(_) => "edit",
            Self::Fetch { .. } => "webfetch",
            Self::Socket(_) => "socket",
            Self::CallTool { .. } => "tool",
            Self::Delegate { .. } => "task",
            Self::Repetition { .. } => "doom_loop",
            Self::ExternalDirectory(_) => "external_directory",
            Self::Opaque { .. } => "opaque",
        }
    }

    /// Returns the subject of the access in one line, for display.
    #[must_use]
    pub fn summary(&self) -> &str {
        match self {
            Self::Exec(exec) => &exec.text,
            Self::Read(path) | Self::Edit(path) | Self::ExternalDirectory(path) => {
                path.path.as_str()
            }
            Self::Fetch { url, .. } => url,
            Self::Socket(socket) => &socket.socket,
            Self::CallTool { tool } | Self::Repetition { tool } => tool,
            Self::Delegate { agent } => agent,
            Self::Opaque { text, .. } => text,
        }
    }
}
