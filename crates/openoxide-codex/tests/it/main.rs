//! Comparisons of modes with the tables of the other programs.

#[cfg(test)]
mod modes;
