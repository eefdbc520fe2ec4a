/* Runs programs one after the other and reports what each tried: to start a program or a process, to write, change or
 * remove a file, to read a file that it was not given, to reach anything. Nothing of that succeeds.
 *
 * Standard input holds requests: the number of milliseconds of processor time (u32), then three lists (arguments, files that
 * may be read, files that may be written), each a count (u32) and so many texts (u32 length, bytes). The first argument is the
 * file of the program, the second the name by which it is called. The answer to each request is one line: the deeds, separated
 * by tabs. "ended" is the last.
 *
 * A program is started once, with resident.c in it, and makes a copy of itself for each request. One that does not take part
 * (it is static) is started for each request.
 */
#include "filter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define CANARY "CANARY-7f3a9c"

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

/* Becomes the program of a request under a filter of its own. */
static void become(char **arguments, uint32_t milliseconds, int output, int told, int go) {
    int nothing = open("/dev/null", O_RDONLY), program = open(arguments[0], O_PATH | O_CLOEXEC);
    if (program < 0) fail(arguments[0]);
    if (dup3(program, PROGRAM, O_CLOEXEC) < 0) fail("dup3");
    dup2(nothing, 0), dup2(output, 1), dup2(output, 2);
    limit_all(milliseconds);
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

/* Says whether a call may go on, and tells it otherwise. The resident program itself may make a copy. */
static int judge(const struct seccomp_notif *call, pid_t resident, char **reads, char **writes) {
    if ((pid_t)call->pid == resident) return 1;
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

static void look_for_canary(int output) {
    static char text[1 << 20];
    ssize_t got = pread(output, text, sizeof text, 0);
    if (got > 0 && memmem(text, (size_t)got, CANARY, strlen(CANARY))) tell("shows the environment", "");
    if (ftruncate(output, 0) || lseek(output, 0, SEEK_SET)) fail("memory");
}

/* Answers what is asked at the listener. */
static void answer(int listener, pid_t resident, char **reads, char **writes) {
    struct seccomp_notif call = {0};
    struct seccomp_notif_resp answer = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) return;
    answer.id = call.id;
    if (judge(&call, resident, reads, writes)) answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else answer.error = -EACCES;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Answers until `end` can be read. The process `pid` is ended if it waits for long. */
static void watch(int listener, int end, pid_t pid, pid_t resident, char **reads, char **writes) {
    struct pollfd both[] = {{listener, POLLIN, 0}, {end, POLLIN, 0}};
    for (;;) {
        /* Who ignores its own alarm is ended from outside. */
        int ready = poll(both, 2, 2 * WAIT * 1000);
        if (ready == 0) kill(pid, SIGKILL);
        if (ready <= 0) continue;
        if (both[0].revents & POLLIN) answer(listener, resident, reads, writes);
        else if (both[1].revents) return;
        else both[0].fd = -1; /* No process is left under the filter: a poll of it would not wait. */
    }
}

/* Returns the descriptor `theirs` of the process `pid`. */
static int take(pid_t pid, int theirs) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
    if (listener < 0) fail("pidfd_getfd");
    close(process);
    fcntl(listener, F_SETFD, FD_CLOEXEC);
    /* Who answers runs where the program has stopped. Older kernels do not know it, and are slower. */
    ioctl(listener, _IOW('!', 4, uint64_t), 1UL);
    return listener;
}

/* Starts the program for this request alone. */
static int run_once(char **arguments, uint32_t milliseconds, int output, char **reads, char **writes) {
    int told[2], go[2], theirs = -1, status = 0;
    if (pipe2(told, O_CLOEXEC) || pipe2(go, O_CLOEXEC)) fail("pipe");
    pid_t pid = fork();
    if (pid == 0) become(arguments, milliseconds, output, told[1], go[0]);
    close(told[1]), close(go[0]);
    if (read(told[0], &theirs, sizeof theirs) == sizeof theirs) {
        int listener = take(pid, theirs), process = (int)syscall(SYS_pidfd_open, pid, 0);
        if (write(go[1], "", 1) < 0) fail("write");
        watch(listener, process, pid, -1, reads, writes);
        close(listener), close(process);
    } else {
        tell("is not confined", "");
    }
    close(told[0]), close(go[1]);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 6) tell("cannot be started", "");
    return status;
}

/* A program that was started with resident.c in it. */
struct resident {
    char *file, *name;
    pid_t pid;
    int listener; /* -1: it is none, and is started for each request. */
    int ask, hear;
};

static char *library; /* The file of resident.c, compiled. */

static void start(struct resident *one, int output) {
    int ask[2], hear[2], nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(ask, O_CLOEXEC) || pipe2(hear, O_CLOEXEC)) fail("pipe");
    one->pid = fork();
    if (one->pid == 0) {
        char *arguments[] = {one->name, NULL};
        dup2(nothing, 0), dup2(output, 1), dup2(output, 2), dup2(ask[0], ASK_AT), dup2(hear[1], HEAR_AT);
        setenv("LD_PRELOAD", library, 1), setenv("LD_BIND_NOW", "1", 1);
        execv(one->file, arguments);
        _exit(6);
    }
    close(ask[0]), close(hear[1]), close(nothing);
    one->ask = ask[1], one->hear = hear[0], one->listener = -1;
    struct answer first;
    struct pollfd hello = {one->hear, POLLIN, 0};
    /* What is no resident ends (its input is empty), or is ended. */
    if (poll(&hello, 1, WAIT * 1000) == 1 && read(one->hear, &first, sizeof first) == sizeof first) {
        one->listener = take(one->pid, first.value);
    } else {
        kill(one->pid, SIGKILL), waitpid(one->pid, NULL, 0);
        close(one->ask), close(one->hear);
    }
    if (ftruncate(output, 0) || lseek(output, 0, SEEK_SET)) fail("memory");
}

static struct resident *find(char **arguments, int output) {
    static struct resident all[MOST];
    for (int at = 0; at < MOST; at++) {
        if (!all[at].file) {
            all[at].file = strdup(arguments[0]), all[at].name = strdup(arguments[1]);
            start(&all[at], output);
        }
        if (!strcmp(all[at].file, arguments[0]) && !strcmp(all[at].name, arguments[1])) return &all[at];
    }
    exit(4);
}

/* Lets the resident program make a copy for this request. */
static int run_copy(struct resident *one, char **arguments, uint32_t milliseconds, char **reads, char **writes) {
    struct request request = {milliseconds, 0, 0};
    static char texts[1 << 16];
    for (char **each = arguments + 1; *each; each++, request.count++) {
        size_t length = strlen(*each) + 1;
        if (request.bytes + length > sizeof texts) exit(4);
        memcpy(texts + request.bytes, *each, length);
        request.bytes += (uint32_t)length;
    }
    if (write(one->ask, &request, sizeof request) < 0 || write(one->ask, texts, request.bytes) < 0) fail("write");
    watch(one->listener, one->hear, one->pid, one->pid, reads, writes);
    struct answer end;
    if (read(one->hear, &end, sizeof end) != sizeof end) fail("a resident program has ended");
    return end.value;
}

int main(void) {
    int output = memfd_create("output", MFD_CLOEXEC), show = getenv("SHOW_OUTPUT") != NULL;
    library = strdup(getenv("RESIDENT"));
    unsetenv("RESIDENT"), unsetenv("SHOW_OUTPUT");
    for (;;) {
        char *arguments[MOST], *reads[MOST], *writes[MOST];
        uint32_t milliseconds = number();
        list(arguments), list(reads), list(writes);
        struct resident *one = find(arguments, output);
        int status = one->listener < 0 ? run_once(arguments, milliseconds, output, reads, writes)
                                       : run_copy(one, arguments, milliseconds, reads, writes);
        if (WIFSIGNALED(status)) tell("stops", "");
        if (show) {
            static char text[4096];
            ssize_t got = pread(output, text, sizeof text, 0);
            fprintf(stderr, "%s %x: %.*s\n", one->listener < 0 ? "started" : "copied", status, (int)(got > 0 ? got : 0), text);
        }
        look_for_canary(output);
        puts("ended");
        fflush(stdout);
        release(arguments), release(reads), release(writes);
    }
}
