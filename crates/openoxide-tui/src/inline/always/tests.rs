//! What the second step shows, written by hand, and what its keys answer.

use super::*;
use crate::{inline::render::RenderOptions, samples::command};

fn request() -> ApprovalRequest {
    let mut request = command("npm run build");
    request.decision.always = vec!["Bash(npm run build *)".to_owned()];
    let choice = |width, rule: &str| Choice { width, rules: vec![rule.to_owned()] };
    request.alternatives = vec![
        choice(Width::Narrower, "Bash(npm run build)"),
        choice(Width::Wider, "Bash(npm run *)"),
    ];
    request
}

fn recalled(answers: u32, of: u32, examples: &[&str]) -> Recalled {
    Recalled { answers, of, examples: examples.iter().map(ToString::to_string).collect() }
}

fn shown(always: &Always, recalled: &[Recalled], width: u16) -> String {
    let mut page = Page::new(&RenderOptions { width, ..RenderOptions::default() });
    always.show(recalled, &mut page);
    always.keys(&mut page);
    page.text
}

fn yes(rules: &[&str], seconds: Option<u64>, times: Option<u32>) -> Taken {
    let rules = rules.iter().map(ToString::to_string).collect();
    let terms = Some(GrantTerms { rules, seconds, times, ..Default::default() });
    Taken::Answer(ApprovalResponse::Approved { scope: GrantScope::Project, terms })
}

const OFFERED: ApprovalResponse = ApprovalResponse::approved(GrantScope::Project);

fn press(keys: &str) -> Taken {
    let mut always = Always::of(&request());
    let taken = keys.chars().map(|c| always.key(KeyCode::Char(c)));
    taken.last().unwrap()
}

#[test]
fn the_choices_stand_with_what_they_would_have_answered() {
    let recalled = [
        recalled(0, 40, &[]),
        recalled(3, 40, &["npm run build --watch"]),
        recalled(9, 40, &["npm run test", "npm run \u{1b}[2Kx"]),
    ];
    let expected = "\
Always, in this project:
  [1] narrower   Bash(npm run build)
                 would have answered none of 40 (questions of the last 30 days)
> [2] as offered Bash(npm run build *)
                 would have answered 3 of 40 (questions of the last 30 days)
                 else: npm run build --watch
  [3] wider      Bash(npm run *)
                 would have answered 9 of 40 (questions of the last 30 days)
                 else: npm run test
                       npm run \\x1b[2Kx
[1] this command  [2] as offered  [3] a word less  [f] for good
[t] for 30 minutes  [5] five times  [p] 2, until revoked  [Esc] back
";
    assert_eq!(shown(&Always::of(&request()), &recalled, 80), expected);
}

#[test]
fn where_there_is_no_other_choice_none_is_shown() {
    let expected = "\
Always, in this project:
> [2] as offered Bash(git push *)
[f] for good  [t] for 30 minutes  [5] five times  [p] 2, until revoked
[Esc] back
";
    assert_eq!(shown(&Always::of(&command("git push")), &[], 80), expected);
    let mut always = Always::of(&command("git push"));
    assert_eq!(always.key(KeyCode::Char('1')), Taken::Unknown);
}

#[test]
fn a_number_marks_and_a_letter_answers() {
    for keys in ["1", "2", "3", "31"] {
        assert_eq!(press(keys), Taken::Marked, "{keys}");
    }
    for keys in ["p", "f", "2f", "12f"] {
        assert_eq!(press(keys), Taken::Answer(OFFERED), "{keys}");
    }
    assert_eq!(press("1f"), yes(&["Bash(npm run build)"], None, None));
    assert_eq!(press("3t"), yes(&["Bash(npm run *)"], Some(1800), None));
    assert_eq!(press("5"), yes(&[], None, Some(5)));
    assert_eq!(press("1p"), Taken::Unknown, "after a choice `p` could mean either");
    for keys in ["y", "n", "a", "\r", "4"] {
        assert_eq!(press(keys), Taken::Unknown, "{keys}");
    }
    assert_eq!(Always::of(&request()).key(KeyCode::Enter), Taken::Unknown);
}

/// Returns a request whose command changes these files.
fn touching(paths: &[&str]) -> ApprovalRequest {
    let mut request = request();
    for path in paths {
        let path = PathAccess::new(AbsPath::new(path).unwrap());
        let access = Access::Edit(path);
        request.decision.parts.push(openoxide_protocol::Part {
            access,
            decision: openoxide_protocol::Effect::Allow,
            rule: None,
            reason: String::new(),
            lost: Vec::new(),
        });
    }
    request
}

#[test]
fn a_yes_for_this_directory_is_offered_where_all_files_lie_below_it() {
    let press = |request: &ApprovalRequest| Always::of(request).key(KeyCode::Char('b'));
    let here = ["/work/project/a", "/work/project/src/b"];
    let below = Some(AbsPath::new("/work/project").unwrap());
    let terms = Some(GrantTerms { below, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert_eq!(press(&touching(&here)), Taken::Answer(yes.clone()));
    assert_eq!(Always::of(&touching(&here)).words("b"), Some(yes));
    assert!(shown(&Always::of(&touching(&here)), &[], 80).contains("[b] below this directory"));
    for other in [&[][..], &["/work/other/a"], &["/work/project/a", "/work/projects/b"]] {
        assert_eq!(press(&touching(other)), Taken::Unknown, "{other:?}");
        assert!(!shown(&Always::of(&touching(other)), &[], 80).contains("[b]"));
    }
}

#[test]
fn a_yes_for_the_task_is_offered_where_its_end_can_be_told() {
    assert_eq!(press("k"), Taken::Unknown);
    let request = ApprovalRequest { task: Some("job-1".to_owned()), ..request() };
    let terms = Some(GrantTerms { task: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert_eq!(Always::of(&request).key(KeyCode::Char('k')), Taken::Answer(yes));
    assert!(shown(&Always::of(&request), &[], 80).contains("[k] for this task"));
}

#[test]
fn words_say_the_same_where_lines_are_read() {
    let words = |words| Always::of(&request()).words(words);
    for (line, keys) in [("1", "1f"), ("3 t", "3t"), ("5", "5"), ("2 f", "2f"), (" t ", "t")] {
        assert_eq!(words(line).map(Taken::Answer), Some(press(keys)), "{line}");
    }
    for line in ["4", "y", "1 1 x", "t t", "t 1", "p", "11", "1t", "1 t f"] {
        assert_eq!(words(line), None, "{line}");
    }
}
