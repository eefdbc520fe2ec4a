//! `openoxide-starlark`: evaluates one of Codex's rule files for `openoxide`, as a program of its own.
#![forbid(unsafe_code)]

use std::io;

fn main() -> io::Result<()> {
    openoxide_starlark::serve_evaluation(io::stdin().lock(), io::stdout().lock())
}
