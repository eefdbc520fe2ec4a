use std::os::unix::fs::PermissionsExt as _;

use openoxide_protocol::GrantTerms;

use super::*;

struct Disk {
    dir: tempfile::TempDir,
}

impl Disk {
    fn new() -> Self {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(disk.dir.path().join("p")).unwrap();
        disk
    }

    fn environment(&self) -> UserEnvironment {
        UserEnvironment { state: Some(self.dir.path().join("state")), ..UserEnvironment::default() }
    }

    fn grants(&self, project: &str) -> GrantFile {
        let path = self.dir.path().join(project);
        GrantFile::for_project(&self.environment(), &AbsPath::new(path.to_str().unwrap()).unwrap())
    }
}

fn rules(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn granted(grants: &GrantFile) -> Vec<String> {
    grants.load_layer(None).layer.rules.into_iter().map(|rule| rule.text).collect()
}

#[test]
fn granted_rules_are_read_back() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    assert_eq!(grants.read_entries().unwrap(), []);
    grants.add(&rules(&["Bash(npm run *)", "Bash(make *)"])).unwrap();
    grants.add(&rules(&["Bash(npm run *)", "Edit(/src/**)", "nonsense("])).unwrap();
    assert_eq!(granted(&grants), ["Bash(npm run *)", "Bash(make *)"]);
    let key = disk.dir.path().join("state/openoxide/key");
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Guards I10.
#[test]
fn an_entry_without_a_valid_mac_grants_nothing() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    grants.add(&rules(&["Bash(make *)"])).unwrap();
    let text = fs::read_to_string(grants.path()).unwrap();
    // A different rule with the same MAC, an entry without a MAC, and the same file in another
    // project.
    for other in [text.replace("make *", "rm *"), "[[grant]]\nrule = \"Bash(rm *)\"\n".to_owned()] {
        fs::write(grants.path(), other).unwrap();
        assert_eq!(granted(&grants), [""; 0]);
        assert!(grants.load_layer(None).notes[0].contains("Bash(rm *)` grants nothing"));
    }
    fs::create_dir_all(disk.dir.path().join("q/.openoxide")).unwrap();
    fs::write(disk.grants("q").path(), &text).unwrap();
    assert_eq!(granted(&disk.grants("q")), [""; 0]);
    fs::write(grants.path(), &text).unwrap();
    assert_eq!(granted(&grants), ["Bash(make *)"]);
    let key = disk.dir.path().join("state/openoxide/key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(granted(&grants), [""; 0], "others could know the key");
}

#[test]
fn comments_and_order_survive_an_edit() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    grants.add(&rules(&["Bash(a *)", "Bash(b *)", "Bash(c *)"])).unwrap();
    let text = fs::read_to_string(grants.path()).unwrap();
    let text = format!(
        "# ours\n{}# the end\n",
        text.replacen("rule = \"Bash(c", "# of c\nrule = \"Bash(c", 1)
    );
    fs::write(grants.path(), text).unwrap();
    assert_eq!(grants.remove(|_, entry| entry.rule == "Bash(b *)").unwrap(), 1);
    assert_eq!(granted(&grants), ["Bash(a *)", "Bash(c *)"]);
    let text = fs::read_to_string(grants.path()).unwrap();
    for kept in ["# ours", "# of c", "# the end"] {
        assert!(text.contains(kept), "{text}");
    }
    assert_eq!(grants.remove(|_, _| false).unwrap(), 0);
}

#[test]
fn a_file_that_is_not_toml_is_left_unchanged() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    grants.add(&rules(&["Bash(a *)"])).unwrap();
    fs::write(grants.path(), "[[grant]\nx").unwrap();
    let error = grants.add(&rules(&["Bash(b *)"])).unwrap_err().to_string();
    assert!(error.contains("approvals.toml") && error.contains("line 1"), "{error}");
    assert_eq!(fs::read_to_string(grants.path()).unwrap(), "[[grant]\nx");
    assert_eq!(granted(&grants), [""; 0]);
}

#[test]
fn a_link_in_the_place_of_the_directory_is_not_written_through() {
    let disk = Disk::new();
    fs::create_dir(disk.dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(
        disk.dir.path().join("elsewhere"),
        disk.dir.path().join("p/.openoxide"),
    )
    .unwrap();
    assert!(disk.grants("p").add(&rules(&["Bash(a *)"])).is_err());
    assert_eq!(fs::read_dir(disk.dir.path().join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn many_at_once_lose_nothing() {
    let disk = Disk::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let grants = disk.grants("p");
            scope.spawn(move || {
                for number in 0..5 {
                    grants.add(&[format!("Bash(x{writer} {number} *)")]).unwrap();
                }
            });
        }
    });
    assert_eq!(granted(&disk.grants("p")).len(), 40);
}

#[test]
fn a_revoked_grant_stays_revoked_when_its_file_is_restored() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    grants.add(&rules(&["Bash(make *)"])).unwrap();
    let kept = fs::read_to_string(grants.path()).unwrap();
    assert_eq!(grants.remove(|_, _| true).unwrap(), 1);
    fs::write(grants.path(), kept).unwrap();
    assert_eq!(granted(&grants), [""; 0]);
    assert_eq!(grants.read_entries().unwrap()[0].ignored_reason, Some("revoked"));
    grants.add(&rules(&["Bash(make *)"])).unwrap();
    assert_eq!(granted(&grants), ["Bash(make *)"], "a person can grant it anew");
}

#[test]
fn a_grant_is_valid_up_to_its_use_limit() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    let twice = GrantLimits { max_uses: Some(2), ..GrantLimits::default() };
    grants.add_limited(&rules(&["Bash(make *)"]), &twice).unwrap();
    let kept = fs::read_to_string(grants.path()).unwrap();
    let entry = grants.read_entries().unwrap().remove(0);
    let spent = [(); 3].map(|()| grants.consume_use(&entry).unwrap());
    assert_eq!(spent, [true, true, false]);
    fs::write(grants.path(), kept).unwrap();
    assert_eq!(granted(&grants), [""; 0], "nor when its file is restored");
}

#[test]
fn a_grant_ends_with_its_time() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    let until = |ahead: i64| GrantLimits {
        expires_at: Some(UtcTimestamp(UtcTimestamp::now().0.saturating_add_signed(ahead))),
        ..GrantLimits::default()
    };
    grants.add_limited(&rules(&["Bash(past *)"]), &until(-1)).unwrap();
    grants.add_limited(&rules(&["Bash(ahead *)"]), &until(600_000)).unwrap();
    assert_eq!(granted(&grants), ["Bash(ahead *)"]);
    let terms = GrantTerms { expires_in_seconds: Some(60), ..GrantTerms::default() };
    let bound = GrantLimits::from_terms(&terms, None);
    grants.add_limited(&rules(&["Bash(now *)"]), &bound).unwrap();
    let tomorrow = UtcTimestamp(UtcTimestamp::now().0 + 86_400_000);
    let before = GrantLimits {
        granted_at: Some(tomorrow),
        expires_at: Some(UtcTimestamp(tomorrow.0 + 1)),
        ..bound
    };
    grants.add_limited(&rules(&["Bash(later *)"]), &before).unwrap();
    let entries = grants.read_entries().unwrap();
    let why = |rule: &str| entries.iter().find(|entry| entry.rule == rule).unwrap().ignored_reason;
    assert_eq!(why("Bash(now *)"), None);
    assert_eq!(why("Bash(later *)"), Some("the clock moved backwards since the grant"));
}

/// Guards I29.
#[test]
fn a_task_grant_is_valid_only_in_that_task_and_for_one_day_at_most() {
    let disk = Disk::new();
    let terms = GrantTerms { until_task_end: true, ..GrantTerms::default() };
    let bound = GrantLimits::from_terms(&terms, Some("s/1"));
    let day = UtcTimestamp::now().0 + 24 * 60 * 60 * 1_000;
    assert!(bound.expires_at.is_some_and(|until| until.0 <= day && until.0 > day - 60_000));
    assert_eq!(
        GrantLimits::from_terms(&GrantTerms { expires_in_seconds: Some(1), ..terms }, Some("s/1"))
            .task,
        bound.task
    );
    disk.grants("p").add_limited(&rules(&["Bash(make *)"]), &bound).unwrap();
    let in_task = |task: Option<&str>| {
        let environment = UserEnvironment { task: task.map(str::to_owned), ..disk.environment() };
        GrantFile::for_project(&environment, disk.grants("p").project())
    };
    assert_eq!(granted(&in_task(Some("s/1"))), ["Bash(make *)"]);
    for other in [None, Some("s/2"), Some("")] {
        assert_eq!(granted(&in_task(other)), [""; 0], "{other:?}");
        assert_eq!(
            in_task(other).load_layer(None).other_tasks,
            ["s/1"],
            "so what is cached is not for that task"
        );
    }
    let text = fs::read_to_string(in_task(None).path()).unwrap();
    assert_eq!(in_task(None).remove(|_, _| true).unwrap(), 1);
    fs::write(in_task(None).path(), &text).unwrap();
    assert_eq!(granted(&in_task(Some("s/1"))), [""; 0], "revoked from elsewhere");
    fs::write(in_task(None).path(), text.replace("s/1", "s/2")).unwrap();
    assert_eq!(granted(&in_task(Some("s/2"))), [""; 0], "the task is proved, too");
}

#[test]
fn bounds_are_proved_like_the_rule() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    let bound = GrantLimits {
        max_uses: Some(2),
        expires_at: Some(UtcTimestamp(4_000_000_000_000)),
        ..GrantLimits::default()
    };
    grants.add_limited(&rules(&["Bash(make *)"]), &bound).unwrap();
    let text = fs::read_to_string(grants.path()).unwrap();
    let without = |name: &str| -> String {
        text.lines()
            .filter(|line| !line.starts_with(name))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let more = text.replace("times = 2", "times = 200");
    for changed in
        [more, without("times"), without("until"), text.replace("times = 2", "times = 2\nx = 1")]
    {
        assert_ne!(changed, text);
        fs::write(grants.path(), changed).unwrap();
        assert_eq!(granted(&grants), [""; 0]);
    }
    fs::write(grants.path(), &text).unwrap();
    assert_eq!(granted(&grants), ["Bash(make *)"]);
}

#[test]
fn a_new_directory_at_an_old_path_has_none_of_the_old_grants() {
    let disk = Disk::new();
    let grants = disk.grants("p");
    grants.add(&rules(&["Bash(make *)"])).unwrap();
    let (old, path) = (disk.dir.path().join("old"), disk.dir.path().join("p"));
    fs::rename(&path, &old).unwrap();
    let copied = std::process::Command::new("cp").arg("-a").args([&old, &path]).status();
    assert!(copied.unwrap().success());
    assert_eq!(granted(&grants), Vec::<String>::new(), "a copy with its approvals.toml");
    let ignored = grants.read_entries().unwrap().into_iter().map(|entry| entry.ignored_reason);
    assert_eq!(
        ignored.collect::<Vec<_>>(),
        [Some("invalid signature: not created by you on this machine for this directory")]
    );
    // When the directory is back at its original path, its grants are valid again.
    fs::rename(&path, disk.dir.path().join("copy")).unwrap();
    fs::rename(&old, &path).unwrap();
    assert_eq!(granted(&grants), ["Bash(make *)"]);
}
