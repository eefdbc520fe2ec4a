use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use openoxide_protocol::Effect;
use proptest::prelude::*;

use super::{
    super::audit_record::{AuditRecord, DecisionRecord, OutcomeRecord},
    *,
};

struct Scene {
    dir: tempfile::TempDir,
    journal: Journal,
}

impl Scene {
    fn new(limits: JournalLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path().join("state/audit"), limits);
        Self { dir, journal }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("state/audit").join(name)
    }

    fn append(&self, title: &str) -> u64 {
        self.journal.append(&decided(title)).unwrap()
    }

    fn fill(&self, count: usize) {
        for _ in 0..count {
            self.append("x");
        }
    }

    fn records(&self) -> Vec<AuditRecord> {
        let segments = self.journal.open_segments_with_records_after(0).unwrap();
        let bytes: Vec<_> = segments.iter().map(|segment| segment.read_all().unwrap()).collect();
        bytes
            .iter()
            .flat_map(|bytes| split_lines(bytes).0)
            .map(|line| AuditRecord::parse(line).unwrap())
            .collect()
    }

    fn closed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("journal-")).collect();
        names.sort();
        names
    }

    fn verdict(&self) -> VerificationReport {
        self.journal.verify().unwrap()
    }

    fn fault(&self) -> String {
        let fault = self.verdict().fault.expect("something is wrong");
        format!("{}:{} {}", fault.segment, fault.line, fault.problem)
    }
}

fn decided(title: &str) -> AuditEvent {
    let decision = Some(Effect::Ask);
    AuditEvent::Decision(Box::new(DecisionRecord {
        title: title.to_owned(),
        decision,
        ..DecisionRecord::default()
    }))
}

const SMALL: u64 = 2_000;

fn small() -> JournalLimits {
    JournalLimits { segment: SMALL, ..JournalLimits::default() }
}

#[test]
fn written_records_are_read_back() {
    let scene = Scene::new(JournalLimits::default());
    assert_eq!(scene.append("one"), 1);
    assert_eq!(scene.append("password=x"), 2);
    let outcome = OutcomeRecord {
        decision_seq: 2,
        status: Some(3),
        duration_ms: 7,
        ..OutcomeRecord::default()
    };
    scene.journal.append(&AuditEvent::Outcome(outcome.clone())).unwrap();
    let records = scene.records();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let AuditEvent::Decision(second) = &records[1].entry else { panic!() };
    assert_eq!(
        (second.title.as_str(), second.decision),
        ("password=[redacted]", Some(Effect::Ask))
    );
    assert_eq!(records[2].entry, AuditEvent::Outcome(outcome));
    let verdict = scene.verdict();
    assert_eq!((verdict.records, verdict.first, verdict.fault), (3, Some(1), None));
}

#[test]
fn only_its_owner_can_read_it() {
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(scene.path("")), mode(scene.path(ACTIVE_SEGMENT_NAME)), mode(scene.path("lock"))),
        (0o700, 0o600, 0o600)
    );
}

#[test]
fn a_journal_that_others_could_have_written_is_refused() {
    let set =
        |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (name, mode) in [("", 0o770), (ACTIVE_SEGMENT_NAME, 0o620), ("lock", 0o602)] {
        let scene = Scene::new(JournalLimits::default());
        scene.append("one");
        set(scene.path(name), mode);
        let error = scene.journal.append(&decided("two")).unwrap_err();
        assert!(
            matches!(error, AuditError::Unsafe { why: "is writable by other users", .. }),
            "{name}: {error}"
        );
    }
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    fs::rename(scene.path(ACTIVE_SEGMENT_NAME), scene.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    assert!(matches!(scene.journal.append(&decided("two")), Err(AuditError::Unsafe { .. })));
    assert!(matches!(scene.journal.verify(), Err(AuditError::Unsafe { .. })));
}

#[test]
fn waiting_for_a_lock_that_is_never_released_times_out() {
    let scene = Scene::new(JournalLimits {
        patience: Duration::from_millis(30),
        ..JournalLimits::default()
    });
    scene.append("one");
    let held = File::open(scene.path("lock")).unwrap();
    held.lock().unwrap();
    assert!(matches!(scene.journal.append(&decided("two")), Err(AuditError::Busy)));
    assert_eq!(scene.verdict().records, 1, "it can be read all the same");
    drop(held);
    assert_eq!(scene.append("two"), 2);
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    let text = fs::read_to_string(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    let newer = text + "{\"schema\":2,\"whatever\":1}\n";
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), &newer).unwrap();
    assert!(matches!(scene.journal.append(&decided("two")), Err(AuditError::Newer(2))));
    assert_eq!(fs::read_to_string(scene.path(ACTIVE_SEGMENT_NAME)).unwrap(), newer);
}

#[test]
fn an_unfinished_record_is_removed_and_not_taken_for_a_modified_one() {
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    let one = fs::read(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    // A writer that is killed while it writes a record has not updated the anchor.
    let anchor = fs::read(scene.path("anchor")).unwrap();
    scene.append("two");
    let two = fs::read(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    for length in one.len() + 1..two.len() {
        fs::write(scene.path(ACTIVE_SEGMENT_NAME), &two[..length]).unwrap();
        fs::write(scene.path("anchor"), &anchor).unwrap();
        let verdict = scene.verdict();
        let unfinished = (length - one.len()) as u64;
        assert_eq!((verdict.records, verdict.unfinished, verdict.fault), (1, unfinished, None));
        assert_eq!(scene.append("three"), 3, "the repair is the second record");
        let records = scene.records();
        assert_eq!(
            records[1].entry,
            AuditEvent::Repair(RepairRecord { removed_bytes: unfinished })
        );
        let verdict = scene.verdict();
        assert_eq!((verdict.records, verdict.unfinished, verdict.fault), (3, 0, None));
    }
}

#[test]
fn zeros_that_a_power_failure_left_are_cut_off() {
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    let mut bytes = fs::read(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    bytes.extend([0; 9_000]);
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), &bytes).unwrap();
    assert_eq!(scene.append("two"), 3);
    assert_eq!(scene.verdict().fault, None);
}

#[test]
fn the_chain_goes_on_through_rotation() {
    let scene = Scene::new(small());
    scene.fill(40);
    assert!(scene.closed().len() > 5, "{:?}", scene.closed());
    for name in scene.closed() {
        assert!(fs::metadata(scene.path(&name)).unwrap().len() <= SMALL);
    }
    let verdict = scene.verdict();
    assert_eq!((verdict.records, verdict.fault), (40, None));
    // Only the segments that contain the requested records are opened.
    assert_eq!(scene.journal.open_segments_with_records_after(39).unwrap().len(), 1);
}

#[test]
fn a_crash_between_closing_a_segment_and_beginning_the_next_loses_nothing() {
    let scene = Scene::new(JournalLimits::default());
    scene.append("one");
    fs::rename(scene.path(ACTIVE_SEGMENT_NAME), scene.path(&closed_segment_name(1))).unwrap();
    assert_eq!(scene.append("two"), 2);
    assert_eq!(scene.verdict().fault, None);
}

#[test]
fn old_segments_leave_and_the_chain_stays_verifiable() {
    let scene = Scene::new(JournalLimits { total: 3 * SMALL, ..small() });
    scene.fill(60);
    let verdict = scene.verdict();
    assert_eq!(verdict.fault, None);
    assert!(verdict.first.unwrap() > 30, "{verdict:?}");
    assert!(scene.closed().len() <= 2);
}

#[test]
fn segments_leave_when_they_are_too_old() {
    let scene = Scene::new(JournalLimits { age: DAY_MS, ..small() });
    scene.fill(12);
    for name in scene.closed() {
        let file = File::options().write(true).open(scene.path(&name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_millis(2 * DAY_MS))
            .unwrap();
    }
    scene.fill(6);
    let verdict = scene.verdict();
    assert_eq!(verdict.fault, None);
    assert!(verdict.first.unwrap() > 6, "{verdict:?}");
}

const DAY_MS: u64 = super::super::timestamp::MILLIS_PER_DAY;

#[test]
fn a_segment_removed_without_a_prune_record_is_a_fault() {
    let scene = Scene::new(small());
    scene.fill(40);
    let closed = scene.closed();
    let kept = fs::read(scene.path(&closed[0])).unwrap();
    fs::remove_file(scene.path(&closed[0])).unwrap();
    assert!(scene.fault().ends_with("no removal was recorded"), "{}", scene.fault());
    fs::write(scene.path(&closed[0]), kept).unwrap();
    fs::remove_file(scene.path(&closed[2])).unwrap();
    assert!(scene.fault().contains("are missing"), "{}", scene.fault());
}

#[test]
fn the_fault_describes_how_the_journal_was_modified() {
    let scene = Scene::new(JournalLimits::default());
    for number in 1..=6 {
        scene.append(&format!("title {number}"));
    }
    let whole = fs::read_to_string(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    let line = |number: usize| whole.lines().nth(number - 1).unwrap().to_owned();
    let with = |order: &[usize]| {
        let text: String = order.iter().map(|number| line(*number) + "\n").collect();
        fs::write(scene.path(ACTIVE_SEGMENT_NAME), text).unwrap();
        scene.fault()
    };
    let place = |number, what: &str| format!("{ACTIVE_SEGMENT_NAME}:{number} {what}");
    assert_eq!(with(&[1, 2, 4, 5, 6]), place(3, "record 3 is missing"));
    assert_eq!(with(&[1, 5, 6]), place(2, "records 2 to 4 are missing"));
    assert_eq!(
        with(&[1, 2, 3, 3, 4]),
        place(4, "record 3 appears after record 3: records were reordered or duplicated")
    );
    assert_eq!(with(&[1, 3, 2, 4]), place(2, "record 2 is missing"));
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), whole.replace("title 4", "title 9")).unwrap();
    assert_eq!(scene.fault(), place(4, "record modified: hash mismatch"));
    let other = Scene::new(JournalLimits::default());
    other.fill(4);
    let foreign = fs::read_to_string(other.path(ACTIVE_SEGMENT_NAME)).unwrap();
    let foreign = foreign.lines().nth(2).unwrap();
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), whole.replace(&line(3), foreign)).unwrap();
    assert_eq!(scene.fault(), place(3, "the chain is broken between this record and record 2"));
}

#[test]
fn a_journal_that_is_not_whole_is_still_written_to() {
    let scene = Scene::new(small());
    scene.append("one");
    for garbage in ["garbage\n", "\n\n\n", "{\"schema\":1}\n"] {
        let mut file = File::options().append(true).open(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
        file.write_all(garbage.as_bytes()).unwrap();
        let seq = scene.append("on");
        assert!(seq > 1);
        assert!(scene.verdict().fault.is_some());
    }
    // A damaged active segment that is too long to be continued does not overwrite a closed
    // segment.
    let scene = Scene::new(small());
    scene.fill(6);
    let before = scene.closed();
    let kept = fs::read(scene.path(before.last().unwrap())).unwrap();
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), "garbage\n".repeat(300)).unwrap();
    scene.append("x");
    assert_eq!(fs::read(scene.path(before.last().unwrap())).unwrap(), kept);
}

#[test]
fn an_empty_journal_has_no_fault() {
    let scene = Scene::new(JournalLimits::default());
    assert_eq!(scene.verdict(), VerificationReport::default());
    assert!(!scene.path("").exists(), "looking makes nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Every changed byte is detected.
    ///
    /// Guards I28.
    #[test]
    fn any_changed_byte_is_found(titles in prop::collection::vec("\\PC{0,12}", 1..5), other in 1_u8..) {
        let scene = Scene::new(JournalLimits { segment: 900, ..JournalLimits::default() });
        for title in &titles {
            scene.append(title);
        }
        let mut names = scene.closed();
        names.push(ACTIVE_SEGMENT_NAME.to_owned());
        for name in names {
            let whole = fs::read(scene.path(&name)).unwrap();
            for at in 0..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= other;
                fs::write(scene.path(&name), &changed).unwrap();
                // If the changed byte is in the schema version, the whole journal is rejected.
                let verdict = scene.journal.verify();
                let is_unnoticed = verdict.is_ok_and(|verdict| verdict.fault.is_none());
                prop_assert!(!is_unnoticed, "{name} {at} {other}");
            }
            fs::write(scene.path(&name), &whole).unwrap();
        }
        prop_assert_eq!(scene.verdict().fault, None);
    }
}

#[test]
fn the_newest_part_of_a_segment_is_whole_records() {
    let scene = Scene::new(JournalLimits::default());
    scene.fill(5);
    let segments = scene.journal.open_segments_with_records_after(0).unwrap();
    let (segment, whole) = (&segments[0], segments[0].read_all().unwrap());
    let last = |count: usize| {
        let skipped = 5 - count;
        let all: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        all[skipped..].concat()
    };
    let length = segment.byte_count();
    assert_eq!(segment.read_tail(length).unwrap(), whole);
    assert_eq!(segment.read_tail(u64::MAX).unwrap(), whole);
    assert_eq!(segment.read_tail(length - 1).unwrap(), last(4));
    assert_eq!(segment.read_tail(last(2).len() as u64 + 1).unwrap(), last(2));
    assert_eq!(segment.read_tail(3).unwrap(), b"");
    assert_eq!(segment.read_tail(0).unwrap(), b"");
}

/// Returns the lines of the active segment.
fn active_lines(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    text.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_end_that_was_cut_off_is_missed_also_when_others_write_behind_it() {
    for (left, missing) in [
        (4, "1 record is missing: record 5"),
        (2, "3 records are missing: 3 to 5"),
        (0, "5 records are missing: 1 to 5"),
    ] {
        let scene = Scene::new(JournalLimits::default());
        scene.fill(5);
        assert_eq!((scene.verdict().fault, scene.verdict().has_anchor), (None, true));
        fs::write(scene.path(ACTIVE_SEGMENT_NAME), active_lines(&scene)[..left].concat()).unwrap();
        assert!(scene.fault().contains(missing), "{}", scene.fault());
        assert_eq!(scene.append("later"), 6, "the numbers of missing records are not given again");
        let fault = scene.fault();
        let later =
            ["record 5 is missing", "records 3 to 5 are missing", "5 earlier records are missing"];
        assert!(later.iter().any(|text| fault.contains(text)), "{left}: {fault}");
        scene.fill(3);
        assert!(!scene.fault().is_empty(), "it stays so");
    }
}

#[test]
fn a_journal_that_was_replaced_is_noticed() {
    for bytes in [&b""[..], &[0xA7; 100], b"no record\n"] {
        let scene = Scene::new(JournalLimits::default());
        scene.fill(3);
        fs::write(scene.path(ACTIVE_SEGMENT_NAME), bytes).unwrap();
        scene.append("later");
        assert!(!scene.fault().is_empty(), "{bytes:?}");
    }
    let scene = Scene::new(JournalLimits::default());
    scene.fill(3);
    fs::remove_file(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    assert!(scene.fault().contains("3 records are missing: 1 to 3"), "{}", scene.fault());
    // A different, undamaged journal that is as long or longer.
    for count in [3, 5] {
        let (scene, other) =
            (Scene::new(JournalLimits::default()), Scene::new(JournalLimits::default()));
        scene.fill(3);
        for _ in 0..count {
            other.append("another");
        }
        fs::copy(other.path(ACTIVE_SEGMENT_NAME), scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
        for _ in 0..2 {
            let fault = scene.fault();
            assert!(fault.contains("record 3 differs from the one"), "{fault}");
            scene.append("later");
        }
    }
}

#[test]
fn a_writer_that_died_before_the_anchor_takes_nothing_away() {
    let scene = Scene::new(JournalLimits::default());
    scene.fill(2);
    let anchor = fs::read(scene.path("anchor")).unwrap();
    scene.fill(2);
    fs::write(scene.path("anchor"), anchor).unwrap();
    assert_eq!(scene.verdict().fault, None);
    scene.append("later");
    assert_eq!(scene.verdict().fault, None);
    assert_eq!(scene.journal.anchor.read_newest().unwrap().unwrap().seq, 5);
    // An incomplete last line is removed, the removal is recorded, and no complete record is
    // missing.
    let torn = active_lines(&scene).concat() + "{\"schema\":1,\"seq\":6";
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), torn).unwrap();
    scene.append("later");
    assert_eq!(scene.verdict().fault, None);
    let repaired = scene.records().into_iter().filter(|record| record.entry.kind() == "repaired");
    assert_eq!(repaired.count(), 1);
}

#[test]
fn a_damaged_anchor_is_a_fault_and_a_missing_one_is_reported() {
    let scene = Scene::new(JournalLimits::default());
    scene.fill(2);
    for bytes in [&b"x"[..], b"00000000000000000002 zz\n", &[0; 86]] {
        fs::write(scene.path("anchor"), bytes).unwrap();
        scene.append("later");
        assert!(scene.fault().contains("the anchor is corrupt"), "{}", scene.fault());
    }
    fs::remove_file(scene.path("anchor")).unwrap();
    let verdict = scene.verdict();
    assert_eq!((verdict.fault, verdict.has_anchor), (None, false));
    scene.append("later");
    assert!(scene.verdict().has_anchor);
}

#[test]
fn the_anchor_holds_across_segments() {
    let scene = Scene::new(small());
    scene.fill(40);
    assert_eq!(scene.verdict().fault, None);
    fs::remove_file(scene.path(ACTIVE_SEGMENT_NAME)).unwrap();
    assert!(scene.fault().contains("missing"), "{}", scene.fault());
    scene.fill(20);
    assert!(scene.fault().contains("missing"), "{}", scene.fault());
}

#[test]
fn a_second_anchor_reveals_records_removed_along_with_the_first() {
    let scene = Scene::new(JournalLimits::default());
    let second = scene.dir.path().join("second");
    let anchor = JournalAnchor::with_second(scene.path("anchor"), second.clone());
    let journal = Journal { anchor, ..scene.journal.clone() };
    for _ in 0..4 {
        journal.append(&decided("x")).unwrap();
    }
    assert_eq!(fs::read_to_string(&second).unwrap().lines().count(), 4);
    assert_eq!(journal.verify().unwrap().fault, None);
    // An attacker who truncates the journal and the first anchor.
    let lines = active_lines(&scene);
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), lines[..2].concat()).unwrap();
    fs::remove_file(scene.path("anchor")).unwrap();
    let fault = journal.verify().unwrap().fault.unwrap();
    assert_eq!(
        fault.problem.to_string(),
        "2 records are missing: 3 to 4, at the end of the journal"
    );
    assert_eq!(fault.segment, second.display().to_string());
}

#[test]
fn a_journal_of_a_newer_schema_is_an_error_to_read_and_to_write() {
    let scene = Scene::new(JournalLimits::default());
    scene.fill(2);
    let newer = active_lines(&scene).concat().replace("{\"schema\":1,", "{\"schema\":9,");
    fs::write(scene.path(ACTIVE_SEGMENT_NAME), &newer).unwrap();
    let is_newer = |error: AuditError| matches!(error, AuditError::Newer(9));
    assert!(scene.journal.append(&decided("x")).is_err_and(is_newer));
    assert!(scene.journal.open_segments_with_records_after(0).is_err_and(is_newer));
    assert!(scene.journal.verify().is_err_and(is_newer));
    assert_eq!(fs::read_to_string(scene.path(ACTIVE_SEGMENT_NAME)).unwrap(), newer);
}
