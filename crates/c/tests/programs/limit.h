/* For programs that allow themselves little memory. */
#ifndef LIMIT_H
#define LIMIT_H

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

/* The call fails for want of memory, and its message contains `text`. */
#define NO_MEMORY(text, call)                                                              \
    do {                                                                                   \
        tapline_error *error = NULL;                                                       \
        if ((call) != TAPLINE_STATUS_SYSTEM || tapline_error_os_error(error) != ENOMEM ||  \
            strstr(tapline_error_message(error), text) == NULL) {                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                  \
                    tapline_error_message(error));                                         \
            exit(1);                                                                       \
        }                                                                                  \
        tapline_error_free(error);                                                         \
    } while (0)

/* Leaves the process this much memory more than it has. */
static inline void limit_memory(uint64_t spare) {
    FILE *const file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
    const struct rlimit limit = {.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + spare,
                                 .rlim_max = RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

#endif
