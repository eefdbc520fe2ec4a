"""A client whose ID was that of an ended process, whose pair of sockets is still open.

Arguments: the hook, the call, the report that the call ran, and whether the client sends the report
through its own pair of sockets ("own") or the pair of the ended process is used ("stolen").
"""

import json
import os
import socket
import subprocess
import sys

program, call, report, pair = sys.argv[1:]


def send(sockets, text):
    ours, theirs = sockets
    ours.sendall(text.encode())
    ours.shutdown(socket.SHUT_WR)
    return subprocess.run([program, "hook", "claude"], stdin=theirs, capture_output=True).stdout


def decide(call_id):
    payload = {**json.loads(call), "tool_use_id": call_id}
    answer = json.loads(send(socket.socketpair(), json.dumps(payload)))
    return answer["hookSpecificOutput"]["permissionDecision"]


def client(sockets):
    print(decide("1"))
    send(socket.socketpair() if pair == "own" else sockets, report)
    print(decide("2"), flush=True)


receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
ended = os.fork()
if ended == 0:
    mine = socket.socketpair()
    socket.send_fds(sender, [b"x"], [each.fileno() for each in mine])
    os._exit(0)
_, descriptors, _, _ = socket.recv_fds(receiver, 1, 2)
os.waitpid(ended, 0)
sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
with open("/proc/sys/kernel/ns_last_pid", "w") as last:
    last.write(str(ended - 1))
child = os.fork()
if child == 0:
    client(sockets)
    os._exit(0)
print("same ID" if child == ended else "another ID", flush=True)
os.waitpid(child, 0)
