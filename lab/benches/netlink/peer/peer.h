/* What the peers share: time, the median of many operations, and what each is asked for. */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>

struct task {
	const char *method;
	const char *name;
	unsigned count;
	/* The link that routes leave by. */
	unsigned link;
};

uint64_t now_ns(void);
void die(const char *what);
/* Prints "NAME NANOSECONDS", the median of `times`, which it sorts. */
void print_median(const char *name, uint64_t *times, unsigned count);
void print_total(const char *name, uint64_t ns);

void run_raw(const struct task *task);
void run_libnl(const struct task *task);
void run_process(const struct task *task);

#endif
