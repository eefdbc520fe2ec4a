//! Tests of the second step: its expected screens and the answers of its keys.

use super::*;
use crate::{inline::render_options::RenderOptions, samples::command_request};

fn request() -> ApprovalRequest {
    let mut request = command_request("npm run build");
    request.decision.suggested_rules = vec!["Bash(npm run build *)".to_owned()];
    let choice = |width, rule: &str| RuleChoice { breadth: width, rules: vec![rule.to_owned()] };
    request.alternatives = vec![
        choice(RuleBreadth::Narrower, "Bash(npm run build)"),
        choice(RuleBreadth::Wider, "Bash(npm run *)"),
    ];
    request
}

fn recalled(answers: u32, of: u32, examples: &[&str]) -> ChoiceHistory {
    ChoiceHistory {
        would_have_answered: answers,
        total: of,
        examples: examples.iter().map(ToString::to_string).collect(),
    }
}

fn shown(always: &GrantMenu, recalled: &[ChoiceHistory], width: u16) -> String {
    let mut page = TextPage::new(&RenderOptions { width, ..RenderOptions::default() });
    always.show(recalled, &mut page);
    always.show_keys(&mut page);
    page.text
}

fn yes(rules: &[&str], seconds: Option<u64>, times: Option<u32>) -> GrantMenuStep {
    let rules = rules.iter().map(ToString::to_string).collect();
    let terms = Some(GrantTerms {
        rules,
        expires_in_seconds: seconds,
        max_uses: times,
        ..Default::default()
    });
    GrantMenuStep::Answer(ApprovalResponse::Approved { scope: GrantScope::Project, terms })
}

const OFFERED: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Project);

fn press(keys: &str) -> GrantMenuStep {
    let mut always = GrantMenu::from_request(&request());
    let taken = keys.chars().map(|c| always.handle_key(KeyCode::Char(c)));
    taken.last().unwrap()
}

#[test]
fn the_choices_are_shown_with_their_history() {
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
[1] this command  [2] as offered  [3] a word less  [f] forever
[t] for 30 minutes  [5] five times  [p] 2, until revoked  [Esc] back
";
    assert_eq!(shown(&GrantMenu::from_request(&request()), &recalled, 80), expected);
}

#[test]
fn a_request_without_alternatives_shows_none() {
    let expected = "\
Always, in this project:
> [2] as offered Bash(git push *)
[f] forever  [t] for 30 minutes  [5] five times  [p] 2, until revoked
[Esc] back
";
    assert_eq!(shown(&GrantMenu::from_request(&command_request("git push")), &[], 80), expected);
    let mut always = GrantMenu::from_request(&command_request("git push"));
    assert_eq!(always.handle_key(KeyCode::Char('1')), GrantMenuStep::Unknown);
}

#[test]
fn a_number_marks_and_a_letter_answers() {
    for keys in ["1", "2", "3", "31"] {
        assert_eq!(press(keys), GrantMenuStep::Selected, "{keys}");
    }
    for keys in ["p", "f", "2f", "12f"] {
        assert_eq!(press(keys), GrantMenuStep::Answer(OFFERED), "{keys}");
    }
    assert_eq!(press("1f"), yes(&["Bash(npm run build)"], None, None));
    assert_eq!(press("3t"), yes(&["Bash(npm run *)"], Some(1800), None));
    assert_eq!(press("5"), yes(&[], None, Some(5)));
    assert_eq!(press("1p"), GrantMenuStep::Unknown, "after a choice `p` could mean either");
    for keys in ["y", "n", "a", "\r", "4"] {
        assert_eq!(press(keys), GrantMenuStep::Unknown, "{keys}");
    }
    assert_eq!(
        GrantMenu::from_request(&request()).handle_key(KeyCode::Enter),
        GrantMenuStep::Unknown
    );
}

/// Returns a request whose command changes these files.
fn touching(paths: &[&str]) -> ApprovalRequest {
    let mut request = request();
    for path in paths {
        let path = PathAccess::new(AbsPath::new(path).unwrap());
        let access = Access::Edit(path);
        request.decision.parts.push(openoxide_protocol::AccessDecision {
            access,
            decision: openoxide_protocol::Effect::Allow,
            rule: None,
            reason: String::new(),
            cause: None,
            overridden: Vec::new(),
        });
    }
    request
}

#[test]
fn a_directory_limit_is_offered_if_all_files_are_below_it() {
    let press =
        |request: &ApprovalRequest| GrantMenu::from_request(request).handle_key(KeyCode::Char('b'));
    let here = ["/work/project/a", "/work/project/src/b"];
    let below = Some(AbsPath::new("/work/project").unwrap());
    let terms = Some(GrantTerms { directory: below, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert_eq!(press(&touching(&here)), GrantMenuStep::Answer(yes.clone()));
    assert_eq!(GrantMenu::from_request(&touching(&here)).parse_words("b"), Some(yes));
    assert!(
        shown(&GrantMenu::from_request(&touching(&here)), &[], 80)
            .contains("[b] below this directory")
    );
    for other in [&[][..], &["/work/other/a"], &["/work/project/a", "/work/projects/b"]] {
        assert_eq!(press(&touching(other)), GrantMenuStep::Unknown, "{other:?}");
        assert!(!shown(&GrantMenu::from_request(&touching(other)), &[], 80).contains("[b]"));
    }
}

#[test]
fn a_task_limit_is_offered_if_the_task_is_known() {
    assert_eq!(press("k"), GrantMenuStep::Unknown);
    let request = ApprovalRequest { task: Some("job-1".to_owned()), ..request() };
    let terms = Some(GrantTerms { until_task_end: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert_eq!(
        GrantMenu::from_request(&request).handle_key(KeyCode::Char('k')),
        GrantMenuStep::Answer(yes)
    );
    assert!(shown(&GrantMenu::from_request(&request), &[], 80).contains("[k] for this task"));
}

#[test]
fn words_select_the_same_terms_where_lines_are_read() {
    let words = |words| GrantMenu::from_request(&request()).parse_words(words);
    for (line, keys) in [("1", "1f"), ("3 t", "3t"), ("5", "5"), ("2 f", "2f"), (" t ", "t")] {
        assert_eq!(words(line).map(GrantMenuStep::Answer), Some(press(keys)), "{line}");
    }
    for line in ["4", "y", "1 1 x", "t t", "t 1", "p", "11", "1t", "1 t f"] {
        assert_eq!(words(line), None, "{line}");
    }
}
