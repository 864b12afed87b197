/* Sends COUNT copies of a frame as XDP live frames, and does nothing else: live_frames IFINDEX FRAME COUNT.
 * The kernel runs the program on each copy; it redirects to the interface. Linux 5.18. */
#define _GNU_SOURCE
#include "peer.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1U << 1)
#endif

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

int main(int count, char **words)
{
	struct job work;
	union bpf_attr attributes;

	if (count < 4)
		return 2;
	work = job(words);
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = work.ifindex },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	memset(&attributes, 0, sizeof attributes);
	attributes.prog_type = BPF_PROG_TYPE_XDP;
	attributes.insns = (unsigned long)code;
	attributes.insn_cnt = sizeof code / sizeof code[0];
	attributes.license = (unsigned long)"GPL";
	int program = bpf(BPF_PROG_LOAD, &attributes);

	if (program < 0)
		fail("BPF_PROG_LOAD");
	memset(&attributes, 0, sizeof attributes);
	attributes.test.prog_fd = program;
	attributes.test.data_in = (unsigned long)work.frame;
	attributes.test.data_size_in = work.bytes;
	attributes.test.repeat = work.count;
	attributes.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	if (bpf(BPF_PROG_TEST_RUN, &attributes))
		fail("BPF_PROG_TEST_RUN");
	return 0;
}
