/* Times a pointer chase and tight loops of system calls in plain C.
 *
 *   reference chase BYTES huge|small SECONDS      one dependent load, in ns
 *   reference call NAME DIRECTORY SECONDS         one call, in ns
 *
 * Prints the median over blocks of about a millisecond. Built with `cc -O2`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, MOST = 1 << 16 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t state = 12345;

static uint64_t below(uint64_t limit) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)(((unsigned __int128)(mixed ^ (mixed >> 31)) * limit) >> 64);
}

static void **position;

static void follow(long count) {
    void **at = position;
    for (long i = 0; i < count; i += 16) {
#define STEP at = (void **)*at;
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
    }
    position = at;
}

/* A cycle through all lines, by Sattolo's algorithm. */
static void build(size_t bytes, int huge) {
    size_t lines = bytes / LINE, mapped = bytes + HUGE_PAGE;
    char *raw = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) exit(1);
    char *start = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    madvise(raw, mapped, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < lines; i++) *(uint64_t *)(start + i * LINE) = i;
    for (size_t i = lines - 1; i > 0; i--) {
        uint64_t *one = (uint64_t *)(start + i * LINE), *other = (uint64_t *)(start + below(i) * LINE);
        uint64_t kept = *one;
        *one = *other;
        *other = kept;
    }
    for (size_t i = 0; i < lines; i++) {
        uint64_t *word = (uint64_t *)(start + i * LINE);
        *word = (uint64_t)(uintptr_t)(start + *word * LINE);
    }
    position = (void **)start;
}

static char path[4096];
static int file;
static char byte;
static struct stat found;

#define LOOP(name, call) static void name(long count) { for (long i = 0; i < count; i++) call; }
LOOP(getpid_loop, syscall(SYS_getpid))
LOOP(getppid_loop, syscall(SYS_getppid))
LOOP(read_loop, if (read(file, &byte, 1) != 1) exit(1))
LOOP(write_loop, if (write(file, &byte, 1) != 1) exit(1))
LOOP(stat_loop, if (stat(path, &found)) exit(1))
LOOP(fstat_loop, if (fstat(file, &found)) exit(1))
LOOP(open_loop, close(open(path, O_RDWR | O_SYNC | O_CREAT, 0600)))

static void (*work(const char *name, const char *directory))(long) {
    snprintf(path, sizeof path, "%s/.reference-%d", directory, getpid());
    if (!strcmp(name, "getpid")) return getpid_loop;
    if (!strcmp(name, "getppid")) return getppid_loop;
    if (!strcmp(name, "read_null")) return file = open("/dev/zero", O_RDONLY), read_loop;
    if (!strcmp(name, "write_null")) return file = open("/dev/null", O_WRONLY), write_loop;
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (!strcmp(name, "stat")) return stat_loop;
    if (!strcmp(name, "fstat")) return fstat_loop;
    if (!strcmp(name, "open_close")) return open_loop;
    exit(2);
}

int main(int words, char **word) {
    if (words != 5) return 2;
    void (*loop)(long);
    if (!strcmp(word[1], "chase")) {
        build(strtoull(word[2], NULL, 10), !strcmp(word[3], "huge"));
        loop = follow;
        follow(4 << 20);
    } else {
        loop = work(word[2], word[3]);
    }
    double limit = atof(word[4]) * 1e9, each = 1e9;
    long count = 16;
    for (; count < 1l << 28; count *= 2) {
        double begin = now();
        loop(count);
        each = (now() - begin) / count;
        if (each * count > 5e5) break;
    }
    count = (long)(1e6 / each) / 16 * 16 + 16;
    static double blocks[MOST];
    int taken = 0;
    double start = now();
    while (taken < MOST && (taken < 5 || now() - start < limit)) {
        double begin = now();
        loop(count);
        blocks[taken++] = (now() - begin) / count;
    }
    qsort(blocks, taken, sizeof *blocks, ascending);
    printf("%.4f\n", blocks[taken / 2]);
    if (*path) unlink(path);
    return position == (void **)1;
}
