//! Transcripts of commands and their output, which are run as tests.

#[test]
fn transcripts_are_true() {
    // `/h/u` and `/p` are not there: nothing of this machine shows in a transcript.
    trycmd::TestCases::new()
        .env("HOME", "/h/u")
        .env("XDG_CONFIG_HOME", "/h/u/.config")
        .env("XDG_CACHE_HOME", "/h/u/.cache")
        .env("XDG_STATE_HOME", "/h/u/.local/state")
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.md");
}
