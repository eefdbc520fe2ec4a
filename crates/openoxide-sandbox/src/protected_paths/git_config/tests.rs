use super::*;

/// Returns the settings of a configuration as the real `git` reads them, in the form of this
/// parser. They are the reference for the parser.
fn by_git(text: &str) -> Option<Vec<(String, String)>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    std::fs::write(&file, text).unwrap();
    let mut git = std::process::Command::new("git");
    let output = git.args(["config", "--null", "--list", "--file"]).arg(&file).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.split_terminator('\0').map(|line| {
        let (key, value) = line.split_once('\n').unwrap_or((line, "true"));
        (key.to_owned(), value.to_owned())
    });
    output.status.success().then(|| lines.collect())
}

fn by_us(text: &str) -> Option<Vec<(String, String)>> {
    let joined = |one: GitSetting| {
        let section = [Some(one.section), one.subsection, Some(one.key)];
        (section.into_iter().flatten().collect::<Vec<_>>().join("."), one.value)
    };
    Some(parse_settings(text)?.into_iter().map(joined).collect())
}

#[test]
fn reads_as_git_does() {
    let texts = [
        "",
        "[core]\n\tbare = false\n",
        "[core] bare\n[CORE]FileMode=TRUE",
        "[core]fsmonitor=\"/x y\" ; z\n# c\n",
        "[remote \"or\\\"i\\\\g\"]\n url = a\\\n  b\\tc\n",
        "[a.B]\nc = \"  d  \"  \n",
        "\u{feff}[a]\r\nb = c\r\n",
        "[a]\nb = c \"d # e\" f # g\n",
        "[a] ; b = c\n d = e",
        "[a-b.c]\nd-e = ",
        "[core]\nhooksPath = \\\n/evil\n",
    ];
    for text in texts {
        let theirs = by_git(text);
        assert!(theirs.is_some(), "git refuses {text:?}");
        assert_eq!(by_us(text), theirs, "{text:?}");
    }
}

#[test]
fn files_that_git_refuses_are_not_understood() {
    for text in ["[a", "[a]\nb \"c\"", "[a]\nb = \"c\n", "[a]\nb = \\x", "[a \"b]\nc=d", "[a]\n=b"]
    {
        assert_eq!(by_git(text), None, "{text:?}");
        assert_eq!(by_us(text), None, "{text:?}");
    }
    // `git` reads this as a setting without a section, which has no effect.
    assert_eq!(by_us("b = c"), None);
}

#[test]
fn directories_and_oversized_files_are_not_understood() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(read_file(directory.path()), None);
    assert_eq!(read_file(&directory.path().join("none")), Some(Vec::new()));
    let file = directory.path().join("config");
    std::fs::write(&file, "#".repeat(1 << 21)).unwrap();
    assert_eq!(read_file(&file), None);
}

/// The settings of git-config(1) whose value is or leads to a program or to more configuration.
#[test]
fn settings_that_run_a_command_are_not_harmless() {
    let runs = [
        "[core]fsmonitor=x",
        "[core]fsmonitor=true",
        "[core]hooksPath=x",
        "[core]sshCommand=x",
        "[core]pager=x",
        "[core]editor=x",
        "[core]askPass=x",
        "[core]sharedRepository=0666",
        "[core]sharedRepository=all",
        "[core]gitProxy=x",
        "[core]alternateRefsCommand=x",
        "[core]attributesFile=x",
        "[core]worktree=/home",
        "[core \"x\"]pager=x",
        "[filter \"x\"]clean=x",
        "[filter \"x\"]smudge=x",
        "[filter \"x\"]process=x",
        "[alias]x=!y",
        "[alias \"x\"]command=!y",
        "[include]path=x",
        "[includeIf \"gitdir:x\"]path=x",
        "[credential]helper=x",
        "[credential \"https://x\"]helper=x",
        "[diff]external=x",
        "[diff \"x\"]textconv=x",
        "[diff \"x\"]command=x",
        "[merge \"x\"]driver=x",
        "[mergetool \"x\"]cmd=x",
        "[difftool \"x\"]cmd=x",
        "[gpg]program=x",
        "[gpg \"ssh\"]defaultKeyCommand=x",
        "[remote \"x\"]uploadpack=x",
        "[remote \"x\"]receivepack=x",
        "[remote \"x\"]vcs=x",
        "[remote \"x\"]url=ext::sh -c x",
        "[url \"ext::x\"]insteadOf=https",
        "[submodule \"x\"]update=!x",
        "[protocol \"ext\"]allow=always",
        "[sequence]editor=x",
        "[interactive]diffFilter=x",
        "[pager]log=x",
        "[gc]recentObjectsHook=x",
        "[uploadpack]packObjectsHook=x",
        "[trailer \"x\"]command=x",
        "[browser \"x\"]cmd=x",
        "[man \"x\"]cmd=x",
        "[web]browser=x",
        "[sendemail]smtpServer=/x",
        "[imap]tunnel=x",
        "[instaweb]httpd=x",
        "[hook \"x\"]command=x",
        "[lfs \"customtransfer.x\"]path=x",
        "[safe]directory=*",
    ];
    for text in runs {
        let all = parse_settings(text).unwrap();
        assert!(
            !all.is_empty() && !all.iter().all(|one| one.is_harmless(Path::new("/there-is-none"))),
            "{text}"
        );
    }
}

#[test]
fn settings_that_git_writes_are_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"]);
        assert!(
            git.args(arguments).current_dir(&directory).output().unwrap().status.success(),
            "{arguments:?}"
        );
    };
    git(&["init", "-q", "a"]);
    git(&["-C", "a", "commit", "-q", "--allow-empty", "-m", "a"]);
    git(&["clone", "-q", "a", "b"]);
    git(&["clone", "-q", "--bare", "a", "c"]);
    git(&["-C", "b", "submodule", "--quiet", "add", "../a", "sub"]);
    git(&["-C", "b", "branch", "-q", "--track", "x", "origin/HEAD"]);
    git(&["init", "-q", "--shared", "d"]);
    for config in
        ["a/.git/config", "d/.git/config", "b/.git/config", "c/config", "b/.git/modules/sub/config"]
    {
        let file = directory.path().join(config);
        let all = read_file(&file).unwrap();
        let harmful: Vec<_> =
            all.iter().filter(|one| !one.is_harmless(file.parent().unwrap())).collect();
        assert!(!all.is_empty() && harmful.is_empty(), "{config}: {harmful:?}");
    }
}
