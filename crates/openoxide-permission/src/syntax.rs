//! The short form of a rule: `Bash(git push *)`, `Read(~/.ssh/**)`, `WebFetch(domain:*.internal)`, `mcp__github__get_*`.

use openoxide_protocol::Effect;

use crate::{
    pattern::{self, Read, command, host, path, tool},
    rule::{Anchors, Pattern, Rule, RuleError, Space},
};

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Command,
    Read,
    Edit,
    Fetch,
    Delegate,
    DoomLoop,
    External,
    Everything,
}

/// The names of tools that rules use, ours and the agents', and the permission names of the long form.
const NAMES: &[(&str, Subject)] = &[
    ("*", Subject::Everything),
    ("Agent", Subject::Delegate),
    ("Bash", Subject::Command),
    ("DoomLoop", Subject::DoomLoop),
    ("Edit", Subject::Edit),
    ("ExternalDirectory", Subject::External),
    ("Glob", Subject::Read),
    ("Grep", Subject::Read),
    ("LS", Subject::Read),
    ("MultiEdit", Subject::Edit),
    ("NotebookEdit", Subject::Edit),
    ("NotebookRead", Subject::Read),
    ("Read", Subject::Read),
    ("Task", Subject::Delegate),
    ("WebFetch", Subject::Fetch),
    ("Write", Subject::Edit),
    ("bash", Subject::Command),
    ("doom_loop", Subject::DoomLoop),
    ("edit", Subject::Edit),
    ("external_directory", Subject::External),
    ("glob", Subject::Read),
    ("grep", Subject::Read),
    ("list", Subject::Read),
    ("read", Subject::Read),
    ("shell", Subject::Command),
    ("task", Subject::Delegate),
    ("webfetch", Subject::Fetch),
    ("write", Subject::Edit),
];

/// Reads the short form.
///
/// # Errors
/// Says what is wrong, and where in `text`.
pub fn parse(text: &str, effect: Effect, anchors: Anchors<'_>) -> Result<Rule, RuleError> {
    let (name, inside, offset) = split(text)?;
    let (patterns, exact) = match find(name) {
        Some(subject) => {
            patterns(subject, inside, effect, anchors).map_err(|error| error.shifted(offset))?
        }
        None => tool_patterns(name, inside, offset)?,
    };
    let bare = inside.is_none_or(|inside| inside == "*");
    let (human, line, reason) = (false, 0, None);
    Ok(Rule { effect, text: text.to_owned(), patterns, exact, bare, human, line, reason })
}

/// Reads the long form: the name of a permission and a pattern, as seeds 003 and 004 have it.
///
/// # Errors
/// Says what is wrong, and where in `pattern` (or that the permission is unknown, over no text).
pub fn parse_long(
    permission: &str,
    pattern: &str,
    effect: Effect,
    anchors: Anchors<'_>,
) -> Result<Rule, RuleError> {
    let (patterns, exact) = match find(permission) {
        Some(subject) => patterns(subject, Some(pattern), effect, anchors)?,
        None if pattern == "*" => tool_patterns(permission, None, 0)?,
        None => return Err(unknown(permission)),
    };
    let text = format!("{permission}({pattern})");
    let (bare, human, line, reason) = (pattern == "*", false, 0, None);
    Ok(Rule { effect, text, patterns, exact, bare, human, line, reason })
}

fn find(name: &str) -> Option<Subject> {
    let at = NAMES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    NAMES.get(at).map(|(_, subject)| *subject)
}

fn unknown(name: &str) -> RuleError {
    let error = RuleError::new(format!("unknown permission `{name}`"), 0..name.len());
    match similar(name) {
        Some(known) => error.help(format!("did you mean `{known}`?")),
        None => error.help(
            "known are `Bash`, `Read`, `Edit`, `WebFetch(domain:…)`, `Task`, `mcp__server__tool`",
        ),
    }
}

/// Cuts `Tool(inside)`; returns the name, what is inside, and where that begins.
fn split(text: &str) -> Result<(&str, Option<&str>, usize), RuleError> {
    if text.trim() != text || text.is_empty() {
        let error = RuleError::new("a rule cannot start or end with a space", 0..text.len());
        return Err(error.help(format!("write `{}`", text.trim())));
    }
    let Some((name, rest)) = text.split_once('(') else {
        return Ok((text, None, text.len()));
    };
    let Some(inside) = rest.strip_suffix(')') else {
        let error = RuleError::new("the rule does not end with `)`", name.len()..text.len());
        return Err(error.help("write `Tool(pattern)`"));
    };
    if inside.is_empty() {
        let error = RuleError::new("the parentheses are empty", name.len()..text.len());
        return Err(error.help(format!("write `{name}` for everything")));
    }
    Ok((name, Some(inside), name.len() + 1))
}

type Patterns = (Vec<Pattern>, bool);

fn patterns(
    subject: Subject,
    inside: Option<&str>,
    effect: Effect,
    anchors: Anchors<'_>,
) -> Result<Patterns, RuleError> {
    let inside = inside.filter(|inside| *inside != "*");
    let spaces: &[Space] = match subject {
        Subject::Command => return commands(inside, effect),
        Subject::Fetch => return in_space(Space::Fetch, inside.map(domain)),
        Subject::Delegate => return in_space(Space::Delegate, inside.map(tool::read)),
        Subject::DoomLoop => return in_space(Space::DoomLoop, inside.map(tool::read)),
        Subject::Everything => &Space::ALL,
        // Who may not read a file may not change it either: an edit can show what stood there.
        Subject::Read if effect == Effect::Deny => &[Space::Read, Space::Edit],
        Subject::Read => &[Space::Read],
        Subject::Edit => &[Space::Edit],
        Subject::External => &[Space::External],
    };
    match inside {
        None => Ok((spaces.iter().map(|space| anything(*space)).collect(), false)),
        Some(_) if subject == Subject::Everything => Err(RuleError::new(
            "a pattern cannot be given for every tool at once",
            0..inside.map_or(0, str::len),
        )),
        Some(text) => paths(text, spaces, effect, anchors),
    }
}

fn paths(
    text: &str,
    spaces: &[Space],
    effect: Effect,
    anchors: Anchors<'_>,
) -> Result<Patterns, RuleError> {
    let found = path::read(text, effect, anchors)?;
    let code = found.read.glob.finish();
    let pattern = |space: &Space| Pattern {
        space: if found.here { here(*space) } else { *space },
        code: code.clone(),
    };
    Ok((spaces.iter().map(pattern).collect(), found.read.exact))
}

/// `npm run:*` is Claude Code's older way to write `npm run *`. What holds back also means what it says by its letters.
fn commands(inside: Option<&str>, effect: Effect) -> Result<Patterns, RuleError> {
    let Some(prefix) = inside.and_then(|inside| inside.strip_suffix(":*")) else {
        return in_space(Space::Exec, inside.map(command::read));
    };
    let (mut patterns, _) = in_space(Space::Exec, Some(command::read(&format!("{prefix} *"))))?;
    if effect != Effect::Allow {
        patterns.extend(in_space(Space::Exec, inside.map(command::read))?.0);
    }
    Ok((patterns, false))
}

const fn here(space: Space) -> Space {
    match space {
        Space::Read => Space::ReadHere,
        Space::Edit => Space::EditHere,
        Space::External => Space::ExternalHere,
        other => other,
    }
}

fn anything(space: Space) -> Pattern {
    let mut glob = crate::glob::Glob::new();
    glob.any();
    Pattern { space, code: glob.finish() }
}

fn in_space(space: Space, read: Option<Result<Read, RuleError>>) -> Result<Patterns, RuleError> {
    match read.transpose()? {
        Some(Read { glob, exact }) => Ok((vec![Pattern { space, code: glob.finish() }], exact)),
        None => Ok((vec![anything(space)], false)),
    }
}

fn domain(inside: &str) -> Result<Read, RuleError> {
    match inside.strip_prefix("domain:") {
        Some(host) => host::read(host).map_err(|error| error.shifted("domain:".len())),
        None => {
            let error = RuleError::new("an address is matched by its host", 0..inside.len());
            Err(error.help("write `WebFetch(domain:example.com)`"))
        }
    }
}

fn tool_patterns(name: &str, inside: Option<&str>, offset: usize) -> Result<Patterns, RuleError> {
    if let Some(known) = similar(name) {
        let error = RuleError::new(format!("unknown tool `{name}`"), 0..name.len());
        return Err(error.help(format!("did you mean `{known}`?")));
    }
    let Read { glob, exact } = tool::read(name)?;
    if let Some(inside) = inside.filter(|inside| *inside != "*") {
        let error = RuleError::new(
            format!("the input of `{name}` cannot be matched"),
            offset..offset + inside.len(),
        );
        return Err(error.help(format!("write `{name}` alone")));
    }
    let mut patterns = vec![Pattern { space: Space::Tool, code: glob.finish() }];
    if let Some(pattern::Read { glob, .. }) = tool::of_server(name) {
        patterns.push(Pattern { space: Space::Tool, code: glob.finish() });
    }
    let one = patterns.len() == 1;
    Ok((patterns, exact && one))
}

/// Returns the known name that was probably meant: one that differs in case or in one letter.
fn similar(name: &str) -> Option<&'static str> {
    if name.starts_with("mcp__") {
        return None;
    }
    let near = |known: &str| known.eq_ignore_ascii_case(name) || one_letter_apart(known, name);
    NAMES.iter().map(|(known, _)| *known).find(|known| near(known))
}

fn one_letter_apart(a: &str, b: &str) -> bool {
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
        parse(text, Effect::Allow, Anchors { home: None, base: &base }).unwrap_err()
    }

    fn rule(text: &str, effect: Effect) -> Rule {
        let base = AbsPath::root();
        parse(text, effect, Anchors { home: Some(&base), base: &base }).unwrap()
    }

    #[test]
    fn names_are_sorted_for_the_search() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NAMES.iter().all(|(name, subject)| find(name) == Some(*subject)));
    }

    #[test]
    fn wrong_rules_say_what_was_meant() {
        assert_eq!(error("bsh(ls)").help.unwrap(), "did you mean `Bash`?");
        assert_eq!(error("BASH(ls)").help.unwrap(), "did you mean `Bash`?");
        assert_eq!(error("Bash(ls").at, 4..7);
        assert_eq!(error("Bash()").help.unwrap(), "write `Bash` for everything");
        assert_eq!(error(" Bash(ls)").help.unwrap(), "write `Bash(ls)`");
        assert_eq!(error("Bash(echo 'x)").at, 10..12);
        assert_eq!(error("WebFetch(example.com)").at, 9..20);
        assert_eq!(error("WebFetch(domain:x/y)").at, 17..18);
        assert_eq!(error("mcp__a__b(x:1)").at, 10..13);
        assert_eq!(error("Frob nicate").at, 4..5);
        assert_eq!(error("Read(!x)").at, 5..6);
    }

    #[test]
    fn a_denied_read_denies_the_edit() {
        let spaces = |effect| {
            rule("Read(//etc/x)", effect).patterns.iter().map(|p| p.space).collect::<Vec<_>>()
        };
        assert_eq!(spaces(Effect::Deny), [Space::Read, Space::Edit]);
        assert_eq!(spaces(Effect::Ask), [Space::Read]);
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
            assert_eq!(rule(text, Effect::Allow).exact, exact, "{text}");
        }
    }

    #[test]
    fn the_older_prefix_form_is_understood() {
        let code = |text, effect| {
            rule(text, effect).patterns.into_iter().map(|p| p.code).collect::<Vec<_>>()
        };
        let plain = code("Bash(rm *)", Effect::Allow);
        assert_eq!(code("Bash(rm:*)", Effect::Allow), plain);
        assert_eq!(code("Bash(rm:*)", Effect::Deny).len(), 2);
        assert_eq!(code("Bash(rm:*)", Effect::Deny)[0], plain[0]);
    }

    #[test]
    fn the_long_form_says_the_same() {
        let base = AbsPath::root();
        let anchors = Anchors { home: None, base: &base };
        let long = parse_long("bash", "terraform apply *", Effect::Ask, anchors).unwrap();
        assert_eq!(long.patterns, rule("Bash(terraform apply *)", Effect::Ask).patterns);
        assert!(parse_long("frobnicate", "x", Effect::Ask, anchors).is_err());
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
            let read = parse(name, Effect::Allow, Anchors { home: None, base: &base });
            let help = read.err().and_then(|error| error.help);
            assert_eq!(help, meant.map(|meant| format!("did you mean `{meant}`?")), "{name}");
        }
    }

    #[test]
    fn every_tool_takes_no_pattern() {
        let error = error("*(x)");
        assert_eq!(error.message, "a pattern cannot be given for every tool at once");
        assert_eq!(error.at, 2..3);
        assert_eq!(rule("*(*)", Effect::Deny).patterns, rule("*", Effect::Deny).patterns);
    }

    #[test]
    fn a_rule_without_a_pattern_is_bare_in_both_forms() {
        let base = AbsPath::root();
        let long = |name: &str, pattern: &str| {
            parse_long(name, pattern, Effect::Ask, Anchors { home: None, base: &base })
        };
        for (text, bare) in [("Edit", true), ("Edit(*)", true), ("Edit(**)", false), ("x_y", true)]
        {
            assert_eq!(rule(text, Effect::Ask).bare, bare, "{text}");
        }
        for (name, pattern, bare) in
            [("edit", "*", true), ("edit", "//a", false), ("x_y", "*", true)]
        {
            assert_eq!(long(name, pattern).unwrap().bare, bare, "{name} {pattern}");
        }
        let error = long("x_y", "a").unwrap_err();
        assert_eq!(error.message, "unknown permission `x_y`");
    }

    #[test]
    fn the_last_wrong_letter_is_pointed_at() {
        assert_eq!(error("Bash(a\0b)").at, 6..7);
        assert_eq!(error("Read(//a\0b)").at, 8..9);
        assert_eq!(error("Read(//ab/c\\)").at, 11..12);
        assert_eq!(error("WebFetch(domain:a\tb)").at, 17..18);
    }
}
