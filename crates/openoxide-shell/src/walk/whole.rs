//! The facts about the script as a whole, whatever the order in which its commands run.

/// The maximum number of names that are distinguished. Searching more of them would take too long.
const MOST_NAMES: usize = 256;

/// The facts about the script as a whole.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Whole {
    functions: Vec<String>,
    names: Vec<Assigned>,
    /// The number of assignments to variables that are not distinguished.
    others: u32,
    /// Any variable may have any value.
    pub(super) wild: bool,
    /// Arguments of functions, or of `set --`, may have any value.
    pub(super) arguments: bool,
    /// Some variables keep their values.
    pub(super) readonly: bool,
    /// Patterns match other files than they usually do.
    pub(super) globs: bool,
    /// Some variables are arrays.
    pub(super) arrays: bool,
    /// The working directory changes inside a loop or function.
    pub(super) moves: bool,
    /// The working directory changes.
    pub(super) moved: bool,
    /// Whether some commands run more than once, or later than their position in the text.
    pub(super) repeats: bool,
    /// Whether data from a pipe is not read line by line, or standard input is replaced.
    pub(super) torn: bool,
    /// Something changes which programs run, or what they do.
    pub(super) reprogrammed: bool,
    /// A descriptor other than standard input may lead to a file that was opened for reading.
    pub(super) reads_on_descriptor: bool,
}

#[derive(Clone, Debug)]
struct Assigned {
    name: String,
    times: u32,
    /// Whether it may contain text that is dangerous in arithmetic.
    text: bool,
    /// Whether it is assigned in the shell itself, and not only for one program.
    stays: bool,
}

impl Whole {
    pub(super) fn define(&mut self, function: &str) {
        if !self.defines(function) {
            self.functions.push(function.to_owned());
        }
    }

    pub(super) fn defines(&self, function: &str) -> bool {
        self.functions.len() >= MOST_NAMES || self.functions.iter().any(|name| name == function)
    }

    pub(super) fn defines_any(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Returns whether a variable is assigned in the shell itself.
    pub(super) fn stays(&self, name: &str) -> bool {
        self.names.iter().any(|assigned| assigned.name == name && assigned.stays)
    }

    /// Records whether a variable was so far assigned in the shell itself, and not only for one
    /// program.
    pub(super) fn set_stays(&mut self, name: &str, stays: bool) {
        if let Some(assigned) = self.names.iter_mut().find(|assigned| assigned.name == name) {
            assigned.stays = stays;
        }
    }

    /// As [`Self::assign`], for one program alone.
    pub(super) fn assign_for_program(&mut self, name: &str) {
        let stayed = self.stays(name);
        self.assign(name, true);
        self.set_stays(name, stayed);
    }

    pub(super) fn assign(&mut self, name: &str, text: bool) {
        let full = self.names.len() >= MOST_NAMES;
        match self.names.iter_mut().find(|assigned| assigned.name == name) {
            Some(assigned) => {
                assigned.times += 1;
                assigned.text |= text;
                assigned.stays = true;
            }
            None if full => {
                self.wild = true;
                self.others += 1;
            }
            None => {
                self.names.push(Assigned { name: name.to_owned(), times: 1, text, stays: true });
            }
        }
    }

    /// Returns the names of the variables that are assigned in the shell itself; nothing, if they are too many. Where a name is not known, the
    /// walk has noted something opaque.
    pub(super) fn assigned_names(&self) -> Option<Vec<String>> {
        let stay = self.names.iter().filter(|assigned| assigned.stays);
        let names = || stay.map(|assigned| assigned.name.clone()).collect();
        (self.names.len() < MOST_NAMES).then(names)
    }

    /// Returns how many assignments there were.
    pub(super) fn assignments(&self) -> u32 {
        self.names.iter().map(|assigned| assigned.times).sum::<u32>()
            + self.others
            + u32::from(self.wild)
    }

    pub(super) fn assigns(&self, name: &str) -> bool {
        self.wild || self.names.iter().any(|assigned| assigned.name == name)
    }

    pub(super) fn assigned_once(&self, name: &str) -> bool {
        !self.wild
            && self
                .names
                .iter()
                .find(|assigned| assigned.name == name)
                .is_none_or(|assigned| assigned.times == 1)
    }

    /// Returns whether the script may assign text that is dangerous in arithmetic to at least one
    /// variable.
    pub(super) fn taints_any(&self) -> bool {
        self.wild || self.names.iter().any(|assigned| assigned.text)
    }

    /// Returns whether the script may assign text that is dangerous in arithmetic to `name`.
    pub(super) fn taints(&self, name: &str) -> bool {
        self.wild || self.names.iter().any(|assigned| assigned.name == name && assigned.text)
    }
}
