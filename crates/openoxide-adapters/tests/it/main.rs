//! Comparisons of the recorded decisions of other programs with those of this crate.

#[cfg(test)]
mod aider;
#[cfg(test)]
mod claude;
#[cfg(test)]
mod opencode;
