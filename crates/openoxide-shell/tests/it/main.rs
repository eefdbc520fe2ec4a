//! The analysis as a whole: by tables, by chance, and with bash itself as the referee.

#[cfg(test)]
mod bash;
#[cfg(test)]
mod chance;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod constructs;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod referee;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod words;
