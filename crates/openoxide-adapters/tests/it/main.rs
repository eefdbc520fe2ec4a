//! What other programs have decided, held against what is said of them here.

#[cfg(test)]
mod aider;
#[cfg(test)]
mod claude;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod opencode;
