//! Modes of other programs. Each row of the tables has the same result as the other program's own
//! table.

use openoxide_adapters::mode_tables::{ConfinementMode, GateSettings, LLM_DO_MODES};
use openoxide_codex::mode_table::{CODEX_MODE_TABLE, CODEX_PRESETS, codex_gate_settings};
use openoxide_permission::{
    CombiningAlgorithm, EvaluationContext, Layer, LayerKind, PathAnchors, PolicyStack,
    default_layer, evaluate_effect, parse_rule,
};
use openoxide_protocol::{AbsPath, Access, Effect, ExecAccess, OperationFacts, PermissionMode};

const CODEX_SAYS: &str = include_str!("../../../../corpus/modes/codex.tsv");
const CODEX_PRESETS_SAY: &str = include_str!("../../../../corpus/modes/codex-presets.tsv");
const LLM_DO_SAYS: &str = include_str!("../../../../corpus/modes/llm-do.tsv");
const PAGE: &str = include_str!("../../../../docs/modes.md");

/// Returns the rows of a table of the corpus, without its comments; the first names the columns.
fn rows(text: &str) -> Vec<Vec<String>> {
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// Decides about a command that is not known to be safe, under one rule or none.
fn decided(mode: PermissionMode, rule: Option<Effect>) -> Effect {
    let root = AbsPath::new("/p").unwrap();
    let anchors = PathAnchors { home: None, base: &root };
    let rules = rule.map(|effect| parse_rule("Bash(frobnicate *)", effect, anchors).unwrap());
    let user = Layer {
        kind: LayerKind::User,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
        rules: rules.into_iter().collect(),
        mode: None,
    };
    let policy = PolicyStack::compile(&[user, default_layer()]).unwrap();
    let command = Access::Exec(ExecAccess {
        argv: ["frobnicate", "x"].into_iter().collect(),
        text: "frobnicate x".to_owned(),
        class: Default::default(),
        span: Default::default(),
        arity: 1,
        ..ExecAccess::default()
    });
    let context = EvaluationContext {
        mode,
        cwd: &root,
        roots: std::slice::from_ref(&root),
        policy_error: None,
        auto_allow: Default::default(),
    };
    evaluate_effect(
        &policy,
        &context,
        &OperationFacts { accesses: vec![command], findings: vec![] },
    )
}

/// Returns the effect of these settings in Codex's terms.
fn in_codex_words(settings: GateSettings) -> &'static str {
    let confined =
        matches!(settings.confinement, ConfinementMode::ReadOnly | ConfinementMode::WorkspaceWrite);
    match (decided(settings.effective_mode(true), None), confined, settings.unconfined_effect) {
        (Effect::Ask, _, _) => "Prompt",
        // Only where the model may ask for more, and nothing is asked afterwards, is the wish itself the question.
        (Effect::Allow, true, Effect::Ask) if !settings.retry_unconfined => "Prompt if escalated",
        (Effect::Allow, true, _) => "Allow (sandbox)",
        (Effect::Allow, false, _) => "Allow",
        (Effect::Deny, _, _) => "Deny",
    }
}

#[test]
fn codex_asks_where_codex_does() {
    let expected: Vec<_> = rows(CODEX_SAYS).into_iter().skip(1).collect();
    let found: Vec<_> = CODEX_MODE_TABLE
        .iter()
        .map(|(approval, sandbox, settings)| {
            vec![
                format!("{approval:?}"),
                format!("{sandbox:?}"),
                in_codex_words(*settings).to_owned(),
            ]
        })
        .collect();
    assert_eq!(found, expected);
}

/// Seed 002, 3.1: after the sandbox stopped a command, `Never` and `OnRequest` do not ask; and seed 004: `Never` asks nothing.
#[test]
fn codex_asks_again_where_codex_does() {
    for (approval, sandbox, settings) in CODEX_MODE_TABLE {
        let row = format!("{approval:?} {sandbox:?}");
        let quiet = matches!(&*format!("{approval:?}"), "Never" | "OnRequest");
        assert!(!(quiet && settings.retry_unconfined), "{row}");
        assert_eq!(settings.may_ask, !row.starts_with("Never"), "{row}");
    }
}

#[test]
fn calls_are_asked_about_if_a_required_confinement_is_missing() {
    for (approval, sandbox, settings) in CODEX_MODE_TABLE {
        let needs = matches!(
            settings.confinement,
            ConfinementMode::ReadOnly | ConfinementMode::WorkspaceWrite
        );
        let decided = decided(settings.effective_mode(false), None);
        assert!(!needs || decided == Effect::Ask, "{approval:?} {sandbox:?}");
    }
}

#[test]
fn the_presets_are_codex_s() {
    let expected: Vec<_> = rows(CODEX_PRESETS_SAY).into_iter().skip(1).collect();
    let found: Vec<_> = CODEX_PRESETS
        .iter()
        .map(|(id, label, approval, sandbox)| {
            assert!(codex_gate_settings(*approval, *sandbox).is_some());
            vec![
                (*id).to_owned(),
                (*label).to_owned(),
                format!("{approval:?}"),
                format!("{sandbox:?}"),
            ]
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn llm_do_modes_match_the_table_of_llm_do() {
    let table = rows(LLM_DO_SAYS);
    assert_eq!(table[0][1..], LLM_DO_MODES.map(|(name, _)| name.to_owned()));
    for row in &table[1..] {
        let rule = match &*row[0] {
            "None" => Some(Effect::Allow),
            "ApprovalRequest" => None,
            "PermissionError" => Some(Effect::Deny),
            other => panic!("{other}"),
        };
        for ((name, settings), says) in LLM_DO_MODES.iter().zip(&row[1..]) {
            let expected = match &**says {
                "Execute" | "Auto-approve" => Effect::Allow,
                "Prompt user" => Effect::Ask,
                "Auto-deny" | "Block" => Effect::Deny,
                other => panic!("{other}"),
            };
            assert_eq!(decided(settings.mode, rule), expected, "{name} {row:?}");
        }
    }
}

fn cells(settings: GateSettings) -> String {
    let yes = |yes| if yes { "yes" } else { "no" };
    let GateSettings {
        mode,
        confinement,
        unconfined_effect: unconfined,
        retry_unconfined: retry,
        may_ask,
    } = settings;
    let (mode, unconfined) = (mode.as_str(), unconfined.as_str());
    let (retry, may_ask) = (yes(retry), yes(may_ask));
    format!("`{mode}` | {confinement:?} | {unconfined} | {retry} | {may_ask} |")
}

/// The page is read by people: its rows must be those of the tables, in their order.
#[test]
fn the_page_shows_the_tables() {
    let codex_row = |(approval, sandbox, settings): &(_, _, GateSettings)| {
        format!("| `{approval:?}` | `{sandbox:?}` | {} {}", in_codex_words(*settings), "| ")
            + &cells(*settings)
    };
    let preset = |(id, label, approval, sandbox): &(_, _, _, _)| {
        format!("| `{id}` | {label} | `{approval:?}` | `{sandbox:?}` |")
    };
    let llm_do =
        |(name, settings): &(_, GateSettings)| format!("| `{name}` | {}", cells(*settings));
    let expected: Vec<String> = CODEX_MODE_TABLE
        .iter()
        .map(codex_row)
        .chain(CODEX_PRESETS.iter().map(preset))
        .chain(LLM_DO_MODES.iter().map(llm_do))
        .collect();
    let found: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected, "docs/modes.md should have:\n{}", expected.join("\n"));
}
