use super::*;

const BASE: &str = "[core]\n\tbare = false\n\tfsmonitor = false\n[alias]\n\tx = !true\n";

/// Returns the risky settings that this text adds to the base.
fn added(text: &str) -> Option<Vec<String>> {
    let after = format!("{BASE}{text}");
    find_risky_changes(BASE.as_bytes(), after.as_bytes(), Path::new("/none/config"))
        .map(|names| names.into_iter().collect())
}

fn is_harmless(before: &str, after: &str) -> bool {
    let changes =
        find_risky_changes(before.as_bytes(), after.as_bytes(), Path::new("/none/config"));
    changes.is_some_and(|names| names.is_empty())
}

#[test]
fn settings_of_everyday_work_are_harmless() {
    for text in [
        "",
        "# a comment\n",
        "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"o\"]\n\turl = git@example.org:x/y.git\n\tpushurl = ssh://git@example.org:22/x\n",
        "[remote \"o\"]\n\turl = ../other.git\n[remote \"p\"]\n\turl = /srv/x.git\n\ttagOpt = --no-tags\n",
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true\n\tdescription = x\n",
        "[user]\n\tname = A B\n\temail = a@b\n",
        "[submodule \"s\"]\n\turl = https://example.org/s\n\tactive = true\n\tupdate = rebase\n",
        "[pull]\n\trebase = true\n[push]\n\tdefault = simple\n[merge]\n\tconflictStyle = zdiff3\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "[core]\n\tautocrlf = input\n\tsparseCheckout = true\n",
    ] {
        assert_eq!(added(text), Some(Vec::new()), "{text}");
    }
}

/// Each of these settings makes `git` run a program, or read other settings (git-config(1)).
#[test]
fn settings_that_run_something_are_risky_in_every_spelling() {
    for (text, name) in [
        ("[core]\n\thooksPath = x\n", "core.hookspath"),
        ("[CORE]\n\tHOOKSPATH = x\n", "core.hookspath"),
        ("[core] hookspath=x", "core.hookspath"),
        ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
        ("[core]\n\tfsmonitor = false\n", "core.fsmonitor"),
        ("[core]\n\tsshCommand = x\n", "core.sshcommand"),
        ("[core]\n\tpa\\\nger = x\n", ""),
        ("[core]\n\tpager = x\\\ny\n", "core.pager"),
        ("[alias]\n\ty = !x\n", "alias.y"),
        ("[filter \"a\\\"b\"]\n\tclean = x\n", "filter.a\"b.clean"),
        ("[filter.x]\n\tsmudge = x\n", "filter.x.smudge"),
        ("[include]\n\tpath = x\n", "include.path"),
        ("[includeIf \"gitdir:/\"]\n\tpath = x\n", "includeif.gitdir:/.path"),
        ("[credential]\n\thelper = !x\n", "credential.helper"),
        ("[credential \"https://x\"]\n\thelper = !x\n", "credential.https://x.helper"),
        ("[diff \"x\"]\n\ttextconv = x\n", "diff.x.textconv"),
        ("[merge \"x\"]\n\tdriver = x\n", "merge.x.driver"),
        ("[url \"ext::x\"]\n\tinsteadOf = https://\n", "url.ext::x.insteadof"),
        ("[remote \"o\"]\n\turl = ext::sh -c x\n", "remote.o.url"),
        ("[remote \"o\"]\n\turl = foo://x\n", "remote.o.url"),
        ("[remote \"o\"]\n\turl = -x\n", "remote.o.url"),
        ("[remote \"o\"]\n\tuploadpack = x\n", "remote.o.uploadpack"),
        ("[remote \"o\"]\n\tvcs = x\n", "remote.o.vcs"),
        ("[branch \"m\"]\n\tremote = ext::sh -c x\n", "branch.m.remote"),
        ("[branch \"m\"]\n\tmergeOptions = -s ../x\n", "branch.m.mergeoptions"),
        ("[submodule \"s\"]\n\tupdate = !x\n", "submodule.s.update"),
        ("[core]\n\tworktree = /\n", "core.worktree"),
        ("[core]\n\tprotectNTFS = false\n", "core.protectntfs"),
        ("[gpg]\n\tprogram = x\n", "gpg.program"),
        ("[protocol \"ext\"]\n\tallow = always\n", "protocol.ext.allow"),
        ("[uploadpack]\n\tpackObjectsHook = x\n", "uploadpack.packobjectshook"),
        ("[unknown]\n\tkey = x\n", "unknown.key"),
    ] {
        match added(text) {
            Some(names) => assert_eq!(names, [name], "{text}"),
            None => assert_eq!(name, "", "{text}"),
        }
    }
}

#[test]
fn texts_that_other_programs_may_read_differently_are_not_understood() {
    for text in
        ["\u{feff}", "[user]\r\n", "[user]\n\tname = \0x\n", "[user]\n\tname = \u{a0}\n", "[a"]
    {
        assert_eq!(added(text), None, "{text:?}");
    }
    let mut bytes = BASE.as_bytes().to_vec();
    bytes.extend(b"[core]\n\tpager = \xff\n");
    assert_eq!(find_risky_changes(BASE.as_bytes(), &bytes, Path::new("/none/config")), None);
}

#[test]
fn changes_and_removals_of_risky_settings_are_risky() {
    assert!(!is_harmless(
        BASE,
        "[alias]\n\tx = !true\n[core]\n\tfsmonitor = false\n\tbare = true\n"
    ));
    assert!(is_harmless(BASE, "[core]\n\tfsmonitor = false\n[alias]\n\tx = !true\n"));
    assert!(!is_harmless(BASE, "[core]\n\tbare = false\n\tfsmonitor = false\n"));
    assert!(!is_harmless(BASE, "[core]\n\tbare = false\n[alias]\n\tx = !true\n"));
    assert!(!is_harmless(BASE, ""));
    // The section of a setting counts.
    assert!(!is_harmless(BASE, "[core]\n\tfsmonitor = false\n[alias \"y\"]\n\tx = !true\n"));
}
