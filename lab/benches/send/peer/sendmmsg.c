/* Sends COUNT copies of a frame with sendmmsg(2), 64 per call: sendmmsg IFINDEX FRAME COUNT [bypass]. */
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>

#define BATCH 64

int main(int count, char **words)
{
	static struct mmsghdr messages[BATCH];
	struct iovec piece;
	struct job work;
	int on = 1, at;

	if (count < 4)
		return 2;
	work = job(words);
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = work.ifindex };
	/* Protocol 0: the socket receives nothing. */
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0)
		fail("socket");
	if (count > 4 && setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on))
		fail("PACKET_QDISC_BYPASS");
	if (bind(fd, (struct sockaddr *)&address, sizeof address))
		fail("bind");
	piece = (struct iovec){ .iov_base = work.frame, .iov_len = work.bytes };
	for (at = 0; at < BATCH; at++)
		messages[at].msg_hdr = (struct msghdr){ .msg_iov = &piece, .msg_iovlen = 1 };
	while (work.count) {
		int sent = sendmmsg(fd, messages, work.count < BATCH ? work.count : BATCH, 0);

		if (sent < 0 && errno != ENOBUFS)
			fail("sendmmsg");
		/* ENOBUFS: the device dropped the packet; it is sent again. */
		if (sent > 0)
			work.count -= sent;
	}
	return 0;
}
