//! Words that are quoted come back as they were.
#![no_main]

#[path = "../../crates/openoxide-shell/tests/it/laws.rs"]
#[allow(dead_code, reason = "each target holds one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| laws::quoted_words_come_back(text));
