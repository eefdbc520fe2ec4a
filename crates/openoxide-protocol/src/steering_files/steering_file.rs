//! The description of a steering file.

use super::path_match;
use crate::AbsPath;

/// A file or directory that makes programs behave differently or run something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteeringFile {
    /// The location in which the file is searched.
    pub location: SteeringLocation,
    /// The programs that obey the file, by the names that start them. The list is empty if an
    /// agent, a shell, an editor or a service obeys it automatically.
    pub programs: &'static [&'static str],
    /// The kind of program that obeys the file.
    pub category: SteeringCategory,
    /// The effect of the content on a host program.
    pub effect: SteeringEffect,
    /// True if changing the file requires approval in every mode. Files that are part of ordinary
    /// work (`Makefile`, `package.json`) are not protected: they only steer later commands.
    pub is_protected: bool,
    /// The condition under which an existing file makes the programs that obey it more than
    /// read-only.
    pub distrust: DistrustCondition,
    /// The source that documents the behaviour.
    pub source: &'static str,
}

/// The location in which a steering file is searched.
///
/// The text has components separated by `/`. A component may contain one `*`, which matches any
/// characters of a name. A text that ends in `/` names a directory, and every file in it is a
/// steering file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteeringLocation {
    /// In any directory.
    Anywhere(&'static str),
    /// In the home directory. If no home directory is known, a name with a leading dot is matched
    /// in any directory, and another name in the usual home directories (`/home/*`, `/root`).
    Home(&'static str),
    /// Relative to the root. Also matched in any directory, because any directory can be the root
    /// of a container or of an image.
    System(&'static str),
}

/// The kind of program that obeys a steering file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SteeringCategory {
    /// Start-up files of shells and of a user's session.
    ShellStartup,
    /// Repositories and their hooks.
    VersionControl,
    /// Settings, hooks and extensions of agents.
    AgentSettings,
    /// Texts that agents follow.
    AgentInstructions,
    /// Settings, tasks and plugins of editors.
    Editor,
    /// Configuration of development tools.
    ToolConfiguration,
    /// Configuration of package managers and of programs that select versions of programs.
    PackageManager,
    /// Descriptions of jobs that run on other machines.
    ContinuousIntegration,
    /// Accounts, services and scheduled jobs of the machine.
    System,
    /// OpenOxide's own policy and state.
    OpenOxide,
}

/// The effect of a steering file's content on a host program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SteeringEffect {
    /// The program can run commands that the content contains or names.
    Executes,
    /// The program follows the content: settings, permissions, instructions.
    Obeys,
}

/// The condition under which an existing file makes the programs that obey it more than read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistrustCondition {
    /// Never: the effects of these programs under this file are known from their arguments.
    Never,
    /// Whenever the file exists.
    IfPresent,
    /// The text of the file contains one of these.
    IfContains(&'static [&'static str]),
    /// The text of the file contains one of the texts for the program.
    IfContainsForProgram(&'static [(&'static str, &'static [&'static str])]),
    /// The text of the file can make the programs read other files, whose lines appear in error
    /// messages.
    NamesFiles(FileReferenceKeys),
    /// A check of the file's content finds a problem.
    FailsCheck(SettingsCheck),
}

/// A check of a settings file, if its text alone does not show whether it is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsCheck {
    /// `go`: the `go` line names an unknown version, which is downloaded.
    GoVersion,
    /// rustup: the file names a directory, or a channel, component or target that is downloaded.
    RustChannel,
    /// black: the file sets another pattern than the default for the files that black reads.
    BlackInclude,
    /// yamllint: the file extends a configuration that is not built in.
    YamllintExtends,
    /// cargo, npm, go: the manifest of a member of the project is a link to a file with another
    /// name.
    LinkedMembers,
}

/// The texts in a configuration file with which it names other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileReferenceKeys {
    /// The texts before the name of another configuration file, which can name further files. `\n`
    /// matches the beginning of a line.
    pub includes: &'static [&'static str],
    /// The texts before the names of files that are only read. They can be names below the
    /// directory.
    pub names: &'static [&'static str],
    /// True if the programs accept the name of the configuration in any case.
    pub ignores_case: bool,
}

impl SteeringFile {
    /// Returns the text of the pattern, for any kind of location.
    #[must_use]
    pub const fn pattern(&self) -> &'static str {
        match self.location {
            SteeringLocation::Anywhere(text)
            | SteeringLocation::Home(text)
            | SteeringLocation::System(text) => text,
        }
    }

    /// Returns whether the pattern names a directory in which every file is a steering file.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.pattern().ends_with('/')
    }

    /// Returns the components of the pattern.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + Clone {
        path_match::path_components(self.pattern())
    }

    /// Returns whether the pattern contains a wildcard.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.pattern().contains('*')
    }

    /// Returns whether this program obeys the file.
    #[must_use]
    pub fn applies_to(&self, program: &str) -> bool {
        self.programs.contains(&program)
    }

    /// Returns whether the path is such a file, is below such a directory, or is a directory that
    /// would contain it according to its last names (`.github` for `.github/workflows/`). Replacing
    /// that directory would replace the file.
    #[must_use]
    pub fn matches(&self, path: &AbsPath) -> bool {
        match self.location {
            SteeringLocation::Home(text) if !text.starts_with('.') => {
                path_match::matches_below_home(text, path)
            }
            _ => path_match::matches_path(self.pattern(), path),
        }
    }

    /// Returns whether a relative path, such as one below a project, is such a file or is below
    /// such a directory.
    #[must_use]
    pub fn matches_relative(&self, path: &str) -> bool {
        self.matches(&AbsPath::root().join(path))
    }

    /// Returns the path of the file below this directory, or `None` if the pattern contains a
    /// wildcard.
    #[must_use]
    pub fn resolve_in(&self, directory: &AbsPath) -> Option<AbsPath> {
        (!self.has_wildcard()).then(|| directory.join(self.pattern()))
    }
}

impl SteeringFile {
    pub(super) const fn with_programs(self, programs: &'static [&'static str]) -> Self {
        Self { programs, ..self }
    }

    pub(super) const fn with_home_location(self) -> Self {
        Self { location: SteeringLocation::Home(self.pattern()), ..self }
    }

    pub(super) const fn with_system_location(self) -> Self {
        Self { location: SteeringLocation::System(self.pattern()), ..self }
    }

    pub(super) const fn without_protection(self) -> Self {
        Self { is_protected: false, ..self }
    }

    pub(super) const fn with_distrust(self) -> Self {
        Self { distrust: DistrustCondition::IfPresent, ..self }
    }

    pub(super) const fn with_check(self, check: SettingsCheck) -> Self {
        Self { distrust: DistrustCondition::FailsCheck(check), ..self }
    }

    pub(super) const fn with_distrusted_texts(self, texts: &'static [&'static str]) -> Self {
        Self { distrust: DistrustCondition::IfContains(texts), ..self }
    }

    pub(super) const fn distrusted_naming_files(
        self,
        includes: &'static [&'static str],
        names: &'static [&'static str],
    ) -> Self {
        let keys = FileReferenceKeys { includes, names, ignores_case: false };
        Self { distrust: DistrustCondition::NamesFiles(keys), ..self }
    }

    pub(super) const fn ignoring_case(self) -> Self {
        let distrust = match self.distrust {
            DistrustCondition::NamesFiles(keys) => {
                DistrustCondition::NamesFiles(FileReferenceKeys { ignores_case: true, ..keys })
            }
            other => other,
        };
        Self { distrust, ..self }
    }

    pub(super) const fn with_distrusted_texts_for(
        self,
        texts: &'static [(&'static str, &'static [&'static str])],
    ) -> Self {
        Self { distrust: DistrustCondition::IfContainsForProgram(texts), ..self }
    }
}

/// Returns an entry for a file in any directory.
pub(super) const fn steering_file(
    pattern: &'static str,
    category: SteeringCategory,
    effect: SteeringEffect,
    source: &'static str,
) -> SteeringFile {
    SteeringFile {
        location: SteeringLocation::Anywhere(pattern),
        programs: &[],
        category,
        effect,
        is_protected: true,
        distrust: DistrustCondition::Never,
        source,
    }
}
