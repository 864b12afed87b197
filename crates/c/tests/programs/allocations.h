/* Counts the allocations of this thread: the library reads counters on another one. Requires AddressSanitizer, whose
 * allocator calls a function for each. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define THREAD_LOCAL thread_local
#else
#define THREAD_LOCAL _Thread_local
#endif

/* Of the interface of the sanitizers. Null in a program without one. */
extern __attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));

static THREAD_LOCAL unsigned long allocations;

static void count_malloc(const volatile void *memory, size_t size) {
    (void)memory;
    (void)size;
    allocations++;
}

static void ignore_free(const volatile void *memory) { (void)memory; }

/* Returns 0 if it cannot count. */
static int count_allocations(void) {
    return __sanitizer_install_malloc_and_free_hooks != NULL &&
           __sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free) != 0;
}

#ifdef __cplusplus
}
#endif

#endif
