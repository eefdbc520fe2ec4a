"""Runs the jobs of jobs/*.toml: unconfined, in OpenOxide's sandbox and in bubblewrap, and judges each on the host.

usage: jobs.py OPENOXIDE BASE [--only PATTERN,...] [--as user|root|both] [--under LAUNCHER,...] [--cheap] [--install] [--results FILE] [--page FILE]
       jobs.py --print FILE [--page FILE]

Root runs the jobs as root and as another user; anyone else runs them as that user. BASE is a directory outside of /tmp that every user can enter.
--install installs the tools (jobs/tools.toml): Debian's packages if this is root, and those of PyPI and npm below BASE/tools. A job whose programs are
missing is reported as `no tool`, and the exit code is then 1, as it is for a job that fails unconfined: nothing is skipped without a word.
--results writes one line of JSON per job, user and launcher (an existing file is completed; with --missing, what passed is not run again); --page puts the table into that document.
--cheap takes only jobs that need no network and neither a browser nor a JVM."""
import argparse, fnmatch, json, os, pathlib, pwd, shutil, signal, subprocess, sys, time, tomllib
from urllib.parse import urlsplit

HERE = pathlib.Path(__file__).resolve().parent
LAUNCHERS = {"native": "unconfined", "run": "`openoxide run`", "sandbox": "`openoxide sandbox run`", "bwrap": "bubblewrap"}
USER = "jobs", 61234
# Variables of this machine's own configuration for registries, if it has any.
MACHINE = ("PIP_", "NPM_CONFIG_", "CARGO_REGISTR", "UV_", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
BEGIN, END = "<!-- jobs: begin -->", "<!-- jobs: end -->"


def load():
    "all jobs, in the order of their files"
    jobs = []
    for file in sorted((HERE / "jobs").glob("*.toml")):
        if file.name == "tools.toml":
            continue
        for job in tomllib.loads(file.read_text())["job"]:
            jobs.append({"ecosystem": file.stem, "needs": [], "net": [], "hosts": [], "env": {}, "setup": "", "check": "", "drive": "", "users": ["root", "user"], "seconds": 90, **job})
    names = [job["name"] for job in jobs]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
    return jobs


def install(base):
    tools = tomllib.loads((HERE / "jobs/tools.toml").read_text())
    if os.getuid() == 0:
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        # Packages of Node.js from elsewhere contain npm, and conflict with Debian's.
        node = {"nodejs", "npm"} if shutil.which("npm") else set()
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *(p for p in tools["debian"] if p not in node)], env=env, check=True)
    where = base / "tools"
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run(["/usr/bin/python3", "-m", "venv", where / "python"], check=True)
    subprocess.run([where / "python/bin/pip", "install", "-q", *tools["pypi"]], check=True)
    subprocess.run(["npm", "install", "--silent", "--prefix", where / "node", *tools["npm"]], check=True)


def said(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def registries(base):
    "the hosts of each registry, as the clients of this machine are configured"
    host = lambda url: urlsplit(url.removeprefix("sparse+")).hostname
    found = {"npm": [host(said("npm", "config", "get", "registry"))]}
    pip = said(base / "tools/python/bin/python", "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url, 'https://' + PyPI.file_storage_domain)")
    configured = said(base / "tools/python/bin/pip", "config", "get", "global.index-url")
    found["pypi"] = [host(url) for url in (pip + " " + configured).split()]
    config = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")) / "config.toml"
    sources = tomllib.loads(config.read_text()).get("source", {}).values() if config.exists() else []
    # The default registry, as the lock file of this project names it: the hosts of its index and of its packages.
    lock = (pathlib.Path(__file__).resolve().parents[2] / "Cargo.lock").read_text()
    default = lock.split("rust-lang/", 1)[1].split("-index", 1)[0]
    found["crates"] = ["index." + default, "static." + default, *(host(s["registry"]) for s in sources if "registry" in s)]
    return {name: sorted({h for h in hosts if h}) for name, hosts in found.items()}


def policy(args, jobs, hosts):
    "the policy of all jobs. What this build does not know is left out, and named"
    allow = [*("WebFetch(domain:%s)" % h for h in sorted(set(sum(hosts.values(), [])))), *dict.fromkeys(r for job in jobs for r in job.get("rules", []))]
    unknown = [rule for rule in allow if subprocess.run([args.openoxide, "check", "--allow", rule, "-c", "true"], capture_output=True).returncode not in (0, 1)]
    allow = [rule for rule in allow if rule not in unknown]
    unknown and print("unknown to this build:", *unknown, file=sys.stderr)
    return 'mode = "bypass_permissions"\npermissions.allow = %s\n' % json.dumps(allow)


class Person:
    "a user of the machine with a home directory of its own below BASE"

    def __init__(self, args, base, name):
        self.args, self.base, self.name = args, base, name
        self.uid = 0 if name == "root" else USER[1] if os.getuid() == 0 else os.getuid()
        self.home = base / name / "home"
        login = "root" if self.uid == 0 else USER[0] if os.getuid() == 0 else pwd.getpwuid(self.uid).pw_name
        tools = base / "tools"
        path = [tools / "bin", tools / "rust/bin", tools / "python/bin", tools / "node/node_modules/.bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/games"]
        self.env = {k: v for k, v in os.environ.items() if k.startswith(MACHINE)}
        self.env.update(PATH=":".join(map(str, path)), HOME=str(self.home), USER=login, LOGNAME=login, SHELL="/bin/bash", LANG="C.UTF-8", TERM="xterm", TOOLS=str(tools), OPENOXIDE=args.openoxide)

    def pre(self):
        os.setsid()
        os.umask(0o022)
        if os.getuid() != self.uid:
            os.setgroups([])
            os.setgid(self.uid)
            os.setuid(self.uid)

    def execute(self, argv, cwd, env, seconds, out):
        "runs argv as this user; returns its status, or None after the time"
        run = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, preexec_fn=self.pre)
        try:
            return run.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except OSError:
                pass
            run.wait()


def clear(path):
    "removes a tree whose directories may be read-only"
    def again(function, name, _):
        os.chmod(os.path.dirname(name), 0o700)
        os.path.isdir(name) and os.chmod(name, 0o700)
        function(name)
    for _ in range(20):
        try:
            if os.path.lexists(path):
                shutil.rmtree(path, onerror=again)
            return
        except OSError:  # A run that was killed is still cleaning up.
            time.sleep(.2)


def launch(person, launcher, job, hosts, project):
    script = job["run"].replace("$PORT", str(job.get("port")))
    line = ["bash", "-c", script]
    names = sorted({*sum((hosts[n] for n in job["net"]), []), *job["hosts"]})
    publish = ["--publish", str(job["port"])] if "port" in job and "publish" in person.args.options else []
    if launcher == "native":
        return line
    if launcher == "run":
        return [person.args.openoxide, "run", "--no-input", *publish, "-c", script]
    if launcher == "sandbox":
        return [person.args.openoxide, "sandbox", "run", "--no-input", *publish, "--net", ",".join(names) or "off", "--", *line]
    network = [] if names or "port" in job else ["--unshare-net"]
    hidden = ["--tmpfs", str(person.home / ".ssh")] if (person.home / ".ssh").exists() else []
    return ["bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", *network, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
            "--bind", str(project), str(project), *hidden, "--", *line]


def last_line(text):
    "what the last line says; the sandbox's own words before those of the program"
    lines = [l.strip() for l in text.splitlines() if l.strip()]
    own = [l for l in lines if l.startswith("openoxide:") and ("approval required" in l or "refused" in l or "not passed" in l)]
    return (own or lines or ["no output"])[-1][:300]


def attempt(person, launcher, job, hosts, rules):
    project = person.home / "project"
    clear(person.home)
    (person.home / ".config/openoxide").mkdir(parents=True)
    (person.home / ".config/openoxide/policy.toml").write_text(rules)
    (person.home / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n")
    project.mkdir()
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "%d:%d" % (person.uid, person.uid), person.home], check=True)
    log = person.base / person.name
    env = dict(person.env, OUT=str(log / "out"), PROJECT=str(project), LAUNCHER=launcher, **({"PORT": str(job["port"])} if "port" in job else {}))
    with open(log / "setup", "w+") as out:
        status = person.execute(["bash", "-ec", job["setup"]], project, env, job["seconds"], out)
        if status != 0:
            out.seek(0)
            return {"result": "set-up failed", "message": last_line(out.read())}
    start = time.time()
    with open(log / "out", "w+") as out:
        os.chmod(log / "out", 0o644)
        argv = launch(person, launcher, job, hosts, project)
        status = person.execute(["bash", "-c", job["drive"], "drive", *argv] if job["drive"] else argv, project, dict(env, **job["env"]), job["seconds"], out)
        out.seek(0)
        text = out.read()
    took = time.time() - start
    with open(log / "check", "w+") as out:
        checked = person.execute(["bash", "-ec", job["check"]], project, env, job["seconds"], out) if job["check"] else 0
        out.seek(0)
        judged = out.read()
    row = {"seconds": round(took, 2)}
    if status == 0 and checked == 0:
        return dict(row, result="pass")
    why = "time-out" if status is None else "asked" if "approval required" in text else "fails"
    message = last_line(text) if status != 0 else last_line(text + "\n" + judged) if judged.strip() or text.strip() else "the check failed"
    return dict(row, result=why, message=message, status=status, output=text[-1500:], check=judged[-300:])


def own_mounts(base, people):
    "as root: mounts of its own, in which the other user and the homes below BASE are known, and Rust is readable"
    users = base / "passwd"
    lines = [l for l in open("/etc/passwd").read().splitlines() if not l.startswith("root:")]
    lines.insert(0, "root:x:0:0:root:%s:/bin/bash" % (base / "root/home"))
    users.write_text("\n".join(lines + ["%s:x:%d:%d::%s:/bin/bash" % (USER[0], USER[1], USER[1], base / "user/home")]) + "\n")
    subprocess.run(["mount", "--bind", users, "/etc/passwd"], check=True)
    # Some machines close /dev/shm to ordinary users.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", "/dev/shm"], check=True)
    groups = base / "group"
    groups.write_text(open("/etc/group").read() + "%s:x:%d:\n" % USER)
    subprocess.run(["mount", "--bind", groups, "/etc/group"], check=True)


def rust(base):
    "the toolchain below BASE/tools/rust: a home directory of root is closed to others"
    root = said("rustc", "--print", "sysroot")
    place = base / "tools/rust"
    place.mkdir(parents=True, exist_ok=True)
    if root and os.getuid() == 0:
        subprocess.run(["mount", "--bind", root, place], check=True)
    elif root and not (place / "bin").exists():
        place.rmdir()
        place.symlink_to(root)


def row_key(row):
    return row["job"], row["as"], row["under"]


def run(args):
    base = pathlib.Path(args.base).resolve()
    if args.install:
        install(base)
    if os.getuid() == 0 and "JOBS_MOUNTS" not in os.environ:
        os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, "-B", *sys.argv], dict(os.environ, JOBS_MOUNTS="1"))
    (base / "tools").mkdir(parents=True, exist_ok=True)
    os.chmod(base, 0o755)
    hosts = registries(base)
    rust(base)
    people = ["root", "user"] if os.getuid() == 0 else ["user"]
    if os.getuid() == 0:
        own_mounts(base, people)
    args.openoxide = os.path.realpath(args.openoxide)
    if os.getuid() == 0:
        (base / "tools/bin").mkdir(exist_ok=True)
        shutil.copy2(args.openoxide, base / "tools/bin/openoxide.new")
        os.rename(base / "tools/bin/openoxide.new", base / "tools/bin/openoxide")
        args.openoxide = str(base / "tools/bin/openoxide")
    help_ = said(args.openoxide, "sandbox", "run", "--help")
    args.options = {word.strip("-, ") for word in help_.split() if word.startswith("--")}
    jobs = load()
    rules = policy(args, jobs, hosts)
    print(rules, file=sys.stderr)
    results = {}
    if args.results and os.path.exists(args.results):
        results = {row_key(row): row for row in map(json.loads, open(args.results))}
    bad = 0
    for job in jobs:
        if args.only and not any(fnmatch.fnmatch(job["name"], p) or job["ecosystem"] == p for p in args.only.split(",")):
            continue
        if args.cheap and (job["net"] or job.get("heavy")):
            continue
        for name in people:
            if name not in job["users"] or args.who not in ("both", name):
                continue
            person = Person(args, base, name)
            person.home.parent.mkdir(parents=True, exist_ok=True)
            missing = [n for n in job["needs"] if not shutil.which(n, path=person.env["PATH"])]
            for launcher in args.under.split(","):
                if args.missing and results.get((job["name"], name, launcher), {}).get("result") == "pass":
                    continue
                row = {"result": "no tool", "message": ", ".join(missing)} if missing else attempt(person, launcher, job, hosts, rules)
                row = {"job": job["name"], "as": name, "under": launcher, **row}
                results[row_key(row)] = row
                bad += row["result"] == "no tool" or launcher == "native" and row["result"] != "pass"
                print("%-28s %-5s %-8s %-8s %5.1fs  %s" % (job["name"], name, launcher, row["result"], row.get("seconds", 0), row.get("message", "")[:200]), flush=True)
                if args.results:
                    with open(args.results + ".new", "w") as f:
                        f.writelines(json.dumps(r) + "\n" for r in results.values())
                    os.rename(args.results + ".new", args.results)
    report(args, list(results.values()))
    return 1 if bad else 0


def counts(rows):
    lines = ["| | %s |" % " | ".join(LAUNCHERS.values()), "| --- |" + " --- |" * len(LAUNCHERS)]
    for name in ("root", "user"):
        cells = []
        for launcher in LAUNCHERS:
            all_ = [r for r in rows if r["as"] == name and r["under"] == launcher]
            cells.append("%d of %d" % (sum(r["result"] == "pass" for r in all_), len(all_)))
        lines.append("| as %s | %s |" % ("root" if name == "root" else "an ordinary user", " | ".join(cells)))
    return lines


def table(rows):
    by = {row_key(r): r for r in rows}
    short = {"pass": "✓", "asked": "asks", "time-out": "time-out", "no tool": "no tool"}
    def cell(job, launcher):
        got = [by.get((job["name"], who, launcher)) for who in ("root", "user") if who in job["users"]]
        words = [short.get(r["result"], "✗") if r else "–" for r in got]
        return words[0] if len(set(words)) == 1 else " / ".join(words)
    lines, at = [], None
    for job in load():
        if job["ecosystem"] != at:
            at = job["ecosystem"]
            lines += ["", "### %s" % at, "", "| job | %s |" % " | ".join(list(LAUNCHERS.values())[1:]), "| --- |" + " --- |" * (len(LAUNCHERS) - 1)]
        lines.append("| %s | %s |" % (job["about"], " | ".join(cell(job, l) for l in list(LAUNCHERS)[1:])))
    return lines


def failures(rows):
    lines = []
    for r in rows:
        if r["under"] in ("run", "sandbox") and r["result"] != "pass":
            lines.append("| %s | %s | %s | %s |" % (r["job"], r["as"], LAUNCHERS[r["under"]], r["message"].replace("|", "\\|").replace("<", "&lt;")))
    return ["| job | as | under | last message |", "| --- | --- | --- | --- |", *lines] if lines else ["Every job passes."]


def report(args, rows):
    print("\n".join(counts(rows)))
    if args.page:
        page = pathlib.Path(args.page)
        head, _, rest = page.read_text().partition(BEGIN)
        _, _, tail = rest.partition(END)
        body = [BEGIN, "", *counts(rows), *table(rows), "", "### Jobs that fail in OpenOxide's sandbox", "", *failures(rows), "", END]
        page.write_text(head + "\n".join(body) + tail)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("openoxide", nargs="?")
    parser.add_argument("base", nargs="?")
    parser.add_argument("--only")
    parser.add_argument("--as", dest="who", choices=["root", "user", "both"], default="both")
    parser.add_argument("--under", default=",".join(LAUNCHERS))
    parser.add_argument("--cheap", action="store_true")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--results")
    parser.add_argument("--missing", action="store_true", help="run only what has no result in --results, or did not pass")
    parser.add_argument("--page")
    parser.add_argument("--print", dest="show")
    args = parser.parse_args()
    if args.show:
        report(args, [json.loads(line) for line in open(args.show)])
        return 0
    if not args.base:
        parser.error("OPENOXIDE and BASE are needed")
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
