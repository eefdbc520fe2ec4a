//! Precision: how often the built-in policy asks about harmless commands, and allows dangerous ones
//! (`docs/precision.md`).

mod arguments;
mod case;
mod decide;
mod limit;
mod not_yet;
mod read;
mod report;
mod scratch;
mod split;
mod tally;

use std::path::Path;

use crate::{Failure, workspace};
use arguments::Arguments;
use case::Judged;

/// Measures on every file that `arguments` name.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wanted = Arguments::read(arguments)?;
    let openoxide = workspace::test_program("openoxide-cli")?;
    let mut faults = Vec::new();
    for file in &wanted.files {
        let judged = measure(file, &openoxide, wanted.auto_allow)?;
        print!("{}", report::of(file, &judged, &wanted));
        let found = limit::faults(&judged, &not_yet::ids(file)?, wanted.max_asked);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", file.display())));
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::Work(faults.join("\nerror: "))) }
}

fn measure(file: &Path, openoxide: &Path, auto_allow: Option<&str>) -> Result<Vec<Judged>, String> {
    let cases = read::cases(file)?;
    decide::all(openoxide, cases, auto_allow).map_err(|why| format!("{}: {why}", file.display()))
}
