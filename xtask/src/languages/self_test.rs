//! The self-test of the fuzzers: deliberate violations must be found.

use super::{
    enclosure::Enclosure,
    ground::Ground,
    language::{Implementation, Language, Violation},
    said::Said,
    work,
};

/// Runs each deliberate violation in its implementation, and returns their number.
///
/// # Errors
/// One of the violations is not reported.
pub(crate) fn run(language: &Language, ground: &Ground) -> Result<usize, String> {
    let mut enclosure = ground.enclosure(0)?;
    let mut count = 0;
    for implementation in language.implementations {
        for violation in implementation.violations {
            find(language, implementation, violation, ground, &mut enclosure)?;
            count += 1;
        }
    }
    Ok(count)
}

fn find(
    language: &Language,
    implementation: &Implementation,
    (words, wanted): &Violation,
    ground: &Ground,
    enclosure: &mut Enclosure,
) -> Result<(), String> {
    let words: Vec<String> =
        [language.name].iter().chain(*words).map(ToString::to_string).collect();
    let said = Said::Harmless { reads: Vec::new() };
    let with = (implementation, language.milliseconds);
    let deeds = work::attempt(with, &words, &said, ground, enclosure)?;
    if deeds.iter().any(|deed| deed.starts_with(wanted)) {
        return Ok(());
    }
    let (file, called) = (implementation.file, implementation.called);
    Err(format!("{file} {called:?} {words:?} does not tell `{wanted}`, but {deeds:?}"))
}
