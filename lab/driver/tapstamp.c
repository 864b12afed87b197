// SPDX-License-Identifier: GPL-2.0
/*
 * tapstamp: a network device for tests, with a hardware clock and hardware time stamps.
 *
 * This file alone is under the GNU General Public License, version 2, as Linux kernel modules are that use symbols
 * exported for it. No other part of tapline contains, links or needs it: it is compiled and loaded only in the virtual
 * machine of the tests.
 *
 *   ip link add stamp0 type tapstamp
 *
 * A frame that the device sends comes back to it as received. If the device is set to stamp
 * received packets (SIOCSHWTSTAMP), the frame has a time stamp of the device's clock, /dev/ptpN. That clock is the
 * system's with a known offset and drift, so a test knows what a stamp means in UTC. A frame of the EtherType for
 * local experiments (0x88b5) carries both in its last 16 bytes, big-endian: the time of day and the device's time.
 *
 * The device chooses the queue that receives a frame: by the rules that ethtool(8) gives it (addresses of IPv4 and ports
 * of TCP and UDP), else by a Toeplitz hash of the fields that are set, and the indirection table. Other frames arrive in
 * the queue that sent them. Numbers of queues and sizes of rings can be set; the sizes have no effect.
 *
 * VLAN tags are stripped. XDP programs run on what comes back, and may ask for the time stamp and the tag
 * (bpf_xdp_metadata_rx_timestamp, bpf_xdp_metadata_rx_vlan_tag).
 */

#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/timekeeping.h>
#include <linux/unaligned.h>
#include <net/dst.h>
#include <net/rtnetlink.h>
#include <net/xdp.h>

#define TAPSTAMP_QUEUES 4
#define TAPSTAMP_MARK_BYTES 16
#define TAPSTAMP_TABLE 128
#define TAPSTAMP_KEY_BYTES 40
#define TAPSTAMP_RULES 8
#define TAPSTAMP_RING_MAX 4096

static long offset_ns = 37L * NSEC_PER_SEC;
module_param(offset_ns, long, 0644);
MODULE_PARM_DESC(offset_ns, "device's clock minus the time of day when the module is loaded (default: TAI)");

static int drift_ppb;
module_param(drift_ppb, int, 0644);
MODULE_PARM_DESC(drift_ppb, "how much faster the device's clock runs");

static bool precise = true;
module_param(precise, bool, 0644);
MODULE_PARM_DESC(precise, "the device can be read at the same moment as the system's clock");

static uint unstamped;
module_param(unstamped, uint, 0644);
MODULE_PARM_DESC(unstamped, "leave every N-th received frame without a time stamp (0: none)");

enum { STAMPS_NONE, STAMPS_ALL, STAMPS_PTP };

static uint receive = STAMPS_ALL;
module_param(receive, uint, 0644);
MODULE_PARM_DESC(receive, "0: has no hardware time stamps; 1: stamps any packets; 2: stamps PTP packets only");

/* How the device steers what it receives. Changed under RTNL; a frame may see a change half made. */
struct tapstamp_steering {
	u32 queues;
	u32 ring;
	u32 usecs;
	u32 table[TAPSTAMP_TABLE];
	u8 key[TAPSTAMP_KEY_BYTES];
	/* RXH_* of TCP and of UDP over IPv4. */
	u64 tcp_fields, udp_fields;
	struct ethtool_rx_flow_spec rules[TAPSTAMP_RULES];
	bool has_rule[TAPSTAMP_RULES];
};

struct tapstamp {
	struct kernel_hwtstamp_config config;
	struct tapstamp_steering steering;
	atomic_t frames;
	struct bpf_prog __rcu *program;
	struct xdp_rxq_info queues[TAPSTAMP_QUEUES];
};

/* What an XDP program sees and may ask for. */
struct tapstamp_frame {
	struct xdp_buff xdp;
	const struct sk_buff *skb;
};

static struct ptp_clock *clock;
static u64 loaded_ns;

/* The device's time at the time of day `real_ns`. */
static u64 device_ns(u64 real_ns)
{
	s64 since = real_ns - loaded_ns;

	return real_ns + READ_ONCE(offset_ns) + div_s64(since * READ_ONCE(drift_ppb), NSEC_PER_SEC);
}

static int clock_get(struct ptp_clock_info *info, struct timespec64 *time, struct ptp_system_timestamp *system)
{
	u64 real;

	ptp_read_system_prets(system);
	real = ktime_get_real_ns();
	ptp_read_system_postts(system);
	*time = ns_to_timespec64(device_ns(real));
	return 0;
}

static int clock_cross(struct ptp_clock_info *info, struct system_device_crosststamp *cross)
{
	struct system_time_snapshot now;

	if (!READ_ONCE(precise))
		return -EOPNOTSUPP;
	ktime_get_snapshot(&now);
	cross->sys_realtime = now.real;
	cross->sys_monoraw = now.raw;
	cross->device = ns_to_ktime(device_ns(ktime_to_ns(now.real)));
	return 0;
}

static int clock_adjust_time(struct ptp_clock_info *info, s64 delta)
{
	WRITE_ONCE(offset_ns, offset_ns + delta);
	return 0;
}

static int clock_set(struct ptp_clock_info *info, const struct timespec64 *time)
{
	u64 wanted = timespec64_to_ns(time);

	return clock_adjust_time(info, wanted - device_ns(ktime_get_real_ns()));
}

static int clock_adjust_speed(struct ptp_clock_info *info, long scaled_ppm)
{
	WRITE_ONCE(drift_ppb, scaled_ppm_to_ppb(scaled_ppm));
	return 0;
}

static struct ptp_clock_info clock_info = {
	.owner = THIS_MODULE,
	.name = "tapstamp",
	.max_adj = 500000,
	.gettimex64 = clock_get,
	.getcrosststamp = clock_cross,
	.settime64 = clock_set,
	.adjtime = clock_adjust_time,
	.adjfine = clock_adjust_speed,
};

/* Moves the outer VLAN tag from the frame into the metadata, as most network cards do. */
static void strip_tag(struct sk_buff *skb)
{
	const struct vlan_ethhdr *header = (const void *)skb->data;
	u16 tag;

	if (skb->len < VLAN_ETH_HLEN || header->h_vlan_proto != htons(ETH_P_8021Q))
		return;
	tag = ntohs(header->h_vlan_TCI);
	memmove(skb->data + VLAN_HLEN, skb->data, 2 * ETH_ALEN);
	skb_pull(skb, VLAN_HLEN);
	__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q), tag);
}

/* Writes the times into a frame of the EtherType for local experiments. */
static void mark(struct sk_buff *skb, u64 real, u64 device)
{
	__be64 times[2] = { cpu_to_be64(real), cpu_to_be64(device) };

	if (eth_hdr(skb)->h_proto != htons(0x88b5) || skb->len < ETH_HLEN + TAPSTAMP_MARK_BYTES)
		return;
	skb_store_bits(skb, skb->len - TAPSTAMP_MARK_BYTES, times, sizeof(times));
}

static int tapstamp_metadata_time(const struct xdp_md *context, u64 *time)
{
	const struct tapstamp_frame *frame = (const void *)context;

	/* 0, as some drivers have it, if there is none. */
	*time = skb_hwtstamps((struct sk_buff *)frame->skb)->hwtstamp;
	return 0;
}

static int tapstamp_metadata_tag(const struct xdp_md *context, __be16 *protocol, u16 *tag)
{
	const struct tapstamp_frame *frame = (const void *)context;

	if (!skb_vlan_tag_present(frame->skb))
		return -ENODATA;
	*protocol = frame->skb->vlan_proto;
	*tag = skb_vlan_tag_get(frame->skb);
	return 0;
}

static const struct xdp_metadata_ops tapstamp_metadata = {
	.xmo_rx_timestamp = tapstamp_metadata_time,
	.xmo_rx_vlan_tag = tapstamp_metadata_tag,
};

/* Runs the device's XDP program on a copy of the frame. Returns whether the stack gets the frame. */
static bool tapstamp_passes(struct net_device *dev, struct sk_buff *skb, u16 queue)
{
	struct tapstamp *own = netdev_priv(dev);
	struct bpf_net_context context, *is_set;
	struct tapstamp_frame frame = { .skb = skb };
	struct bpf_prog *program;
	struct page *page;
	bool passes = true;

	rcu_read_lock();
	program = rcu_dereference(own->program);
	if (!program)
		goto out;
	passes = false;
	page = dev_alloc_page();
	if (!page || skb->len > PAGE_SIZE - XDP_PACKET_HEADROOM - SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))
		goto free;
	xdp_init_buff(&frame.xdp, PAGE_SIZE, &own->queues[queue]);
	xdp_prepare_buff(&frame.xdp, page_address(page), XDP_PACKET_HEADROOM, skb->len, true);
	skb_copy_bits(skb, 0, frame.xdp.data, skb->len);
	is_set = bpf_net_ctx_set(&context);
	switch (bpf_prog_run_xdp(program, &frame.xdp)) {
	case XDP_PASS:
		passes = true;
		break;
	case XDP_REDIRECT:
		if (!xdp_do_redirect(dev, &frame.xdp, program))
			page = NULL;
		xdp_do_flush();
		break;
	}
	bpf_net_ctx_clear(is_set);
free:
	if (page)
		put_page(page);
out:
	rcu_read_unlock();
	return passes;
}

static int tapstamp_bpf(struct net_device *dev, struct netdev_bpf *request)
{
	struct tapstamp *own = netdev_priv(dev);
	struct bpf_prog *former;

	if (request->command != XDP_SETUP_PROG)
		return -EOPNOTSUPP;
	former = rtnl_dereference(own->program);
	rcu_assign_pointer(own->program, request->prog);
	if (former) {
		synchronize_net();
		bpf_prog_put(former);
	}
	return 0;
}

static int tapstamp_init_queues(struct net_device *dev)
{
	struct tapstamp *own = netdev_priv(dev);
	int queue, error;

	for (queue = 0; queue < TAPSTAMP_QUEUES; queue++) {
		error = xdp_rxq_info_reg(&own->queues[queue], dev, queue, 0);
		if (!error)
			error = xdp_rxq_info_reg_mem_model(&own->queues[queue], MEM_TYPE_PAGE_SHARED, NULL);
		if (error)
			return error;
	}
	return 0;
}

static void tapstamp_end_queues(struct net_device *dev)
{
	struct tapstamp *own = netdev_priv(dev);
	int queue;

	for (queue = 0; queue < TAPSTAMP_QUEUES; queue++)
		xdp_rxq_info_unreg(&own->queues[queue]);
}

/* What rules and the hash see of a frame. */
struct tapstamp_flow {
	__be32 source, destination;
	__be16 source_port, destination_port;
	u8 protocol, tos;
};

static bool tapstamp_dissect(const struct sk_buff *skb, struct tapstamp_flow *flow)
{
	const struct ethhdr *ether = (const void *)skb->data;
	const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);
	const __be16 *ports = (const void *)(ip + 1);

	if (skb->len < ETH_HLEN + sizeof(*ip) + 4 || ether->h_proto != htons(ETH_P_IP) || ip->ihl != 5)
		return false;
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return false;
	flow->source = ip->saddr;
	flow->destination = ip->daddr;
	flow->source_port = ports[0];
	flow->destination_port = ports[1];
	flow->protocol = ip->protocol;
	flow->tos = ip->tos;
	return true;
}

/* The Toeplitz hash: each bit of the data that is set adds the 32 bits of the key from its place on. */
static u32 tapstamp_toeplitz(const u8 *key, const u8 *data, int bytes)
{
	u32 hash = 0, window = get_unaligned_be32(key);
	int bit;

	for (bit = 0; bit < bytes * 8; bit++) {
		int next = bit + 32;

		if (data[bit / 8] & (0x80 >> bit % 8))
			hash ^= window;
		window = window << 1 | (key[next / 8] >> (7 - next % 8) & 1);
	}
	return hash;
}

static u32 tapstamp_hash(const struct tapstamp_steering *steering, const struct tapstamp_flow *flow)
{
	u64 fields = flow->protocol == IPPROTO_TCP ? steering->tcp_fields : steering->udp_fields;
	u8 data[12];
	int bytes = 0;

	if (fields & RXH_IP_SRC)
		memcpy(data + bytes, &flow->source, 4), bytes += 4;
	if (fields & RXH_IP_DST)
		memcpy(data + bytes, &flow->destination, 4), bytes += 4;
	if (fields & RXH_L4_B_0_1)
		memcpy(data + bytes, &flow->source_port, 2), bytes += 2;
	if (fields & RXH_L4_B_2_3)
		memcpy(data + bytes, &flow->destination_port, 2), bytes += 2;
	return tapstamp_toeplitz(steering->key, data, bytes);
}

static bool tapstamp_matches(const struct ethtool_rx_flow_spec *rule, const struct tapstamp_flow *flow)
{
	const struct ethtool_tcpip4_spec *value = &rule->h_u.tcp_ip4_spec, *mask = &rule->m_u.tcp_ip4_spec;
	u8 protocol = rule->flow_type == TCP_V4_FLOW ? IPPROTO_TCP : IPPROTO_UDP;

	return flow->protocol == protocol && !((flow->source ^ value->ip4src) & mask->ip4src) &&
	       !((flow->destination ^ value->ip4dst) & mask->ip4dst) &&
	       !((flow->source_port ^ value->psrc) & mask->psrc) &&
	       !((flow->destination_port ^ value->pdst) & mask->pdst) && !((flow->tos ^ value->tos) & mask->tos);
}

/* The queue that receives a frame; negative if the device drops it. */
static int tapstamp_queue(const struct net_device *dev, struct sk_buff *skb, u16 sent_by)
{
	struct tapstamp *own = netdev_priv(dev);
	const struct tapstamp_steering *steering = &own->steering;
	struct tapstamp_flow flow;
	u32 hash;
	int at;

	if (!tapstamp_dissect(skb, &flow))
		return sent_by % steering->queues;
	for (at = 0; dev->features & NETIF_F_NTUPLE && at < TAPSTAMP_RULES; at++) {
		u64 queue = steering->rules[at].ring_cookie;

		if (steering->has_rule[at] && tapstamp_matches(&steering->rules[at], &flow))
			return queue == RX_CLS_FLOW_DISC ? -1 : queue;
	}
	if (!(dev->features & NETIF_F_RXHASH))
		return sent_by % steering->queues;
	hash = tapstamp_hash(steering, &flow);
	skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);
	return steering->table[hash % TAPSTAMP_TABLE];
}

static netdev_tx_t tapstamp_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct tapstamp *own = netdev_priv(dev);
	u16 queue = skb_get_queue_mapping(skb);
	uint every = READ_ONCE(unstamped);
	u64 real, device;
	int bytes = skb->len, received;

	real = ktime_get_real_ns();
	device = device_ns(real);
	if (own->config.tx_type == HWTSTAMP_TX_ON && skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP) {
		struct skb_shared_hwtstamps stamps = { .hwtstamp = ns_to_ktime(device) };

		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
		skb_tstamp_tx(skb, &stamps);
	}
	skb_tx_timestamp(skb);

	/* The frame may be shared with sockets that saw it leave. */
	skb = skb_unshare(skb, GFP_ATOMIC);
	if (!skb || skb_linearize(skb)) {
		dev_kfree_skb_any(skb);
		dev_core_stats_rx_dropped_inc(dev);
		return NETDEV_TX_OK;
	}
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb->tstamp = 0;
	strip_tag(skb);
	skb_reset_mac_header(skb);
	received = tapstamp_queue(dev, skb, queue);
	if (received < 0) {
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	queue = received;
	mark(skb, real, device);
	skb_hwtstamps(skb)->hwtstamp = 0;
	if (own->config.rx_filter == HWTSTAMP_FILTER_ALL) {
		uint number = atomic_inc_return(&own->frames);

		if (!every || number % every)
			skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(device);
	}
	dev_sw_netstats_tx_add(dev, 1, bytes);
	if (!tapstamp_passes(dev, skb, queue)) {
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	skb->protocol = eth_type_trans(skb, dev);
	skb_record_rx_queue(skb, queue);
	dev_sw_netstats_rx_add(dev, bytes);
	netif_rx(skb);
	return NETDEV_TX_OK;
}

static int tapstamp_get_config(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	struct tapstamp *own = netdev_priv(dev);

	if (receive == STAMPS_NONE)
		return -EOPNOTSUPP;
	*config = own->config;
	return 0;
}

static int tapstamp_set_config(struct net_device *dev, struct kernel_hwtstamp_config *config,
			       struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	if (receive == STAMPS_NONE)
		return -EOPNOTSUPP;
	if (config->tx_type != HWTSTAMP_TX_OFF && config->tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	if (receive == STAMPS_PTP && config->rx_filter == HWTSTAMP_FILTER_ALL)
		return -ERANGE;
	own->config.tx_type = config->tx_type;
	own->config.rx_filter = config->rx_filter;
	return 0;
}

static int tapstamp_ts_info(struct net_device *dev, struct kernel_ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = -1;
	if (receive == STAMPS_NONE)
		return 0;
	info->so_timestamping |=
		SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(clock);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_PTP_V2_EVENT);
	if (receive != STAMPS_PTP)
		info->rx_filters |= BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static void tapstamp_default_table(struct tapstamp_steering *steering)
{
	int at;

	for (at = 0; at < TAPSTAMP_TABLE; at++)
		steering->table[at] = ethtool_rxfh_indir_default(at, steering->queues);
}

static void tapstamp_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct tapstamp *own = netdev_priv(dev);

	channels->max_combined = TAPSTAMP_QUEUES;
	channels->combined_count = own->steering.queues;
}

static int tapstamp_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct tapstamp *own = netdev_priv(dev);
	int error;

	error = netif_set_real_num_queues(dev, channels->combined_count, channels->combined_count);
	if (error)
		return error;
	own->steering.queues = channels->combined_count;
	/* The kernel refuses fewer queues than a table of the user has. */
	if (!netif_is_rxfh_configured(dev))
		tapstamp_default_table(&own->steering);
	return 0;
}

static void tapstamp_rings(struct net_device *dev, struct ethtool_ringparam *rings,
			   struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	rings->rx_max_pending = TAPSTAMP_RING_MAX;
	rings->rx_pending = own->steering.ring;
}

static int tapstamp_set_rings(struct net_device *dev, struct ethtool_ringparam *rings,
			      struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	own->steering.ring = rings->rx_pending;
	return 0;
}

static int tapstamp_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
			     struct kernel_ethtool_coalesce *more, struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	coalesce->rx_coalesce_usecs = own->steering.usecs;
	return 0;
}

static int tapstamp_set_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
				 struct kernel_ethtool_coalesce *more, struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	own->steering.usecs = coalesce->rx_coalesce_usecs;
	return 0;
}

static u32 tapstamp_table_size(struct net_device *dev)
{
	return TAPSTAMP_TABLE;
}

static u32 tapstamp_key_size(struct net_device *dev)
{
	return TAPSTAMP_KEY_BYTES;
}

static int tapstamp_get_hash(struct net_device *dev, struct ethtool_rxfh_param *hash)
{
	struct tapstamp *own = netdev_priv(dev);

	hash->hfunc = ETH_RSS_HASH_TOP;
	if (hash->indir)
		memcpy(hash->indir, own->steering.table, sizeof(own->steering.table));
	if (hash->key)
		memcpy(hash->key, own->steering.key, TAPSTAMP_KEY_BYTES);
	return 0;
}

static int tapstamp_set_hash(struct net_device *dev, struct ethtool_rxfh_param *hash,
			     struct netlink_ext_ack *extack)
{
	struct tapstamp *own = netdev_priv(dev);

	if (hash->hfunc != ETH_RSS_HASH_NO_CHANGE && hash->hfunc != ETH_RSS_HASH_TOP)
		return -EOPNOTSUPP;
	if (hash->indir)
		memcpy(own->steering.table, hash->indir, sizeof(own->steering.table));
	if (hash->key)
		memcpy(own->steering.key, hash->key, TAPSTAMP_KEY_BYTES);
	return 0;
}

static u64 *tapstamp_fields(struct tapstamp_steering *steering, u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
		return &steering->tcp_fields;
	case UDP_V4_FLOW:
		return &steering->udp_fields;
	default:
		return NULL;
	}
}

static int tapstamp_get_rules(struct net_device *dev, struct ethtool_rxnfc *request, u32 *locations)
{
	struct tapstamp *own = netdev_priv(dev);
	struct tapstamp_steering *steering = &own->steering;
	u32 at, count = 0;
	u64 *fields;

	switch (request->cmd) {
	case ETHTOOL_GRXRINGS:
		request->data = steering->queues;
		return 0;
	case ETHTOOL_GRXFH:
		fields = tapstamp_fields(steering, request->flow_type);
		if (!fields)
			return -EINVAL;
		request->data = *fields;
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		for (at = 0; at < TAPSTAMP_RULES; at++)
			count += steering->has_rule[at];
		request->rule_cnt = count;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		at = request->fs.location;
		if (at >= TAPSTAMP_RULES || !steering->has_rule[at])
			return -ENOENT;
		request->fs = steering->rules[at];
		return 0;
	case ETHTOOL_GRXCLSRLALL:
		request->data = TAPSTAMP_RULES;
		for (at = 0; at < TAPSTAMP_RULES; at++) {
			if (!steering->has_rule[at])
				continue;
			if (count == request->rule_cnt)
				return -EMSGSIZE;
			locations[count++] = at;
		}
		request->rule_cnt = count;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int tapstamp_set_rules(struct net_device *dev, struct ethtool_rxnfc *request)
{
	struct tapstamp *own = netdev_priv(dev);
	struct tapstamp_steering *steering = &own->steering;
	const struct ethtool_rx_flow_spec *rule = &request->fs;
	u64 *fields;

	switch (request->cmd) {
	case ETHTOOL_SRXFH:
		fields = tapstamp_fields(steering, request->flow_type);
		if (!fields || request->data & ~(RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3))
			return -EINVAL;
		*fields = request->data;
		return 0;
	case ETHTOOL_SRXCLSRLINS:
		if (!(dev->features & NETIF_F_NTUPLE))
			return -EOPNOTSUPP;
		if (rule->location >= TAPSTAMP_RULES)
			return -ENOSPC;
		if (rule->flow_type != TCP_V4_FLOW && rule->flow_type != UDP_V4_FLOW)
			return -EINVAL;
		if (rule->ring_cookie != RX_CLS_FLOW_DISC && rule->ring_cookie >= steering->queues)
			return -EINVAL;
		steering->rules[rule->location] = *rule;
		steering->has_rule[rule->location] = true;
		return 0;
	case ETHTOOL_SRXCLSRLDEL:
		if (rule->location >= TAPSTAMP_RULES || !steering->has_rule[rule->location])
			return -ENOENT;
		steering->has_rule[rule->location] = false;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static const struct ethtool_ops tapstamp_ethtool = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS,
	.get_channels = tapstamp_channels,
	.set_channels = tapstamp_set_channels,
	.get_ringparam = tapstamp_rings,
	.set_ringparam = tapstamp_set_rings,
	.get_coalesce = tapstamp_coalesce,
	.set_coalesce = tapstamp_set_coalesce,
	.get_rxfh_indir_size = tapstamp_table_size,
	.get_rxfh_key_size = tapstamp_key_size,
	.get_rxfh = tapstamp_get_hash,
	.set_rxfh = tapstamp_set_hash,
	.get_rxnfc = tapstamp_get_rules,
	.set_rxnfc = tapstamp_set_rules,
	.get_link = ethtool_op_get_link,
	.get_ts_info = tapstamp_ts_info,
};

static const struct net_device_ops tapstamp_ops = {
	.ndo_init = tapstamp_init_queues,
	.ndo_uninit = tapstamp_end_queues,
	.ndo_bpf = tapstamp_bpf,
	.ndo_start_xmit = tapstamp_xmit,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_hwtstamp_get = tapstamp_get_config,
	.ndo_hwtstamp_set = tapstamp_set_config,
};

static void tapstamp_setup(struct net_device *dev)
{
	struct tapstamp *own = netdev_priv(dev);

	own->steering.queues = TAPSTAMP_QUEUES;
	own->steering.ring = 512;
	own->steering.tcp_fields = RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3;
	own->steering.udp_fields = RXH_IP_SRC | RXH_IP_DST;
	netdev_rss_key_fill(own->steering.key, TAPSTAMP_KEY_BYTES);
	tapstamp_default_table(&own->steering);
	ether_setup(dev);
	dev->netdev_ops = &tapstamp_ops;
	dev->ethtool_ops = &tapstamp_ethtool;
	dev->xdp_metadata_ops = &tapstamp_metadata;
	dev->xdp_features = NETDEV_XDP_ACT_BASIC | NETDEV_XDP_ACT_REDIRECT;
	dev->hw_features |= NETIF_F_RXHASH | NETIF_F_NTUPLE;
	dev->features |= NETIF_F_RXHASH;
	dev->needs_free_netdev = true;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->flags |= IFF_NOARP;
	eth_hw_addr_random(dev);
}

static unsigned int tapstamp_queues(void)
{
	return TAPSTAMP_QUEUES;
}

static struct rtnl_link_ops tapstamp_link = {
	.kind = "tapstamp",
	.priv_size = sizeof(struct tapstamp),
	.setup = tapstamp_setup,
	.get_num_tx_queues = tapstamp_queues,
	.get_num_rx_queues = tapstamp_queues,
};

static int __init tapstamp_init(void)
{
	int error;

	loaded_ns = ktime_get_real_ns();
	clock = ptp_clock_register(&clock_info, NULL);
	if (IS_ERR(clock))
		return PTR_ERR(clock);
	error = rtnl_link_register(&tapstamp_link);
	if (error)
		ptp_clock_unregister(clock);
	return error;
}

static void __exit tapstamp_exit(void)
{
	rtnl_link_unregister(&tapstamp_link);
	ptp_clock_unregister(clock);
}

module_init(tapstamp_init);
module_exit(tapstamp_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("network device with hardware time stamps, for tests");
MODULE_ALIAS_RTNL_LINK("tapstamp");
