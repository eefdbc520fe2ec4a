// Connects to an own address while other threads turn it into a path of the host, and the socket with it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static union { struct sockaddr_in in; struct sockaddr_un un; char bytes[110]; } mine, theirs;
static char shared[110];
static volatile int stop;
static int inet, local, fd;

static void pause_for(int rounds) {
    for (volatile int i = 0; i < rounds; i++);
    __asm__ volatile("" ::: "memory");
}

static void *addresses(void *unused) {
    while (!stop) {
        memcpy(shared, theirs.bytes, 110);
        pause_for(3000);
        memcpy(shared, mine.bytes, 110);
        pause_for(3000);
    }
    return unused;
}

static void *sockets(void *unused) {
    while (!stop) {
        dup2(local, fd);
        pause_for(5000);
        dup2(inet, fd);
        pause_for(5000);
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t one, two;
    struct timespec begin, now;
    int calls = 0, refused = 0;
    (void)count;
    mine.in.sin_family = AF_INET;
    mine.in.sin_port = htons(1);
    mine.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    theirs.un.sun_family = AF_UNIX;
    strncpy(theirs.un.sun_path, words[1], 107);
    memcpy(shared, mine.bytes, 110);
    fd = dup(0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    inet = socket(AF_INET, SOCK_STREAM, 0);
    local = socket(AF_UNIX, SOCK_STREAM, 0);
    dup2(inet, fd);
    pthread_create(&one, 0, addresses, 0);
    pthread_create(&two, 0, sockets, 0);
    do {
        if (connect(fd, (struct sockaddr *)shared, 110) && errno == EACCES) refused++;
        calls++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 5);
    stop = 1;
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("%d %d\n", calls, refused);
    return 0;
}
