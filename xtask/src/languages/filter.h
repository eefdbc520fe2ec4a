/* The filter of system calls under which programs are run: whoever holds its listener answers each call that could start,
 * change or reach anything, and each that opens a file. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define PROGRAM 200 /* The descriptor of the program: the one execveat(2) that is let pass. */
#define MOST 64 /* More words than a request has. */
#define FCHMODAT2 452 /* Newer than some headers. */
#define WAIT 30 /* Seconds after which a program that only waits is ended. */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "this machine is not known"
#endif

/* What a resident program answers: that it listens (the descriptor of the listener), and how a copy of it ended. */
struct answer {
    int value;
};

/* What it is asked: so many texts of so many bytes together follow, each with its zero. */
struct request {
    uint32_t milliseconds, count, bytes;
};

/* The descriptors at which a resident program is asked, and at which it answers. */
#define ASK_AT 201
#define HEAR_AT 202

static void fail(const char *what) {
    perror(what);
    _exit(3);
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

/* Ends this process after so many milliseconds of processor time, and after a second if it ignores that, as a program in Go
 * does. */
static void limit_all(uint32_t milliseconds) {
    struct itimerval most = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}}, wait = {{0, 0}, {WAIT, 0}};
    limit(RLIMIT_CPU, 1), limit(RLIMIT_FSIZE, 1 << 20), limit(RLIMIT_CORE, 0), limit(RLIMIT_DATA, (rlim_t)2 << 30);
    setitimer(ITIMER_PROF, &most, NULL), setitimer(ITIMER_REAL, &wait, NULL);
}
