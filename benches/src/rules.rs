//! The rule mix: the rules that policies of real agents contain, in any number and the same every
//! time.
//!
//! 70 % of the rules match commands (55 % `prog sub … *`, 20 % `lit*`, 15 % exact, 9 % infix `git *
//! --flag17*`, 1 % with a leading star), 12 % edits, 8 % reads, 6 % hosts, 4 % MCP tools. Programs
//! have a Zipf distribution: many rules are about `git` and `npm`.

use openoxide_permission::{
    Anchors, Combining, Context, Layer, LayerKind, PolicyStack, default_layer, parse,
};
use openoxide_protocol::{AbsPath, Access, Effect, Exec, PathAccess, PermissionMode, Words};

/// A small generator (SplitMix64): the same seed gives the same rules everywhere.
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    /// Returns a number below `sides`; small ones are likelier, `1 / (n + 1)` each.
    fn zipf(&mut self, sides: usize) -> usize {
        let uniform = self.roll(1 << 20) as f64 / f64::from(1 << 20);
        let harmonic = (sides as f64 + 1.0).ln();
        (((uniform * harmonic).exp() - 1.0) as usize).min(sides - 1)
    }
}

/// The kind of access that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Commands.
    Command,
    /// Files that are changed.
    Edit,
    /// Files that are read.
    Read,
    /// Hosts.
    Host,
    /// MCP tools.
    Tool,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Command, Self::Edit, Self::Read, Self::Host, Self::Tool];
}

/// One rule, in our words and in those of a plain wildcard matcher.
#[derive(Clone, Debug)]
pub struct BenchRule {
    /// The kind of access that the rule matches.
    pub kind: Kind,
    /// The effect of the rule.
    pub effect: Effect,
    /// The text of the rule as a person would write it.
    pub text: String,
    /// The same over [`Query::text`]: `*` is any text, `?` one character.
    pub glob: String,
}

/// One question, in our words and as a plain text.
#[derive(Clone, Debug)]
pub struct Query {
    /// The kind of access.
    pub kind: Kind,
    /// The access, as OpenOxide gets it.
    pub access: Access,
    /// Words, each followed by a blank; components, each followed by `/`; labels from the right, each followed by `.`.
    pub text: String,
}

const PROGRAMS: &[&str] = &[
    "git",
    "npm",
    "cargo",
    "docker",
    "kubectl",
    "python3",
    "node",
    "gh",
    "pnpm",
    "make",
    "go",
    "terraform",
    "aws",
    "pip",
    "yarn",
    "ls",
    "rm",
    "curl",
    "grep",
    "find",
    "sed",
    "psql",
    "ssh",
    "systemctl",
    "helm",
    "gcloud",
    "az",
    "mvn",
    "gradle",
    "ruby",
    "bundle",
    "deno",
    "bun",
    "uv",
    "tar",
    "chmod",
    "cp",
    "mv",
    "rsync",
    "openssl",
];
const SUBS: &[&str] = &[
    "push", "run", "build", "test", "install", "apply", "get", "status", "add", "commit", "exec",
    "publish", "delete", "list", "describe", "logs", "deploy", "create", "update", "config",
    "login", "start", "stop", "fetch", "merge",
];
const NOUNS: &[&str] = &[
    "origin", "main", "feature", "service", "worker", "frontend", "backend", "db", "cluster",
    "prod", "staging", "release", "cache", "queue", "user", "report", "image", "volume", "module",
    "schema",
];

/// Returns the mix of this many rules.
#[must_use]
pub fn mix(count: usize) -> Vec<BenchRule> {
    let mut dice = Dice(7);
    (0..count).map(|_| rule(&mut dice, count)).collect()
}

fn rule(dice: &mut Dice, count: usize) -> BenchRule {
    let spread = count.max(100); // Numbers make rules differ, as many as there are rules.
    match dice.roll(100) {
        0..70 => command(dice, spread),
        70..82 => path(dice, spread, Kind::Edit, "Edit"),
        82..90 => path(dice, spread, Kind::Read, "Read"),
        90..96 => host(dice, spread),
        _ => tool(dice, spread),
    }
}

fn effect(dice: &mut Dice) -> Effect {
    match dice.roll(10) {
        0..6 => Effect::Allow,
        6..8 => Effect::Ask,
        _ => Effect::Deny,
    }
}

fn command(dice: &mut Dice, spread: usize) -> BenchRule {
    let effect = effect(dice);
    let program = PROGRAMS[dice.zipf(PROGRAMS.len())];
    let shape = dice.roll(100);
    let tail = words(dice, spread);
    let pattern = match shape {
        0..55 => format!("{program} {tail} *"),
        55..75 => format!("{program} {tail}*"),
        75..90 => format!("{program} {tail}"),
        90..99 => format!("{program} * --flag{}*", dice.roll(spread)),
        _ => format!("*danger{}*", dice.roll(spread)),
    };
    command_rule(&pattern, effect)
}

fn command_rule(pattern: &str, effect: Effect) -> BenchRule {
    let glob = if pattern.ends_with('*') { pattern.to_owned() } else { format!("{pattern} ") };
    BenchRule { kind: Kind::Command, effect, text: format!("Bash({pattern})"), glob }
}

/// One to three words; the last is numbered in half of the cases.
fn words(dice: &mut Dice, spread: usize) -> String {
    let mut words = vec![dice.pick(SUBS).to_owned()];
    for _ in 0..dice.roll(3) {
        words.push(dice.pick(NOUNS).to_owned());
    }
    let mut tail = words.join(" ");
    if dice.roll(2) == 0 {
        tail += &format!("-{}", dice.roll(spread));
    }
    tail
}

fn path(dice: &mut Dice, spread: usize, kind: Kind, tool: &str) -> BenchRule {
    let effect = effect(dice);
    let inside = format!("w/project/{}/{}{}", dice.pick(SUBS), dice.pick(NOUNS), dice.roll(spread));
    let (pattern, glob) = match dice.roll(2) {
        0 => (format!("//{inside}/**"), format!("{inside}/?*")),
        _ => (format!("//{inside}.rs"), format!("{inside}.rs/*")),
    };
    // A read that is denied denies the edit as well, which plain matchers do not know.
    let effect = if kind == Kind::Read && effect == Effect::Deny { Effect::Ask } else { effect };
    BenchRule { kind, effect, text: format!("{tool}({pattern})"), glob }
}

fn host(dice: &mut Dice, spread: usize) -> BenchRule {
    let effect = effect(dice);
    let name = format!("{}{}", dice.pick(NOUNS), dice.roll(spread));
    let (host, glob) = match dice.roll(2) {
        0 => (format!("*.{name}.com"), format!("com.{name}.?*")),
        _ => (format!("api.{name}.com"), format!("com.{name}.api.")),
    };
    BenchRule { kind: Kind::Host, effect, text: format!("WebFetch(domain:{host})"), glob }
}

fn tool(dice: &mut Dice, spread: usize) -> BenchRule {
    let effect = effect(dice);
    let name = format!("mcp__{}{}__{}", dice.pick(NOUNS), dice.roll(spread), dice.pick(SUBS));
    let (text, glob) = match dice.roll(2) {
        0 => (format!("{name}_*"), format!("{name}_*")),
        _ => (name.clone(), format!("{name} ")),
    };
    BenchRule { kind: Kind::Tool, effect, text, glob }
}

/// A shape that defeats simple indexes.
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// The pattern of the rule with this number.
    pub pattern: fn(usize) -> String,
    /// True if automata for all rules at once can be built: two stars in each of 10,000 patterns
    /// require 46 GB.
    pub automata: bool,
}

/// The shapes.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "all under one program",
        pattern: |n| format!("git push origin feature-{n} *"),
        automata: true,
    },
    Shape { name: "all infix", pattern: |n| format!("git * --opt_{n} *"), automata: true },
    Shape { name: "all with a leading star", pattern: |n| format!("*danger_{n}*"), automata: true },
    Shape {
        name: "one beginning, then infix",
        pattern: |n| format!("curl*host{n}.example*"),
        automata: false,
    },
];

/// Returns this many rules of one shape.
#[must_use]
pub fn shaped(shape: &Shape, count: usize) -> Vec<BenchRule> {
    let mut dice = Dice(11);
    (0..count).map(|number| command_rule(&(shape.pattern)(number), effect(&mut dice))).collect()
}

/// Returns sixty queries: 60 % are instances of a rule, 30 % are commands that were not made from a
/// rule, and 10 % are commands of 190 bytes. With `commands`, the first group contains commands
/// only.
#[must_use]
pub fn queries(rules: &[BenchRule], commands: bool) -> Vec<Query> {
    let mut dice = Dice(13);
    let fits = |rule: &&BenchRule| !commands || rule.kind == Kind::Command;
    let candidates: Vec<_> = rules.iter().filter(fits).collect();
    let one = |number: usize| match number % 10 {
        0..6 => instance(candidates[dice.roll(candidates.len())], &mut dice),
        6..9 => command_query(&unknown(&mut dice)),
        _ => command_query(&long(&mut dice)),
    };
    (0..60).map(one).collect()
}

/// Returns commands with a word that is only known when they run: `git push origin "$BRANCH"`.
#[must_use]
pub fn partly_known() -> Vec<Query> {
    let beginnings =
        ["git push origin", "rm -rf", "npm run", "cat", "docker build -t", "kubectl logs"];
    let unknown = |beginning: &str| {
        let mut query = command_query(beginning);
        if let Access::Exec(exec) = &mut query.access {
            exec.argv.push_unknown();
        }
        query
    };
    beginnings.map(unknown).into()
}

fn unknown(dice: &mut Dice) -> String {
    let program = PROGRAMS[dice.zipf(PROGRAMS.len())];
    format!("{program} {} --{} {}.txt", dice.pick(SUBS), dice.pick(NOUNS), dice.pick(NOUNS))
}

fn long(dice: &mut Dice) -> String {
    let mut text = unknown(dice);
    while text.len() < 190 {
        text += &format!(" --{}={}", dice.pick(NOUNS), dice.roll(1000));
    }
    text.truncate(190);
    text
}

/// Returns a question that the rule was made for.
fn instance(rule: &BenchRule, dice: &mut Dice) -> Query {
    let filler = format!("{}{}", dice.pick(NOUNS), dice.roll(100));
    let text = rule.glob.replace("?*", &filler).replace('*', &filler);
    match rule.kind {
        Kind::Command => command_query(text.trim_end()),
        Kind::Edit => path_query(&text, Kind::Edit),
        Kind::Read => path_query(&text, Kind::Read),
        Kind::Host => host_query(&text),
        Kind::Tool => tool_query(text.trim_end()),
    }
}

/// Returns the query whether this command may run. Its words are separated by blanks.
#[must_use]
pub fn command_query(command: &str) -> Query {
    let argv: Words = command.split_ascii_whitespace().collect();
    let text = command.split_ascii_whitespace().map(|word| format!("{word} ")).collect();
    let exec = Exec {
        argv,
        text: command.to_owned(),
        class: Default::default(),
        span: Default::default(),
        arity: 0,
        ..Exec::default()
    };
    Query { kind: Kind::Command, access: Access::Exec(exec), text }
}

fn path_query(text: &str, kind: Kind) -> Query {
    let path = AbsPath::new(&format!("/{text}")).expect("it is absolute");
    let text = format!("{}/", path.as_str().trim_start_matches('/'));
    let path = PathAccess::new(path);
    let access = if kind == Kind::Edit { Access::Edit(path) } else { Access::Read(path) };
    Query { kind, access, text }
}

fn host_query(text: &str) -> Query {
    let labels: Vec<_> = text.trim_end_matches('.').rsplit('.').collect();
    let host = labels.join(".");
    let access = Access::Fetch { url: format!("https://{host}/"), host, touch: Default::default() };
    Query { kind: Kind::Host, access, text: format!("{}.", text.trim_end_matches('.')) }
}

fn tool_query(name: &str) -> Query {
    Query {
        kind: Kind::Tool,
        access: Access::CallTool { tool: name.to_owned() },
        text: format!("{name} "),
    }
}

/// The project of all questions.
#[must_use]
pub fn project() -> AbsPath {
    AbsPath::new("/w/project").expect("it is absolute")
}

/// Returns the usual circumstances of a question.
#[must_use]
pub fn context(project: &AbsPath) -> Context<'_> {
    Context {
        mode: PermissionMode::Default,
        cwd: project,
        roots: std::slice::from_ref(project),
        doubt: None,
    }
}

/// Compiles the rules as one user's, above the built-in ones.
#[must_use]
pub fn compiled(rules: &[BenchRule], combining: Combining) -> PolicyStack {
    let root = AbsPath::root();
    let anchors = Anchors { home: None, base: &root };
    let parsed = |rule: &BenchRule| parse(&rule.text, rule.effect, anchors).expect("it is a rule");
    let rules = rules.iter().map(parsed).collect();
    let user = Layer { kind: LayerKind::User, file: None, combining, rules, mode: None };
    PolicyStack::compile(&[user, default_layer()]).expect("they fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_rules_every_time_and_every_one_is_a_rule() {
        let texts = |rules: Vec<BenchRule>| rules.into_iter().map(|r| r.text).collect::<Vec<_>>();
        assert_eq!(texts(mix(1000)), texts(mix(1000)));
        let policy = compiled(&mix(1000), Combining::Strictest);
        assert_eq!(policy.rule_count(), 1000 + default_layer().rules.len());
    }

    #[test]
    fn the_mix_is_as_promised() {
        let rules = mix(10_000);
        let share = |kind| rules.iter().filter(|rule| rule.kind == kind).count() / 100;
        assert!((68..=72).contains(&share(Kind::Command)), "{}", share(Kind::Command));
        assert!((10..=14).contains(&share(Kind::Edit)));
        assert!((2..=6).contains(&share(Kind::Tool)));
    }
}
