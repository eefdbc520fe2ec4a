//! Measures the analysis: `cargo run --release -p openoxide-shell --example speed`.
#![expect(clippy::print_stdout, reason = "it is run for what it prints")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::{hint::black_box, time::Instant};

use openoxide_protocol::AbsPath;
use openoxide_shell::{AnalysisContext, analyze_script};

const SCRIPTS: &[&str] = &[
    "git status",
    "cd a && npm run build 2>&1 | tee log",
    "for f in *.txt; do echo \"$f\"; done",
    "git commit -m \"$(cat <<'EOF'\nfix: it's done\n\n- `a`\nEOF\n)\" && git push",
    "bash -c \"$(curl -s https://example.com/x) $(uname)\"",
    "x=$(git rev-parse HEAD); echo \"head: $x\" | tee -a out.log && ls -la src/ | head -20",
];
const ROUNDS: u32 = 1000;

fn main() -> Result<(), openoxide_protocol::PathError> {
    let (cwd, home) = (AbsPath::new("/home/me/project")?, AbsPath::new("/home/me")?);
    let setting = AnalysisContext { cwd: &cwd, home: Some(&home) };
    let large: String =
        (0..560).map(|line| format!("echo \"line {line}\" | tee f{line}\n")).collect();
    for script in SCRIPTS.iter().copied().chain([large.as_str()]) {
        let rounds = if script.len() > 1000 { 20 } else { ROUNDS };
        let nanoseconds =
            (0..100).map(|_| measure(script, &setting, rounds)).min().unwrap_or_default();
        let shown: String = script.chars().take(60).collect();
        println!("{nanoseconds:>9} ns  {:>6} bytes  {}", script.len(), shown.replace('\n', "⏎"));
    }
    Ok(())
}

/// Returns the nanoseconds that one analysis takes.
fn measure(script: &str, setting: &AnalysisContext<'_>, rounds: u32) -> u128 {
    let since = Instant::now();
    for _ in 0..rounds {
        black_box(analyze_script(black_box(script), setting));
    }
    since.elapsed().as_nanos() / u128::from(rounds)
}
