"""Attempts of granted.py against the private layers of git: what a program leaves in a repository, and the update of its configuration after a run."""
import hashlib, struct, time

from __main__ import EVIL, HOME, OUT, WS, attempt, finish, host, inside, start

HOOK = "printf '#!/bin/sh\\n%s\\ncat\\n' > %%s; chmod +x %%s; " % EVIL


def hook(path):
    return HOOK % (path, path)


class user_config:
    "more configuration of the user, for a while"

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        self.before = open(HOME + "/.gitconfig").read()
        with open(HOME + "/.gitconfig", "a") as f:
            f.write(self.text)

    def __exit__(self, *_):
        with open(HOME + "/.gitconfig", "w") as f:
            f.write(self.before)


@attempt
def g2_hooks_directory_of_the_user():
    "the user's hooksPath leads into each project"
    with user_config("[core]\n\thooksPath = .githooks\n"):
        host("mkdir .githooks; printf '#!/bin/sh\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit; git add -A; git commit -qm hooks")
        inside(hook(".githooks/pre-commit") + hook(".githooks/post-commit") + hook(".githooks/new") + "mv .githooks/new .githooks/pre-commit; rm -rf .githooks; mkdir .githooks;" + hook(".githooks/pre-commit"))
        host("git commit -q --allow-empty -m x")


@attempt
def g2_hooks_directory_is_missing():
    "the same, where the project has none yet"
    with user_config("[core]\n\thooksPath = .githooks\n"):
        inside("mkdir .githooks;" + hook(".githooks/pre-commit") + hook(".githooks/post-commit") + "ln -s .githooks h2; mv .githooks h3; ln -s h3 .githooks")
        host("git commit -q --allow-empty -m x")


@attempt
def g2_program_that_configuration_names():
    host("git config filter.x.clean ./tools/clean; git config diff.x.textconv ./tools/clean; git config core.fsmonitor; git add -A; git commit -qm filter")
    inside(hook("tools/clean") + hook("tools/new") + "mv -f tools/new tools/clean; mv tools t2; mkdir tools; " + hook("tools/clean") + "rm -rf tools; ln -s t2 tools")


@attempt
def g2_program_of_the_user_in_the_project():
    "an alias of the user runs a script of each project"
    with user_config("[alias]\n\tst = !./tools/clean < /dev/null\n[diff]\n\texternal = ./tools/clean\n"):
        inside(hook("tools/clean") + hook("tools/new") + "mv -f tools/new tools/clean")
        host("git st; git diff --ext-diff")


@attempt
def g2_included_file():
    "a file in the project that its configuration includes"
    host("printf '[user]\\n\\tname = Ann\\n' > shared.conf; git config include.path ../shared.conf; git add -A; git commit -qm shared")
    inside("printf '[core]\\n\\tfsmonitor = %s\\n' >> shared.conf; printf '[core]\\n\\tfsmonitor = %s\\n' > s2; mv -f s2 shared.conf; rm -f shared.conf; ln -s s2 shared.conf" % (EVIL, EVIL))


@attempt
def g2_included_file_is_missing():
    host("git config include.path ../shared.conf; git config --add include.path ../conf/deep/shared.conf")
    inside("mkdir -p conf/deep; for f in shared.conf conf/deep/shared.conf; do printf '[core]\\n\\tfsmonitor = %s\\n' > $f; done" % EVIL)


@attempt
def g2_included_by_the_user():
    "the user's configuration includes a file of the project, under a condition"
    with user_config("[includeIf \"gitdir:%s/\"]\n\tpath = %s/team.conf\n[includeIf \"onbranch:*\"]\n\tpath = %s/.team/conf\n" % (WS, WS, WS)):
        inside("mkdir -p .team; for f in team.conf .team/conf; do printf '[core]\\n\\tfsmonitor = %s\\n' > $f; done" % EVIL)
        host("git status; git commit -q --allow-empty -m x")


@attempt
def g2_deep_repository():
    inside("d=$(printf 'd/%.0s' $(seq 30)); mkdir -p $d; git init -q $d;" + hook("$d/.git/hooks/post-commit") + "printf '[core]\\n\\tfsmonitor = %s\\n' >> $d/.git/config" % EVIL)
    host("d=$(printf 'd/%.0s' $(seq 30)); git -C $d status; git -C $d commit --allow-empty -m x")


@attempt
def g2_repository_among_many_files():
    inside("import os\nfor i in range(505):\n    os.makedirs('junk/' + str(i))\n    for j in range(100): os.close(os.open('junk/%%d/%%d' %% (i, j), os.O_CREAT | os.O_WRONLY))\nos.system('git init -q zz/n; printf \"[core]\\\\n\\\\tfsmonitor = %s\\\\n\" >> zz/n/.git/config')\n" % EVIL, python=True, seconds=120)
    host("git -C zz/n status; git -C zz/n commit --allow-empty -m x; rm -rf junk", seconds=60)


@attempt
def g2_new_repositories_while_it_runs():
    "the host's prompt runs git in directories that become repositories"
    run = start("mkdir n; sleep .4; git init -q n; printf '[core]\\n\\tfsmonitor = %s\\n' >> n/.git/config; mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/m' > docs/HEAD; printf '[core]\\n\\tfsmonitor = %s\\n\\tbare = false\\n\\tworktree = ..\\n' > docs/config; sleep 3" % (EVIL, EVIL))
    end = time.time() + 3
    while time.time() < end and run.poll() is None:
        host("git -C n status; git -C docs status")
        time.sleep(.25)
    finish(run)


@attempt
def g2_host_edits_at_the_same_time():
    "the user changes the configuration while a program does: nothing of the user is lost (it may be held), and nothing of the program runs"
    run = start("for i in $(seq 40); do git config user.email evil@example.org; git config core.fsmonitor '%s'; printf '[core]\\n\\tfsmonitor = %s\\n' >> .git/config; sleep .04; done" % (EVIL, EVIL))
    for i in range(20):
        host("git config user.name host%d; git config remote.mine.url /nowhere%d" % (i, i))
    finish(run)
    seen = host("cat .git/config*")
    return [] if "host19" in seen and "/nowhere19" in seen else ["the user's settings are lost"]


@attempt
def g2_huge_configuration():
    "what is beyond the limits of the check is not applied"
    inside("printf '[core]\\n\\tfsmonitor = %s\\n#' >> .git/config; head -c 30000000 /dev/zero | tr '\\0' x >> .git/config; echo >> .git/config" % EVIL)


def config_as(name, script):
    "the private copy becomes something else"
    def f():
        inside("c=$(readlink -f .git/config); d=$(dirname $c); cp $c d.conf; printf '[core]\\n\\tfsmonitor = %s\\n' >> d.conf; rm -rf $c; %s" % (EVIL, script))
        text = host("timeout 5 git status; echo $?; timeout 5 cat .git/config")
        return ["the host's git hangs"] if "\n124\n" in text else ["a secret"] if "SSHKEY" in text else []
    f.__name__ = "g2_config_" + name
    attempt(f)


config_as("is_a_pipe", "mkfifo $c")
config_as("is_a_link", "ln -s $PWD/d.conf $c")
config_as("is_a_secret", "ln -s %s/.ssh/id_rsa $c; ln -f %s/.ssh/id_rsa $c" % (HOME, HOME))
config_as("is_a_directory", "mkdir $c; cp d.conf $c/config; rm -rf $d; mkdir -p $d; cp d.conf $d/config")
config_as("has_links_beside_it", "ln -s %s/file $d/config.lock; ln -s %s/file .git/config.held-by-openoxide; ln -s %s/file .git/config.lock; mv d.conf $c; echo x > .git/config.lock; echo x > .git/config.held-by-openoxide" % (OUT, OUT, OUT))


def index(*entries):
    "an index of git with any names: (name, mode, object)"
    body = b"DIRC" + struct.pack(">II", 2, len(entries))
    for name, mode, sha in sorted(entries):
        e = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(sha) + struct.pack(">H", min(len(name), 0xfff)) + name
        body += e + b"\0" * (8 - len(e) % 8)
    return body + hashlib.sha1(body).digest()


@attempt
def g2_index_with_names_in_git():
    "git does not check the names in its own index"
    blob = b"#!/bin/sh\n%s\n" % EVIL.encode()
    sha = hashlib.sha1(b"blob %d\0" % len(blob) + blob).hexdigest()
    data = index((b".git/hooks/post-checkout", 0o100755, sha), (b".git/hooks/pre-commit", 0o100755, sha), (b"../../outside/created", 0o100644, sha), (b"a", 0o100644, sha))
    inside("import subprocess\nsubprocess.run(['git', 'hash-object', '-w', '--stdin'], input=%r)\nopen('.git/index', 'wb').write(bytes.fromhex('%s'))\n" % (blob, data.hex()), python=True)
    host("git checkout-index -fa; git checkout -f -- .; git stash; git commit -qam x; git checkout -q other")


def rebase(name, todo, where=".git/rebase-merge", before=""):
    def f():
        inside("%s mkdir -p %s; for f in head-name:refs/heads/main onto:$(git rev-parse HEAD) orig-head:$(git rev-parse HEAD) interactive: end:1 msgnum:1 done:; do echo ${f#*:} > %s/${f%%%%:*}; done; printf '%s' > %s/git-rebase-todo" % (before, where, where, todo, where))
        host("git rebase --continue; git -C trees/w rebase --continue")
    f.__name__ = "g2_rebase_" + name
    attempt(f)


rebase("short_form", "x %s\\n" % EVIL)
rebase("indented", "\\t  exec %s\\n" % EVIL)
rebase("after_comments", "# exec\\n\\nnoop\\nexec %s\\n" % EVIL)
rebase("in_worktree", "exec %s\\n" % EVIL, ".git/worktrees/w/rebase-merge", "git worktree add -q trees/w -b w;")


@attempt
def g2_worktree_entries():
    "entries of worktrees lead elsewhere, and the host repairs and prunes them"
    inside("git worktree add -q trees/w -b w; cp -r .git/worktrees/w .git/worktrees/v; echo %s/plain/.git > .git/worktrees/v/gitdir; echo %s/other/.git > .git/worktrees/w/gitdir" % (OUT, OUT))
    host("mkdir $OUT/plain; git worktree repair; git worktree prune; git worktree remove --force $OUT/other; git worktree remove --force trees/w; rmdir $OUT/plain")
