"""Runs a program whose streams named in argv[1] (of `i`, `o`, `e`) are a terminal, types argv[2] and the end of the input, and
says as JSON what was shown, what went to a pipe, the status, and the terminal's mode afterwards."""

import json, os, pty, select, subprocess, sys

streams, typed, program = sys.argv[1], sys.argv[2], sys.argv[3:]
outer, inner = pty.openpty()
os.fchmod(inner, 0o620)
pick = lambda name, other: inner if name in streams else other
child = subprocess.Popen(program, stdin=pick("i", subprocess.DEVNULL), stdout=pick("o", subprocess.PIPE),
                         stderr=pick("e", subprocess.PIPE))
if "i" in streams:
    os.write(outer, typed.encode() + b"\x04")
pipes = {stream.fileno(): name for name, stream in (("o", child.stdout), ("e", child.stderr)) if stream}
got, open_pipes = {"shown": b"", "o": b"", "e": b""}, set(pipes)
while open_pipes or child.poll() is None or select.select([outer], [], [], 0.2)[0]:
    for end in select.select([outer, *open_pipes], [], [], 0.1)[0]:
        data = os.read(end, 65536)
        got[pipes.get(end, "shown")] += data
        if not data:
            open_pipes.discard(end)
result = {name: data.decode(errors="replace") for name, data in got.items()}
print(json.dumps(result | {"status": child.wait(), "mode": os.fstat(inner).st_mode & 0o777}))
