//! A sample of the everyday work in `corpus/sandbox/jobs`: what needs no network and no tool but
//! those that the tests need anyway.

use std::process::Command;

use serde_json::Value;

use crate::support::{OPENOXIDE, workspace};

const JOBS: &[&str] = &[
    "git-grep-blame",
    "make-parallel",
    "thread-sanitizer",
    "strace",
    "chmod-setgid-directory",
    "dgram-socketpair",
    "dash-script",
    "multiprocessing",
    "asyncio-subprocess",
    "udp-loopback",
];

fn summary(row: &Value) -> String {
    ["job", "as", "under", "result", "message"].map(|key| row[key].to_string()).join(" ")
}

#[test]
fn everyday_work_needs_no_approval_in_the_sandbox() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let results = directory.path().join("results.jsonl");
    let output = Command::new("python3")
        .arg("-B")
        .arg(workspace().join("corpus/sandbox/jobs.py"))
        .args([OPENOXIDE, directory.path().to_str().unwrap()])
        .args(["--only", &JOBS.join(","), "--under", "native,run,sandbox", "--results"])
        .arg(&results)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let rows = std::fs::read_to_string(&results).expect(&said);
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let failed: Vec<_> = rows.iter().filter(|row| row["result"] != "pass").map(summary).collect();
    assert_eq!(failed, Vec::<String>::new());
    assert!(rows.len() >= JOBS.len() * 3, "{}", rows.len());
}
