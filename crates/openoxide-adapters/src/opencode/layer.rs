//! OpenCode's rules in our own: a layer in which the last match decides, never looser than theirs.
//!
//! Only what the configuration says is translated; where it says nothing, our own defaults hold. Paths outside the project
//! stay a question, whatever `external_directory` allows.

use openoxide_permission::{
    Anchors, Combining, Layer, LayerKind, Pattern, Rule, Space,
    glob::Glob,
    pattern::{command, path::parts},
};
use openoxide_protocol::{AbsPath, Effect};

use super::{agents, config::Config, ruleset, wildcard};
use crate::foreign::{Fault, Translation};

/// Returns the configuration as a layer, with the rules of the agent that works where none is named. `anchors.base` is the
/// root of the repository.
///
/// # Errors
/// As [`Config::read`].
pub fn translate(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: Anchors<'_>,
) -> Result<Translation, Vec<Fault>> {
    let config = Config::read(text, file)?;
    let agent = config.default_agent.as_deref().unwrap_or(agents::DEFAULT);
    let mut to = Translator { base: anchors.base, rules: vec![], faults: vec![], notes: vec![] };
    for said in std::iter::once(&config.permission).chain(config.agent(agent)) {
        for (rule, span) in said.rules(anchors.home) {
            to.rule(&rule, span);
        }
    }
    let layer = Layer {
        kind,
        file: Some(file.to_owned()),
        combining: Combining::LastMatch,
        rules: to.rules,
        mode: None,
    };
    Ok(Translation { layer, directories: vec![], faults: to.faults, notes: to.notes })
}

/// The permissions that OpenCode's own tools ask for, and what they are with us.
const KNOWN: &[(&str, Kind)] = &[
    ("bash", Kind::Command),
    ("read", Kind::Path(Space::Read)),
    ("edit", Kind::Path(Space::Edit)),
    ("external_directory", Kind::Outside),
    ("task", Kind::Name(Space::Delegate)),
    ("doom_loop", Kind::Name(Space::DoomLoop)),
    ("webfetch", Kind::Whole(Space::Fetch)),
    ("glob", Kind::Search),
    ("grep", Kind::Search),
    ("list", Kind::Search),
];

/// Tools of its own, which other agents spell otherwise.
const TOOLS: &[(&str, &str)] = &[
    ("question", "AskUserQuestion"),
    ("skill", "Skill"),
    ("todoread", "TodoRead"),
    ("todowrite", "TodoWrite"),
    ("websearch", "WebSearch"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    Path(Space),
    Outside,
    Name(Space),
    Whole(Space),
    Search,
}

struct Translator<'a> {
    base: &'a AbsPath,
    rules: Vec<Rule>,
    faults: Vec<Fault>,
    notes: Vec<String>,
}

/// Patterns, or why there are none.
type Said = Result<Vec<Pattern>, &'static str>;

impl Translator<'_> {
    fn rule(&mut self, rule: &ruleset::Rule, span: std::ops::Range<usize>) {
        let about = |name: &str| wildcard::matches(&rule.permission, name);
        let mut patterns = Vec::new();
        for (_, kind) in KNOWN.iter().filter(|(name, _)| about(name)) {
            match self.of_kind(*kind, rule) {
                Ok(found) => patterns.extend(found),
                Err(why) => self.left_out(rule, why, span.clone()),
            }
        }
        let known = KNOWN.iter().any(|(name, _)| *name == rule.permission);
        match tools(rule) {
            _ if known => {}
            Ok(found) => patterns.extend(found),
            Err(why) => self.left_out(rule, why, span),
        }
        let effect = match (rule.permission.as_str(), rule.effect) {
            // That it may leave the project is not all that is asked about what it touches there.
            ("external_directory", Effect::Allow) => Effect::Ask,
            (_, effect) => effect,
        };
        if !patterns.is_empty() {
            self.rules.push(Rule {
                human: false,
                effect,
                text: format!("{}({})", rule.permission, rule.pattern),
                patterns,
                exact: false,
                bare: rule.permission == "edit" && rule.pattern == "*",
                line: rule.origin.line,
                reason: None,
            });
        }
    }

    /// What would only allow is left out with a note; what holds back is a fault.
    fn left_out(&mut self, rule: &ruleset::Rule, why: &str, span: std::ops::Range<usize>) {
        let (file, line) = (rule.origin.file.as_deref().unwrap_or_default(), rule.origin.line);
        let text = format!("{}({})", rule.permission, rule.pattern);
        let message =
            format!("`{} {text}` cannot be said in our rules: {why}", rule.effect.as_str());
        match rule.effect {
            Effect::Allow => self.notes.push(format!("{file}:{line}: {message}; it is left out")),
            _ => self
                .faults
                .push(Fault::new(message, span).help("`--exact` reads it as OpenCode does")),
        }
    }

    fn of_kind(&self, kind: Kind, rule: &ruleset::Rule) -> Said {
        let text = rule.pattern.as_str();
        match kind {
            Kind::Command => self.command(rule),
            Kind::Path(space) => self.path(space, rule),
            Kind::Outside => outside(rule),
            Kind::Name(space) => Ok(vec![Pattern { space, code: name(text)?.finish() }]),
            Kind::Whole(space) if text == "*" => Ok(vec![anything(space)]),
            Kind::Whole(_) => Err("an address is matched by its host"),
            // Of `*` the searches are a part, and reading is judged by the rules about reading.
            Kind::Search if rule.permission != "glob" && rule.permission.contains('*') => {
                Ok(vec![])
            }
            Kind::Search => Err("a search is judged as reading where it looks"),
        }
    }

    /// Says whether a rule may be made wider: what denies always, what asks as long as nothing is denied before it.
    fn may_widen(&self, effect: Effect) -> bool {
        let denies = || self.rules.iter().any(|rule| rule.effect == Effect::Deny);
        effect == Effect::Deny || (effect == Effect::Ask && !denies())
    }

    fn command(&self, rule: &ruleset::Rule) -> Said {
        const LITERAL: &[char] =
            &['\\', '"', '\'', '$', '`', '<', '>', '|', '&', ';', '(', ')', '\n', '\t'];
        if rule.pattern == "*" {
            return Ok(vec![anything(Space::Exec)]);
        }
        let words = rule.pattern.strip_suffix(" *").unwrap_or(&rule.pattern);
        let odd = words.is_empty() || words != words.trim() || words.contains("  ");
        let letters = words.contains(LITERAL);
        let text = match words.find('?') {
            _ if odd || letters => {
                return Err("it is about the letters of a command, not its words");
            }
            Some(_) if !self.may_widen(rule.effect) => {
                return Err("`?` is no wildcard in a command");
            }
            Some(_) => rule.pattern.replace('?', "*"),
            None => rule.pattern.clone(),
        };
        let read = command::read(&text).map_err(|_| "it is no pattern of a command")?;
        Ok(vec![Pattern { space: Space::Exec, code: read.glob.finish() }])
    }

    /// Patterns count from the root of the repository. What denies counts from the working directory, too.
    fn path(&self, space: Space, rule: &ruleset::Rule) -> Said {
        let text = rule.pattern.as_str();
        let holds_back = rule.effect != Effect::Allow;
        if text.contains('\\') || (text.contains('?') && !self.may_widen(rule.effect)) {
            return Err("a `\\` or `?` means something else there");
        }
        if text.starts_with("../") || text.contains("/../") {
            return Err("a pattern cannot go up");
        }
        let base = if text.starts_with('/') { String::new() } else { parts(self.base) };
        let mut all = match (base.is_empty(), holds_back) {
            // Without a repository everything counts from the root of the disk, and what is allowed must stay in the project.
            (true, false) if text.starts_with('*') => vec![(here(space), String::new())],
            (true, false) => return Err("it could lead out of the project"),
            _ => vec![(space, base)],
        };
        if text.starts_with('*') && holds_back {
            all.push((space, String::new()));
        } else if rule.effect == Effect::Deny && !text.starts_with('/') {
            all.push((here(space), String::new()));
        }
        let text = text.trim_start_matches('/');
        let shorter = text.strip_suffix(" *");
        let spellings = || std::iter::once(text).chain(shorter);
        let pattern = |(space, start): (Space, String)| {
            spellings()
                .map(move |text| Pattern { space, code: letters(&start, text, "/").finish() })
                .collect::<Vec<_>>()
        };
        Ok(all.into_iter().flat_map(pattern).collect())
    }
}

/// What may not leave the project may not change anything there either. `*` is left to our default, which asks, unless it
/// denies: then no edit outside can be told from one inside.
fn outside(rule: &ruleset::Rule) -> Said {
    let Some(directory) = rule.pattern.strip_suffix('*') else {
        return Err("it is about a directory only if it ends in `/*`");
    };
    if directory.contains(['*', '?', '\\']) {
        return Err("a wildcard stands before its end");
    }
    let start = directory.trim_start_matches('/');
    let spaces: &[Space] = match (start.is_empty(), rule.effect) {
        // What denies edits, too, denies those outside by that.
        (true, Effect::Deny) if wildcard::matches(&rule.permission, "edit") => &[Space::External],
        (true, Effect::Deny) => {
            return Err("an edit outside the project cannot be denied by itself");
        }
        (true, _) => &[Space::External],
        (false, _) => &[Space::External, Space::Edit],
    };
    let pattern = |space: &Space| Pattern { space: *space, code: letters(start, "*", "").finish() };
    Ok(spaces.iter().map(pattern).collect())
}

/// Tools that are known by their name alone, in OpenCode's spelling, in that of the other agents, and as `mcp__server__tool`.
fn tools(rule: &ruleset::Rule) -> Said {
    if rule.pattern != "*" {
        return if rule.permission.contains(['*', '?']) {
            Ok(vec![])
        } else {
            Err("a tool is known by its name alone")
        };
    }
    let own = rule.permission.as_str();
    let mut names = vec![own.to_owned()];
    names.extend(
        TOOLS
            .iter()
            .filter(|(name, _)| wildcard::matches(own, name))
            .map(|(_, other)| (*other).to_owned()),
    );
    if !TOOLS.iter().any(|(name, _)| *name == own) {
        names.push(format!("mcp__{own}"));
        let splits = own.match_indices('_').filter_map(|(at, _)| own.split_at_checked(at));
        names.extend(splits.map(|(server, tool)| format!("mcp__{server}_{tool}")));
    }
    let pattern = |text: &String| Ok(Pattern { space: Space::Tool, code: name(text)?.finish() });
    names.iter().map(pattern).collect()
}

fn name(text: &str) -> Result<Glob, &'static str> {
    match text.contains(['?', '\\', '\0']) || text.ends_with(" *") {
        true => Err("`?` and blanks are no part of a name"),
        false => Ok(letters("", text, "\0")),
    }
}

/// Returns a program: `start` by its letters, `text` with its wildcards, and `end`.
fn letters(start: &str, text: &str, end: &str) -> Glob {
    let mut glob = Glob::new();
    glob.literal(start.as_bytes());
    for (index, piece) in text.split(['*', '?']).enumerate() {
        if index > 0 {
            glob.any();
        }
        glob.literal(piece.as_bytes());
    }
    if !text.ends_with('*') {
        glob.literal(end.as_bytes());
    }
    glob
}

fn anything(space: Space) -> Pattern {
    Pattern { space, code: letters("", "*", "").finish() }
}

const fn here(space: Space) -> Space {
    match space {
        Space::Edit => Space::EditHere,
        _ => Space::ReadHere,
    }
}
