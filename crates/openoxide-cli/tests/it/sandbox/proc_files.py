# Tries to change every file below /proc. Prints the names of those that could be opened for
# writing, and the results of writes. The number of this process is printed as `self`.
import os, re, stat

own = "/proc/%d/" % os.getpid()
opened = set()


def sweep(directory):
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        path = directory + name
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            sweep(path + "/")
        elif not stat.S_ISLNK(mode):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
                opened.add(re.sub("/task/[0-9]+/", "/task/self/", path.replace(own, "/proc/self/")))
            except OSError:
                pass


def write(path, text, flags=0):
    try:
        descriptor = os.open(path, os.O_WRONLY | flags)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
        return "written"
    except OSError as error:
        return type(error).__name__


sweep("/proc/")
print("\n".join(sorted(opened)))
print("--")
print("comm", write("/proc/self/comm", "named", os.O_TRUNC), open("/proc/self/comm").read().strip())
print("oom_score_adj", write("/proc/self/oom_score_adj", "300"), open("/proc/self/oom_score_adj").read().strip())
print("--")
for path, text in [
    # An own process gains nothing.
    ("self/oom_score_adj", "-1"), ("self/autogroup", "-5"), ("self/setgroups", "allow"),
    ("self/uid_map", "0 0 1"), ("self/gid_map", "0 0 1"), ("self/projid_map", "0 0 5"),
    ("self/timens_offsets", "monotonic 5 0"),
    # The first process inside has capabilities.
    *(("1/" + name, "1") for name in ["comm", "oom_score_adj", "mem", "clear_refs", "coredump_filter", "timerslack_ns",
      "uid_map", "gid_map", "setgroups", "sched", "autogroup", "loginuid", "attr/current", "attr/exec", "attr/fscreate", "fd/0"]),
    # Kernel settings.
    ("sys/kernel/hostname", "x"), ("sys/kernel/core_pattern", "|x"), ("sys/vm/overcommit_memory", "1"), ("sys/user/max_user_namespaces", "9"),
    ("sys/net/ipv4/ip_forward", "1"), ("sysrq-trigger", "h"), ("pressure/cpu", "some 200000 2000000"), ("irq/default_smp_affinity", "1"),
]:
    if write("/proc/" + path, text) == "written":
        print("changed:", path)
for path in ["/proc/new", "/proc/self/new", "/proc/sys/new"]:
    try:
        os.mkdir(path)
        print("created:", path)
    except OSError:
        pass
