/* A library that is preloaded into a program: its main function is not called at once, but for each request, in a copy of the
 * process. So the program is loaded and linked once. The filter is installed before the first copy is made.
 */
#include "filter.h"

#include <dlfcn.h>
#include <locale.h>
#include <sys/wait.h>

typedef int (*main_function)(int, char **, char **);

static main_function program;

static int is_read(void *into, size_t bytes) {
    for (size_t have = 0; have < bytes;) {
        ssize_t got = read(ASK_AT, (char *)into + have, bytes - have);
        if (got <= 0) return 0;
        have += (size_t)got;
    }
    return 1;
}

static void tell(int value) {
    struct answer answer = {value};
    if (write(HEAR_AT, &answer, sizeof answer) != sizeof answer) _exit(5);
}

/* In a copy: calls the program with the arguments of the request. */
static int run(const struct request *request, char *texts) {
    char *arguments[MOST + 1];
    for (uint32_t at = 0; at < request->count; at++) {
        arguments[at] = texts;
        while (*texts++) {}
    }
    arguments[request->count] = NULL;
    close(ASK_AT), close(HEAR_AT);
    limit_all(request->milliseconds);
    return program((int)request->count, arguments, environ);
}

static int serve(int count, char **words, char **environment) {
    static char texts[1 << 16];
    struct request request;
    int status, listener;
    (void)count, (void)words, (void)environment;
    unsetenv("LD_PRELOAD"), unsetenv("LD_BIND_NOW");
    /* The C library keeps what it has read of the locale: the copies need not read it again. */
    setlocale(LC_ALL, ""), setlocale(LC_ALL, "C");
    listener = confine();
    if (listener < 0) fail("seccomp");
    tell(listener);
    while (is_read(&request, sizeof request)) {
        /* Who asks has taken it. Nobody else may answer. */
        if (listener >= 0) close(listener), listener = -1;
        if (request.count > MOST || request.bytes > sizeof texts || !is_read(texts, request.bytes)) _exit(4);
        pid_t pid = fork();
        if (pid < 0) fail("fork");
        if (pid == 0) return run(&request, texts);
        while (waitpid(pid, &status, 0) < 0) {}
        tell(status);
    }
    _exit(0);
}

/* libsigsegv, in gawk: its handlers read the map of the memory at each start, which costs as much as all else together. */
int stackoverflow_install_handler(void (*handler)(int, void *), void *stack, unsigned long size) {
    (void)handler, (void)stack, (void)size;
    return -1;
}

int sigsegv_install_handler(int (*handler)(void *, int)) {
    (void)handler;
    return -1;
}

int __libc_start_main(main_function main, int count, char **words, void (*begin)(void), void (*end)(void),
    void (*loader_end)(void), void *stack) {
    int (*next)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return next(serve, count, words, begin, end, loader_end, stack);
}
