use openoxide_permission::{LayerKind, PathAnchors};

use super::*;
use crate::policy_file::{PolicyFile, SandboxLimits, SandboxSettings, parse_policy};

fn read_text(text: &str) -> PolicyFile {
    let [home, base] = ["/home/ann", "/w/project"].map(|path| AbsPath::new(path).unwrap());
    let anchors = PathAnchors { home: Some(&home), base: &base };
    parse_policy(text, LayerKind::Project, "policy.toml", anchors)
}

fn names(paths: &BTreeSet<AbsPath>) -> Vec<&str> {
    paths.iter().map(AbsPath::as_str).collect()
}

const ALL: &str = r#"[sandbox]
require = "fail_fast"
network = "on"
writable = ["~/.cache/pip"]
unreadable = ["~/company", "keys"]
protected = ["deploy/"]
environment = ["DATABASE_URL"]
publish = [3000, "8080:80"]
checkpoint_size = "2 GiB"
[sandbox.limits]
seconds = 60
memory = 2048
processes = 100
"#;

#[test]
fn everything_is_read() {
    let file = read_text(ALL);
    assert_eq!(file.problems, []);
    let said = &file.sandbox;
    let required = said.require.as_ref().unwrap();
    assert_eq!(
        (required.action, required.location.as_str()),
        (MissingSandboxAction::FailFast, "policy.toml:2")
    );
    assert_eq!(said.network, Some(NetworkSetting::Internet));
    assert_eq!(names(&said.unreadable), ["/home/ann/company", "/w/project/keys"]);
    assert_eq!(names(&said.protected), ["/w/project/deploy"]);
    assert_eq!(said.environment, BTreeSet::from(["DATABASE_URL".to_owned()]));
    let ports: Vec<_> = said.publish.ports().map(|port| (port.port(), port.host_port())).collect();
    assert_eq!(ports, [(3000, 3000), (8080, 80)]);
    assert_eq!(said.checkpoint_size, Some(ByteSize(2 << 30)));
    let limits = SandboxLimits { seconds: Some(60), memory: Some(2048), processes: Some(100) };
    assert_eq!(said.limits, limits);
    let [writable] = file.writable.as_slice() else { panic!("{:?}", file.writable) };
    assert_eq!((writable.path.as_str(), writable.line), ("/home/ann/.cache/pip", 4));
}

#[test]
fn the_network_has_four_settings_and_an_older_name() {
    for (word, expected) in [
        ("off", NetworkSetting::Off),
        ("hosts", NetworkSetting::Hosts),
        ("internet", NetworkSetting::Internet),
        ("on", NetworkSetting::Internet),
        ("host", NetworkSetting::Host),
    ] {
        let file = read_text(&format!("sandbox.network = \"{word}\""));
        assert_eq!((file.problems.len(), file.sandbox.network), (0, Some(expected)), "{word}");
        let loosens = file.sandbox.describe_loosening().count() == 1;
        assert_eq!(loosens, expected > NetworkSetting::Hosts, "{word}");
        assert_eq!(file.sandbox.into_restrictions().network.is_none(), loosens, "{word}");
    }
}

#[test]
fn problems_are_reported_at_their_position() {
    for (text, at, restrains) in [
        ("sandbox = 7", "7", true),
        ("sandbox.x = 7", "x", true),
        ("sandbox.require = \"perhaps\"", "\"perhaps\"", true),
        ("sandbox.require = true", "true", true),
        ("sandbox.network = \"some\"", "\"some\"", true),
        ("sandbox.writable = \"~/x\"", "\"~/x\"", false),
        ("sandbox.writable = [\"/\"]", "\"/\"", false),
        ("sandbox.writable = [\"~\"]", "\"~\"", false),
        ("sandbox.writable = [\"~/.ssh\"]", "\"~/.ssh\"", false),
        ("sandbox.writable = [\"~/x*\"]", "\"~/x*\"", false),
        ("sandbox.unreadable = [7]", "7", true),
        ("sandbox.unreadable = [\"/\"]", "\"/\"", true),
        ("sandbox.unreadable = [\"**/*.pem\"]", "\"**/*.pem\"", true),
        ("sandbox.protected = [\"\"]", "\"\"", true),
        ("sandbox.protected = [\"~bob/x\"]", "\"~bob/x\"", true),
        ("sandbox.environment = [\"A=b\"]", "\"A=b\"", false),
        ("sandbox.environment = [\"\"]", "\"\"", false),
        ("sandbox.environment = [\"1A\"]", "\"1A\"", false),
        ("sandbox.limits = 7", "7", true),
        ("sandbox.limits.seconds = 0", "0", true),
        ("sandbox.limits.memory = \"1G\"", "\"1G\"", true),
        ("sandbox.limits.files = 1", "files", true),
    ] {
        let file = read_text(text);
        let [problem] = file.problems.as_slice() else { panic!("{text}: {:?}", file.problems) };
        assert_eq!(text.get(problem.span.clone()).unwrap(), at, "{text}");
        assert_eq!(problem.loses_restriction, restrains, "{text}");
    }
    let many = "\"x\",".repeat(MAX_LIST_ITEMS + 1);
    assert_eq!(read_text(&format!("sandbox.protected = [{many}]")).problems.len(), 1);
}

#[test]
fn a_file_with_a_mistake_only_tightens() {
    let file = read_text(&format!("{ALL}[permissions]\nallow = [7]\n"));
    assert_eq!((file.sandbox.network, file.sandbox.environment.len()), (None, 0));
    assert_eq!(file.writable, []);
    assert!(file.sandbox.require.is_some() && file.sandbox.unreadable.len() == 2);
    assert_eq!(file.sandbox.limits.seconds, Some(60));
}

#[test]
fn merging_keeps_the_strictest_restrictions_and_all_permissive_settings() {
    let said = |text: &str| read_text(text).sandbox;
    let a = said(
        "sandbox.require = \"refuse_tools\"\nsandbox.network = \"on\"\nsandbox.environment = [\"A\"]\nsandbox.limits.seconds = 9\n",
    );
    let b = said(
        "sandbox.network = \"hosts\"\nsandbox.environment = [\"B\"]\nsandbox.limits.seconds = 5\nsandbox.protected = [\"x\"]\n\nsandbox.require = \"fail_fast\"\n",
    );
    for both in [a.clone().merge(b.clone()), b.merge(a)] {
        assert_eq!(both.require.unwrap().location, "policy.toml:6");
        assert_eq!(both.network, Some(NetworkSetting::Hosts));
        assert_eq!((both.environment.len(), both.protected.len()), (2, 1));
        assert_eq!(both.limits.seconds, Some(5));
    }
    let off = said("sandbox.network = \"off\"").merge(said("sandbox.network = \"on\""));
    assert_eq!(off.network, Some(NetworkSetting::Off));
}

#[test]
fn ports_that_cannot_be_published_are_problems() {
    for (ports, message) in [
        ("[80]", "cannot listen on port 80"),
        ("[0]", "expected PORT or PORT:HOSTPORT"),
        ("[true]", "expected PORT or PORT:HOSTPORT"),
        ("[\"127.0.0.1:3000\"]", "ports are published on the loopback interface only"),
        ("[3000, \"4000:3000\"]", "names port 3000 of the machine twice"),
        ("3000", "must be an array of ports, or `off`"),
        ("\"on\"", "must be an array of ports, or `off`"),
    ] {
        let file = read_text(&format!("[sandbox]\npublish = {ports}\n"));
        let [problem] = file.problems.as_slice() else { panic!("{ports}: {:?}", file.problems) };
        assert!(problem.message.contains(message), "{ports}: {}", problem.message);
    }
}

/// A file can forbid what another one publishes, whichever comes first. A project that is not
/// trusted can only forbid.
#[test]
fn ports_are_united_and_off_wins() {
    let read = |ports: &str| read_text(&format!("[sandbox]\npublish = {ports}\n")).sandbox;
    let ports = |settings: &SandboxSettings| settings.publish.ports().count();
    assert_eq!(ports(&read("[3000]").merge(read("[3000, 4000]"))), 2);
    for (one, other) in [("[3000]", "\"off\""), ("\"off\"", "[3000]")] {
        assert_eq!(read(one).merge(read(other)).publish, PublishSetting::Off);
    }
    let loosening: Vec<_> = read("[3000]").describe_loosening().collect();
    assert_eq!(loosening, ["sandbox publish 3000"]);
    assert_eq!(ports(&read("[3000]").into_restrictions()), 0);
    assert_eq!(read("\"off\"").into_restrictions().publish, PublishSetting::Off);
}
