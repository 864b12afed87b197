/* What the sending peers have in common: the arguments INTERFACE-INDEX FRAME-FILE COUNT, and the frame. */
#ifndef PEER_H
#define PEER_H

#include <stdio.h>
#include <stdlib.h>

#define MAX_FRAME 4096

struct job {
	unsigned ifindex;
	unsigned long count;
	unsigned char frame[MAX_FRAME];
	size_t bytes;
};

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline struct job job(char **words)
{
	struct job job = { .ifindex = strtoul(words[1], NULL, 10), .count = strtoul(words[3], NULL, 10) };
	FILE *file = fopen(words[2], "rb");

	if (!file)
		fail(words[2]);
	job.bytes = fread(job.frame, 1, sizeof job.frame, file);
	fclose(file);
	return job;
}

#endif
