/* Peers of the netlink bench: a raw loop, libnl3, and processes of ip(8).
 *
 * peer METHOD TASK COUNT LINK, in a namespace that holds nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

void die(const char *what)
{
	perror(what);
	exit(1);
}

static int order(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

void print_median(const char *name, uint64_t *times, unsigned count)
{
	qsort(times, count, sizeof *times, order);
	printf("%s %llu\n", name, (unsigned long long)times[count / 2]);
}

void print_total(const char *name, uint64_t ns)
{
	printf("%s %llu\n", name, (unsigned long long)ns);
}

int main(int count, char **arguments)
{
	if (count != 5)
		return 2;
	struct task task = {
		arguments[1], arguments[2], strtoul(arguments[3], NULL, 10), strtoul(arguments[4], NULL, 10),
	};
	if (!strcmp(task.method, "libnl"))
		run_libnl(&task);
	else if (!strncmp(task.method, "raw", 3))
		run_raw(&task);
	else
		run_process(&task);
	return 0;
}
