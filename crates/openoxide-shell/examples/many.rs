//! Analyses one script many times, to count instructions: `many TIMES SCRIPT`.
#![expect(clippy::disallowed_methods, reason = "it takes arguments")]

use std::hint::black_box;

use openoxide_protocol::AbsPath;
use openoxide_shell::{Setting, analyse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let times: u32 = words.next().ok_or("TIMES is missing")?.parse()?;
    let script = words.next().ok_or("SCRIPT is missing")?;
    let (cwd, home) = (AbsPath::new("/home/me/project")?, AbsPath::new("/home/me")?);
    let setting = Setting { cwd: &cwd, home: Some(&home) };
    for _ in 0..times {
        black_box(analyse(black_box(&script), &setting));
    }
    Ok(())
}
