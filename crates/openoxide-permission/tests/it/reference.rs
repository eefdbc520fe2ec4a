//! Two evaluators: the engine against forty naive lines that read the rules' text themselves, scan all of them, and know no
//! index, no compiled program and no rank.

use std::sync::Arc;

use openoxide_permission::{
    CombiningAlgorithm, EvaluationContext, Layer, LayerKind, PathAnchors, PolicyStack, Rule,
    decide_access, parse_rule,
};
use openoxide_protocol::{
    AbsPath, Access, CommandWords, Effect, ExecAccess, PathAccess, PermissionMode,
};

/// A small generator (xorshift64*): the same seed gives the same cases everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];

// ---- the naive evaluator ----

fn text_matches(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|at| text_matches(rest, &text[at..])),
        Some((c, rest)) => text.first() == Some(c) && text_matches(rest, &text[1..]),
    }
}

fn command_matches(pattern: &str, words: &[&str]) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    let (pattern, text) = (chars(pattern), chars(&words.join(" ")));
    let bare = pattern.strip_suffix(&[' ', '*']);
    text_matches(&pattern, &text) || bare.is_some_and(|bare| text_matches(bare, &text))
}

fn component_matches(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|at| component_matches(rest, &name[at..])),
        Some(('?', rest)) => !name.is_empty() && component_matches(rest, &name[1..]),
        Some((c, rest)) => name.first() == Some(c) && component_matches(rest, &name[1..]),
    }
}

fn components_match(pattern: &[&str], path: &[&str], strict: bool, first: bool) -> bool {
    let Some((component, rest)) = pattern.split_first() else { return true };
    let name = |text: &str| text.chars().collect::<Vec<_>>();
    match *component {
        "**" if rest.is_empty() => !strict || first || !path.is_empty(),
        "**" => (0..=path.len()).any(|at| components_match(rest, &path[at..], strict, false)),
        component => path.split_first().is_some_and(|(head, tail)| {
            component_matches(&name(component), &name(head))
                && components_match(rest, tail, strict, false)
        }),
    }
}

fn path_matches(pattern: &str, effect: Effect, path: &str, world: &World) -> bool {
    let (pattern, path) = match effect {
        Effect::Allow => (pattern.to_owned(), path.to_owned()),
        _ => (pattern.to_lowercase(), path.to_lowercase()),
    };
    if let Some(rest) = pattern.strip_prefix("//") {
        path_matches_from("/", rest, false, effect, &path)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        path_matches_from(world.home.as_str(), rest, false, effect, &path)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        path_matches_from(world.base.as_str(), rest, false, effect, &path)
    } else {
        let above = world.root.iter().map(AbsPath::as_str);
        let mut bases = above.chain([world.cwd.as_str()]);
        bases.any(|base| path_matches_from(base, &pattern, true, effect, &path))
    }
}

fn path_matches_from(base: &str, rest: &str, here: bool, effect: Effect, path: &str) -> bool {
    let Some(below) =
        AbsPath::new(path).unwrap().strip_prefix(&AbsPath::new(base).unwrap()).map(str::to_owned)
    else {
        return false;
    };
    let split = |text: &'_ str| {
        text.split('/').filter(|c| !c.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut components, below) = (split(rest), split(&below));
    if here && components.len() == 1 && components[0] != "**" {
        components.insert(0, "**".to_owned());
    }
    let refs =
        |of: &'_ [String]| of.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
    let (components, below) = (refs(&components), refs(&below));
    let components: Vec<&str> = components.iter().map(String::as_str).collect();
    let below: Vec<&str> = below.iter().map(String::as_str).collect();
    components_match(&components, &below, effect == Effect::Allow, true)
}

fn host_matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(rest) => host.ends_with(&format!(".{rest}")),
        None => pattern == "*" || pattern == host,
    }
}

fn rule_matches(rule: &Rule, question: &Question, world: &World) -> bool {
    let inside = |tool: &str| {
        rule.text.strip_prefix(tool)?.strip_prefix('(')?.strip_suffix(')').map(str::to_owned)
    };
    let path = |tools: &[&str], path: &str| {
        let mut texts = tools.iter().filter_map(|tool| inside(tool));
        texts.any(|text| text == "*" || path_matches(&text, rule.effect, path, world))
    };
    match question {
        Question::Command(words) => {
            rule.text == "Bash"
                || inside("Bash").is_some_and(|text| {
                    command_matches(&text, &words.iter().map(String::as_str).collect::<Vec<_>>())
                })
        }
        Question::Read(text) => path(&["Read"], text),
        Question::Edit(text) if rule.effect == Effect::Deny => path(&["Edit", "Read"], text),
        Question::Edit(text) => path(&["Edit"], text),
        Question::Fetch(host) => inside("WebFetch")
            .is_some_and(|text| host_matches(text.strip_prefix("domain:").unwrap(), host)),
    }
}

fn layer_answer(layer: &Layer, matching: &[usize]) -> Option<usize> {
    let effect = |index: &&usize| layer.rules[**index].effect;
    let all = |wanted: Effect| matching.iter().filter(move |index| effect(index) == wanted);
    let exact = |index: &&usize| layer.rules[**index].is_literal;
    let first = |wanted: Effect| all(wanted).find(exact).or_else(|| all(wanted).next()).copied();
    let humans = || matching.iter().filter(|index| layer.rules[**index].requires_human);
    let human = humans().find(exact).or_else(|| humans().next()).copied();
    match layer.combining_algorithm {
        CombiningAlgorithm::LastMatch => matching.last().copied(),
        CombiningAlgorithm::Strictest => {
            first(Effect::Deny).or(human).or(first(Effect::Ask)).or(first(Effect::Allow))
        }
        CombiningAlgorithm::DenyAllowAsk => {
            first(Effect::Deny).or(human).or(first(Effect::Allow)).or(first(Effect::Ask))
        }
    }
}

/// Returns the rule that decides, where relative rules that restrict also apply from the working directory.
fn naive(layers: &[Layer], question: &Question, world: &World) -> Option<(u32, Effect)> {
    let cwd = world.root.clone().unwrap_or_else(|| world.cwd.clone());
    let found = answer(layers, question, &World { root: None, cwd, ..world.clone() });
    match (found, answer(layers, question, world)) {
        (found, Some(held))
            if held.1 > Effect::Allow && found.is_none_or(|found| held.1 > found.1) =>
        {
            Some(held)
        }
        (found, _) => found,
    }
}

/// Returns the rule that decides, counted through all layers.
fn answer(layers: &[Layer], question: &Question, world: &World) -> Option<(u32, Effect)> {
    let (mut before, mut first, mut human) = (0, None, None);
    for layer in layers {
        let matching: Vec<usize> = (0..layer.rules.len())
            .filter(|i| rule_matches(&layer.rules[*i], question, world))
            .collect();
        if let Some(index) = layer_answer(layer, &matching) {
            let found = (u32::try_from(before + index).unwrap(), layer.rules[index].effect);
            if found.1 == Effect::Deny {
                return Some(found);
            }
            human = human.or(Some(found).filter(|_| layer.rules[index].requires_human));
            first = first.or(Some(found));
        }
        before += layer.rules.len();
    }
    human.or(first)
}

// ---- the cases ----

#[derive(Clone)]
struct World {
    home: AbsPath,
    base: AbsPath,
    cwd: AbsPath,
    /// The directory of the project above the working directory.
    root: Option<AbsPath>,
}

enum Question {
    Command(Vec<String>),
    Read(String),
    Edit(String),
    Fetch(String),
}

const WORDS: &[&str] =
    &["git", "push", "pull", "npm", "run", "te", "test", "tests", "--force", "-f", "main", "a"];
const GLOBS: &[&str] = &["*", "*", "te*", "*st", "*o*", "--f*", "gi*", "*e*t*"];
const NAMES: &[&str] = &["a", "b", "ab", ".env", "src", "A", "x.env"];
const NAME_GLOBS: &[&str] = &["*", "**", "a*", "?", "*.env", "*b", "s?c"];
const HOSTS: &[&str] = &["x.io", "a.x.io", "b.a.x.io", "io", "yx.io"];
const HOST_GLOBS: &[&str] = &["*", "*.x.io", "*.io", "*.a.x.io"];

fn words(dice: &mut Dice, globs: bool) -> String {
    let count = 1 + dice.roll(5);
    let mut word = |_| match globs && dice.roll(3) == 0 {
        true => *dice.pick(GLOBS),
        false => *dice.pick(WORDS),
    };
    (0..count).map(&mut word).collect::<Vec<_>>().join(" ")
}

fn path(dice: &mut Dice, globs: bool) -> String {
    let count = 1 + dice.roll(4);
    let mut name = |_| match globs && dice.roll(3) == 0 {
        true => *dice.pick(NAME_GLOBS),
        false => *dice.pick(NAMES),
    };
    (0..count).map(&mut name).collect::<Vec<_>>().join("/")
}

fn rule_text(dice: &mut Dice) -> String {
    match dice.roll(10) {
        0 => "Bash".to_owned(),
        1..=4 => format!("Bash({})", words(dice, true)),
        5 | 6 => format!("Read({}{})", dice.pick(&["//", "/", "~/", ""]), path(dice, true)),
        7 | 8 => format!("Edit({}{})", dice.pick(&["//", "/", "~/", ""]), path(dice, true)),
        _ if dice.roll(2) == 0 => format!("WebFetch(domain:{})", dice.pick(HOST_GLOBS)),
        _ => format!("WebFetch(domain:{})", dice.pick(HOSTS)),
    }
}

fn layers(dice: &mut Dice, world: &World) -> Vec<Layer> {
    let anchors = PathAnchors { home: Some(&world.home), base: &world.base };
    let kinds = [LayerKind::Managed, LayerKind::Cli, LayerKind::Project, LayerKind::User];
    let count = 1 + dice.roll(kinds.len());
    let layer = |kind: &LayerKind| {
        let rules = (0..1 + dice.roll(12))
            .map(|_| {
                let rule = parse_rule(&rule_text(dice), *dice.pick(&EFFECTS), anchors).unwrap();
                let human = rule.effect == Effect::Ask && dice.roll(3) == 0;
                Rule { requires_human: human, ..rule }
            })
            .collect();
        Layer {
            kind: *kind,
            file: None,
            combining_algorithm: *dice.pick(&CombiningAlgorithm::ALL),
            rules,
            mode: None,
        }
    };
    kinds.iter().take(count).map(layer).collect()
}

fn question(dice: &mut Dice) -> Question {
    let place = |dice: &mut Dice| {
        format!("/{}{}", dice.pick(&["", "p/", "p/sub/", "h/"]), path(dice, false))
    };
    match dice.roll(8) {
        0..=3 => Question::Command(words(dice, false).split(' ').map(str::to_owned).collect()),
        4 | 5 => Question::Read(place(dice)),
        6 => Question::Edit(place(dice)),
        _ => Question::Fetch((*dice.pick(HOSTS)).to_owned()),
    }
}

fn access(question: &Question) -> Access {
    let path = |text: &str| PathAccess::new(AbsPath::new(text).unwrap());
    match question {
        Question::Command(words) => Access::Exec(ExecAccess {
            argv: words.iter().collect::<CommandWords>(),
            text: words.join(" "),
            class: Default::default(),
            span: Default::default(),
            arity: 0,
            ..ExecAccess::default()
        }),
        Question::Read(text) => Access::Read(path(text)),
        Question::Edit(text) => Access::Edit(path(text)),
        Question::Fetch(host) => {
            Access::Fetch { host: host.clone(), url: String::new(), route: Default::default() }
        }
    }
}

fn written(layers: &[Layer]) -> String {
    let rule = |rule: &Rule| format!("  {} {}\n", rule.effect.as_str(), rule.text);
    let layer = |layer: &Layer| {
        format!(
            "{:?}\n{}",
            layer.combining_algorithm,
            layer.rules.iter().map(rule).collect::<String>()
        )
    };
    layers.iter().map(layer).collect()
}

/// Many rules with the same prefix are stored under the pieces that distinguish them.
#[test]
fn the_index_agrees_where_rules_crowd() {
    let mut dice = Dice(0x0C0F_FEE0_0C0F_FEE0);
    let path = |text: &str| AbsPath::new(text).unwrap();
    let world = World {
        home: path("/h"),
        base: path("/p"),
        cwd: path("/p/sub"),
        root: Some(AbsPath::root()),
    };
    let (root, mode) = (AbsPath::root(), PermissionMode::Default);
    let roots = std::slice::from_ref(&root);
    let context = EvaluationContext {
        mode,
        cwd: &world.cwd,
        roots,
        policy_error: None,
        auto_allow: Default::default(),
    };
    let anchors = PathAnchors { home: Some(&world.home), base: &world.base };
    for _ in 0..40 {
        let rules: Vec<_> = (0..40)
            .map(|_| {
                let [one, other] = [(); 2].map(|()| *dice.pick(CROWDED));
                let text = match dice.roll(6) {
                    0 => format!("Bash(git * {one} *)"),
                    1 => format!("Bash(git * {one} * {other})"),
                    2 => format!("Bash(git *{one}*)"),
                    3 => format!("Bash(git {one}* {other})"),
                    4 => format!("Read(/src/**/{one}*)"),
                    _ => format!("Read(//**/*{one}*/{other})"),
                };
                parse_rule(&text, *dice.pick(&EFFECTS), anchors).unwrap()
            })
            .collect();
        let (kind, combining) = (LayerKind::User, *dice.pick(&CombiningAlgorithm::ALL));
        let layers =
            [Layer { kind, file: None, combining_algorithm: combining, rules, mode: None }];
        let policy = PolicyStack::compile(&layers).unwrap();
        for _ in 0..60 {
            let [one, other, third] = [(); 3].map(|()| *dice.pick(CROWDED));
            let question = match dice.roll(4) {
                0 => Question::Read(format!("/p/src/{one}/{other}")),
                1 => Question::Read(format!("/p/{third}{one}/{other}/x")),
                _ => Question::Command(["git", one, other, third].map(str::to_owned).to_vec()),
            };
            let expected = naive(&layers, &question, &world);
            let found = decide_access(&policy, &context, &access(&question)).rule_match;
            let found = found.map(|ruling| (ruling.rule, ruling.effect));
            assert_eq!(found, expected, "{:?} under {}", access(&question), written(&layers));
        }
    }
}

const CROWDED: &[&str] = &[
    "push", "pull", "pushy", "origin", "main", "maintain", "a", "ab", "abc", "abcd", "xabcdx",
    "remote",
];

/// A million cases by default; `OPENOXIDE_REFERENCE_POLICIES` multiplies them by hundreds.
/// Guards I03.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test may be told how long to run")]
fn the_index_agrees_with_the_naive_evaluator() {
    let policies = std::env::var("OPENOXIDE_REFERENCE_POLICIES").ok().and_then(|n| n.parse().ok());
    let mut dice = Dice(0x0BAD_5EED_0BAD_5EED);
    let path = |text: &str| AbsPath::new(text).unwrap();
    let world = World {
        home: path("/h"),
        base: path("/p"),
        cwd: path("/p/sub"),
        root: Some(AbsPath::root()),
    };
    // All paths are inside the project: the test compares rules, not the defaults outside a
    // project.
    let (root, mode) = (AbsPath::root(), PermissionMode::Default);
    let roots = std::slice::from_ref(&root);
    let context = EvaluationContext {
        mode,
        cwd: &world.cwd,
        roots,
        policy_error: None,
        auto_allow: Default::default(),
    };
    let mut spoke = 0;
    for _ in 0..policies.unwrap_or(10_000) {
        let layers = layers(&mut dice, &world);
        let policy = PolicyStack::compile(&layers).unwrap();
        let policy =
            PolicyStack::from_parts(policy.as_bytes().to_vec(), Arc::new(policy.details()))
                .unwrap();
        for _ in 0..100 {
            let question = question(&mut dice);
            let expected = naive(&layers, &question, &world);
            let found = decide_access(&policy, &context, &access(&question)).rule_match;
            let found = found.map(|ruling| (ruling.rule, ruling.effect));
            assert_eq!(found, expected, "{:?} under {}", access(&question), written(&layers));
            spoke += usize::from(expected.is_some());
        }
    }
    assert!(spoke > 1_000, "the cases must not be vacuous: {spoke}");
}
