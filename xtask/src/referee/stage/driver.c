/* Inside the namespace: gives each script a fresh place, runs it, and ends what it leaves behind.
 *
 * There are two of it. The keeper is not watched: it reads scripts from its standard input, cleans up, and kills what
 * goes on too long. The runner is its child under strace, so that the runner's own few calls are all that the record
 * holds besides the script's. Scripts are told apart in the record by files that the runner looks for in vain. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK "/w/1/2/3/4/work"
enum { MOST_SCRIPT = 1 << 17, SLICE = 10, PATIENCE = 700, LINGER = 150, MOST_STARTED = 250, MOST_TICKS = 15 };

/* What comes before each script. */
struct head { uint32_t number, seed, shell, length; };

static char script[MOST_SCRIPT + 1];

static void die(const char *what) {
    dprintf(2, "referee: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static int read_all(int fd, void *into, size_t length) {
    char *at = into;
    while (length > 0) {
        ssize_t got = read(fd, at, length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        at += got;
        length -= (size_t)got;
    }
    return 1;
}

static void write_all(int fd, const void *from, size_t length) {
    const char *at = from;
    while (length > 0) {
        ssize_t put = write(fd, at, length);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) die("write");
        at += put;
        length -= (size_t)put;
    }
}

static int read_script(int fd, struct head *head) {
    if (!read_all(fd, head, sizeof *head)) return 0;
    if (head->length > MOST_SCRIPT) die("a script is too long");
    script[head->length] = 0;
    return read_all(fd, script, head->length);
}

/* ---- the runner ---- */

static void limit(int what, rlim_t most) {
    struct rlimit both = {most, most};
    setrlimit(what, &both);
}

static void become_shell(const struct head *head) {
    char seed[32];
    snprintf(seed, sizeof seed, "OX_SEED=%u", head->seed);
    char *environment[] = {
        // Without SHELL bash would look for it in the table of users.
        "PATH=/s", "HOME=/w/home", "TMPDIR=/w/tmp", "SHELL=/bin/bash", seed,
        "BASH_FUNC_command_not_found_handle%%=() { /ox/not-found \"$@\"; }", NULL,
    };
    char *bash[] = {"bash", "--norc", "--noprofile", "-c", script, NULL};
    char *dash[] = {"dash", "-c", script, NULL};
    setsid();
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, 1);
    limit(RLIMIT_FSIZE, 1 << 16);
    limit(RLIMIT_AS, (rlim_t)1 << 30);
    limit(RLIMIT_NPROC, 300);
    if (chdir(WORK) == 0) {
        if (head->shell == 1) execve("/usr/bin/dash", dash, environment);
        else execve("/usr/bin/bash", bash, environment);
    }
    _exit(127);
}

static void mark(const char *what, uint32_t number, int status) {
    char path[64];
    snprintf(path, sizeof path, "/marker/%s/%u/%d", what, number, status);
    int fd = open(path, O_RDONLY);
    if (fd >= 0) close(fd);
}

static int runner(void) {
    struct head head;
    pid_t self = getpid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    if (null > 4) close(null);
    write_all(4, &self, sizeof self);
    while (read_script(3, &head)) {
        int status = -1, got;
        pid_t ended;
        mark("begin", head.number, 0);
        pid_t shell = fork();
        if (shell == 0) become_shell(&head);
        write_all(4, &shell, sizeof shell);
        while ((ended = wait(&got)) > 0 || errno == EINTR)
            if (ended == shell) {
                status = WIFEXITED(got) ? WEXITSTATUS(got) : 1000 + WTERMSIG(got);
                write_all(4, &status, sizeof status);
            }
        mark("end", head.number, status);
        write_all(4, &status, sizeof status);
    }
    return 0;
}

/* ---- the keeper ---- */

static void empty(int parent, const char *name) {
    fchmodat(parent, name, 0700, 0);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (entry->d_type == DT_DIR) {
            empty(fd, entry->d_name);
            unlinkat(fd, entry->d_name, AT_REMOVEDIR);
        } else {
            unlinkat(fd, entry->d_name, 0);
        }
    }
    closedir(directory);
}

static void put(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (fd < 0) die(path);
    write_all(fd, text, strlen(text));
    close(fd);
}

static void furnish(void) {
    const char *directories[] = {"/w/1", "/w/1/2", "/w/1/2/3", "/w/1/2/3/4", WORK, WORK "/a", WORK "/a/a", WORK "/b",
                                 "/w/home", "/w/tmp"};
    empty(AT_FDCWD, "/w");
    for (size_t at = 0; at < sizeof directories / sizeof *directories; at++)
        if (mkdir(directories[at], 0755)) die(directories[at]);
    put(WORK "/f", "a b\n1 2\n", 0644);
    put(WORK "/a/f", "evil41 c\nb\n", 0644);
    put(WORK "/s.sh", "evil42 s\n", 0755);
}

/* Returns how many processes this namespace has seen. */
static long started(void) {
    char text[128] = "";
    int fd = open("/proc/loadavg", O_RDONLY);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
        close(fd);
    }
    char *last = strrchr(text, ' ');
    return last ? atol(last) : 0;
}

/* Returns the processor time of a process, in ticks. */
static long ticks(pid_t pid) {
    char path[32], text[512] = "";
    long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    close(fd);
    char *rest = strrchr(text, ')');
    if (rest) sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system);
    return user + system;
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Ends every process but those that belong here. */
static void end_all(pid_t strace, pid_t runner) {
    DIR *directory = opendir("/proc");
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 1 && pid != getpid() && pid != strace && pid != runner) kill(pid, SIGKILL);
    }
    closedir(directory);
}

/* Waits until the runner says that nothing is left of the script. */
static void supervise(int from, pid_t strace, pid_t runner) {
    pid_t shell;
    int status, ended = 0;
    long since = now(), before = started(), shell_ended = 0;
    if (!read_all(from, &shell, sizeof shell)) die("the runner is gone");
    for (;;) {
        struct pollfd one = {from, POLLIN, 0};
        if (poll(&one, 1, SLICE) > 0) {
            if (!read_all(from, &status, sizeof status)) die("the runner is gone");
            if (ended++) return;
            shell_ended = now();
            continue;
        }
        int late = now() - since > PATIENCE || (ended && now() - shell_ended > LINGER);
        if (late || started() - before > MOST_STARTED || ticks(shell) > MOST_TICKS) end_all(strace, runner);
    }
}

/* Stays on one processor: strace and what it watches take turns, and waking another processor costs more than it gives. */
static void settle(int index) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all)) return;
    index %= CPU_COUNT(&all) ? CPU_COUNT(&all) : 1;
    for (int at = 0; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &all) && index-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(at, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

static int keeper(int index, char **strace_words) {
    int to[2], from[2];
    struct head head;
    pid_t runner;
    signal(SIGPIPE, SIG_IGN);
    settle(index);
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) die("pipe");
    pid_t strace = fork();
    if (strace == 0) {
        int in = fcntl(to[0], F_DUPFD, 10), out = fcntl(from[1], F_DUPFD, 10);
        dup2(in, 3);
        dup2(out, 4);
        close(in);
        close(out);
        execv(strace_words[0], strace_words);
        die(strace_words[0]);
    }
    close(to[0]);
    close(from[1]);
    if (!read_all(from[0], &runner, sizeof runner)) die("strace does not start");
    while (read_script(0, &head)) {
        furnish();
        write_all(to[1], &head, sizeof head);
        write_all(to[1], script, head.length);
        supervise(from[0], strace, runner);
    }
    return 0;
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "run")) return runner();
    return count > 2 ? keeper(atoi(words[1]), words + 2) : 64;
}
