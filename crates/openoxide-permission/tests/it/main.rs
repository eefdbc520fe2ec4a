//! The rules from outside: against a second, naive evaluator, and their laws.

#[cfg(test)]
mod hooks;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod reference;
