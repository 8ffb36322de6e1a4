/* Makes the file system below one folder fail, for tests: compiled and preloaded by faults.py.

   Every call that changes something there is a point, numbered from 1. From the point that
   fault_arm names on, so many calls fail with an error, or the process ends as if the power were
   cut. What was synced is copied to a shadow folder: a file's content as "f<inode>", the names in
   a folder as "d<inode>". */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX], shadow[PATH_MAX];
static atomic_long points;
static long first = 0, count = 0;
static int error_number = 0; /* 0: cut the power */
static atomic_int armed;

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* at 0: only count */
void fault_arm(const char *below, const char *copies, long at, long how_many, int number) {
    snprintf(folder, sizeof folder, "%s/", below);
    snprintf(shadow, sizeof shadow, "%s", copies);
    first = at, count = how_many, error_number = number;
    atomic_store(&points, 0);
    atomic_store(&armed, 1);
}

long fault_points(void) { return atomic_load(&points); }

static int is_ours(const char *path) {
    return atomic_load(&armed) && path && !strncmp(path, folder, strlen(folder));
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return 1;
}

/* Returns whether this call is to fail; errno is set then. */
static int fails(const char *path) {
    if (!is_ours(path)) return 0;
    long at = atomic_fetch_add(&points, 1) + 1;
    if (!first || at < first || at >= first + count) return 0;
    if (!error_number) _exit(99);
    errno = error_number;
    return 1;
}

static int fails_fd(int fd) {
    char path[PATH_MAX];
    if (!atomic_load(&armed)) return 0;
    int before = errno;
    int known = path_of(fd, path);
    errno = before;
    return known && fails(path);
}

static void keep(int fd) {
    char path[PATH_MAX], target[PATH_MAX + 64], block[65536];
    struct stat found;
    int before = errno;
    if (!atomic_load(&armed) || !shadow[0] || !path_of(fd, path) || fstat(fd, &found)) return;
    /* A folder is named without the slash at its end. */
    if (!is_ours(path) && strncmp(path, folder, strlen(path))) return;
    int is_dir = S_ISDIR(found.st_mode);
    snprintf(target, sizeof target, "%s/%c%lu", shadow, is_dir ? 'd' : 'f',
             (unsigned long)found.st_ino);
    int was = atomic_exchange(&armed, 0);
    if (is_dir) {
        FILE *out = fopen(target, "w");
        DIR *dir = opendir(path);
        for (struct dirent *entry; dir && out && (entry = readdir(dir));)
            if (entry->d_name[0] != '.' || (entry->d_name[1] && entry->d_name[1] != '.'))
                fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
        if (dir) closedir(dir);
        if (out) fclose(out);
    } else {
        int in = open(path, O_RDONLY), out = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0;)
            if (write(out, block, n) != n) break;
        if (in >= 0) close(in);
        if (out >= 0) close(out);
    }
    atomic_store(&armed, was);
    errno = before;
}

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, write, int, const void *, size_t);
    return fails_fd(fd) ? -1 : real(fd, data, n);
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    return fails_fd(fd) ? -1 : real(fd, parts, n);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    return fails_fd(fd) ? -1 : real(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    return fails_fd(fd) ? -1 : real(fd, data, n, at);
}
size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
    return fails_fd(fileno(file)) ? 0 : real(data, size, n, file);
}
int ftruncate(int fd, off_t size) {
    REAL(int, ftruncate, int, off_t);
    return fails_fd(fd) ? -1 : real(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    REAL(int, ftruncate64, int, off64_t);
    return fails_fd(fd) ? -1 : real(fd, size);
}
int fsync(int fd) {
    REAL(int, fsync, int);
    if (fails_fd(fd)) return -1;
    int result = real(fd);
    if (!result) keep(fd);
    return result;
}
int fdatasync(int fd) {
    REAL(int, fdatasync, int);
    if (fails_fd(fd)) return -1;
    int result = real(fd);
    if (!result) keep(fd);
    return result;
}
int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    return fails(to) ? -1 : real(from, to);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    return fails(path) ? -1 : real(path, mode);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        REAL(int, name, const char *, int, ...);                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                                  \
        va_end(rest);                                                                              \
        return flags & O_CREAT && fails(path) ? -1 : real(path, flags, mode);                      \
    }
OPEN(open)
OPEN(open64)
