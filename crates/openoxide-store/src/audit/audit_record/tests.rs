use std::path::Path;

use openoxide_protocol::{HookDecision, ReviewDecision, RuleBreadth};

use super::*;
use crate::audit::{AnswerChannel, answer_record::GrantRecord};

/// Returns the records that this program wrote before the fields were renamed.
fn old_records() -> Vec<AuditRecord> {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/audit/before-names.ndjson");
    let journal = std::fs::read_to_string(corpus).unwrap();
    journal.lines().map(|line| AuditRecord::parse(line.as_bytes()).unwrap()).collect()
}

fn decision(records: &[AuditRecord], seq: usize) -> &DecisionRecord {
    match &records[seq - 1].entry {
        AuditEvent::Decision(decision) => decision,
        other => panic!("record {seq}: {other:?}"),
    }
}

/// The expected values are the values of the old fields in the file.
#[test]
fn records_with_old_names_are_read() {
    let records = old_records();
    assert_eq!(records.len(), 23);

    let hooked = decision(&records, 3);
    assert_eq!(hooked.hooks[0].decision, HookDecision::Deny, "`said`");
    assert_eq!(hooked.confinement, RequestedConfinement::NotConfined, "`enforced`");
    assert_eq!(decision(&records, 1).confinement, RequestedConfinement::Confined, "`enforced`");
    assert_eq!(hooked.accesses[1].summary, "/home/ann/project/hooked", "`what`");

    let answer = AnswerRecord {
        request: None,
        channel: AnswerChannel::Command,
        decision: ReviewDecision::ApprovedExecpolicyAmendment,
        answered_by: Some("`openoxide approve`, process 15880, no terminal".to_owned()),
        scope: Some(openoxide_protocol::GrantScope::Project),
        grant: Some(GrantRecord {
            breadth: Some(RuleBreadth::Narrower),
            rules: vec!["Bash(make one)".to_owned()],
            expires_in_seconds: Some(1800),
            max_uses: Some(5),
            directory: Some("/home/ann/project".to_owned()),
            task: None,
        }),
        waited_ms: None,
    };
    assert_eq!(decision(&records, 6).answer.as_ref(), Some(&answer));
    assert_eq!(decision(&records, 6).suggested_rules, ["Bash(make one *)"]);
    let suggested = decision(&records, 9).answer.as_ref().unwrap().grant.as_ref().unwrap();
    assert_eq!(suggested.breadth, Some(RuleBreadth::Suggested), "`as_offered`");

    // One command that changes 45 files: 46 accesses, of which 40 are recorded.
    assert_eq!(decision(&records, 19).omitted_accesses, 6, "`left_out`");
    assert_eq!(records[20].entry, AuditEvent::Repair(RepairRecord { removed_bytes: 33 }));
}

#[test]
fn outcomes_with_old_names_are_read() {
    let records = old_records();
    let AuditEvent::Outcome(outcome) = &records[4].entry else { panic!("{:?}", records[4]) };
    assert_eq!(outcome.decision_seq, 4, "`of`");
    assert_eq!(outcome.enforcement.as_ref().unwrap().backend, "namespaces", "`held`");
    assert_eq!(outcome.denials, ["reading `/home/ann/.ssh/id_rsa`"], "`refused`");
    assert_eq!(outcome.findings.len(), 2, "`found`");
}

/// The journal is pruned only when it is a year old or very large, so these are not recorded. The
/// text is the output of the old types.
#[test]
fn old_names_that_are_not_recorded_are_read() {
    let removed: PruneRecord = serde_json::from_str(r#"{"link":"ab","through":7}"#).unwrap();
    assert_eq!(removed, PruneRecord { last_seq: 7, last_hash: "ab".to_owned() });
    let hook = r#"{"hook":{"layer":"user","text":"hook x"},"said":"allow","below_rules":true}"#;
    let answer: HookAnswer = serde_json::from_str(hook).unwrap();
    assert_eq!((answer.decision, answer.respects_ask_rules), (HookDecision::Allow, true));
}

/// A record that is read in the old format and written again has only new names.
#[test]
fn records_are_written_with_new_names() {
    let old = [
        "left_out", "enforced", "what", "of", "held", "refused", "found", "cut", "choice", "by",
        "kept", "width", "seconds", "times", "below", "said",
    ];
    for record in old_records() {
        let json = record.entry.to_redacted_json().unwrap();
        for name in old {
            assert!(!json.contains(&format!("\"{name}\":")), "{name}: {json}");
        }
        assert!(!json.contains("as_offered"), "{json}");
    }
}
