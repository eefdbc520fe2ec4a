/* Runs programs one after the other and reports what each tried: to start a program or a process, to write, change or
 * remove a file, to read a file that it was not given, to reach anything. Nothing of that succeeds.
 *
 * Standard input holds requests: the number of seconds of processor time (u32), then three lists (arguments, files that may
 * be read, files that may be written), each a count (u32) and so many texts (u32 length, bytes). The answer to each is one
 * line: the deeds, separated by tabs. "ended" is the last.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM 200 /* The descriptor of the program: the one execveat(2) that is let pass. */
#define MOST 64
#define FCHMODAT2 452 /* Newer than some headers. */
#define CANARY "CANARY-7f3a9c"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "this machine is not known"
#endif

static void fail(const char *what) {
    perror(what);
    exit(3);
}

static void need(void *into, size_t bytes) {
    if (fread(into, 1, bytes, stdin) != bytes) exit(0);
}

static uint32_t number(void) {
    uint32_t value;
    need(&value, sizeof value);
    return value;
}

static void list(char **into) {
    uint32_t count = number();
    if (count >= MOST) exit(4);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t length = number();
        into[at] = malloc(length + 1);
        need(into[at], length);
        into[at][length] = 0;
    }
    into[count] = NULL;
}

static void release(char **texts) {
    for (int at = 0; texts[at]; at++) free(texts[at]);
}

#define CALL(nr, then) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, (then))
#define ASK(nr) CALL(nr, SECCOMP_RET_USER_NOTIF)
#define NONE(nr) CALL(nr, SECCOMP_RET_ERRNO | ENOSYS)
#define ARG(index) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (index))

static int confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
        ASK(SYS_open), ASK(SYS_creat), ASK(SYS_fork), ASK(SYS_vfork), ASK(SYS_unlink), ASK(SYS_rename),
        ASK(SYS_mkdir), ASK(SYS_rmdir), ASK(SYS_link), ASK(SYS_symlink), ASK(SYS_mknod), ASK(SYS_chmod),
        ASK(SYS_chown), ASK(SYS_lchown), ASK(SYS_utime), ASK(SYS_utimes), ASK(SYS_futimesat),
#endif
        ASK(SYS_openat), ASK(SYS_execve), ASK(SYS_unlinkat), ASK(SYS_renameat2), ASK(SYS_mkdirat),
#ifdef SYS_renameat
        ASK(SYS_renameat),
#endif
        ASK(SYS_linkat), ASK(SYS_symlinkat), ASK(SYS_mknodat), ASK(SYS_fchmodat), ASK(SYS_fchownat),
        ASK(SYS_truncate), ASK(SYS_utimensat), ASK(SYS_setxattr), ASK(SYS_lsetxattr), ASK(SYS_removexattr),
        ASK(SYS_socket), ASK(SYS_socketpair), ASK(SYS_connect), ASK(SYS_bind), ASK(SYS_ptrace),
        ASK(SYS_mount), ASK(SYS_umount2), ASK(SYS_chroot), ASK(SYS_pivot_root), ASK(SYS_unshare),
        ASK(SYS_setns), ASK(SYS_process_vm_writev), ASK(SYS_bpf), ASK(SYS_init_module), ASK(SYS_reboot),
        NONE(SYS_openat2), NONE(SYS_clone3), NONE(SYS_io_uring_setup), NONE(FCHMODAT2),
        /* A thread is none of its own, a process is. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4), ARG(0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 4), ARG(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROGRAM, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no_new_privs");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void limit(int what, rlim_t value) {
    struct rlimit both = {value, value};
    setrlimit(what, &both);
}

static void become(char **arguments, uint32_t seconds, int output, int told, int go) {
    struct itimerval most = {{0, 0}, {seconds, 0}};
    int nothing = open("/dev/null", O_RDONLY), program = open(arguments[0], O_PATH | O_CLOEXEC);
    if (program < 0) fail(arguments[0]);
    if (dup3(program, PROGRAM, O_CLOEXEC) < 0) fail("dup3");
    dup2(nothing, 0), dup2(output, 1), dup2(output, 2);
    setitimer(ITIMER_PROF, &most, NULL);
    limit(RLIMIT_FSIZE, 1 << 20), limit(RLIMIT_CORE, 0), limit(RLIMIT_DATA, (rlim_t)2 << 30);
    int listener = confine();
    char byte;
    if (listener < 0) fail("seccomp");
    if (write(told, &listener, sizeof listener) < 0 || read(go, &byte, 1) < 0) _exit(5);
    /* The second word of the request is the name by which it is called. */
    syscall(SYS_execveat, PROGRAM, "", arguments + 1, environ, AT_EMPTY_PATH);
    _exit(6);
}

static void read_path(pid_t pid, uint64_t from, char *into, size_t size) {
    size_t have = 0;
    while (have < size - 1) {
        size_t piece = 256 - (from + have) % 256;
        if (piece > size - 1 - have) piece = size - 1 - have;
        struct iovec here = {into + have, piece}, there = {(void *)(uintptr_t)(from + have), piece};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0) break;
        if (memchr(into + have, 0, (size_t)got)) return;
        have += (size_t)got;
    }
    into[have] = 0;
}

static int begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

static int is_one_of(const char *path, char **files) {
    for (int at = 0; files[at]; at++)
        if (!strcmp(path, files[at])) return 1;
    return 0;
}

/* What every program reads: its own installation, and what says who and where it is. */
static int is_own(const char *path) {
    static const char *const places[] = {"/usr/", "/lib", "/etc/ld.so", "/etc/localtime", "/etc/nsswitch.conf",
        "/etc/passwd", "/etc/locale", "/etc/gnutls", "/etc/inputrc", "/etc/terminfo", "/proc/self/", "/sys/kernel/mm/",
        "/sys/fs/cgroup", "/proc/stat", "/proc/meminfo", "/proc/cpuinfo", "/proc/filesystems", "/proc/sys/",
        "/sys/devices/system/cpu", "/dev/null", "/dev/stdin", "/dev/urandom", "/dev/random", "/dev/tty", "/dev/zero", "/nonexistent", "/root/.sqliterc"};
    if (strstr(path, "/..")) return 0;
    for (size_t at = 0; at < sizeof places / sizeof *places; at++)
        if (begins(path, places[at])) return 1;
    return 0;
}

static int is_sink(const char *path) {
    static char *sinks[] = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/proc/self/fd/1", "/proc/self/fd/2",
        "/dev/full", NULL};
    return is_one_of(path, sinks);
}

/* Temporary files of SQLite; those of its editor have other names. */
static int is_spill(const char *path) {
    return begins(path, "/var/tmp/etilqs_") || begins(path, "/tmp/etilqs_");
}

static void tell(const char *what, const char *path) {
    for (fputs(what, stdout); *path; path++) putchar((unsigned char)*path < ' ' ? '?' : *path);
    putchar('\t');
}

/* Says whether a call may go on, and tells it otherwise. */
static int judge(const struct seccomp_notif *call, char **reads, char **writes) {
    char path[4096] = "";
    uint64_t flags = 0, at = call->data.args[0];
    switch (call->data.nr) {
#ifdef SYS_open
    case SYS_open: flags = call->data.args[1]; break;
    case SYS_creat: flags = O_WRONLY; break;
    case SYS_fork: case SYS_vfork:
#endif
    case SYS_clone: case SYS_execve: case SYS_execveat: tell("starts", ""); return 0;
    case SYS_socket: if (call->data.args[0] == AF_UNIX) return 1; tell("connects", ""); return 0;
    case SYS_connect: {
        /* Who looks its user up asks the cache of names first; the path is behind two bytes. */
        read_path((pid_t)call->pid, call->data.args[1] + 2, path, sizeof path);
        if (strcmp(path, "/var/run/nscd/socket")) tell("connects ", path);
        return 0;
    }
    case SYS_socketpair: case SYS_bind: tell("connects", ""); return 0;
    case SYS_openat: flags = call->data.args[2]; at = call->data.args[1]; break;
#ifdef SYS_unlink
    case SYS_unlink:
        read_path((pid_t)call->pid, at, path, sizeof path);
        if (is_spill(path) || is_one_of(path, writes)) return 1;
        tell("changes ", path);
        return 0;
#endif
    default: {
        char name[32];
        snprintf(name, sizeof name, "changes %d", call->data.nr);
        tell(name, "");
        return 0;
    }
    }
    read_path((pid_t)call->pid, at, path, sizeof path);
    if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) {
        if (is_sink(path) || is_spill(path) || is_one_of(path, writes)) return 1;
        tell("writes ", path);
        return 0;
    }
    if (is_own(path) || is_one_of(path, reads) || is_one_of(path, writes)) return 1;
    tell("reads ", path);
    return 0;
}

static void watch(pid_t pid, int listener, char **reads, char **writes) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0), waited = 0;
    struct pollfd both[] = {{listener, POLLIN, 0}, {process, POLLIN, 0}};
    for (;;) {
        int ready = poll(both, 2, 1000);
        if (ready == 0 && ++waited > 5) kill(pid, SIGKILL), tell("waits", "");
        if (both[0].revents & POLLIN) {
            struct seccomp_notif call = {0};
            struct seccomp_notif_resp answer = {0};
            if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) continue;
            answer.id = call.id;
            if (judge(&call, reads, writes)) answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
            else answer.error = -EACCES;
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        } else if (both[1].revents & POLLIN) {
            break;
        }
    }
    close(process);
}

static void look_for_canary(int output) {
    static char text[1 << 20];
    ssize_t got = pread(output, text, sizeof text, 0);
    if (got > 0 && memmem(text, (size_t)got, CANARY, strlen(CANARY))) tell("shows the environment", "");
    if (ftruncate(output, 0) || lseek(output, 0, SEEK_SET)) fail("memory");
}

int main(void) {
    int output = memfd_create("output", MFD_CLOEXEC), show = getenv("SHOW_OUTPUT") != NULL;
    for (;;) {
        char *arguments[MOST], *reads[MOST], *writes[MOST];
        uint32_t seconds = number();
        int told[2], go[2], theirs = -1, status;
        list(arguments), list(reads), list(writes);
        if (pipe2(told, O_CLOEXEC) || pipe2(go, O_CLOEXEC)) fail("pipe");
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) become(arguments, seconds, output, told[1], go[0]);
        close(told[1]), close(go[0]);
        if (read(told[0], &theirs, sizeof theirs) == sizeof theirs) {
            int process = (int)syscall(SYS_pidfd_open, pid, 0);
            int listener = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
            if (listener < 0) fail("pidfd_getfd");
            close(process);
            if (write(go[1], "", 1) < 0) fail("write");
            watch(pid, listener, reads, writes);
            close(listener);
        } else {
            tell("is not confined", "");
        }
        close(told[0]), close(go[1]);
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 6) tell("cannot be started", "");
        if (show) {
            static char text[4096];
            ssize_t got = pread(output, text, sizeof text, 0);
            fprintf(stderr, "status %x: %.*s\n", status, (int)(got > 0 ? got : 0), text);
        }
        look_for_canary(output);
        puts("ended");
        fflush(stdout);
        release(arguments), release(reads), release(writes);
    }
}
