//! The known value of a variable or parameter.

use openoxide_protocol::AbsPath;

use super::{
    environment_variables, expanded_word::ParameterValue, script_walk::ScriptWalk,
    state::KnownValue, value_text::is_arithmetic_number,
};
use crate::syntax::syntax_tree::{ExpansionForm, ParameterExpansion, WordPiece};

impl ScriptWalk<'_> {
    /// Returns the home directory, if it is known and the script does not change it.
    pub(super) fn home_directory(&self) -> Option<&str> {
        let touched = self.previous_scan.assigns_variable("HOME")
            || self.current_scan.assigns_variable("HOME");
        self.context.home.filter(|_| !touched).map(AbsPath::as_str)
    }

    /// Returns whether a variable may contain a secret of the environment that the script is
    /// started in.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        environment_variables::is_secret_variable(name) && self.state.variables.get(name).is_none()
    }

    /// Returns the known facts about the value of a parameter expansion.
    pub(super) fn lookup_parameter(&self, parameter: &ParameterExpansion<'_>) -> ParameterValue {
        match parameter.form {
            ExpansionForm::Length => ParameterValue::Number,
            ExpansionForm::Value if parameter.subscript.is_none() => {
                self.lookup_variable(parameter.name)
            }
            ExpansionForm::Value => self.classify_unknown_variable(parameter.name),
            ExpansionForm::Other | ExpansionForm::Assign | ExpansionForm::Substring => {
                match self.lookup_variable(parameter.name) {
                    ParameterValue::Known(text) if !is_arithmetic_number(&text) => {
                        ParameterValue::Tainted
                    }
                    ParameterValue::Known(_)
                    | ParameterValue::Number
                    | ParameterValue::Environment
                        if self.has_only_number_values(&parameter.operand) =>
                    {
                        ParameterValue::Environment
                    }
                    _ => ParameterValue::Tainted,
                }
            }
            _ => ParameterValue::Tainted,
        }
    }

    fn has_only_number_values(&self, pieces: &[WordPiece<'_>]) -> bool {
        pieces.iter().all(|piece| match piece {
            WordPiece::Unquoted(text) => is_arithmetic_number(text),
            WordPiece::Literal(text) => is_arithmetic_number(text),
            WordPiece::Parameter(parameter) => match self.lookup_parameter(parameter) {
                ParameterValue::Known(text) => is_arithmetic_number(&text),
                ParameterValue::Number | ParameterValue::Environment => true,
                ParameterValue::Files(_) | ParameterValue::Tainted => false,
            },
            _ => false,
        })
    }

    /// Returns the known facts about the value of a variable or special parameter.
    pub(super) fn lookup_variable(&self, name: &str) -> ParameterValue {
        match self.state.variables.get(name) {
            Some(KnownValue::Text(text)) => return ParameterValue::Known(text.clone()),
            Some(KnownValue::Number) => return ParameterValue::Number,
            Some(KnownValue::Files(paths)) => return ParameterValue::Files(paths.clone()),
            Some(KnownValue::Digits | KnownValue::Own) | None => {}
        }
        let assigned =
            self.current_scan.assigns_variable(name) || self.previous_scan.assigns_variable(name);
        match name {
            "#" | "?" | "$" => ParameterValue::Number,
            _ if environment_variables::is_shell_number(name) && !assigned => {
                ParameterValue::Number
            }
            "HOME" => self.home_directory().map_or_else(
                || self.classify_unknown_variable(name),
                |home| ParameterValue::Known(home.to_owned()),
            ),
            "PWD" if !assigned => self.working_directory(),
            _ => self.classify_unknown_variable(name),
        }
    }

    fn working_directory(&self) -> ParameterValue {
        let bases = self.state.working_directories.known_directories(self.context.cwd);
        let mut bases = bases.into_iter().flatten();
        match (bases.next(), bases.next()) {
            (Some(base), None) => ParameterValue::Known(base.to_string()),
            // The names of directories can contain anything: `a[$(id)]`.
            _ => ParameterValue::Tainted,
        }
    }

    fn classify_unknown_variable(&self, name: &str) -> ParameterValue {
        let argument = matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit());
        let arguments = !self.active_functions.is_empty()
            || self.current_scan.changes_arguments
            || self.previous_scan.changes_arguments
            || self.depth > 0;
        let tainted = self.current_scan.is_tainted_variable(name)
            || self.previous_scan.is_tainted_variable(name)
            || environment_variables::may_hold_script_text(name)
            || argument && arguments;
        if tainted { ParameterValue::Tainted } else { ParameterValue::Environment }
    }
}
