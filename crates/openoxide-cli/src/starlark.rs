//! `openoxide-starlark`: a separate program that evaluates one of Codex's rule files for
//! `openoxide`.
#![forbid(unsafe_code)]

use std::io;

fn main() -> io::Result<()> {
    openoxide_starlark::serve_evaluation(io::stdin().lock(), io::stdout().lock())
}
