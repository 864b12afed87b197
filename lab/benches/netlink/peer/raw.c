/* The least a program does: messages by hand, one socket, nothing resolved, nothing checked but the answer. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

static int sock;
static unsigned sequence;
static char buffer[65536], answer[65536];
static unsigned length;

static void open_socket(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int on = 1;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (sock < 0 || bind(sock, (void *)&address, sizeof address) < 0)
		die("socket");
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
	setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
	setsockopt(sock, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
}

static struct nlmsghdr *begin(unsigned type, unsigned flags, const void *header, unsigned bytes)
{
	struct nlmsghdr *message = (void *)(buffer + length);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	message->nlmsg_seq = ++sequence;
	message->nlmsg_pid = 0;
	message->nlmsg_len = NLMSG_LENGTH(bytes);
	memcpy(NLMSG_DATA(message), header, bytes);
	return message;
}

static struct rtattr *put(struct nlmsghdr *message, unsigned type, const void *data, unsigned bytes)
{
	struct rtattr *attribute = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), data, bytes);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
	return attribute;
}

static void put_u32(struct nlmsghdr *message, unsigned type, uint32_t value)
{
	put(message, type, &value, sizeof value);
}

static void end_nest(struct nlmsghdr *message, struct rtattr *nest)
{
	nest->rta_len = (char *)message + message->nlmsg_len - (char *)nest;
}

static void end(struct nlmsghdr *message)
{
	length += NLMSG_ALIGN(message->nlmsg_len);
}

/* Sends what there is and reads until the last message is answered. */
static void flush(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(sock, buffer, length, 0, (void *)&kernel, sizeof kernel) < 0)
		die("send");
	length = 0;
	for (;;) {
		int bytes = recv(sock, answer, sizeof answer, 0);

		if (bytes < 0)
			die("recv");
		for (struct nlmsghdr *message = (void *)answer; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
			struct nlmsgerr *error = NLMSG_DATA(message);

			if (message->nlmsg_type == NLMSG_ERROR && error->error) {
				errno = -error->error;
				die("refused");
			}
			if (message->nlmsg_seq == sequence)
				return;
		}
	}
}

static struct nlmsghdr *new_link(const char *kind, const char *name)
{
	struct ifinfomsg header = { 0 };
	struct nlmsghdr *message = begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);

	put(message, IFLA_IFNAME, name, strlen(name) + 1);
	put_u32(message, IFLA_GROUP, 7);
	struct rtattr *info = put(message, IFLA_LINKINFO | NLA_F_NESTED, "", 0);
	put(message, IFLA_INFO_KIND, kind, strlen(kind) + 1);
	end_nest(message, info);
	return message;
}

static void links(unsigned count)
{
	uint64_t *create = calloc(count, sizeof *create), *up = calloc(count, sizeof *up);

	for (unsigned i = 0; i < count; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof name, "l%u", i);
		uint64_t start = now_ns();
		end(new_link("ifb", name));
		flush();
		create[i] = now_ns() - start;
	}
	for (unsigned i = 0; i < count; i++) {
		char name[IFNAMSIZ];
		snprintf(name, sizeof name, "l%u", i);
		struct ifinfomsg header = { .ifi_index = if_nametoindex(name), .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

		uint64_t start = now_ns();
		end(begin(RTM_NEWLINK, NLM_F_ACK, &header, sizeof header));
		flush();
		up[i] = now_ns() - start;
	}
	print_median("create", create, count);
	print_median("up", up, count);
}

static void bridges(unsigned count)
{
	uint64_t *times = calloc(count, sizeof *times);
	const unsigned char mac[6] = { 2, 0, 0, 0, 0, 7 };

	for (unsigned i = 0; i < count; i++) {
		struct ifinfomsg header = { .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
		char name[IFNAMSIZ];
		unsigned char off = 0;

		snprintf(name, sizeof name, "l%u", i);
		uint64_t start = now_ns();
		struct nlmsghdr *message = begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
		put(message, IFLA_IFNAME, name, strlen(name) + 1);
		put(message, IFLA_ADDRESS, mac, sizeof mac);
		put_u32(message, IFLA_MTU, 1400);
		put_u32(message, IFLA_GROUP, 7);
		struct rtattr *info = put(message, IFLA_LINKINFO | NLA_F_NESTED, "", 0);
		put(message, IFLA_INFO_KIND, "bridge", 7);
		struct rtattr *data = put(message, IFLA_INFO_DATA | NLA_F_NESTED, "", 0);
		put_u32(message, IFLA_BR_AGEING_TIME, 12300);
		put(message, IFLA_BR_MCAST_SNOOPING, &off, 1);
		end_nest(message, data);
		end_nest(message, info);
		end(message);
		flush();
		times[i] = now_ns() - start;
	}
	print_median("bridge", times, count);
}

/* Routes of 32 bits from 20.0.0.0 on in table 100, `batch` messages for each answer. */
static void routes(unsigned count, unsigned link, unsigned batch, unsigned nexthop)
{
	struct rtmsg header = {
		.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_table = 100, .rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = RTN_UNICAST,
	};
	uint32_t gateway = inet_addr("10.1.0.2");
	uint64_t start = now_ns();

	for (unsigned i = 0; i < count; i++) {
		int is_last = i % batch == batch - 1 || i == count - 1;
		struct nlmsghdr *message = begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | (is_last ? NLM_F_ACK : 0), &header, sizeof header);

		put_u32(message, RTA_DST, htonl(0x14000000 + i));
		if (nexthop) {
			put_u32(message, RTA_NH_ID, nexthop);
		} else {
			put_u32(message, RTA_GATEWAY, gateway);
			put_u32(message, RTA_OIF, link);
		}
		end(message);
		if (is_last)
			flush();
	}
	print_total("routes", now_ns() - start);
}

struct route {
	uint32_t destination, gateway, link, table, metric;
	unsigned char length, protocol, scope, type;
};

static void parse(const struct nlmsghdr *message, struct route *route)
{
	struct rtmsg *header = NLMSG_DATA(message);
	int bytes = RTM_PAYLOAD(message);

	*route = (struct route){
		.length = header->rtm_dst_len, .protocol = header->rtm_protocol, .scope = header->rtm_scope,
		.type = header->rtm_type, .table = header->rtm_table,
	};
	for (struct rtattr *attribute = RTM_RTA(header); RTA_OK(attribute, bytes); attribute = RTA_NEXT(attribute, bytes)) {
		switch (attribute->rta_type) {
		case RTA_DST:
			memcpy(&route->destination, RTA_DATA(attribute), 4);
			break;
		case RTA_GATEWAY:
			memcpy(&route->gateway, RTA_DATA(attribute), 4);
			break;
		case RTA_OIF:
			memcpy(&route->link, RTA_DATA(attribute), 4);
			break;
		case RTA_TABLE:
			memcpy(&route->table, RTA_DATA(attribute), 4);
			break;
		case RTA_PRIORITY:
			memcpy(&route->metric, RTA_DATA(attribute), 4);
			break;
		}
	}
}

/* Reads a table to its end; `sum` keeps the compiler from leaving it. */
static unsigned read_table(uint32_t table, uint32_t *sum)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct rtmsg header = { .rtm_family = AF_INET };
	struct nlmsghdr *message = begin(RTM_GETROUTE, NLM_F_DUMP, &header, sizeof header);
	unsigned count = 0;

	put_u32(message, RTA_TABLE, table);
	if (sendto(sock, buffer, message->nlmsg_len, 0, (void *)&kernel, sizeof kernel) < 0)
		die("send");
	for (;;) {
		int bytes = recv(sock, answer, sizeof answer, 0);

		if (bytes < 0)
			die("recv");
		for (message = (void *)answer; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
			struct route route;

			if (message->nlmsg_type != RTM_NEWROUTE)
				return count;
			parse(message, &route);
			*sum += route.destination ^ route.gateway ^ route.link ^ route.table ^ route.metric ^ route.length
				^ route.protocol ^ route.scope ^ route.type;
			count++;
		}
	}
}

static void dump(const char *name, unsigned rounds, uint32_t table)
{
	uint64_t *times = calloc(rounds, sizeof *times);
	volatile uint32_t kept;
	uint32_t sum = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t start = now_ns();
		count = read_table(table, &sum);
		times[i] = now_ns() - start;
	}
	kept = sum;
	(void)kept;
	printf("count %u\n", count);
	print_median(name, times, rounds);
}

static void delete_group(void)
{
	struct ifinfomsg header = { 0 };
	uint64_t start = now_ns();
	struct nlmsghdr *message = begin(RTM_DELLINK, NLM_F_ACK, &header, sizeof header);

	put_u32(message, IFLA_GROUP, 7);
	end(message);
	flush();
	print_total("delete", now_ns() - start);
}

void run_raw(const struct task *task)
{
	unsigned batch = strcmp(task->method, "raw") ? 256 : 1;

	open_socket();
	if (!strcmp(task->name, "links"))
		links(task->count);
	else if (!strcmp(task->name, "bridge"))
		bridges(task->count);
	else if (!strcmp(task->name, "routes"))
		routes(task->count, task->link, batch, 0);
	else if (!strcmp(task->name, "nhroutes"))
		routes(task->count, task->link, batch, 1);
	else if (!strcmp(task->name, "dump"))
		dump("dump", task->count, 100);
	else if (!strcmp(task->name, "filtered"))
		dump("filtered", task->count, 200);
	else if (!strcmp(task->name, "delete"))
		delete_group();
	else
		exit(2);
}
