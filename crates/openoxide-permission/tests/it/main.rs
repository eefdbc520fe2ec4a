//! The rules and the gate from outside: against second, naive ones, and their laws.

#[cfg(test)]
mod hooks;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod model;
#[cfg(test)]
mod reference;
