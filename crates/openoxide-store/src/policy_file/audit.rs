//! The table `audit` of a policy file.

use super::{Reader, Value};

impl Reader<'_> {
    /// Returns the line that requires the audit. What is written wrongly may have required it.
    pub(super) fn audit(&mut self, value: &Value<'_>) -> Option<u32> {
        let Some(table) = value.get_ref().as_table() else {
            self.problem("`audit` must be a table", value.span(), None, true);
            return None;
        };
        let mut line = None;
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref().as_bool()) {
                ("required", Some(true)) => line = Some(self.line(key.span().start)),
                ("required", Some(false)) => {}
                ("required", None) => {
                    self.problem("write `true` or `false`", value.span(), None, true);
                }
                (other, _) => self.unknown_key(other, key.span(), &["required"]),
            }
        }
        line
    }
}
