//! The facts about the script as a whole, independent of the order in which its commands run.

/// The maximum number of names that are distinguished. Searching more of them would take too long.
const MAX_NAMES: usize = 256;

/// The facts about the script as a whole.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct ScriptScan {
    functions: Vec<String>,
    names: Vec<VariableAssignment>,
    /// The number of assignments to variables that are not distinguished.
    other_assignments: u32,
    /// Whether any variable may have any value.
    pub(super) any_variable_changes: bool,
    /// Whether arguments of functions, or of `set --`, may have any value.
    pub(super) changes_arguments: bool,
    /// Whether some variables are read-only.
    pub(super) has_readonly: bool,
    /// Whether patterns match different files than usual.
    pub(super) changes_globbing: bool,
    /// Whether some variables are arrays.
    pub(super) has_arrays: bool,
    /// Whether the working directory changes inside a loop or function.
    pub(super) changes_cwd_repeatedly: bool,
    /// Whether the working directory changes.
    pub(super) changes_cwd: bool,
    /// Whether some commands run more than once, or later than their position in the text.
    pub(super) has_repetition: bool,
    /// Whether data from a pipe is not read line by line, or standard input is replaced.
    pub(super) has_partial_reads: bool,
    /// Whether a trap runs between commands.
    pub(super) has_traps: bool,
    /// Whether substitutions inherit the traps of the shell around them.
    pub(super) inherits_traps: bool,
    /// Whether something changes which programs run, or what they do.
    pub(super) changes_programs: bool,
    /// Whether a descriptor other than standard input may lead to a file that was opened for
    /// reading.
    pub(super) reads_on_descriptor: bool,
}

#[derive(Clone, Debug)]
struct VariableAssignment {
    name: String,
    count: u32,
    /// Whether it may contain text that is dangerous in arithmetic.
    is_tainted: bool,
    /// Whether it is assigned in the shell itself, and not just for one program.
    stays: bool,
}

impl ScriptScan {
    pub(super) fn add_function(&mut self, function: &str) {
        if !self.defines_function(function) {
            self.functions.push(function.to_owned());
        }
    }

    pub(super) fn defines_function(&self, function: &str) -> bool {
        self.functions.len() >= MAX_NAMES || self.functions.iter().any(|name| name == function)
    }

    pub(super) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Returns whether a variable is assigned in the shell itself.
    pub(super) fn stays(&self, name: &str) -> bool {
        self.names.iter().any(|assigned| assigned.name == name && assigned.stays)
    }

    /// Records whether a variable was so far assigned in the shell itself, and not just for one
    /// program.
    pub(super) fn set_stays(&mut self, name: &str, stays: bool) {
        if let Some(assigned) = self.names.iter_mut().find(|assigned| assigned.name == name) {
            assigned.stays = stays;
        }
    }

    /// Like [`Self::add_assignment`], but just for one program.
    pub(super) fn assign_for_program(&mut self, name: &str) {
        let stayed = self.stays(name);
        self.add_assignment(name, true);
        self.set_stays(name, stayed);
    }

    pub(super) fn add_assignment(&mut self, name: &str, text: bool) {
        let full = self.names.len() >= MAX_NAMES;
        match self.names.iter_mut().find(|assigned| assigned.name == name) {
            Some(assigned) => {
                assigned.count += 1;
                assigned.is_tainted |= text;
                assigned.stays = true;
            }
            None if full => {
                self.any_variable_changes = true;
                self.other_assignments += 1;
            }
            None => {
                self.names.push(VariableAssignment {
                    name: name.to_owned(),
                    count: 1,
                    is_tainted: text,
                    stays: true,
                });
            }
        }
    }

    /// Returns the names of the variables that are assigned in the shell itself, or `None` if there
    /// are too many. If a name is unknown, the walk has added an opaque access.
    pub(super) fn assigned_names(&self) -> Option<Vec<String>> {
        let stay = self.names.iter().filter(|assigned| assigned.stays);
        let names = || stay.map(|assigned| assigned.name.clone()).collect();
        (self.names.len() < MAX_NAMES).then(names)
    }

    /// Returns the number of assignments so far.
    pub(super) fn count_assignments(&self) -> u32 {
        self.names.iter().map(|assigned| assigned.count).sum::<u32>()
            + self.other_assignments
            + u32::from(self.any_variable_changes)
    }

    pub(super) fn assigns_variable(&self, name: &str) -> bool {
        self.any_variable_changes || self.names.iter().any(|assigned| assigned.name == name)
    }

    pub(super) fn is_assigned_once(&self, name: &str) -> bool {
        !self.any_variable_changes
            && self
                .names
                .iter()
                .find(|assigned| assigned.name == name)
                .is_none_or(|assigned| assigned.count == 1)
    }

    /// Returns whether the script may assign text that is dangerous in arithmetic to at least one
    /// variable.
    pub(super) fn has_tainted_variable(&self) -> bool {
        self.any_variable_changes || self.names.iter().any(|assigned| assigned.is_tainted)
    }

    /// Returns whether the script may assign text that is dangerous in arithmetic to `name`.
    pub(super) fn is_tainted_variable(&self, name: &str) -> bool {
        self.any_variable_changes
            || self.names.iter().any(|assigned| assigned.name == name && assigned.is_tainted)
    }
}
