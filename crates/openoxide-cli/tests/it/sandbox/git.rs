//! Repositories: the everyday work with `git` succeeds, and nothing that a program changes in one
//! makes `git` of the host run anything.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};

use super::{Arena, is_root};
use crate::support::OPENOXIDE;

/// Runs a script on the host, with the arena's home. Returns its status and all that it prints.
fn host(arena: &Arena, script: &str) -> (bool, String) {
    let mut sh = Command::new("sh");
    sh.args(["-ec", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    sh.env("HOME", arena.path("home")).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(arena.path("w"));
    let output = sh.output().unwrap();
    (output.status.success(), text(&output))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn host_succeeds(arena: &Arena, script: &str) -> String {
    let (success, text) = host(arena, script);
    assert!(success, "{script}: {text}");
    text
}

/// Runs a script inside, in a directory of the arena. Returns its status and all that it prints.
fn inside_at(arena: &Arena, directory: &str, options: &[&str], script: &str) -> (bool, String) {
    let mut run = arena.run(options, &["sh", "-ec", script]);
    let output = run.current_dir(arena.path(directory)).output().unwrap();
    (output.status.success(), text(&output))
}

fn inside(arena: &Arena, script: &str) -> (bool, String) {
    inside_at(arena, "w", &[], script)
}

fn inside_succeeds(arena: &Arena, script: &str) -> String {
    let (success, text) = inside(arena, script);
    assert!(success, "{script}: {text}");
    text
}

/// An arena with a repository that has one commit, and an identity of the user.
fn repository() -> Arena {
    let arena = Arena::new();
    host_succeeds(
        &arena,
        "git config --global user.name A; git config --global user.email a@b; \
         git config --global init.defaultBranch main; git init -q; echo a > a; git add a; git commit -qm a",
    );
    arena
}

/// A script that leaves a mark where the host can see it.
fn marking(arena: &Arena) -> String {
    format!("#!/bin/sh\ntouch {}\n", arena.path("outside/ran").display())
}

fn ran(arena: &Arena) -> bool {
    arena.path("outside/ran").exists()
}

/// The everyday work: each line is one job.
const JOBS: &str = "
    echo b > b; git add b; git commit -qm b
    git checkout -qb topic HEAD~1; echo c > c; git add c; git commit -qm c
    git rebase -q main
    GIT_SEQUENCE_EDITOR=true git rebase -q -i --exec true HEAD~1
    echo x > a; git commit -qam x; git checkout -q main; echo y > a; git commit -qam y
    ! git merge -q topic; echo z > a; git add a; git commit -qm merged
    git checkout -qb picked HEAD~1; ! git cherry-pick topic; echo p > a; git add a; git -c core.editor=true cherry-pick --continue
    git checkout -q main; echo dirty > a; git stash -q; git stash pop -q; git checkout -q a
    git gc -q; git repack -adq
    git bisect start HEAD HEAD~2; git bisect run true; git bisect reset
    git remote add origin https://example.org/x.git; git config branch.main.remote origin; git config branch.main.merge refs/heads/main
    git config user.email project@example.org; git config pull.rebase true
    git worktree add -q linked; cd linked; echo l > l; git add l; git commit -qm l; git rebase -q main; cd ..; git worktree remove linked
    git -c protocol.file.allow=always submodule --quiet add $PWD/../outside/library vendored; git commit -qm library
    git tag -a v1 -m v1; git notes add -m note; git fsck --strict
    git sparse-checkout set --no-cone '/*'; git sparse-checkout disable
    git init -q nested; cd nested; git add .; cd ..; rm -rf nested
";

#[test]
fn everyday_work_succeeds_and_leaves_a_sound_repository() {
    let arena = repository();
    host_succeeds(
        &arena,
        "git init -q ../outside/library; cd ../outside/library; echo l > l; git add l; git commit -qm l",
    );
    for job in JOBS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let said = inside_succeeds(&arena, job);
        assert!(!said.contains("held-by-openoxide"), "{job}: {said}");
    }
    let settings = host_succeeds(
        &arena,
        "git fsck --strict; git status --porcelain; git config --local --list",
    );
    for setting in [
        "remote.origin.url=https://example.org/x.git",
        "branch.main.merge=refs/heads/main",
        "user.email=project@example.org",
        "pull.rebase=true",
        "submodule.vendored.active=true",
    ] {
        assert!(settings.contains(setting), "{setting}: {settings}");
    }
    assert!(
        host_succeeds(&arena, "git log --oneline --all; git -C vendored status").contains("merged")
    );
    assert_eq!(
        fs::metadata(arena.path("w/.git/config")).unwrap().permissions().mode() & 0o7777,
        0o644
    );
}

/// An ordinary user, where this is root.
#[test]
fn another_user_can_work_in_a_repository() {
    const SCRIPT: &str = "mount -t tmpfs none /mnt; cp \"$0\" /mnt/openoxide; mkdir -p /mnt/home/w; chown -R 1234:1234 /mnt/home; \
        cd /mnt/home/w; exec setpriv --reuid 1234 --regid 1234 --clear-groups env -i PATH=/usr/bin:/bin HOME=/mnt/home sh -ec \"$1\"";
    const WORK: &str = "git config --global user.name A; git config --global user.email a@b; git init -q; echo a > a; git add a; git commit -qm a; \
        /mnt/openoxide sandbox run -- sh -ec 'echo b > a; git commit -qam b; git remote add origin https://example.org/x; git worktree add -q ../w/linked; git rebase -q HEAD~1'; \
        git config core.pager evil; \
        /mnt/openoxide sandbox run -- sh -ec 'git config core.hooksPath /x; git config user.name B'; \
        git fsck --strict; git config --local --list; git log --oneline | wc -l; git worktree list | wc -l; ls .git";
    if !is_root() {
        return; // All the others are run by an ordinary user then.
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-ec", SCRIPT, OPENOXIDE, WORK]);
    let output = command.output().unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("remote.origin.url=https://example.org/x") && said.contains("\n2\n2\n"),
        "{said}"
    );
    assert!(
        said.contains("config.held-by-openoxide") && !said.contains("core.hookspath=/x"),
        "{said}"
    );
}

/// Each of these makes the next `git status` or `git commit` of the host run a program, or a later
/// command that people use. The configuration of the host stays the one before.
#[test]
fn settings_that_run_programs_are_held() {
    for change in [
        "git config core.hooksPath evil",
        "git config core.fsmonitor ./evil/x",
        "git config alias.st '!./evil/x'",
        "git config --add include.path ../evil/config",
        "git config core.sshCommand ./evil/x",
        "git config remote.origin.url 'ext::sh -c ./evil/x'",
        "git config filter.x.clean ./evil/x",
        "git config url.ext::sh.insteadOf https://",
        "git config core.pager ./evil/x",
        "printf '[CORE]\\n\\tHOOKSPATH = evil\\n' >> .git/config",
        "printf '[core]\\r\\n\\thooksPath = evil\\r\\n' >> .git/config",
        "printf '[core]\\n\\thooks\\\\\\nPath = evil\\n' >> .git/config",
        "printf '[core \"\"]\\n\\thooksPath = evil\\n[core] hooksPath=\"ev\"il # x\\n' >> .git/config",
        "printf '\\0[core]\\n\\thooksPath = evil\\n' >> .git/config",
        "printf '[include]path=../evil/config' >> .git/config",
        ": > .git/config",
    ] {
        let arena = repository();
        host_succeeds(&arena, "git config core.pager cat; mkdir evil");
        fs::write(arena.path("w/evil/x"), marking(&arena)).unwrap();
        fs::write(arena.path("w/evil/config"), "[core]\n\tfsmonitor = ./evil/x\n").unwrap();
        host_succeeds(
            &arena,
            "chmod +x evil/x; cp evil/x evil/post-commit; cp evil/x evil/pre-commit",
        );
        let before = fs::read(arena.path("w/.git/config")).unwrap();
        let (_, said) = inside(&arena, change);
        assert_eq!(fs::read(arena.path("w/.git/config")).unwrap(), before, "{change}");
        assert!(arena.path("w/.git/config.held-by-openoxide").exists(), "{change}: {said}");
        assert!(said.contains("config.held-by-openoxide"), "{change}: {said}");
        host(&arena, "git status; git commit -q --allow-empty -m x; git st; git fetch");
        assert!(!ran(&arena), "{change}");
    }
}

#[test]
fn nothing_replaces_the_file_on_the_host() {
    let arena = repository();
    let before = fs::read(arena.path("w/.git/config")).unwrap();
    let mark = arena.path("outside/ran");
    for attempt in [
        "rm -f .git/config; echo x > .git/config",
        "mv .git/config x",
        "echo x > y; mv y .git/config",
        "ln -f a .git/config",
        "mv .git .git2; mkdir .git",
        "rm -rf .git",
        "unlink /dev/openoxide/git-links/0; ln -s /etc/passwd /dev/openoxide/git-links/0",
        "rm -rf /dev/openoxide/git/0; ln -s /etc /dev/openoxide/git/0",
        "rm -f /dev/openoxide/git/0/config; ln -s ../../../proc/self/root/etc/passwd /dev/openoxide/git/0/config",
        "rm -f /dev/openoxide/git/0/config; mkfifo /dev/openoxide/git/0/config",
        "rm -f /dev/openoxide/git/0/config; mkdir /dev/openoxide/git/0/config",
        "truncate -s 2M .git/config",
        "umount .git/config; umount -l /dev/openoxide/git",
        "echo '.' > .git/commondir; echo ../evil > .git/commondir; rm -f .git/commondir",
        "chmod 777 .git/config; chmod 000 /dev/openoxide/git/0/config",
    ] {
        host_succeeds(&arena, "rm -rf ../outside/copy; cp -a .git ../outside/copy");
        let (_, said) = inside(&arena, &format!("set +e; {attempt}; true"));
        if !attempt.contains("rm -rf .git") {
            host_succeeds(&arena, "git fsck --strict");
        }
        assert_eq!(fs::read(arena.path("w/.git/config")).unwrap(), before, "{attempt}: {said}");
        assert!(!mark.exists(), "{attempt}");
        host_succeeds(&arena, "cp -a ../outside/copy/. .git/");
    }
}

#[test]
fn state_that_makes_git_run_or_write_something_is_quarantined() {
    let arena = repository();
    let mark = marking(&arena);
    // A link to which `git` of the host would write.
    let (_, said) = inside(
        &arena,
        "rm -rf .git/logs/HEAD; ln -s \"$HOME/.profile\" .git/logs/HEAD; ln -s /etc/x .git/COMMIT_EDITMSG2",
    );
    assert!(said.contains("logs/HEAD"), "{said}");
    host(&arena, "git commit -q --allow-empty -m x");
    assert!(!arena.path("home/.profile").exists());
    // An index with a hook as the name of a file.
    let name = "Xgit_hooks_post-checkout";
    fs::write(arena.path("w").join(name), &mark).unwrap();
    let forge = format!(
        "chmod +x {name}; git add {name}; python3 - <<'END'\nimport hashlib\nb = open('.git/index', 'rb').read()[:-20]\n\
         b = b.replace(b'{name}', b'.git/hooks/post-checkout')\nb = b[:b.find(b'TREE')] if b'TREE' in b else b\n\
         open('.git/index', 'wb').write(b + hashlib.sha1(b).digest())\nEND"
    );
    let (_, said) = inside(&arena, &forge);
    assert!(said.contains(".git/index"), "{said}");
    host(&arena, "git checkout -- . ; git checkout -- .");
    assert!(!arena.path("w/.git/hooks/post-checkout").exists() && !ran(&arena));
    // The same on the host runs the hook: the test can fail.
    host(&arena, "git reset -q");
    host_succeeds(&arena, &forge);
    host(&arena, "git checkout -- . ; git checkout -- .");
    assert!(ran(&arena));
}

#[test]
fn the_strategy_of_a_rebase_in_progress_names_no_program() {
    let arena = repository();
    host_succeeds(
        &arena,
        "git checkout -qb topic; echo b > a; git commit -qam b; echo c > c; git add c; git commit -qm c; git checkout -q main; \
         echo z > a; git commit -qam z; git checkout -q topic; git rebase main || true; mkdir git-merge-x",
    );
    fs::write(arena.path("w/evil"), marking(&arena)).unwrap();
    let (_, said) = inside(&arena, "chmod +x evil; echo x/../evil > .git/rebase-merge/strategy");
    assert!(said.contains("strategy"), "{said}");
    host(&arena, "echo r > a; git add a; GIT_EDITOR=true git rebase --continue");
    assert!(!ran(&arena));
}

#[test]
fn a_linked_worktree_commits_to_its_repository_and_a_forged_link_opens_nothing() {
    let arena = repository();
    host_succeeds(&arena, "git worktree add -q ../outside/linked; git init -q ../outside/other");
    let work = "echo l > l; git add l; git commit -qm l; git rebase -q main; git config user.name B; \
        ! echo x > ../../w/a; ! echo x > ../../w/new; ! sh -c 'echo x >> ../../w/.git/commondir'; git status --porcelain";
    let (success, said) = inside_at(&arena, "outside/linked", &[], work);
    assert!(success, "{said}");
    assert!(host_succeeds(&arena, "git log --oneline linked").contains(" l\n"));
    assert!(host_succeeds(&arena, "git config --local --list").contains("user.name=B"));
    assert_eq!(fs::read(arena.path("w/a")).unwrap(), b"a\n");
    // A `.git` file that names the repository of another project, or an entry there.
    let forged = arena.path("outside/other");
    fs::remove_dir_all(forged.join(".git")).unwrap();
    for target in ["w/.git", "w/.git/worktrees/linked", "w/.git/worktrees/forged"] {
        let link = format!("gitdir: {}\n", arena.path(target).display());
        fs::write(forged.join(".git"), link).unwrap();
        let script = "! mkdir -p ../../w/.git/worktrees/forged; ! touch ../../w/.git/x; ! git update-ref refs/heads/forged linked";
        let (success, said) = inside_at(&arena, "outside/other", &[], script);
        assert!(success, "{target}: {said}");
    }
    assert!(!host_succeeds(&arena, "git branch").contains("forged"));
}

#[test]
fn changes_of_the_host_in_the_meantime_are_kept() {
    let (settings, said) = change_in_the_meantime("git config remote.mine.url /mine");
    assert!(settings.contains("remote.mine.url=/mine"), "{settings}");
    assert!(
        said.contains("config.held-by-openoxide") != settings.contains("user.name=inside"),
        "{said}"
    );
}

/// Replacing the file uncovers it for a moment, in which the program could have made the change.
#[test]
fn a_setting_that_runs_programs_waits_whoever_wrote_it() {
    let (settings, said) = change_in_the_meantime("git config core.pager cat");
    assert!(!settings.contains("core.pager"), "{settings}");
    assert!(settings.contains("[core]") && settings.contains("pager = cat"), "{settings}");
    assert!(said.contains("`core.pager` is not known to be harmless"), "{said}");
}

/// Changes the configuration on the host while a program does so inside. Returns the settings with
/// what was held, and the messages.
fn change_in_the_meantime(change: &str) -> (String, String) {
    let arena = repository();
    let script = "touch begun; while ! test -e go; do sleep 0.05; done; git config user.name inside; git config --local user.name";
    let mut run = arena.run(&[], &["sh", "-c", script]);
    let run = run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = run.spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    host_succeeds(&arena, &format!("{change}; echo h > h; git add h; git commit -qm host"));
    thread::sleep(Duration::from_millis(200));
    fs::write(arena.path("w/go"), "").unwrap();
    let said = text(&run.wait_with_output().unwrap());
    assert!(said.starts_with("inside\n"), "{said}");
    let held = "cat .git/config.held-by-openoxide";
    let list = format!("git config --local --list; {held} 2>/dev/null || true; git fsck --strict");
    (host_succeeds(&arena, &list), said)
}

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_applied_if_the_supervisor_is_killed() {
    let arena = repository();
    let before = fs::read(arena.path("w/.git/config")).unwrap();
    let script = "git config user.name inside; touch begun; sleep 60";
    let mut run = arena.run(&[], &["sh", "-c", script]).spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    run.kill().unwrap();
    run.wait().unwrap();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(fs::read(arena.path("w/.git/config")).unwrap(), before);
    host_succeeds(&arena, "git status --porcelain; git config user.name A");
}

/// Of the changes of one run, the harmless ones are applied, also if the host has changed the file
/// in the meantime.
#[test]
fn mixed_changes_are_split() {
    let arena = repository();
    let script = "git remote add origin https://example.org/x.git; git config user.name B; git config alias.x '!./evil'";
    let (success, said) = inside(&arena, script);
    assert!(success && said.contains("`alias.x` is not known to be harmless"), "{said}");
    let settings =
        host_succeeds(&arena, "git config --local --list; git fetch --dry-run -v 2>&1 || true");
    assert!(settings.contains("remote.origin.url=https://example.org/x.git"), "{settings}");
    assert!(settings.contains("user.name=B") && !settings.contains("alias.x"), "{settings}");
    let held = fs::read_to_string(arena.path("w/.git/config.held-by-openoxide")).unwrap();
    assert!(held.contains("!./evil") && held.contains("name = B"), "{held}");
    // Both change the file, and one setting.
    let script = "touch begun; while ! test -e go; do sleep 0.05; done; git config user.name inside; git config pull.rebase true";
    let mut run = arena.run(&[], &["sh", "-ec", script]);
    let run = run.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    host_succeeds(
        &arena,
        "git config user.name outside; git config remote.mine.url /mine; touch go",
    );
    let said = text(&run.wait_with_output().unwrap());
    assert!(said.contains("`user.name`: changed by another program, too"), "{said}");
    let settings = host_succeeds(&arena, "git config --local --list");
    for setting in ["user.name=outside", "remote.mine.url=/mine", "pull.rebase=true"] {
        assert!(settings.contains(setting), "{setting}: {settings}");
    }
}
