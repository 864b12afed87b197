/* For test programs: a failed check prints its line and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tapline.h>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

/* The call succeeds, or returns END. */
#define OK(call)                                                                                        \
    do {                                                                                                \
        tapline_error *error = NULL;                                                                    \
        if ((call) < 0) {                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tapline_error_message(error)); \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

/* The call fails with `expected`, and its message contains `text`. */
#define FAILS(expected, text, call)                                                                     \
    do {                                                                                                \
        tapline_error *error = NULL;                                                                    \
        tapline_status got = (call);                                                                    \
        if (got != (expected) || tapline_error_status(error) != (expected) ||                        \
            strstr(tapline_error_message(error), text) == NULL) {                                       \
            fprintf(stderr, "%s:%d: %s: status %d, %s\n", __FILE__, __LINE__, #call, (int)got,       \
                    tapline_error_message(error));                                                      \
            exit(1);                                                                                    \
        }                                                                                               \
        tapline_error_free(error);                                                                      \
    } while (0)

static inline void print_packet(const tapline_packet *packet) {
    printf("%u ", packet->len);
    for (uint32_t at = 0; at < packet->captured_len; at++) {
        printf("%02x", packet->data[at]);
    }
    printf("\n");
}

#endif
