/* What a bare timer costs on this host: timer GAP-NS COUNT [MARGIN-NS] sleeps until each of COUNT times, or until so long
 * before, and then watches the clock. Prints the CPU time per wake-up, the time from one to the next, and how late they
 * were, median and 99th percentile: all in nanoseconds. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define SECOND 1000000000L

static long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	long a = *(const long *)one, b = *(const long *)other;

	return (a > b) - (a < b);
}

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	long gap = atol(words[1]), wakes = atol(words[2]), margin = count > 3 ? atol(words[3]) : 0, at;
	long *late = calloc(wakes, sizeof *late);

	if (!late || wakes < 1)
		return 1;
	/* Otherwise the kernel adds up to 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	/* As tapline: on one CPU, before other programs there. */
	struct sched_param first = { .sched_priority = 1 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &first))
		return 1;
	long used = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC), due = start;

	for (at = 0; at < wakes; at++) {
		due += gap;
		long wake = due - margin;
		struct timespec until = { .tv_sec = wake / SECOND, .tv_nsec = wake % SECOND };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		do
			late[at] = now(CLOCK_MONOTONIC) - due;
		while (late[at] < 0);
	}
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	long took = now(CLOCK_MONOTONIC) - start;
	qsort(late, wakes, sizeof *late, compare);
	printf("%ld %ld %ld %ld\n", used / wakes, took / wakes, late[wakes / 2], late[wakes * 99 / 100]);
	return 0;
}
