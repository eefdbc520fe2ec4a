//! Tests against the rules of Codex 0.169: tables of observed behavior, and recorded rows.

use openoxide_permission::{EvaluationContext, LayerKind, PathAnchors, PolicyStack, decide_access};
use openoxide_protocol::{AbsPath, Access, Effect};

use super::{
    exact_semantics::{RuleFileError, rule_file::ParsedRuleFile},
    plain_rules::read_plain_rules,
    rule_calls::parse_calls,
    translate_rule_file,
};
use openoxide_adapters::policy_translation::{PolicyTextError, PolicyTranslation};

fn read(text: &str) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let base = AbsPath::root();
    let anchors = PathAnchors { home: None, base: &base };
    translate_rule_file(text, LayerKind::Cli, "x.rules", anchors, |_| {
        Err(RuleFileError::limit_exceeded("no language"))
    })
}

/// Parses a file without the evaluator.
fn plainly(text: &str) -> Result<ParsedRuleFile, Vec<PolicyTextError>> {
    parse_calls(text).map_err(|fault| vec![fault]).and_then(|calls| read_plain_rules(&calls))
}

fn decided(text: &str, access: &Access) -> Effect {
    let policy = PolicyStack::compile(&[read(text).unwrap().layer]).unwrap();
    let cwd = AbsPath::root();
    let context = EvaluationContext {
        mode: Default::default(),
        cwd: &cwd,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    decide_access(&policy, &context, access).effect
}

fn run(text: &str, words: &[&str]) -> Effect {
    decided(text, &openoxide_adapters::policy_translation::build_exec_access(&words.join(" ")))
}

const RULES: &str = r#"
# what everybody may do
prefix_rule(pattern = ["git", ["status", "diff"]])
prefix_rule(["git"], "prompt", justification = "git needs review")
prefix_rule(
    pattern = ["rm"],
    decision = 'forbidden',  # always
    justification = """use
trash""",
    match = ["rm -rf /", ["rm", "a b"], "/bin/rm x"],
    not_match = ["rmdir x"],
); prefix_rule(pattern=[["npm", "pnpm"], "install"], decision="allow")
host_executable(name = "pnpm", paths = ["/usr/bin/pnpm"])
"#;

#[test]
fn the_most_restrictive_rule_decides() {
    use Effect::{Allow, Ask, Deny};
    for (words, expected) in [
        (&["git", "status"][..], Ask),
        (&["git", "push"], Ask),
        (&["rm", "-rf", "/"], Deny),
        (&["/bin/rm", "x"], Deny),
        (&["pnpm", "install", "foo"], Allow),
        (&["npm", "install"], Allow),
        (&["/usr/bin/pnpm", "install"], Allow),
        (&["/opt/pnpm", "install"], Ask),
        (&["./npm", "install"], Ask),
        (&["npm", "installx"], Ask),
        (&["npm"], Ask),
    ] {
        assert_eq!(run(RULES, words), expected, "{words:?}");
    }
    let layer = read(RULES).unwrap().layer;
    let rm = layer.rules.iter().find(|rule| rule.text == "prefix_rule(rm)").unwrap();
    assert_eq!((rm.line, rm.reason.as_deref()), (5, Some("use\ntrash")));
}

#[test]
fn the_last_rule_about_a_host_decides() {
    use Effect::{Allow, Ask, Deny};
    let text = r#"
network_rule(host="Example.com:443", protocol="https", decision="allow")
network_rule(host="b.io.", protocol="http", decision="deny")
network_rule(host="b.io", protocol="socks5_tcp", decision="allow")
network_rule(host="c.io", protocol="http", decision="prompt")
network_rule(host="d.io", protocol="http", decision="forbidden", justification="no")
"#;
    for (host, expected) in
        [("example.com", Allow), ("b.io", Allow), ("c.io", Ask), ("d.io", Deny), ("e.io", Ask)]
    {
        let fetch =
            Access::Fetch { host: host.to_owned(), url: String::new(), route: Default::default() };
        assert_eq!(decided(text, &fetch), expected, "{host}");
    }
}

#[test]
fn anything_but_a_valid_plain_call_is_an_error_with_its_location() {
    for (text, said, at) in [
        ("x = 1", "not a plain call", "= 1"),
        ("def f():\n  pass", "not a plain call", "f()"),
        ("prefix_rule(pattern=[a])", "not a plain call", "a"),
        ("prefix_rule(pattern=[\"a\"] + [\"b\"])", "not a plain call", "+"),
        ("prefix_rule(pattern=(\"a\",))", "not a plain call", "("),
        ("\n  prefix_rule(pattern=[\"a\"])", "not a plain call", "  p"),
        ("prefix_rule(pattern=[\"a\"]) prefix_rule(pattern=[\"b\"])", "not a plain call", "prefix"),
        ("rule(pattern=[\"a\"])", "unknown function `rule`", "rule"),
        ("prefix_rule()", "no `pattern`", "prefix"),
        ("prefix_rule(pattern=[])", "cannot be empty", "[]"),
        ("prefix_rule(pattern=[[]])", "cannot be empty", "[]"),
        ("prefix_rule(pattern=\"a\")", "expected a list", "\"a\""),
        ("prefix_rule(pattern=[\"a\"], decision=\"deny\")", "unknown decision", "\"deny\""),
        ("prefix_rule(pattern=[\"a\"], decision=None)", "expected a string", "None"),
        ("prefix_rule(pattern=[\"a\"], why=\"x\")", "no argument `why`", "\"x\""),
        ("prefix_rule(pattern=[\"a\"], justification=\" \")", "must not be empty", "\" \""),
        ("prefix_rule(pattern=[\"a\"], match=[\"b\"])", "does not match", "\"b\""),
        ("prefix_rule(pattern=[\"a\"], not_match=[\"a b\"])", "matches", "\"a b\""),
        ("prefix_rule(pattern=[\"a\"], match=[\"\"])", "cannot be empty", "\"\""),
        ("prefix_rule(pattern=[\"a)", "unterminated", "\"a"),
        ("prefix_rule(pattern=[\"a\"]", "too early", ""),
        ("prefix_rule(pattern=[\"\\q\"])", "escape", "\\q"),
        (
            "host_executable(name=\"git\", paths=[\"/usr/bin/gix\"])",
            "not an absolute path",
            "\"/usr",
        ),
        ("host_executable(name=\"a/b\", paths=[])", "no `/`", "\"a/b"),
        (
            "network_rule(host=\"*.x\", protocol=\"http\", decision=\"deny\")",
            "invalid host",
            "\"*.x",
        ),
        (
            "network_rule(host=\"x\", protocol=\"ftp\", decision=\"deny\")",
            "unknown protocol",
            "\"ftp",
        ),
    ] {
        let faults = plainly(text).unwrap_err();
        let [fault] = faults.as_slice() else { panic!("{text}: {faults:?}") };
        assert!(fault.message.contains(said), "{text}: {fault:?}");
        let found = text.get(fault.span.start..).unwrap();
        assert!(found.starts_with(at), "{text}: {fault:?}");
    }
    let deep = format!("prefix_rule(pattern={})", "[".repeat(100_000));
    assert!(read(&deep).is_err());
    let many = format!("prefix_rule(pattern=[{}])", r#"["a","b","c","d"],"#.repeat(20));
    assert_eq!(read(&many).unwrap().errors.len(), 1);
}

#[test]
fn texts_are_those_of_starlark() {
    let words = |text: &str| {
        let rules = format!("prefix_rule(pattern=[{text}, \"x\"], decision=\"forbidden\")");
        read(&rules).unwrap().layer.rules[0].text.clone()
    };
    assert_eq!(words(r#""a\tb""#), "prefix_rule('a\tb' x)");
    assert_eq!(words(r"'a\'b'"), r"prefix_rule(a\'b x)");
    assert_eq!(words(r#"r"a\b""#), r"prefix_rule('a\b' x)");
    assert_eq!(words("'''a\nb'''"), "prefix_rule('a\nb' x)");
    assert_eq!(words(r#""\x41\u00e9\U0001F600""#), "prefix_rule('Aé😀' x)");
    assert_eq!(words(r#""""#), "prefix_rule('' x)");
}

const RECORDED_RULES: &str = include_str!("../../../corpus/codex/r.rules");
const RECORDED: &str = include_str!("../../../corpus/codex/decisions.tsv");

// Each row has a plain command and the verdict of the real program, which is its default verdict if
// no rule matched.
#[test]
fn recorded_decisions_are_never_loosened() {
    let rows: Vec<_> = RECORDED.lines().skip(1).filter_map(|row| row.split_once('\t')).collect();
    assert!(rows.len() >= 9);
    for (command, verdict) in rows {
        let found = run(RECORDED_RULES, &command.split(' ').collect::<Vec<_>>());
        let expected = match verdict {
            "REJECT" => Effect::Deny,
            "PROMPT" => Effect::Ask,
            _ => Effect::Allow,
        };
        assert_eq!(found, expected, "{command}");
    }
}
