//! Properties of a script that matter if an agent runs it in a different way than bash would.

use openoxide_protocol::AbsPath;

use crate::{analysis_context::AnalysisContext, script_text, walk};

/// Properties of a script as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptProperties {
    /// Whether a POSIX shell and zsh read the script like bash, as far as its text shows.
    pub is_portable: bool,
    /// The variables that the script assigns, or [`None`] if they are unknown.
    pub assigned: Option<Vec<String>>,
    /// The possible working directories of the shell at the end, or [`None`] if they are unknown.
    pub last_directories: Option<Vec<AbsPath>>,
}

impl ScriptProperties {
    /// Returns the properties of `script`. A script that cannot be parsed completely is not
    /// portable and may assign any variable.
    ///
    /// ```
    /// use openoxide_protocol::AbsPath;
    /// use openoxide_shell::{ScriptProperties, AnalysisContext};
    ///
    /// let cwd = AbsPath::new("/home/me/project")?;
    /// let setting = AnalysisContext { cwd: &cwd, home: None };
    /// assert!(ScriptProperties::examine("x=1; ls", &setting).is_portable);
    /// assert!(!ScriptProperties::examine("[[ a > b ]]", &setting).is_portable);
    /// # Ok::<(), openoxide_protocol::PathError>(())
    /// ```
    #[must_use]
    pub fn examine(script: &str, setting: &AnalysisContext<'_>) -> Self {
        if script_text::reject_unreadable(script).is_some() {
            return Self::default();
        }
        let Some(walk) = walk::walk_whole_script(script, setting) else { return Self::default() };
        Self {
            is_portable: walk.is_portable(),
            assigned: walk.assigned_variables(),
            last_directories: walk.last_directories(),
        }
    }

    /// Returns whether programs are known to behave the same for every value of `variable`, as far
    /// as rules are concerned. Examples are `CI` and `TERM`.
    #[must_use]
    pub fn is_ordinary_variable(variable: &str) -> bool {
        walk::environment_variables::is_harmless_variable(variable)
    }
}
