/* ip(8) run as programs do that have no library: popen and a read, or system. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static int by_popen;

static void run(const char *line)
{
	char output[256];
	FILE *pipe;

	if (!by_popen) {
		if (system(line))
			die(line);
		return;
	}
	pipe = popen(line, "r");
	if (!pipe)
		die(line);
	while (fgets(output, sizeof output, pipe))
		;
	if (pclose(pipe))
		die(line);
}

static uint64_t timed(const char *form, unsigned number)
{
	char line[128];

	snprintf(line, sizeof line, form, number);
	uint64_t start = now_ns();
	run(line);
	return now_ns() - start;
}

static void links(unsigned count)
{
	uint64_t *create = calloc(count, sizeof *create), *up = calloc(count, sizeof *up);

	for (unsigned i = 0; i < count; i++)
		create[i] = timed("ip link add l%u group 7 type ifb", i);
	for (unsigned i = 0; i < count; i++)
		up[i] = timed("ip link set l%u up", i);
	print_median("create", create, count);
	print_median("up", up, count);
}

static const char *const BRIDGE[] = {
	"ip link add l%u type bridge",
	"ip link set l%u mtu 1400",
	"ip link set l%u address 02:00:00:00:00:07",
	"ip link set l%u type bridge ageing_time 12300",
	"ip link set l%u type bridge mcast_snooping 0",
	"ip link set l%u up",
};

static void bridges(unsigned count)
{
	uint64_t *times = calloc(count, sizeof *times);

	for (unsigned i = 0; i < count; i++) {
		for (unsigned step = 0; step < sizeof BRIDGE / sizeof *BRIDGE; step++)
			times[i] += timed(BRIDGE[step], i);
		timed("ip link set l%u group 7", i);
	}
	print_median("bridge", times, count);
}

void run_process(const struct task *task)
{
	by_popen = !strcmp(task->method, "popen");
	if (!strcmp(task->name, "links"))
		links(task->count);
	else if (!strcmp(task->name, "bridge"))
		bridges(task->count);
	else
		exit(2);
}
