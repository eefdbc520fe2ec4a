//! Any script gets an answer, without a panic and in time.
#![no_main]

use std::time::{Duration, Instant};

#[path = "../../crates/openoxide-shell/tests/it/laws.rs"]
#[allow(dead_code, reason = "each target holds one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|script: &str| {
    laws::it_answers(script);
    it_answers_in_time(script);
});

/// Checks that a script is analysed in time. The bound grows linearly with the length: 64 KiB in
/// 200 ms, plus 40 ms. The fuzzer's instrumentation of each branch takes more than ten times as
/// long as the analysis, which has 50 ms (`openoxide-shell`'s own test). The fastest of ten runs is
/// used, because the machine may be busy.
fn it_answers_in_time(script: &str) {
    let bound =
        Duration::from_millis(40) + Duration::from_nanos(3_000) * u32::try_from(script.len()).unwrap();
    let quick = (0..10).any(|_| {
        let since = Instant::now();
        drop(laws::facts(script));
        since.elapsed() <= bound
    });
    assert!(quick, "{} bytes take more than {bound:?}: {script:?}", script.len());
}
