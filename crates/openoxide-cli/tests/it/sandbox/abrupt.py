# A program that ends abruptly, in the way that its argument names. It first leaves a file that says that it ran.
import os, signal, socket, sys, time

way = sys.argv[1]
for number in (signal.SIGINT, signal.SIGQUIT):
    # Whoever started the tests in the background had these ignored.
    signal.signal(number, signal.SIG_DFL)
open(sys.argv[2], "a").write("ran\n")


def connect(number):
    one = socket.socket()
    one.setblocking(False)
    try:
        one.connect((f"93.184.216.{number}", 443))
    except OSError:
        pass
    return one


if way == "connect":
    kept = connect(34)
    os._exit(0)
if way == "connects":
    kept = [connect(number) for number in range(30, 46)]
    os._exit(7)
if way == "held":
    if os.fork() == 0:
        socket.create_connection(("93.184.216.34", 443))
    time.sleep(0.01)
    os._exit(3)
if way == "threads":
    import threading

    for number in range(20, 28):
        threading.Thread(target=connect, args=(number,), daemon=True).start()
    os._exit(9)
if way == "closed":
    os.closerange(0, 1024)
    os._exit(5)
if way == "orphan":
    if os.fork() == 0:
        os.setsid()
        time.sleep(30)
    os._exit(4)
if way == "missing":
    try:
        os.execv("/nonexistent/program", ["program"])
    except OSError:
        os._exit(6)
if way.isdigit():
    os.kill(os.getpid(), int(way))
if way in ("wait", "wait-connected"):
    if way == "wait-connected":
        kept = [connect(number) for number in range(50, 60)]
    time.sleep(30)
os._exit(0)
