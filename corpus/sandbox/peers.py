"""The same attempts under the sandboxes of other programs, and what a start costs: docs/compatibility/sandbox.md.

usage: peers.py OPENOXIDE BASE UID TOOLS [PREFIX,...]     as root in a mount namespace of its own, or as the user UID itself
TOOLS is a directory into which npm has installed `@openai/codex` and `@anthropic-ai/sandbox-runtime`; `bwrap`, `socat` and `rg` are the system's. None of the
directories may lie below /tmp: several sandboxes replace it. Prints tables in Markdown: attempts that one of them lets out, everyday operations that one
breaks, and the medians of start-ups that take turns, ROUNDS (30) each; with `none` as PREFIX, these alone."""
import glob, json, os, subprocess, sys, time

# What OpenOxide guards in a workspace by itself, there or not: in the start-ups bubblewrap guards it, too.
GUARDED = (".git", ".openoxide", ".codex", ".agents", ".claude", ".opencode", ".vscode", ".idea", ".mcp.json", "pp/keep")

def bwrap(_, argv, ws, home, protected, base):
    "plain bubblewrap with the same rights: own namespaces, no capabilities, what is protected read-only"
    keep = []
    for p in (ws + "/" + p for p in protected): keep += ["--ro-bind", os.path.realpath(p), os.path.realpath(p)] if os.path.exists(p) else ["--perms", "555", "--tmpfs", p, "--remount-ro", p]
    return ["bwrap", "--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--bind", ws, ws, *keep, "--cap-drop", "ALL", "--tmpfs", home + "/.ssh", "--", *argv]

def codex(program, argv, ws, home, protected, base):
    "its own workspace profile, with a denied directory"
    os.environ["CODEX_HOME"] = base + "/codex-home"; os.makedirs(base + "/codex-home", exist_ok=True); os.chmod(base + "/codex-home", 0o777)
    return [program, "sandbox", "-c", 'permissions.mine.extends=":workspace"', "-c", 'permissions.mine.filesystem={"%s/.ssh"="deny","%s/pp/keep"="read"}' % (home, ws), "-P", "mine", "-C", ws, "--", *argv]

def srt(cli, argv, ws, home, protected, base):
    import shlex
    settings = base + "/srt.json"
    with open(settings, "w") as f: json.dump({"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [home + "/.ssh"], "allowWrite": [ws], "denyWrite": [ws + "/" + p for p in protected]}}, f)
    os.chmod(settings, 0o644)
    return ["node", cli, "-s", settings, "-c", " ".join(map(shlex.quote, argv))]

COMMANDS = {"bwrap": bwrap, "codex": codex, "srt": srt}

def launchers(openoxide, tools):
    program = glob.glob(tools + "/node_modules/@openai/codex*/vendor/*/bin/codex") + glob.glob(tools + "/node_modules/@openai/codex*/vendor/*/codex/codex")
    return {"OpenOxide": openoxide, "bubblewrap": "bwrap", "codex sandbox": "codex:" + program[0], "sandbox-runtime": "srt:" + tools + "/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js"}

def battery(which, base, uid, pick):
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([sys.executable, here + "/harness.py", which, base, uid, *pick], stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    rows = {row["id"]: row for row in rows}
    # What a launcher leaves behind whatever runs in it (mount points) is no deed of an attempt.
    always = set(rows["ok_read_usr"]["host"]) if "ok_read_usr" in rows else set()
    for row in rows.values():
        row["host"] = [one for one in row["host"] if one not in always]
        if row["verdict"] == "escaped" and not row["host"]: row["verdict"] = "done" if row["inside"] and row["inside"]["ok"] else "refused"
    return rows

def mark(row, everyday):
    if row is None: return "?"
    if everyday: return "works" if row["verdict"] == "done" else "**fails**"
    if row["verdict"] == "escaped" and row["host"] == ["reached the kernel"]: return "reached"
    return "**out**" if row["verdict"] == "escaped" else "held"

def table(results, names, everyday):
    print("| | " + " | ".join(results) + " |\n| --- |" + " --- |" * len(results))
    for name in names:
        print("| `%s` | %s |" % (name, " | ".join(mark(rows.get(name), everyday) for rows in results.values())))

def start_ups(which, base, rounds):
    home = base + "/start-home"; os.makedirs(home + "/.ssh", exist_ok=True)
    # A workspace for each: what one leaves behind would be there for the others. With PRESENT, all that is guarded is there.
    def argv(name, of):
        ws = base + "/start/" + name.replace(" ", "-")
        for d in (GUARDED if "PRESENT" in os.environ else (".codex", "pp/keep")) + (".git/hooks",): os.makedirs(ws + "/" + d, exist_ok=True)
        peer = COMMANDS.get(of.split(":")[0])
        return ws, peer(of.partition(":")[2], ["/bin/true"], ws, home, GUARDED, base) if peer else [of, "sandbox", "run", "--root", ws, "--deny-read", home + "/.ssh", "--protect", ws + "/pp/keep", "--", "/bin/true"]
    times = {name: [] for name in ["/bin/true", *which]}
    for _ in range(rounds):
        for name in times:
            ws, line = (base, ["/bin/true"]) if name == "/bin/true" else argv(name, which[name])
            t = time.perf_counter(); code = subprocess.run(line, cwd=ws, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            if code == 0: times[name].append((time.perf_counter() - t) * 1e3)
    median = {name: sorted(all)[len(all) // 2] for name, all in times.items() if all}
    floor = median["/bin/true"]; own = median["OpenOxide"] - floor
    print("| start of `/bin/true` | median, ms (what it adds, in ours) |\n| --- | --- |")
    for name, of in median.items(): print("| %s | %.1f%s |" % (name, of, "" if name == "/bin/true" else " (%.2f)" % ((of - floor) / own)))

def main():
    openoxide, base, uid, tools, *pick = sys.argv[1:]
    which = launchers(openoxide, tools)
    results = {name: battery(of, base, uid, pick) for name, of in which.items()}
    names = sorted(set().union(*results.values()))
    out = [n for n in names if any(r.get(n, {}).get("verdict") == "escaped" for r in results.values())]
    broken = [n for n in names if n.startswith("ok_") and any(r.get(n, {}).get("verdict") != "done" for r in results.values())]
    print("%d attempts, %d everyday operations; what all hold, and what works under all, is left out.\n" % (len([n for n in names if not n.startswith("ok_")]), len([n for n in names if n.startswith("ok_")])))
    table(results, [n for n in out if not n.startswith("ok_")], False); print()
    table(results, broken, True); print()
    start_ups(which, base, int(os.environ.get("ROUNDS", "30")))

if __name__ == "__main__": main()
