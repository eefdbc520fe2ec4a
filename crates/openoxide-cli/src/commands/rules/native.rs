//! Rules that came from elsewhere, as a policy file of ours.

use openoxide_adapters::export::{Became, Export};
use openoxide_permission::{Anchors, Combining, Directory, Layer, Pattern, Rule, parse, spell};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::edit::quoted;

/// One rule in our words.
pub(super) struct Said {
    pub(super) effect: Effect,
    pub(super) text: String,
    pub(super) reason: Option<String>,
    pub(super) human: bool,
}

/// Returns the rules of a layer in our words, in their order, and what they say otherwise.
pub(super) fn said(layer: &Layer) -> (Vec<Said>, Export) {
    let (mut all, mut export): (Vec<Said>, _) = (Vec::new(), Export::default());
    for rule in &layer.rules {
        for (effect, text) in texts(layer.combining, rule, &mut export) {
            let last_match = layer.combining == Combining::LastMatch;
            let twin =
                |one: &Said| (one.effect, &one.text, one.human) == (effect, &text, rule.human);
            if last_match || !all.iter().any(twin) {
                all.push(Said { effect, text, reason: rule.reason.clone(), human: rule.human });
            }
        }
    }
    (all, export)
}

/// A text that our own reader understands as this very rule stays as it is.
fn texts(combining: Combining, rule: &Rule, export: &mut Export) -> Vec<(Effect, String)> {
    let root = AbsPath::root();
    let read = parse(&rule.text, rule.effect, Anchors { home: None, base: &root });
    // What counts from its file would count from another one.
    let own = rule.text.contains("(/") && !rule.text.contains("(//");
    if !own && read.is_ok_and(|read| read.patterns == rule.patterns) {
        return vec![(rule.effect, rule.text.clone())];
    }
    let mut all: Vec<(Effect, String)> = Vec::new();
    for pattern in &rule.patterns {
        if let Some(one) = text(combining, rule, pattern, export).filter(|one| !all.contains(one)) {
            all.push(one);
        }
    }
    all
}

fn text(
    combining: Combining,
    rule: &Rule,
    pattern: &Pattern,
    export: &mut Export,
) -> Option<(Effect, String)> {
    let spelled = spell(rule, pattern);
    let same = spelled.as_ref().is_some_and(|spelled| spelled.same);
    if same {
        return spelled.map(|spelled| (rule.effect, spelled.text));
    }
    if rule.effect == Effect::Allow {
        export.unsaid(rule, Became::Narrower);
        return spelled.map(|spelled| (Effect::Allow, spelled.text));
    }
    export.unsaid(rule, Became::Wider);
    // Where the order decides, one that asks about more would lift what is denied before it.
    let ordered = combining == Combining::LastMatch;
    let effect = if ordered { Effect::Deny } else { rule.effect };
    Some((effect, spelled.map_or_else(|| pattern.space.name().to_owned(), |spelled| spelled.text)))
}

/// Returns a layer, and additional directories, as the text of a policy file.
pub(super) fn write(layer: &Layer, directories: &[Directory]) -> Export {
    let (all, mut export) = said(layer);
    let mode = layer.mode.map(|mode| format!("mode = \"{}\"\n\n", mode.as_str()));
    let lines: String =
        directories.iter().map(|one| format!("    {},\n", quoted(one.anywhere()))).collect();
    let directories = (!lines.is_empty()).then(|| format!("directories = [\n{lines}]\n\n"));
    let mut text: String = mode.into_iter().chain(directories).collect();
    text += "[permissions]\n";
    let ordered = layer.combining == Combining::LastMatch;
    if layer.combining != Combining::Strictest {
        text.extend([format!("combining = \"{}\"\n", layer.combining.as_str())]);
    }
    let is_long = |one: &&Said| ordered || one.human || one.reason.is_some();
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let short = all.iter().filter(|one| !is_long(one) && one.effect == effect);
        let lines: String = short.map(|one| format!("    {},\n", quoted(&one.text))).collect();
        if !lines.is_empty() {
            text.extend([format!("{} = [\n{lines}]\n", effect.as_str())]);
        }
    }
    all.iter().filter(is_long).for_each(|one| text += &long(one));
    export.text = text;
    export
}

fn long(one: &Said) -> String {
    let inside = one.text.split_once('(');
    let inside = inside.and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    let (permission, pattern) = inside.unwrap_or((&one.text, "*"));
    let mut text = format!(
        "\n[[permissions.rule]]\npermission = {}\npattern = {}\naction = \"{}\"\n",
        quoted(permission),
        quoted(pattern),
        one.effect.as_str()
    );
    if one.human {
        text += "reviewer = \"human\"\n";
    }
    if let Some(reason) = &one.reason {
        text.extend([format!("reason = {}\n", quoted(reason))]);
    }
    text
}
