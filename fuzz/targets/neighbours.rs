//! Two scripts, one after the other, do what each of them does.
#![no_main]

#[path = "../../crates/openoxide-shell/tests/it/laws.rs"]
#[allow(dead_code, reason = "each target holds one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (one, other) = text.split_once('\0').unwrap_or((text, "evil0 a"));
    laws::neighbours_hide_nothing(one, other);
});
