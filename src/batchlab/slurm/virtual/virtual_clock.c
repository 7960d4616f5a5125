/*
 * The clock of a virtual cluster, for its processes.
 *
 * Preloaded into each process (LD_PRELOAD), this library reads the time from a shared file, and ends waits at
 * deadlines of that time. The file defines the rate of virtual time:
 *
 *     virtual time = virtual + (CLOCK_MONOTONIC - real) * rate
 *
 * until the real time `lease`; afterwards the rate is 1, since the processes have not been checked for too long.
 * The rate is set by the process that owns the cluster (rust/python/src/virtual_clock.rs, which has the same
 * layout). Each process adds its id and kind to the table in the file, also after a fork.
 * CPU clocks and waits for descriptors are not replaced: the latter end by actions of other processes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int64_t nanoseconds;
#define SECOND 1000000000LL
#define PLACES 65536
#define LAYOUT 1
/* Minimum wait, to limit the number of wake-ups; at the highest rate a few virtual milliseconds. */
#define SHORTEST_WAIT 20000LL
/* Maximum real wait at the current rate before the next check, since the rate may rise. */
#define SHORT_WAIT 250000LL

struct shared {
    _Atomic uint32_t layout, sequence;  /* odd during a change of the next four */
    _Atomic int64_t real, virtual;      /* CLOCK_MONOTONIC and virtual UNIX time at the last change of the rate */
    _Atomic double rate;
    _Atomic int64_t lease;
    double highest;
    nanoseconds epoch;                  /* UNIX time at the start of the clock */
    nanoseconds shift;                  /* from virtual monotonic time to virtual UNIX time */
    _Atomic uint32_t processes, unused; /* number of entries written to the table */
    _Atomic int32_t process[PLACES];    /* process id * 8 + kind */
};

enum kind { DAEMON, CONTROLLER, STEP, JOB, COMMAND, DATABASE };

/* The shared file; `shared` is NULL in a process that uses real time. */
static struct shared *table, *shared;
static int (*next_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*next_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*next_poll)(struct pollfd *, nfds_t, int);
static int (*next_select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
static int (*next_sysinfo)(struct sysinfo *);

static nanoseconds total(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec parts(nanoseconds time)
{
    struct timespec split = {time / SECOND, time % SECOND};
    return split;
}

static nanoseconds asked(clockid_t clock)
{
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    return total(&time);
}

static enum kind kind_of(const char *name)
{
    if (!strcmp(name, "slurmctld")) return CONTROLLER;
    if (!strcmp(name, "slurmstepd")) return STEP;
    if (!strcmp(name, "sleep")) return JOB;
    if (!strcmp(name, "slurmd") || !strcmp(name, "munged") || !strcmp(name, "slurmdbd")) return DAEMON;
    return strcmp(name, "mariadbd") ? COMMAND : DATABASE;
}

static void enter(void)
{
    uint32_t place = atomic_fetch_add(&table->processes, 1) % PLACES;
    atomic_store(&table->process[place], getpid() * 8 + (int)kind_of(program_invocation_short_name));
}

__attribute__((constructor)) static void begin(void)
{
    static atomic_int begun;
    if (atomic_exchange(&begun, 1)) return;
    /* dlsym would return the oldest version of this symbol, which has another layout of conditions. */
    next_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!next_cond_timedwait) next_cond_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    next_cond_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    next_poll = dlsym(RTLD_NEXT, "poll");
    next_select = dlsym(RTLD_NEXT, "select");
    next_sysinfo = dlsym(RTLD_NEXT, "sysinfo");
    const char *path = getenv("BATCHLAB_CLOCK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    struct shared *found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED || atomic_load(&found->layout) != LAYOUT) return;
    table = found;
    enter();
    pthread_atfork(NULL, NULL, enter);
    /* A database creates no time stamps: it is monitored, and uses real time. */
    shared = strcmp(program_invocation_short_name, "mariadbd") ? table : NULL;
}

/* Virtual UNIX time; monotonic, since real time is read between two reads of the sequence. */
static nanoseconds virtual_now(void)
{
    for (;;) {
        uint32_t before = atomic_load_explicit(&shared->sequence, memory_order_acquire);
        if (before & 1) {
            sched_yield();
            continue;
        }
        nanoseconds lease = atomic_load_explicit(&shared->lease, memory_order_relaxed);
        nanoseconds now = asked(CLOCK_MONOTONIC), fast = now < lease ? now : lease;
        double rate = atomic_load_explicit(&shared->rate, memory_order_relaxed);
        nanoseconds since = fast - atomic_load_explicit(&shared->real, memory_order_relaxed);
        nanoseconds time = atomic_load_explicit(&shared->virtual, memory_order_relaxed);
        time += (nanoseconds)(since * rate) + (now - fast);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&shared->sequence, memory_order_relaxed) == before) return time;
    }
}

static int is_unix(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

static int is_mapped(clockid_t clock)
{
    return shared && (is_unix(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
                      clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME);
}

static nanoseconds now_of(clockid_t clock) { return virtual_now() - (is_unix(clock) ? 0 : shared->shift); }

/* Real wait before the next check of a virtual wait: at least until its end at the highest rate. */
static nanoseconds wait_for(nanoseconds left)
{
    nanoseconds shortest = (nanoseconds)(left / shared->highest);
    nanoseconds at_rate = (nanoseconds)(left / atomic_load(&shared->rate));
    nanoseconds soon = at_rate < SHORT_WAIT ? at_rate : SHORT_WAIT, wait = shortest > soon ? shortest : soon;
    return wait < SHORTEST_WAIT ? SHORTEST_WAIT : wait;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    begin();
    if (!is_mapped(clock)) return (int)syscall(SYS_clock_gettime, clock, time);
    *time = parts(now_of(clock));
    return 0;
}

time_t time(time_t *result)
{
    begin();
    time_t seconds = (shared ? virtual_now() : asked(CLOCK_REALTIME)) / SECOND;
    if (result) *result = seconds;
    return seconds;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    begin();
    nanoseconds now = shared ? virtual_now() : asked(CLOCK_REALTIME);
    time->tv_sec = now / SECOND;
    time->tv_usec = now % SECOND / 1000;
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *rest)
{
    begin();
    int relative = !(flags & TIMER_ABSTIME);
    if (!is_mapped(clock)) {
        return syscall(SYS_clock_nanosleep, clock, flags, request, rest) ? errno : 0;
    }
    if (request->tv_sec < 0 || request->tv_nsec < 0 || request->tv_nsec >= SECOND) return EINVAL;
    nanoseconds end = total(request) + (relative ? now_of(clock) : 0), left;
    while ((left = end - now_of(clock)) > 0) {
        struct timespec wait = parts(wait_for(left));
        if (!syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &wait, NULL)) continue;
        int error = errno;
        left = end - now_of(clock);
        if (rest && relative) *rest = parts(left > 0 ? left : 0);
        return error;
    }
    return 0;
}

int nanosleep(const struct timespec *request, struct timespec *rest)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, request, rest);
    if (error) errno = error;
    return error ? -1 : 0;
}

int usleep(useconds_t time)
{
    struct timespec request = parts(time * 1000LL);
    return nanosleep(&request, NULL);
}

unsigned sleep(unsigned seconds)
{
    struct timespec request = {seconds, 0}, rest = {0, 0};
    return nanosleep(&request, &rest) ? (unsigned)(rest.tv_sec + (rest.tv_nsec > 0)) : 0;
}

/* Waits with a deadline: repeat them with real deadlines until the virtual deadline has passed. */
#define UNTIL(clock, deadline, call)                                                    \
    for (;;) {                                                                          \
        nanoseconds left = total(deadline) - now_of(clock);                             \
        struct timespec until = parts(asked(clock) + (left > 0 ? wait_for(left) : 0));  \
        int result = call;                                                              \
        if (result != ETIMEDOUT || now_of(clock) >= total(deadline)) return result;     \
    }

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline)
{
    begin();
    if (!shared) return next_cond_timedwait(condition, mutex, deadline);
    UNTIL(CLOCK_REALTIME, deadline, next_cond_timedwait(condition, mutex, &until))
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict deadline)
{
    begin();
    if (!is_mapped(clock)) return next_cond_clockwait(condition, mutex, clock, deadline);
    UNTIL(clock, deadline, next_cond_clockwait(condition, mutex, clock, &until))
}

/* Without descriptors, these calls are sleeps. */
static int sleep_for(nanoseconds time)
{
    struct timespec request = parts(time);
    return nanosleep(&request, NULL);
}

int poll(struct pollfd *files, nfds_t count, int timeout)
{
    begin();
    return shared && !count && timeout > 0 ? sleep_for(timeout * 1000000LL) : next_poll(files, count, timeout);
}

int select(int count, fd_set *read, fd_set *write, fd_set *other, struct timeval *timeout)
{
    begin();
    if (!shared || !timeout || read || write || other) return next_select(count, read, write, other, timeout);
    return sleep_for(timeout->tv_sec * SECOND + timeout->tv_usec * 1000LL);
}

int sysinfo(struct sysinfo *info)
{
    begin();
    int result = next_sysinfo(info);
    if (!result && shared) info->uptime += (virtual_now() - asked(CLOCK_REALTIME)) / SECOND;
    return result;
}

/* Files changed after the start of the clock keep their age in virtual time. */
static int mapped(int result, struct stat *status)
{
    struct timespec *times[] = {&status->st_atim, &status->st_mtim, &status->st_ctim};
    for (int each = 0; !result && shared && each < 3; each++) {
        nanoseconds age = asked(CLOCK_REALTIME) - total(times[each]);
        if (total(times[each]) > shared->epoch) *times[each] = parts(virtual_now() - age);
    }
    return result;
}

int fstatat(int directory, const char *restrict path, struct stat *restrict status, int flags)
{
    begin();
    return mapped((int)syscall(SYS_newfstatat, directory, path, status, flags), status);
}

int stat(const char *restrict path, struct stat *restrict status) { return fstatat(AT_FDCWD, path, status, 0); }

int lstat(const char *restrict path, struct stat *restrict status)
{
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *status) { return fstatat(file, "", status, AT_EMPTY_PATH); }
