/* For test programs that take their options as words KEY=VALUE. What is not given is 0 or null. */
#ifndef WORDS_H
#define WORDS_H

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static inline const char *text(char **words, const char *key) {
    const size_t length = strlen(key);
    for (; *words != NULL; words++) {
        if (strncmp(*words, key, length) == 0 && (*words)[length] == '=') {
            return *words + length + 1;
        }
    }
    return NULL;
}

static inline uint64_t number(char **words, const char *key) {
    const char *const digits = text(words, key);
    return digits == NULL ? 0 : strtoull(digits, NULL, 10);
}

static inline uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void ready(void) {
    printf("ready\n");
    fflush(stdout);
}

/* Waits until a capture has work, or the input has ended: then stops the capture by `stop_fd`. Returns whether the input is
 * still open. */
static inline bool wait_for_work(int fd, int stop_fd, bool has_input) {
    struct pollfd waited[2];
    memset(waited, 0, sizeof waited);
    waited[0].fd = fd;
    waited[1].fd = has_input ? STDIN_FILENO : -1;
    waited[0].events = waited[1].events = POLLIN;
    CHECK(poll(waited, 2, 20000) > 0);
    if (waited[1].revents != 0) {
        CHECK(write(stop_fd, "", 1) == 1);
        return false;
    }
    return has_input;
}

/* Waits for the end of the input. */
static inline void wait_for_input(void) {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
}

#endif
