//! The short form of a rule: `Bash(git push *)`, `Read(~/.ssh/**)`,
//! `WebFetch(domain:*.internal)`, `mcp__github__get_*`.

use openoxide_protocol::{
    Effect,
    registries::{PackageRegistry, REGISTRIES},
};

use crate::{
    pattern::{self, ParsedPattern, command, host, path, socket, tool},
    rule::{PathAnchors, Pattern, Rule, RuleError, SubjectKind},
};

/// The subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleSubject {
    Command,
    Read,
    Edit,
    Fetch,
    Delegate,
    DoomLoop,
    External,
    Socket,
    Everything,
}

/// The tool names that rules use, from OpenOxide and from agents, and the permission names of the
/// long form. Every name that `openoxide_adapters::tool_action` knows is here: a rule with the name
/// of a tool is about the calls of that tool.
const NAMES: &[(&str, RuleSubject)] = &[
    ("*", RuleSubject::Everything),
    ("Agent", RuleSubject::Delegate),
    ("Bash", RuleSubject::Command),
    ("DoomLoop", RuleSubject::DoomLoop),
    ("Edit", RuleSubject::Edit),
    ("ExternalDirectory", RuleSubject::External),
    ("Glob", RuleSubject::Read),
    ("Grep", RuleSubject::Read),
    ("LS", RuleSubject::Read),
    ("Monitor", RuleSubject::Command),
    ("MultiEdit", RuleSubject::Edit),
    ("NotebookEdit", RuleSubject::Edit),
    ("NotebookRead", RuleSubject::Read),
    ("Read", RuleSubject::Read),
    ("Socket", RuleSubject::Socket),
    ("Task", RuleSubject::Delegate),
    ("WebFetch", RuleSubject::Fetch),
    ("Write", RuleSubject::Edit),
    ("agent", RuleSubject::Delegate),
    ("apply_patch", RuleSubject::Edit),
    ("bash", RuleSubject::Command),
    ("container.exec", RuleSubject::Command),
    ("create", RuleSubject::Edit),
    ("doom_loop", RuleSubject::DoomLoop),
    ("edit", RuleSubject::Edit),
    ("exec", RuleSubject::Command),
    ("exec_command", RuleSubject::Command),
    ("external_directory", RuleSubject::External),
    ("glob", RuleSubject::Read),
    ("grep", RuleSubject::Read),
    ("list", RuleSubject::Read),
    ("list_directory", RuleSubject::Read),
    ("local_shell", RuleSubject::Command),
    ("ls", RuleSubject::Read),
    ("multiedit", RuleSubject::Edit),
    ("patch", RuleSubject::Edit),
    ("read", RuleSubject::Read),
    ("read_file", RuleSubject::Read),
    ("replace", RuleSubject::Edit),
    ("run_shell_command", RuleSubject::Command),
    ("shell", RuleSubject::Command),
    ("socket", RuleSubject::Socket),
    ("str_replace_editor", RuleSubject::Edit),
    ("task", RuleSubject::Delegate),
    ("view", RuleSubject::Read),
    ("view_image", RuleSubject::Read),
    ("web_fetch", RuleSubject::Fetch),
    ("webfetch", RuleSubject::Fetch),
    ("write", RuleSubject::Edit),
    ("write_file", RuleSubject::Edit),
];

/// Parses the short form of a rule.
///
/// # Errors
/// Returns the problem and its range in `text`.
pub fn parse_rule(text: &str, effect: Effect, anchors: PathAnchors<'_>) -> Result<Rule, RuleError> {
    let (name, inside, offset) = split_tool_pattern(text)?;
    let (patterns, exact) = match find_subject(name) {
        Some(subject) => parse_patterns(subject, inside, effect, anchors)
            .map_err(|error| error.with_offset(offset))?,
        None => parse_tool_patterns(name, inside, offset)?,
    };
    let bare = inside.is_none_or(|inside| inside == "*");
    let (human, line, reason) = (false, 0, None);
    Ok(Rule {
        effect,
        text: text.to_owned(),
        patterns,
        is_literal: exact,
        matches_everything: bare,
        requires_human: human,
        line,
        reason,
    })
}

/// Parses the long form of a rule: the name of a permission and a pattern.
///
/// # Errors
/// Returns the problem and its range in `pattern`. An unknown permission has no range in the
/// pattern.
pub fn parse_long_rule(
    permission: &str,
    pattern: &str,
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<Rule, RuleError> {
    let (patterns, exact) = match find_subject(permission) {
        Some(subject) => parse_patterns(subject, Some(pattern), effect, anchors)?,
        None if pattern == "*" => parse_tool_patterns(permission, None, 0)?,
        None => return Err(unknown_permission_error(permission)),
    };
    let text = format!("{permission}({pattern})");
    let (bare, human, line, reason) = (pattern == "*", false, 0, None);
    Ok(Rule {
        effect,
        text,
        patterns,
        is_literal: exact,
        matches_everything: bare,
        requires_human: human,
        line,
        reason,
    })
}

fn find_subject(name: &str) -> Option<RuleSubject> {
    let at = NAMES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    NAMES.get(at).map(|(_, subject)| *subject)
}

fn unknown_permission_error(name: &str) -> RuleError {
    let error = RuleError::new(format!("unknown permission `{name}`"), 0..name.len());
    match find_similar_name(name) {
        Some(known) => error.with_help(format!("did you mean `{known}`?")),
        None => error.with_help(
            "known tools are `Bash`, `Read`, `Edit`, `WebFetch(domain:…)`, `Socket`, `Task`, \
             `mcp__server__tool`",
        ),
    }
}

/// Splits `Tool(inside)` into the name, the text inside the parentheses, and its offset.
fn split_tool_pattern(text: &str) -> Result<(&str, Option<&str>, usize), RuleError> {
    if text.trim() != text || text.is_empty() {
        let error = RuleError::new("a rule cannot start or end with a space", 0..text.len());
        return Err(error.with_help(format!("write `{}`", text.trim())));
    }
    let Some((name, rest)) = text.split_once('(') else {
        return Ok((text, None, text.len()));
    };
    let Some(inside) = rest.strip_suffix(')') else {
        let error = RuleError::new("the rule does not end with `)`", name.len()..text.len());
        return Err(error.with_help("write `Tool(pattern)`"));
    };
    if inside.is_empty() {
        let error = RuleError::new("the parentheses are empty", name.len()..text.len());
        return Err(error.with_help(format!("write `{name}` for everything")));
    }
    Ok((name, Some(inside), name.len() + 1))
}

type ParsedPatterns = (Vec<Pattern>, bool);

/// The kinds that a rule matches which allows everything. Some services give more than all other
/// accesses together, so their sockets are only allowed by a rule about sockets.
const ALL_BUT_SOCKETS: &[SubjectKind] = SubjectKind::ALL.split_at(SubjectKind::Socket as usize).0;

fn parse_patterns(
    subject: RuleSubject,
    inside: Option<&str>,
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<ParsedPatterns, RuleError> {
    let inside = inside.filter(|inside| *inside != "*");
    let spaces: &[SubjectKind] = match subject {
        RuleSubject::Command => return parse_command_patterns(inside, effect),
        RuleSubject::Fetch => return parse_host_patterns(inside),
        RuleSubject::Delegate => {
            return single_pattern(SubjectKind::Delegate, inside.map(tool::parse));
        }
        RuleSubject::DoomLoop => {
            return single_pattern(SubjectKind::DoomLoop, inside.map(tool::parse));
        }
        RuleSubject::Socket => {
            let parse = |text| socket::parse(text, effect, anchors);
            return single_pattern(SubjectKind::Socket, inside.map(parse));
        }
        RuleSubject::Everything if effect == Effect::Allow => ALL_BUT_SOCKETS,
        RuleSubject::Everything => &SubjectKind::ALL,
        // A denied read also denies edits, because an edit can reveal the previous content.
        RuleSubject::Read if effect == Effect::Deny => &[SubjectKind::Read, SubjectKind::Edit],
        RuleSubject::Read => &[SubjectKind::Read],
        RuleSubject::Edit => &[SubjectKind::Edit],
        RuleSubject::External => &[SubjectKind::External],
    };
    match inside {
        None => Ok((spaces.iter().map(|space| match_all_pattern(*space)).collect(), false)),
        Some(_) if subject == RuleSubject::Everything => Err(RuleError::new(
            "a pattern cannot be given for every tool at once",
            0..inside.map_or(0, str::len),
        )),
        Some(text) => parse_path_patterns(text, spaces, effect, anchors),
    }
}

fn parse_path_patterns(
    text: &str,
    spaces: &[SubjectKind],
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<ParsedPatterns, RuleError> {
    let found = path::parse(text, effect, anchors)?;
    let code = found.pattern.glob.finish();
    let pattern = |space: &SubjectKind| Pattern {
        kind: if found.is_cwd_relative { to_cwd_kind(*space) } else { *space },
        program: code.clone(),
    };
    Ok((spaces.iter().map(pattern).collect(), found.pattern.is_literal))
}

/// Parses the pattern of a command rule. `npm run:*` is Claude Code's older syntax for `npm run *`.
/// A rule that asks or denies also matches the literal text.
fn parse_command_patterns(
    inside: Option<&str>,
    effect: Effect,
) -> Result<ParsedPatterns, RuleError> {
    let Some(prefix) = inside.and_then(|inside| inside.strip_suffix(":*")) else {
        return single_pattern(SubjectKind::Exec, inside.map(command::parse));
    };
    let (mut patterns, _) =
        single_pattern(SubjectKind::Exec, Some(command::parse(&format!("{prefix} *"))))?;
    if effect != Effect::Allow {
        patterns.extend(single_pattern(SubjectKind::Exec, inside.map(command::parse))?.0);
    }
    Ok((patterns, false))
}

const fn to_cwd_kind(space: SubjectKind) -> SubjectKind {
    match space {
        SubjectKind::Read => SubjectKind::ReadFromCwd,
        SubjectKind::Edit => SubjectKind::EditFromCwd,
        SubjectKind::External => SubjectKind::ExternalFromCwd,
        other => other,
    }
}

fn match_all_pattern(space: SubjectKind) -> Pattern {
    let mut glob = crate::glob::Glob::new();
    glob.push_any();
    Pattern { kind: space, program: glob.finish() }
}

fn single_pattern(
    space: SubjectKind,
    read: Option<Result<ParsedPattern, RuleError>>,
) -> Result<ParsedPatterns, RuleError> {
    match read.transpose()? {
        Some(ParsedPattern { glob, is_literal: exact }) => {
            Ok((vec![Pattern { kind: space, program: glob.finish() }], exact))
        }
        None => Ok((vec![match_all_pattern(space)], false)),
    }
}

/// Parses the pattern of a rule about hosts. The name of a registry matches each of its hosts.
fn parse_host_patterns(inside: Option<&str>) -> Result<ParsedPatterns, RuleError> {
    let Some(name) = inside.and_then(|inside| inside.strip_prefix(REGISTRY_PREFIX)) else {
        return single_pattern(SubjectKind::Fetch, inside.map(parse_domain));
    };
    let registry = PackageRegistry::with_name(name).ok_or_else(|| {
        let names: Vec<_> = REGISTRIES.iter().map(|registry| registry.name).collect();
        let range = REGISTRY_PREFIX.len()..REGISTRY_PREFIX.len() + name.len();
        let error = RuleError::new(format!("unknown registry `{name}`"), range);
        error.with_help(format!("known registries are `{}`", names.join("`, `")))
    })?;
    let mut patterns = Vec::new();
    for host in registry.hosts {
        patterns.extend(single_pattern(SubjectKind::Fetch, Some(host::parse(host)))?.0);
    }
    Ok((patterns, false))
}

/// The start of a pattern that names a package registry.
const REGISTRY_PREFIX: &str = "registry:";

fn parse_domain(inside: &str) -> Result<ParsedPattern, RuleError> {
    match inside.strip_prefix("domain:") {
        Some(host) => host::parse(host).map_err(|error| error.with_offset("domain:".len())),
        None => {
            let error = RuleError::new("an address is matched by its host", 0..inside.len());
            Err(error.with_help("write `WebFetch(domain:example.com)`"))
        }
    }
}

fn parse_tool_patterns(
    name: &str,
    inside: Option<&str>,
    offset: usize,
) -> Result<ParsedPatterns, RuleError> {
    if let Some(known) = find_similar_name(name) {
        let error = RuleError::new(format!("unknown tool `{name}`"), 0..name.len());
        return Err(error.with_help(format!("did you mean `{known}`?")));
    }
    let ParsedPattern { glob, is_literal: exact } = tool::parse(name)?;
    if let Some(inside) = inside.filter(|inside| *inside != "*") {
        let error = RuleError::new(
            format!("the input of `{name}` cannot be matched"),
            offset..offset + inside.len(),
        );
        return Err(error.with_help(format!("write `{name}` alone")));
    }
    let mut patterns = vec![Pattern { kind: SubjectKind::Tool, program: glob.finish() }];
    if let Some(pattern::ParsedPattern { glob, .. }) = tool::parse_server(name) {
        patterns.push(Pattern { kind: SubjectKind::Tool, program: glob.finish() });
    }
    let one = patterns.len() == 1;
    Ok((patterns, exact && one))
}

/// Returns the known name that was probably intended: one that differs in case or in one letter.
fn find_similar_name(name: &str) -> Option<&'static str> {
    if name.starts_with("mcp__") {
        return None;
    }
    let near = |known: &str| known.eq_ignore_ascii_case(name) || is_one_edit_apart(known, name);
    NAMES.iter().map(|(known, _)| *known).find(|known| near(known))
}

fn is_one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    if a.len().abs_diff(b.len()) > 1 || a.len() < 4 {
        return false;
    }
    let head = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let tail = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    let shorter = a.len().min(b.len());
    a != b && head + tail >= shorter.saturating_sub(usize::from(a.len() == b.len()))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;

    use super::*;

    fn error(text: &str) -> RuleError {
        let base = AbsPath::root();
        parse_rule(text, Effect::Allow, PathAnchors { home: None, base: &base }).unwrap_err()
    }

    fn rule(text: &str, effect: Effect) -> Rule {
        let base = AbsPath::root();
        parse_rule(text, effect, PathAnchors { home: Some(&base), base: &base }).unwrap()
    }

    #[test]
    fn names_are_sorted_for_the_search() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NAMES.iter().all(|(name, subject)| find_subject(name) == Some(*subject)));
    }

    #[test]
    fn invalid_rules_have_a_suggestion_and_a_range() {
        assert_eq!(error("bsh(ls)").help.unwrap(), "did you mean `Bash`?");
        assert_eq!(error("BASH(ls)").help.unwrap(), "did you mean `Bash`?");
        assert_eq!(error("Bash(ls").range, 4..7);
        assert_eq!(error("Bash()").help.unwrap(), "write `Bash` for everything");
        assert_eq!(error(" Bash(ls)").help.unwrap(), "write `Bash(ls)`");
        assert_eq!(error("Bash(echo 'x)").range, 10..12);
        assert_eq!(error("WebFetch(example.com)").range, 9..20);
        assert_eq!(error("WebFetch(domain:x/y)").range, 17..18);
        assert_eq!(error("mcp__a__b(x:1)").range, 10..13);
        assert_eq!(error("Frob nicate").range, 4..5);
        assert_eq!(error("Read(!x)").range, 5..6);
    }

    #[test]
    fn a_denied_read_denies_the_edit() {
        let spaces = |effect| {
            rule("Read(//etc/x)", effect).patterns.iter().map(|p| p.kind).collect::<Vec<_>>()
        };
        assert_eq!(spaces(Effect::Deny), [SubjectKind::Read, SubjectKind::Edit]);
        assert_eq!(spaces(Effect::Ask), [SubjectKind::Read]);
    }

    #[test]
    fn exact_rules_name_one_thing() {
        for (text, exact) in [
            ("Bash(npm test)", true),
            ("Bash(npm *)", false),
            ("Bash", false),
            ("Read(//etc/x)", true),
            ("Read(.env)", false),
            ("Read(//etc/*)", false),
            ("mcp__a__b", true),
            ("mcp__a", false),
            ("WebFetch(domain:x.io)", true),
        ] {
            assert_eq!(rule(text, Effect::Allow).is_literal, exact, "{text}");
        }
    }

    #[test]
    fn the_older_prefix_form_is_understood() {
        let code = |text, effect| {
            rule(text, effect).patterns.into_iter().map(|p| p.program).collect::<Vec<_>>()
        };
        let plain = code("Bash(rm *)", Effect::Allow);
        assert_eq!(code("Bash(rm:*)", Effect::Allow), plain);
        assert_eq!(code("Bash(rm:*)", Effect::Deny).len(), 2);
        assert_eq!(code("Bash(rm:*)", Effect::Deny)[0], plain[0]);
    }

    #[test]
    fn the_long_form_is_equivalent_to_the_short_form() {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        let long = parse_long_rule("bash", "terraform apply *", Effect::Ask, anchors).unwrap();
        assert_eq!(long.patterns, rule("Bash(terraform apply *)", Effect::Ask).patterns);
        assert!(parse_long_rule("frobnicate", "x", Effect::Ask, anchors).is_err());
    }

    #[test]
    fn a_name_one_letter_apart_was_probably_meant() {
        for (name, meant) in [
            ("WebFetsh", Some("WebFetch")),
            ("Bosh", Some("Bash")),
            ("Basch", Some("Bash")),
            ("Raed", None),
            ("Edt", Some("Edit")),
            ("Tasks", Some("Task")),
            ("xTask", Some("Task")),
            ("LSx", None),
            ("Bosch", None),
            ("Eit", Some("Edit")),
        ] {
            let base = AbsPath::root();
            let read = parse_rule(name, Effect::Allow, PathAnchors { home: None, base: &base });
            let help = read.err().and_then(|error| error.help);
            assert_eq!(help, meant.map(|meant| format!("did you mean `{meant}`?")), "{name}");
        }
    }

    #[test]
    fn every_tool_takes_no_pattern() {
        let error = error("*(x)");
        assert_eq!(error.message, "a pattern cannot be given for every tool at once");
        assert_eq!(error.range, 2..3);
        assert_eq!(rule("*(*)", Effect::Deny).patterns, rule("*", Effect::Deny).patterns);
    }

    #[test]
    fn a_rule_without_a_pattern_is_bare_in_both_forms() {
        let base = AbsPath::root();
        let long = |name: &str, pattern: &str| {
            parse_long_rule(name, pattern, Effect::Ask, PathAnchors { home: None, base: &base })
        };
        for (text, bare) in [("Edit", true), ("Edit(*)", true), ("Edit(**)", false), ("x_y", true)]
        {
            assert_eq!(rule(text, Effect::Ask).matches_everything, bare, "{text}");
        }
        for (name, pattern, bare) in
            [("edit", "*", true), ("edit", "//a", false), ("x_y", "*", true)]
        {
            assert_eq!(long(name, pattern).unwrap().matches_everything, bare, "{name} {pattern}");
        }
        let error = long("x_y", "a").unwrap_err();
        assert_eq!(error.message, "unknown permission `x_y`");
    }

    #[test]
    fn the_last_wrong_letter_is_pointed_at() {
        assert_eq!(error("Bash(a\0b)").range, 6..7);
        assert_eq!(error("Read(//a\0b)").range, 8..9);
        assert_eq!(error("Read(//ab/c\\)").range, 11..12);
        assert_eq!(error("WebFetch(domain:a\tb)").range, 17..18);
    }

    #[test]
    fn a_rule_about_a_registry_matches_each_of_its_hosts() {
        let base = openoxide_protocol::AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        let parse = |text: &str| parse_rule(text, Effect::Allow, anchors);
        let rule = parse("WebFetch(registry:crates)").unwrap();
        let hosts = ["index.crates.io", "static.crates.io"];
        let by_host = hosts.map(|host| parse(&format!("WebFetch(domain:{host})")).unwrap());
        let by_host: Vec<_> = by_host.into_iter().flat_map(|rule| rule.patterns).collect();
        assert_eq!(rule.patterns, by_host);
        let error = parse("WebFetch(registry:cargo)").unwrap_err();
        assert_eq!((error.message.as_str(), error.range), ("unknown registry `cargo`", 18..23));
    }
}
