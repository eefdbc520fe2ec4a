//! Path patterns in gitignore syntax, with four anchors.
//!
//! `//abs` is relative to the root, `~/x` to the home directory, and `/x` to the base of the file
//! that contains the rule. `x` and `./x` are relative to the working directory, where a pattern
//! without a slash matches at any depth. `*` and `?` match within a component, `**` matches across
//! components. A pattern that names a directory covers everything below it.

use openoxide_protocol::{AbsPath, Effect};

use super::ParsedPattern;
use crate::{
    glob::Glob,
    rule::{PathAnchors, RuleError},
};

/// A parsed path pattern, and the base of its subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPathPattern {
    /// The pattern.
    pub pattern: ParsedPattern,
    /// True if subjects are relative to the working directory. Otherwise they are relative to the
    /// root.
    pub is_cwd_relative: bool,
}

/// Parses a path pattern.
///
/// # Errors
/// Returns an error for an empty pattern, a negation, braces, `..`, an invalid class, or `~` if no
/// home directory is known.
pub fn parse(
    text: &str,
    effect: Effect,
    anchors: PathAnchors<'_>,
) -> Result<ParsedPathPattern, RuleError> {
    validate(text)?;
    let (start, rest, here) = split_anchor(text, anchors)?;
    let mut glob = Glob::new();
    glob.push_literal(start.as_bytes());
    let offset = text.len() - rest.len();
    let exact =
        push_components(rest, &mut glob, effect).map_err(|error| error.with_offset(offset))?;
    let floating = here && !rest.trim_end_matches('/').contains('/');
    let mut whole = Glob::new();
    if floating && rest != "**" {
        whole.push_any_parts();
    }
    let glob = append_glob(whole, &glob);
    Ok(ParsedPathPattern {
        pattern: ParsedPattern { glob, is_literal: exact && !here },
        is_cwd_relative: here,
    })
}

fn append_glob(mut whole: Glob, tail: &Glob) -> Glob {
    use crate::glob::GlobStep;
    for step in tail.steps() {
        match step {
            GlobStep::Literal(bytes) => whole.push_literal(bytes),
            GlobStep::Any => whole.push_any(),
            GlobStep::AnyInPart => whole.push_any_in_part(),
            GlobStep::AnyChar => whole.push_any_char(),
            GlobStep::AnyParts => whole.push_any_parts(),
            GlobStep::NonEmpty => whole.push_non_empty(),
            GlobStep::Class { negated, ranges } => {
                whole.push_class(negated, &decode_ranges(ranges));
            }
        }
    }
    whole
}

fn decode_ranges(ranges: &[u8]) -> Vec<(char, char)> {
    let one = |bytes: Option<&[u8]>| {
        bytes.and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).and_then(char::from_u32)
    };
    ranges
        .chunks_exact(8)
        .filter_map(|pair| Some((one(pair.get(..4))?, one(pair.get(4..))?)))
        .collect()
}

fn validate(text: &str) -> Result<(), RuleError> {
    let all = 0..text.len();
    if text.is_empty() {
        return Err(RuleError::new("the path is empty", all));
    }
    if text.starts_with('!') {
        let error = RuleError::new("a path pattern cannot be negated", 0..1);
        return Err(error.with_help("write a rule with another effect instead"));
    }
    if let Some(at) = find_unescaped_brace(text) {
        let error = RuleError::new("braces have no meaning in a path pattern", at..at + 1);
        return Err(error.with_help("write one rule for each, or `\\{` for the character itself"));
    }
    if let Some(at) = text.find('\0') {
        return Err(RuleError::new("a path cannot contain a NUL byte", at..at + 1));
    }
    if text.split('/').any(|component| component == "..") {
        let at = text.find("..").unwrap_or(0);
        let error = RuleError::new("a path pattern cannot go up with `..`", at..at + 2);
        return Err(error.with_help("count from the root: `//…`"));
    }
    Ok(())
}

fn find_unescaped_brace(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, found)) = chars.next() {
        match found {
            '\\' => _ = chars.next(),
            '{' | '}' => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the fixed prefix of the pattern (parts, each followed by `/`), the pattern, and whether
/// it is relative to the working directory.
fn split_anchor<'t>(
    text: &'t str,
    anchors: PathAnchors<'_>,
) -> Result<(String, &'t str, bool), RuleError> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok((String::new(), rest, false));
    }
    if let Some(rest) = text.strip_prefix('/') {
        return Ok((to_subject(anchors.base), rest, false));
    }
    if text == "~" || text.starts_with("~/") {
        let Some(home) = anchors.home else {
            return Err(RuleError::new("no home directory is known for `~`", 0..1));
        };
        return Ok((to_subject(home), text.trim_start_matches("~").trim_start_matches('/'), false));
    }
    if text.starts_with('~') {
        let error = RuleError::new("another user's home cannot be named", 0..text.len());
        return Err(error.with_help("count from the root: `//home/…`"));
    }
    Ok((String::new(), text.strip_prefix("./").unwrap_or(text), true))
}

/// Returns a path in the form of a subject: components, each followed by `/`. The root is empty.
#[must_use]
pub fn to_subject(path: &AbsPath) -> String {
    match path.as_str() {
        "/" => String::new(),
        text => format!("{}/", text.trim_start_matches('/')),
    }
}

/// Appends the components of `rest` and returns whether they contain no wildcard.
fn push_components(rest: &str, glob: &mut Glob, effect: Effect) -> Result<bool, RuleError> {
    let (mut exact, mut at) = (true, 0);
    let trimmed = rest.trim_end_matches('/');
    let count = trimmed.split('/').count();
    for (index, component) in trimmed.split('/').enumerate() {
        match component {
            "" | "." => {}
            "**" if index + 1 == count => {
                // The pattern covers the contents of the directory. A rule that asks or denies also
                // covers the directory itself.
                let strictly_inside = effect == Effect::Allow && index > 0;
                push_rest(glob, strictly_inside);
                return Ok(false);
            }
            "**" => {
                glob.push_any_parts();
                exact = false;
            }
            name => {
                exact &= push_component(name, glob).map_err(|error| error.with_offset(at))?;
                glob.push_literal(b"/");
            }
        }
        at += component.len() + 1;
    }
    glob.push_any();
    Ok(exact)
}

/// Appends a step for everything below a directory. If `strictly` is set, the directory itself is
/// not included.
fn push_rest(glob: &mut Glob, strictly: bool) {
    if strictly {
        glob.push_non_empty();
    } else {
        glob.push_any();
    }
}

/// Appends one component and returns whether it contains no wildcard.
fn push_component(name: &str, glob: &mut Glob) -> Result<bool, RuleError> {
    let mut exact = true;
    let mut chars = name.char_indices();
    let mut utf8 = [0; 4];
    while let Some((at, found)) = chars.next() {
        exact &= !matches!(found, '*' | '?' | '[');
        match found {
            '*' => glob.push_any_in_part(),
            '?' => glob.push_any_char(),
            '[' => {
                let (negated, ranges) = parse_class(name, at, &mut chars)?;
                glob.push_class(negated, &ranges);
            }
            '\\' => match chars.next() {
                Some((_, escaped)) => glob.push_literal(escaped.encode_utf8(&mut utf8).as_bytes()),
                None => return Err(RuleError::new("a lone `\\` ends the component", at..at + 1)),
            },
            other => glob.push_literal(other.encode_utf8(&mut utf8).as_bytes()),
        }
    }
    Ok(exact)
}

type CharClass = (bool, Vec<(char, char)>);

/// Parses a character class whose `[` is at `start`. `chars` must be positioned after the `[` and
/// is left after the `]`.
fn parse_class(
    name: &str,
    start: usize,
    chars: &mut std::str::CharIndices<'_>,
) -> Result<CharClass, RuleError> {
    let broken = || {
        let error = RuleError::new("this character class is not closed", start..name.len());
        error.with_help("close it with `]`, or write `\\[` for the character itself")
    };
    let mut next = || chars.next().map(|(_, found)| found).ok_or_else(broken);
    let mut found = next()?;
    let negated = matches!(found, '!' | '^');
    if negated {
        found = next()?;
    }
    let mut members = Vec::new(); // The members, each with whether it is a dash that makes a range.
    while found != ']' || members.is_empty() {
        if found == '[' && name.get(start..).is_some_and(|class| class.contains("[:")) {
            let error =
                RuleError::new("named character classes are not supported", start..name.len());
            return Err(error.with_help("write the characters: `[a-z0-9]`"));
        }
        members.push(if found == '\\' { (next()?, false) } else { (found, found == '-') });
        found = next()?;
    }
    Ok((negated, parse_ranges(&members)))
}

/// Returns the ranges of a class's members. A dash at either end is a literal dash.
fn parse_ranges(members: &[(char, bool)]) -> Vec<(char, char)> {
    let mut ranges = Vec::new();
    let mut rest = members;
    while let Some(((first, _), tail)) = rest.split_first() {
        match tail {
            [(_, true), (last, _), after @ ..] => {
                ranges.push((*first, *last));
                rest = after;
            }
            _ => {
                ranges.push((*first, *first));
                rest = tail;
            }
        }
    }
    ranges
}

/// Quotes an absolute path so that [`parse`] returns exactly this path.
#[must_use]
pub fn quote(path: &AbsPath) -> String {
    let mut quoted = String::from("/");
    for found in path.as_str().chars() {
        if matches!(found, '*' | '?' | '[' | '\\' | '{' | '}') {
            quoted.push('\\');
        }
        quoted.push(found);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glob, rule::SubjectKind};

    fn matches(pattern: &str, effect: Effect, path: &str) -> bool {
        let path = AbsPath::new(path).unwrap();
        let (home, base, cwd) =
            (AbsPath::new("/h/u").unwrap(), AbsPath::new("/p").unwrap(), "/p/sub");
        let found = parse(pattern, effect, PathAnchors { home: Some(&home), base: &base }).unwrap();
        let subject = if found.is_cwd_relative {
            match path.strip_prefix(&AbsPath::new(cwd).unwrap()) {
                Some(rest) => format!("{rest}/"),
                None => return false,
            }
        } else {
            to_subject(&path)
        };
        glob::matches(
            &found.pattern.glob.finish(),
            subject.as_bytes(),
            SubjectKind::Read.match_options(effect),
        )
    }

    // Rows of gitignore(5) and of the four anchors.
    #[test]
    fn patterns_follow_gitignore_and_the_four_anchors() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            ("//etc/passwd", &["/etc/passwd"], &["/p/etc/passwd", "/etc/passwd2"]),
            ("~/.ssh/**", &["/h/u/.ssh/id_rsa", "/h/u/.ssh/a/b"], &["/h/u/.sshx", "/h/v/.ssh/x"]),
            (
                "/src/**/*.ts",
                &["/p/src/a.ts", "/p/src/x/y/a.ts"],
                &["/p/a.ts", "/p/src/a.js", "/p/sub/src/a.ts"],
            ),
            ("*.env", &["/p/sub/.env", "/p/sub/a/b/x.env"], &["/p/.env", "/p/sub/.env.x"]),
            ("src/x", &["/p/sub/src/x", "/p/sub/src/x/y"], &["/p/sub/a/src/x"]),
            ("./build", &["/p/sub/build", "/p/sub/a/build/x"], &["/p/build"]),
            ("//**/.git", &["/a/.git", "/.git/hooks/x"], &["/a/.github"]),
            ("/a?c", &["/p/abc", "/p/aäc"], &["/p/ac", "/p/a/c"]),
            ("/[a-c]x", &["/p/bx"], &["/p/dx"]),
            ("/[!a-c]x", &["/p/dx"], &["/p/bx"]),
            ("/a[]x]b", &["/p/a]b", "/p/axb"], &["/p/ab"]),
            (r"/a\*b", &["/p/a*b"], &["/p/axb"]),
            ("secrets/", &["/p/sub/secrets/x"], &["/p/sub/secretsx"]),
            ("//", &["/", "/x/y"], &[]),
            ("**", &["/p/sub/x"], &["/p/x"]),
        ];
        for (pattern, yes, no) in rows {
            for effect in [Effect::Allow, Effect::Deny] {
                for path in *yes {
                    assert!(matches(pattern, effect, path), "`{pattern}` should match `{path}`");
                }
                for path in *no {
                    assert!(
                        !matches(pattern, effect, path),
                        "`{pattern}` should not match `{path}`"
                    );
                }
            }
        }
    }

    #[test]
    fn only_rules_that_hold_back_match_the_other_case_and_the_directory_itself() {
        assert!(matches("/.env", Effect::Deny, "/p/.ENV"));
        assert!(!matches("/.env", Effect::Allow, "/p/.ENV"));
        assert!(matches("/src/**", Effect::Deny, "/p/src"));
        assert!(!matches("/src/**", Effect::Allow, "/p/src"));
    }

    #[test]
    fn unsupported_syntax_is_rejected_with_a_range() {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        let error = |text| parse(text, Effect::Allow, anchors).unwrap_err();
        assert_eq!(error("!a").range, 0..1);
        assert_eq!(error("src/{a,b}").range, 4..5);
        assert_eq!(error("../x").range, 0..2);
        assert_eq!(error("a/b[c").range, 3..5);
        assert!(error("~/x").message.contains("home"));
        assert!(error("~bob/x").help.is_some());
    }

    #[test]
    fn a_quoted_path_is_exact() {
        for text in ["/a b/c*d", "/[x]/{y}", "/p/q\\r"] {
            let path = AbsPath::new(text).unwrap();
            let base = AbsPath::root();
            let anchors = PathAnchors { home: None, base: &base };
            let found = parse(&quote(&path), Effect::Allow, anchors).unwrap();
            assert!(found.pattern.is_literal);
            let manner = SubjectKind::Read.match_options(Effect::Allow);
            assert!(glob::matches(
                &found.pattern.glob.finish(),
                to_subject(&path).as_bytes(),
                manner
            ));
        }
    }

    #[test]
    fn a_bracket_within_a_class_is_a_member_of_it() {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        assert!(
            matches("/a[[x]b", Effect::Allow, "/p/a[b")
                && matches("/a[[x]b", Effect::Allow, "/p/axb")
        );
        assert!(matches("/a[x:]b", Effect::Allow, "/p/a:b"));
        assert!(matches("/a[x][:]b", Effect::Allow, "/p/ax:b"));
        for text in ["a[[:alpha:]]", "a[x[:digit:]]"] {
            let error = parse(text, Effect::Allow, anchors).unwrap_err();
            assert_eq!(error.message, "named character classes are not supported", "{text}");
            assert_eq!(error.range, 1..text.len());
        }
        assert!(matches(r"/a[\]x]b", Effect::Allow, "/p/a]b"));
        assert!(
            matches("/a[x-]b", Effect::Allow, "/p/a-b")
                && matches("/a[-x]b", Effect::Allow, "/p/a-b")
        );
        assert!(
            !matches(r"/a[b\-d]e", Effect::Allow, "/p/ace")
                && matches(r"/a[b\-d]e", Effect::Allow, "/p/a-e")
        );
    }

    #[test]
    fn errors_in_a_path_have_a_range() {
        let base = AbsPath::root();
        let error = |text| {
            parse(text, Effect::Allow, PathAnchors { home: None, base: &base }).unwrap_err().range
        };
        assert_eq!(error("a\0b"), 1..2);
        assert_eq!(error("a/bc\\"), 4..5);
        assert_eq!(error("a/../b"), 2..4);
        assert_eq!(error(""), 0..0);
    }
}
