//! The table `audit` of a policy file.

use super::policy_file_parser::{PolicyFileParser, TomlValue};

impl PolicyFileParser<'_> {
    /// Returns the line that requires audit records. An invalid value may have been meant to
    /// require them, so it is a problem that loses a restriction.
    pub(super) fn parse_audit(&mut self, value: &TomlValue<'_>) -> Option<u32> {
        let Some(table) = value.get_ref().as_table() else {
            self.push_problem("`audit` must be a table", value.span(), None, true);
            return None;
        };
        let mut line = None;
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref().as_bool()) {
                ("required", Some(true)) => line = Some(self.line_at(key.span().start)),
                ("required", Some(false)) => {}
                ("required", None) => {
                    self.push_problem("write `true` or `false`", value.span(), None, true);
                }
                (other, _) => self.push_unknown_key(other, key.span(), &["required"]),
            }
        }
        line
    }
}
