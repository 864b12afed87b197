/* libnl3 as its documents have it, without what is slow for no reason: one socket, objects made anew. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static struct nl_sock *sock;

static void check(int error, const char *what)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", what, nl_geterror(error));
		exit(1);
	}
}

static void links(unsigned count)
{
	uint64_t *create = calloc(count, sizeof *create), *up = calloc(count, sizeof *up);

	for (unsigned i = 0; i < count; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof name, "l%u", i);
		uint64_t start = now_ns();
		struct rtnl_link *link = rtnl_link_alloc();
		rtnl_link_set_name(link, name);
		rtnl_link_set_group(link, 7);
		rtnl_link_set_type(link, "ifb");
		check(rtnl_link_add(sock, link, NLM_F_CREATE | NLM_F_EXCL), "create");
		rtnl_link_put(link);
		create[i] = now_ns() - start;
	}
	for (unsigned i = 0; i < count; i++) {
		char name[IFNAMSIZ];
		snprintf(name, sizeof name, "l%u", i);
		int index = if_nametoindex(name);

		uint64_t start = now_ns();
		struct rtnl_link *link = rtnl_link_alloc(), *change = rtnl_link_alloc();
		rtnl_link_set_ifindex(link, index);
		rtnl_link_set_flags(change, IFF_UP);
		check(rtnl_link_change(sock, link, change, 0), "up");
		rtnl_link_put(link);
		rtnl_link_put(change);
		up[i] = now_ns() - start;
	}
	print_median("create", create, count);
	print_median("up", up, count);
}

static void routes(unsigned count, unsigned link)
{
	struct nl_addr *gateway = NULL;
	uint32_t address = inet_addr("10.1.0.2");
	uint64_t start = now_ns();

	gateway = nl_addr_build(AF_INET, &address, sizeof address);
	for (unsigned i = 0; i < count; i++) {
		uint32_t destination = htonl(0x14000000 + i);
		struct nl_addr *to = nl_addr_build(AF_INET, &destination, sizeof destination);
		struct rtnl_route *route = rtnl_route_alloc();
		struct rtnl_nexthop *hop = rtnl_route_nh_alloc();

		rtnl_route_set_table(route, 100);
		rtnl_route_set_protocol(route, 4);
		rtnl_route_set_dst(route, to);
		rtnl_route_nh_set_gateway(hop, gateway);
		rtnl_route_nh_set_ifindex(hop, link);
		rtnl_route_add_nexthop(route, hop);
		check(rtnl_route_add(sock, route, NLM_F_EXCL), "route");
		rtnl_route_put(route);
		nl_addr_put(to);
	}
	print_total("routes", now_ns() - start);
	nl_addr_put(gateway);
}

static void dump(unsigned rounds)
{
	uint64_t *times = calloc(rounds, sizeof *times);

	for (unsigned i = 0; i < rounds; i++) {
		struct nl_cache *cache;
		uint64_t start = now_ns();

		check(rtnl_route_alloc_cache(sock, AF_INET, 0, &cache), "dump");
		times[i] = now_ns() - start;
		if (i == 0)
			printf("count %d\n", nl_cache_nitems(cache));
		nl_cache_free(cache);
	}
	print_median("dump", times, rounds);
}

void run_libnl(const struct task *task)
{
	sock = nl_socket_alloc();
	check(nl_connect(sock, NETLINK_ROUTE), "connect");
	if (!strcmp(task->name, "links"))
		links(task->count);
	else if (!strcmp(task->name, "routes"))
		routes(task->count, task->link);
	else if (!strcmp(task->name, "dump"))
		dump(task->count);
	else
		exit(2);
	nl_socket_free(sock);
}
