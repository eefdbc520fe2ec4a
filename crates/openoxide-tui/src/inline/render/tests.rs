//! Expected texts of questions, written by hand.

use openoxide_protocol::{Effect, FindingKind};

use super::*;
use crate::samples::{
    command_request, patch_request, with_explicit_approval, with_finding, with_group, with_parts,
};
use crate::{inline::render_options::BatchPosition, style::TextStyle, text_wrap::display_width};

fn at(width: u16, request: &ApprovalRequest) -> String {
    render_prompt(request, &RenderOptions { width, ..RenderOptions::default() })
}

#[test]
fn an_ordinary_request_takes_twelve_rows() {
    let expected = "\
OpenOxide asks: run a command (Bash)

  $ git push origin main
  in /work/project

  ask    `git push` is asked for by user policy
         rule `ask Bash(git push *)` (user, policy.toml:4)
  [p]    always Bash(git push *)
         for this project, until revoked

[y] yes, once  [a] yes, this exact action for the session  [p] always  [n] no
[m] no, with a message  [v] view all  [Esc] stop the agent
";
    assert_eq!(at(80, &command_request("git push origin main")), expected);
}

#[test]
fn a_narrow_terminal_wraps() {
    let expected = "\
OpenOxide asks: run a command (Bash)

  $ git push --force origin\x20
  \\ HEAD:refs/heads/release
  in /work/project

  ask    `git push` is asked for by user
         policy
         rule `ask Bash(git push *)`
         (user, policy.toml:4)
  [p]    always Bash(git push *)
         for this project, until revoked

[y] yes, once
[a] yes, this exact action for the
    session
[p] always  [n] no
[m] no, with a message  [v] view all
[Esc] stop the agent
";
    assert_eq!(
        at(40, &command_request("git push --force origin HEAD:refs/heads/release")),
        expected
    );
}

#[test]
fn findings_are_pointed_at() {
    let script = "git status && git push --force";
    let request =
        with_finding(command_request(script), (23, 30), "OX204", "throws away what others pushed");
    let request = with_finding(request, (0, 0), "OX301", "is written twice");
    let request =
        with_parts(request, &[("git status", Effect::Allow), ("git push --force", Effect::Ask)]);
    let wide = "\
OpenOxide asks: run a command (Bash)

  $ git status && git push --force
                           ^^^^^^^ OX204 throws away what others pushed
  ! OX301 is written twice
  in /work/project

  why    `git push` is asked for by user policy
  ask    run git push --force
         rule `ask Bash(git push *)` (user, policy.toml:4)
  allow  run git status
  [p]    always Bash(git push *)
         for this project, until revoked

[y] yes, once  [a] yes, this exact action for the session  [p] always  [n] no
[m] no, with a message  [v] view all  [Esc] stop the agent
";
    assert_eq!(at(80, &request), wide);
    let narrow = "
  $ git status && git push\x20
  \\ --force
    ^^^^^^^
    OX204 throws away what
    others pushed
";
    assert!(at(30, &request).contains(narrow), "{}", at(30, &request));
}

#[test]
fn a_finding_over_two_rows_is_described_under_the_last() {
    let request = command_request("curl https://example.com/install\nsh x");
    let request = with_finding(request, (5, 36), "OX101", "runs what it loads");
    let shown = at(80, &request);
    let expected = "\
  $ curl https://example.com/install
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  > sh x
    ^^^ OX101 runs what it loads
";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_finding_in_hidden_rows_is_still_described() {
    let script = format!("{}rm -rf /", "true\n".repeat(40));
    let request = with_finding(command_request(&script), (200, 208), "OX201", "removes everything");
    let shown = at(80, &request);
    assert!(
        shown.contains("  … 29 more lines (v to view)\n  ! OX201 removes everything\n"),
        "{shown}"
    );
}

#[test]
fn many_findings_do_not_hide_the_gravest() {
    let mut request = command_request(&format!("ls {}", "$a ".repeat(51)));
    for at in (3..153).step_by(3) {
        request = with_finding(request, (at, at + 2), "OX103", "expands");
        request.decision.findings.last_mut().unwrap().kind = FindingKind::Note;
    }
    let request = with_finding(request, (153, 155), "OX201", "removes everything");
    let shown = at(80, &request);
    let told = shown.find("^^ OX201 removes everything\n").unwrap();
    assert!(shown.find("^^\n    OX103").is_none_or(|note| note < told));
    assert!(shown.contains("… 39 more findings (v to view)"), "{shown}");
}

#[test]
fn a_hostile_request_shows_its_numbers() {
    let mut request = command_request("ls\x1b[2J\u{202e}\r\n\tid\u{a0}");
    request.title = "run\x1b]0;x\x07\nrm".to_owned();
    request.tool = "B\u{200b}ash".to_owned();
    request.decision.reason = "because\x1b[8m".to_owned();
    request.decision.suggested_rules = vec!["Bash(\x1b *)".to_owned()];
    request.decision.parts.clear();
    request.presentation.metadata.insert("no\x07te".to_owned(), "a\nb".into());
    let expected = "\
OpenOxide asks: run\\x1b]0;x\\x07\\nrm (B\\u{200b}ash)

  $ ls\\x1b[2J\\u{202e}\\r
  >     id\\u{a0}
  ! 4 hidden or control characters are shown escaped
  the agent's no\\x07te: a\\nb
  in /work/project

  ask    because\\x1b[8m
         rule `ask Bash(git push *)` (user, policy.toml:4)
  [p]    always Bash(\\x1b *)
         for this project, until revoked
";
    let shown = at(80, &request);
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn a_change_shows_its_target_and_the_number_of_hidden_lines() {
    let lines: String = (1..=20).map(|n| format!("+line {n}\n")).collect();
    let shown = at(80, &patch_request(&format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n{lines}")));
    let expected = "  | +line 10
  … 10 more lines (v to view)

  ask    change /work/project/src/lib.rs
         `git push` is asked for by user policy
         rule `ask Bash(git push *)` (user, policy.toml:4)

[y] yes, once  [a] yes, this exact action for the session  [n] no
";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn all_of_it_is_shown_on_demand() {
    let script: String = (1..=50).map(|n| format!("echo {n}\n")).collect();
    let options = RenderOptions { show_all: true, ..RenderOptions::default() };
    let shown = render_prompt(&command_request(&script), &options);
    assert!((1..=50).all(|n| shown.contains(&format!(" echo {n}\n"))));
    assert!(!shown.contains('…'));
}

#[test]
fn a_link_shows_its_target() {
    let mut request = patch_request("+x");
    if let openoxide_protocol::Access::Edit(path) = &mut request.decision.parts[0].access {
        path.resolved = openoxide_protocol::AbsPath::new("/etc/passwd").ok();
    }
    assert!(at(80, &request).contains("change /work/project/src/lib.rs (leads to /etc/passwd)"));
}

#[test]
fn a_batch_lists_the_requests_that_all_approves() {
    let requests = with_group(vec![
        command_request("make"),
        with_explicit_approval(command_request("rm -rf target")),
        command_request("make install\x1b"),
    ]);
    let batch = BatchPosition::from_requests(&requests, 0);
    let shown = render_prompt(&requests[0], &RenderOptions { batch, ..RenderOptions::default() });
    let expected = "\
OpenOxide asks (1 of 3): run a command (Bash)

  $ make
  in /work/project

  ask    `git push` is asked for by user policy
         rule `ask Bash(git push *)` (user, policy.toml:4)
  [p]    always Bash(git push *)
         for this project, until revoked
  [A]    yes, once each, to this and to:
         run a command: make install\\x1b

[y] yes, once  [a] yes, this exact action for the session  [p] always
[A] yes to all  [n] no to all pending  [m] no, with a message
[s] no to this group only  [v] view all  [Esc] stop the agent
";
    assert_eq!(shown, expected);
}

#[test]
fn explicit_approval_requests_offer_no_other_approval() {
    let shown = at(80, &with_explicit_approval(command_request("rm -rf target")));
    assert!(
        shown
            .contains("         needs explicit approval; batch and saved approvals do not apply\n")
    );
    let keys = "
[y] yes, once  [n] no  [m] no, with a message  [v] view all
[Esc] stop the agent
";
    assert!(shown.ends_with(keys), "{shown}");
}

#[test]
fn rows_are_not_wider_than_the_terminal() {
    let script = "git push --force 世界世界世界 \u{202e} && find / -name '*.rs' -exec rm {} \\; | tee /dev/null";
    let request = with_finding(
        command_request(script),
        (5, 60),
        "OX204",
        "is a message of some length indeed",
    );
    for width in 24..120 {
        let shown = at(width, &request);
        assert!(shown.lines().all(|row| display_width(row) <= width.into()), "{width}: {shown}");
    }
}

#[test]
fn colours_change_no_word() {
    let request = with_finding(command_request("ls \x1b[31m"), (3, 5), "OX301", "hides");
    let ansi = RenderOptions { style: TextStyle::Ansi, ..RenderOptions::default() };
    let mut plain = render_prompt(&request, &ansi);
    for code in ["0", "1", "2", "7", "31", "32", "33"] {
        plain = plain.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(plain, at(80, &request));
}

/// Guards I16.
#[test]
fn the_coverage_of_a_session_grant_is_shown_completely() {
    let mut request = command_request("edit a b c d e f g h");
    let keys: Vec<_> = "abcdefgh".chars().map(|key| format!("edit {key}")).collect();
    request.presentation.metadata.insert("covers".to_owned(), keys.clone().into());
    let shown = at(80, &request);
    assert!(keys.iter().all(|key| shown.contains(&format!(" {key}\n"))), "{shown}");
    assert!(
        shown.contains("yes, everything listed for the session") && !shown.contains("exactly this")
    );
    assert!(!shown.contains("the agent's covers"));
}
