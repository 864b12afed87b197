// The examples of the article on typed netlink, against the kernel of a private namespace.
#include "support.hpp"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tapline::netlink;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// The netlink sockets of this process.
std::set<int> netlinkSockets()
{
    std::set<int> found;
    for (int fd = 0; fd < 1024; ++fd) {
        int domain = 0;
        socklen_t size = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_NETLINK) {
            found.insert(fd);
        }
    }
    return found;
}

/// Takes the place of a netlink socket, passes its datagrams on, and counts the messages to the kernel.
class MessageCounter {
public:
    explicit MessageCounter(int fd) : kernel_(dup(fd))
    {
        int ends[2];
        if (kernel_ < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || dup2(ends[0], fd) < 0) {
            throw std::runtime_error("no socket");
        }
        close(ends[0]);
        client_ = ends[1];
        thread_ = std::thread([this] { run(); });
    }
    ~MessageCounter()
    {
        shutdown(client_, SHUT_RDWR);
        thread_.join();
        close(client_);
        close(kernel_);
    }
    MessageCounter(const MessageCounter &) = delete;
    MessageCounter &operator=(const MessageCounter &) = delete;

    int count() const { return count_; }

private:
    void run()
    {
        std::vector<char> datagram(1 << 20);
        pollfd ends[] = {{client_, POLLIN, 0}, {kernel_, POLLIN, 0}};
        while (poll(ends, 2, -1) > 0) {
            if (ends[0].revents != 0) {
                const auto bytes = recv(client_, datagram.data(), datagram.size(), 0);
                if (bytes <= 0) {
                    return;
                }
                count(datagram.data(), static_cast<std::size_t>(bytes));
                send(kernel_, datagram.data(), static_cast<std::size_t>(bytes), 0);
            }
            if (ends[1].revents != 0) {
                const auto bytes = recv(kernel_, datagram.data(), datagram.size(), MSG_DONTWAIT);
                if (bytes > 0) {
                    send(client_, datagram.data(), static_cast<std::size_t>(bytes), MSG_NOSIGNAL);
                }
            }
        }
    }
    void count(const char *messages, std::size_t size)
    {
        for (std::size_t at = 0; at + sizeof(nlmsghdr) <= size; ++count_) {
            nlmsghdr header;
            std::memcpy(&header, messages + at, sizeof header);
            at += std::max<std::size_t>((header.nlmsg_len + 3) & ~std::size_t{3}, sizeof header);
        }
    }

    int kernel_ = -1;
    int client_ = -1;
    std::atomic<int> count_ = 0;
    std::thread thread_;
};

TEST(Article, ABridgeIsSetUpInOneMessage)
{
    const auto before = netlinkSockets();
    const auto factory = kernel();
    auto sockets = netlinkSockets();
    std::erase_if(sockets, [&](int fd) { return before.count(fd) != 0; });
    ASSERT_EQ(sockets.size(), 1u);
    const MessageCounter messages(*sockets.begin());
    const auto link = factory->link();
    const auto bridge = LinkInfo()
                            .setName("br0")
                            .setType("bridge")
                            .setAddress("02:00:00:00:00:07")
                            .setMtu(1400)
                            .setAdmin(true)
                            .setBridgeAgeingTime(123s)
                            .setBridgeMcastSnooping(false)
                            .setBridgeNoLinklocalLearn(true);
    ASSERT_TRUE(link->add(bridge));
    EXPECT_EQ(messages.count(), 1);
    const auto shown = output("ip -json -details link show br0");
    for (const auto *part :
         {R"("mtu":1400)", R"("address":"02:00:00:00:00:07")", R"("ageing_time":12300)", R"("mcast_snooping":0)",
          R"("no_linklocal_learn":1)", R"("UP")"}) {
        EXPECT_THAT(shown, HasSubstr(part));
    }
    EXPECT_EQ(link->add(bridge).error().status, TAPLINE_STATUS_EXISTS);
    EXPECT_EQ(messages.count(), 2);
    // The kernel ignores the alias of a new link: another message sets it.
    ASSERT_TRUE(link->add(LinkInfo().setName("br9").setType("bridge").setAlias("a second message")));
    EXPECT_EQ(messages.count(), 4);
    ASSERT_TRUE(link->del(LinkInfo().setName("br9")));
}

TEST(Article, GetAndTestForUp)
{
    const auto link = kernel()->link();
    ASSERT_TRUE(link->add(LinkInfo().setName("br1").setType("bridge")));
    EXPECT_EQ(link->get(LinkInfo().setName("br1")).value().admin, false);
    ASSERT_TRUE(link->set(LinkInfo().setName("br1").setAdmin(true)));
    const auto got = link->get(LinkInfo().setName("br1")).value();
    EXPECT_EQ(got.admin, true);
    EXPECT_EQ(got.type, "bridge");
    EXPECT_THAT(toString(got), HasSubstr("LinkInfo{index=br1, "));
    EXPECT_EQ(output("ip -o link show up br1").empty(), false);
    ASSERT_TRUE(link->del(LinkInfo().setName("br1")));
    const auto missing = link->get(LinkInfo().setName("br1"));
    EXPECT_EQ(missing.error().status, TAPLINE_STATUS_NOT_FOUND);
    EXPECT_EQ(missing.error().os_error, ENODEV);
}

TEST(Article, AnAddressHasALifetime)
{
    const auto factory = kernel();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("br2").setType("bridge").setAdmin(true)));
    const auto address = AddrInfo()
                             .setDev("br2")
                             .setLocal("192.0.2.1")
                             .setPrefixlen(24)
                             .setScope(Scope::Link)
                             .setValidLifeTime(10min)
                             .setPreferredLifeTime(300s);
    ASSERT_TRUE(factory->addr()->add(address));
    const auto shown = output("ip -json address show br2");
    EXPECT_THAT(shown, HasSubstr(R"("local":"192.0.2.1","prefixlen":24)"));
    EXPECT_THAT(shown, HasSubstr(R"("scope":"link")"));
    const auto got = factory->addr()->list(AddrInfo().setDev("br2").setFamily(Family::V4)).value();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].dev->name, "br2");
    EXPECT_EQ(got[0].local, IpAddress("192.0.2.1"));
    EXPECT_LE(got[0].validLifeTime, 600s);
    EXPECT_GT(got[0].validLifeTime, 300s);
    EXPECT_THAT(toString(address), HasSubstr("validLifeTime=600s, preferredLifeTime=300s"));
    ASSERT_TRUE(factory->addr()->del(AddrInfo().setDev("br2").setLocal("192.0.2.1").setPrefixlen(24)));
    EXPECT_EQ(factory->addr()->list(AddrInfo().setDev("br2").setFamily(Family::V4)).value().size(), 0u);
}

TEST(Kernel, TimesHaveTheUnitsOfTheirAttributes)
{
    const auto route = RouteInfo().setDst("203.0.113.0/24").setDev("lo").setMetrics(Metrics().setRtoMin(1s).setRtt(40ms));
    ASSERT_TRUE(kernel()->route()->add(route));
    EXPECT_THAT(output("ip route show 203.0.113.0/24"), AllOf(HasSubstr("rto_min 1s"), HasSubstr("rtt 40ms")));
    const auto got = kernel()->route()->get(route).value();
    EXPECT_EQ(got.metrics->rtoMin, 1s);
    EXPECT_THAT(toString(got), HasSubstr("rtt=40ms"));
    ASSERT_TRUE(kernel()->route()->del(route));
    EXPECT_EQ(toString(Bridge().setAgeingTime(2min)), "Bridge{ageingTime=12000cs}");
    const auto forever = AddrInfo().setValidLifeTime(decltype(AddrInfo::validLifeTime)::value_type::max());
    EXPECT_EQ(toString(forever), "AddrInfo{validLifeTime=forever}");
}

TEST(Kernel, ARefusalHasTheKernelsTextAndThePathOfTheAttribute)
{
    const auto refused = kernel()->link()->add(LinkInfo().setName("x0").setType("no-such-kind"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, TAPLINE_STATUS_UNSUPPORTED);
    EXPECT_EQ(refused.error().kernel_text, "Unknown device type");
    // The same refusal of the same change, which the library encodes.
    const auto encoded = kernel()->link()->create(LinkInfo().setName("x0").setType("no-such-kind"));
    EXPECT_EQ(encoded.error(), refused.error());
    const auto again = kernel()->link()->add(LinkInfo().setName("lo").setType("ifb"));
    EXPECT_EQ(again.error().status, TAPLINE_STATUS_EXISTS);
    EXPECT_EQ(again.error().os_error, EEXIST);
    const auto route = kernel()->route()->add(RouteInfo().setDst("10.9.0.0/16").setGateway("192.0.2.77"));
    ASSERT_FALSE(route);
    EXPECT_EQ(route.error().kernel_text, "Nexthop has invalid gateway");
    const auto mtu = kernel()->link()->set(LinkInfo().setName("lo").setTxqlen(7).setMaster("lo"));
    ASSERT_FALSE(mtu);
    EXPECT_FALSE(mtu.error().message.empty());
}

TEST(Kernel, ANameIsLookedUpWhenTheRequestIsMade)
{
    const auto factory = kernel();
    const auto link = factory->link();
    ASSERT_TRUE(link->add(LinkInfo().setName("old0").setType("bridge").setAdmin(true)));
    const auto index = link->get(LinkInfo().setName("old0")).value().index.value();
    EXPECT_EQ(index.name, "old0");
    const auto named = NeighInfo().setDev("old0").setDst("198.51.100.1").setLladdr("02:00:00:00:00:01");
    const auto numbered = NeighInfo().setDev(index.index).setDst("198.51.100.2").setLladdr("02:00:00:00:00:02");
    ASSERT_TRUE(factory->neigh()->add(named));
    ASSERT_TRUE(link->set(LinkInfo().setIndex(index.index).setAdmin(false)));
    ASSERT_TRUE(link->set(LinkInfo().setIndex(index.index).setName("new0").setAdmin(true)));
    const auto gone = factory->neigh()->replace(named);
    EXPECT_EQ(gone.error().status, TAPLINE_STATUS_NOT_FOUND);
    EXPECT_EQ(gone.error().message, "cannot replace neighbour: there is no interface \"old0\" (dev)");
    EXPECT_EQ(gone.error().os_error, ENODEV);
    // The same by an index that no interface has.
    const auto absent = factory->neigh()->replace(NeighInfo(named).setDev(2'000'000'000));
    EXPECT_EQ(absent.error().status, TAPLINE_STATUS_NOT_FOUND);
    EXPECT_EQ(absent.error().os_error, ENODEV);
    // The kernel has another answer for a master: by a name it is not asked.
    const auto port = LinkInfo().setName("new0");
    EXPECT_EQ(link->set(LinkInfo(port).setMaster(2'000'000'000)).error().os_error, EINVAL);
    EXPECT_EQ(link->set(LinkInfo(port).setMaster("nowhere0")).error().os_error, ENODEV);
    EXPECT_THAT(absent.error().message, HasSubstr("cannot replace neighbour 198.51.100.1 on link 2000000000"));
    ASSERT_TRUE(factory->neigh()->add(numbered));
    EXPECT_EQ(factory->neigh()->get(numbered).value().dev->name, "new0");
    EXPECT_THAT(output("ip neighbour show dev new0"), HasSubstr("198.51.100.2 lladdr 02:00:00:00:00:02"));
}

TEST(Kernel, ABatchAnswersForEachItem)
{
    const auto factory = kernel();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("br3").setType("bridge").setAdmin(true)));
    ASSERT_TRUE(factory->addr()->add(AddrInfo().setDev("br3").setLocal("203.0.113.1").setPrefixlen(24)));
    Batch batch;
    for (std::uint32_t number = 0; number < 1000; ++number) {
        batch.add(RouteInfo()
                      .setDst(Prefix(IpAddress::v4(0x14000000 + number % 999), 32))
                      .setGateway("203.0.113.2")
                      .setTable(static_cast<RouteTable>(100)));
    }
    const auto results = factory->run(batch).value();
    ASSERT_EQ(results.size(), 1000u);
    for (std::size_t at = 0; at < 999; ++at) {
        ASSERT_TRUE(results[at]) << at;
    }
    EXPECT_EQ(results[999].state, TAPLINE_ITEM_STATE_FAILED);
    EXPECT_EQ(results[999].error->status, TAPLINE_STATUS_EXISTS);
    const auto routes = factory->route()->list(RouteInfo().setTable(static_cast<RouteTable>(100))).value();
    EXPECT_EQ(routes.size(), 999u);
    EXPECT_EQ(output("ip route show table 100 | wc -l"), "999\n");
    EXPECT_EQ(factory->route()->lookup(RouteQuery().setTo("203.0.113.9")).value().dev->name, "br3");
    Batch undone;
    undone.add(RouteInfo().setDst("30.0.0.0/8").setGateway("203.0.113.2"));
    undone.add(RouteInfo().setDst("31.0.0.0/8").setGateway("198.18.0.1"));
    const auto rolledBack = factory->run(undone, TAPLINE_ON_ERROR_UNDO).value();
    EXPECT_EQ(rolledBack[0].state, TAPLINE_ITEM_STATE_UNDONE);
    EXPECT_EQ(rolledBack[1].state, TAPLINE_ITEM_STATE_FAILED);
    EXPECT_EQ(output("ip route show 30.0.0.0/8"), "");
    // What is undone is the state before, whether C++ or the library encodes the change.
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("po3").setType("ifb").setMaster("br3").setMtu(1300)));
    Batch changed;
    changed.set(LinkInfo().setName("po3").setMaster(0)).set(LinkInfo().setName("po3").setMtu(1200));
    changed.add(RouteInfo().setDst("31.0.0.0/8").setGateway("198.18.0.1"));
    const auto restored = factory->run(changed, TAPLINE_ON_ERROR_UNDO).value();
    EXPECT_EQ(restored[0].state, TAPLINE_ITEM_STATE_UNDONE);
    EXPECT_EQ(restored[1].state, TAPLINE_ITEM_STATE_UNDONE);
    EXPECT_THAT(output("ip link show po3"), AllOf(HasSubstr("master br3"), HasSubstr("mtu 1300")));
}

TEST(Kernel, EveryKindOfObjectIsReadAsItWasAdded)
{
    const auto factory = kernel();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("br4").setType("bridge").setAdmin(true)));
    const auto peer = LinkInfo().setName("ve1");
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("ve0").setType("veth").setVethPeer(peer).setMaster("br4")));
    EXPECT_EQ(factory->link()->get(LinkInfo().setName("ve0")).value().master->name, "br4");
    const auto entry = FdbInfo().setDev("ve0").setLladdr("02:00:00:00:00:09").setFlags(FdbFlags::Master);
    ASSERT_TRUE(factory->fdb()->add(entry));
    EXPECT_THAT(output("bridge fdb show dev ve0"), HasSubstr("02:00:00:00:00:09"));
    for (const auto *name : {"ve0", "ve1"}) {
        ASSERT_TRUE(factory->link()->set(LinkInfo().setName(name).setAdmin(true)));
    }
    ASSERT_TRUE(factory->addr()->add(AddrInfo().setDev("ve1").setLocal("2001:db8::1").setPrefixlen(64).setNodad(true)));
    const auto nexthop = NexthopInfo().setId(7).setGateway("2001:db8::2").setDev("ve1");
    ASSERT_TRUE(factory->nexthop()->add(nexthop));
    EXPECT_THAT(output("ip nexthop show id 7"), HasSubstr("via 2001:db8::2 dev ve1"));
    EXPECT_EQ(factory->nexthop()->get(NexthopInfo().setId(7)).value().gateway, IpAddress("2001:db8::2"));
    ASSERT_TRUE(factory->rule()->add(RuleInfo().setSrc("10.1.0.0/16").setTable(static_cast<RouteTable>(55)).setPriority(99)));
    EXPECT_THAT(output("ip rule show"), HasSubstr("99:\tfrom 10.1.0.0/16 lookup 55"));
    ASSERT_TRUE(factory->link()->set(LinkInfo().setName("ve0").setMaster(0)));
    EXPECT_FALSE(factory->link()->get(LinkInfo().setName("ve0")).value().master);
}

TEST(Kernel, ARuleIsNamedByAFieldAndLooksUpInMain)
{
    const auto rules = kernel()->rule();
    const auto before = output("ip rule show");
    EXPECT_EQ(rules->add({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(rules->del({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(rules->get({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(kernel()->addr()->get({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(kernel()->route()->get({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(output("ip rule show"), before);
    ASSERT_TRUE(rules->add(RuleInfo().setSrc("10.4.0.0/16").setPriority(97)));
    EXPECT_THAT(output("ip rule show"), HasSubstr("97:\tfrom 10.4.0.0/16 lookup main\n"));
    ASSERT_TRUE(rules->del(RuleInfo().setPriority(97)));
    EXPECT_EQ(output("ip rule show"), before);
}

TEST(Kernel, AWatchReportsWhatExistsAndThenEveryChange)
{
    const auto factory = kernel();
    const auto link = factory->link();
    ASSERT_TRUE(link->add(LinkInfo().setName("br5").setType("bridge")));
    const auto watch = link->watch(LinkInfo().setType("bridge")).value();
    EXPECT_GE(watch->fd().value(), 0);
    const auto first = watch->next(0s).value();
    ASSERT_FALSE(first.empty());
    // The kernel may report the new bridge's state once more right behind.
    std::set<std::string> known;
    for (const auto &event : first) {
        const bool isNew = known.insert(*event.object->name).second;
        EXPECT_EQ(event.kind, isNew ? TAPLINE_WATCH_EVENT_ADDED : TAPLINE_WATCH_EVENT_CHANGED);
    }
    ASSERT_TRUE(link->set(LinkInfo().setName("br5").setMtu(1300)));
    ASSERT_TRUE(link->del(LinkInfo().setName("br5")));
    bool isChanged = false;
    for (bool isRemoved = false; !isRemoved;) {
        const auto events = watch->next(5s).value();
        ASSERT_FALSE(events.empty());
        for (const auto &event : events) {
            isChanged |= event.kind == TAPLINE_WATCH_EVENT_CHANGED && event.object->mtu == 1300u && event.before->mtu != 1300u;
            isRemoved |= event.kind == TAPLINE_WATCH_EVENT_REMOVED && event.object->name == "br5";
        }
    }
    EXPECT_TRUE(isChanged);
}

// Kinds that the kernel of the test machine may lack; run under user-mode-linux.
TEST(Kinds, DummyVlanAndVrfAreCreatedAndRead)
{
    const auto link = kernel()->link();
    ASSERT_TRUE(link->add(LinkInfo().setName("dummy7").setType("dummy").setAdmin(true)));
    ASSERT_TRUE(link->add(LinkInfo().setName("vlan7").setLower("dummy7").setVlanId(7).setVlanGvrp(true)));
    ASSERT_TRUE(link->add(LinkInfo().setName("blue").setVrfTable(10).setAdmin(true)));
    ASSERT_TRUE(link->set(LinkInfo().setName("vlan7").setMaster("blue")));
    const auto vlan = link->get(LinkInfo().setName("vlan7")).value();
    EXPECT_EQ(vlan.type, "vlan");
    EXPECT_EQ(vlan.vlan->id, 7);
    EXPECT_EQ(vlan.lower->name, "dummy7");
    EXPECT_EQ(vlan.portType, "vrf");
    EXPECT_EQ(vlan.vrfPort->table, 10u);
    const auto shown = output("ip -json -details link show vlan7");
    EXPECT_THAT(shown, HasSubstr(R"("info_kind":"vlan")"));
    EXPECT_THAT(shown, HasSubstr(R"("id":7)"));
    EXPECT_THAT(shown, HasSubstr(R"("GVRP")"));
    EXPECT_THAT(shown, HasSubstr(R"("master":"blue")"));
    const auto refused = link->add(LinkInfo().setName("vlan8").setLower("dummy7").setVlanId(4095));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().attribute, "linkinfo.data.vlan-id");
    const auto dummies = link->list(LinkInfo().setType("dummy")).value();
    ASSERT_FALSE(dummies.empty());
    EXPECT_EQ(dummies.back().name, "dummy7");
}

TEST(Kinds, ABridgeFiltersVlans)
{
    const auto factory = kernel();
    const auto bridge = LinkInfo()
                            .setName("sw0")
                            .setAdmin(true)
                            .setBridgeVlanFiltering(true)
                            .setBridgeVlanDefaultPvid(0)
                            .setBridgeNoLinklocalLearn(true);
    ASSERT_TRUE(factory->link()->add(bridge));
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("port0").setType("dummy").setMaster("sw0")));
    ASSERT_TRUE(factory->vlan()->add(VlanInfo().setDev("port0").setVlan(10).setVlanEnd(12)));
    const auto untagged = PortVlanFlags::Pvid | PortVlanFlags::Untagged;
    ASSERT_TRUE(factory->vlan()->add(VlanInfo().setDev("port0").setVlan(20).setFlags(untagged)));
    const auto vlans = factory->vlan()->list(VlanInfo().setDev("port0")).value();
    ASSERT_EQ(vlans.size(), 4u);
    EXPECT_EQ(vlans[3].flags, untagged);
    EXPECT_THAT(output("bridge vlan show dev port0"), HasSubstr("20 PVID Egress Untagged"));
}

TEST(Kinds, AVxlanHasTheSettingsOfIp)
{
    const auto link = kernel()->link();
    ASSERT_TRUE(link->add(LinkInfo().setName("vl0").setType("dummy")));
    const std::pair<const char *, LinkInfo> vxlans[] = {
        {"id 7 group 239.1.1.1 local 192.0.2.1 dev vl0 dstport 4789 srcport 40000 50000 nolearning proxy rsc l2miss l3miss "
         "ttl 9 tos 0x10 ageing 77 maxaddress 1000 noudpcsum gbp df set",
         LinkInfo()
             .setVxlanId(7)
             .setVxlanRemote("239.1.1.1")
             .setVxlanLocal("192.0.2.1")
             .setVxlanLink("vl0")
             .setVxlanPort(4789)
             .setVxlanPortRange("40000 50000")
             .setVxlanLearning(false)
             .setVxlanProxy(true)
             .setVxlanRsc(true)
             .setVxlanL2miss(true)
             .setVxlanL3miss(true)
             .setVxlanTtl(9)
             .setVxlanTos(0x10)
             .setVxlanAgeing(77s)
             .setVxlanLimit(1000)
             .setVxlanUdpCsum(false)
             .setVxlanGbp(true)
             .setVxlanDf(DontFragment::Set)},
        {"id 8 remote 2001:db8::1 local 2001:db8::2 dstport 4789 learning ttl inherit ageing 0 flowlabel 5 udp6zerocsumtx "
         "udp6zerocsumrx remcsumtx remcsumrx",
         LinkInfo()
             .setVxlanId(8)
             .setVxlanRemote6("2001:db8::1")
             .setVxlanLocal6("2001:db8::2")
             .setVxlanPort(4789)
             .setVxlanLearning(true)
             .setVxlanTtlInherit(true)
             .setVxlanAgeing(0s)
             .setVxlanLabel(5)
             .setVxlanUdpZeroCsum6Tx(true)
             .setVxlanUdpZeroCsum6Rx(true)
             .setVxlanRemcsumTx(true)
             .setVxlanRemcsumRx(true)},
        {"external vnifilter gpe dstport 4790",
         // ip adds the last one.
         LinkInfo()
             .setVxlanExternal(true)
             .setVxlanVnifilter(true)
             .setVxlanGpe(true)
             .setVxlanPort(4790)
             .setVxlanLearning(false)},
    };
    const auto shown = [] {
        const auto text = output("ip -json -details link show vx7");
        const auto begin = text.find(R"("info_data":)");
        return begin == std::string::npos ? text : text.substr(begin, text.find("}}", begin) - begin);
    };
    for (const auto &[words, settings] : vxlans) {
        ASSERT_EQ(output(std::string("ip link add vx7 type vxlan ") + words), "");
        const auto wanted = shown();
        EXPECT_THAT(wanted, HasSubstr("info_data"));
        ASSERT_EQ(output("ip link del vx7"), "");
        const auto added = link->add(LinkInfo(settings).setName("vx7"));
        ASSERT_TRUE(added) << words << ": " << added.error().describe();
        EXPECT_EQ(shown(), wanted) << words;
        // What is read of it makes the same one again.
        const auto before = link->get(LinkInfo().setName("vx7")).value();
        link->del(before).value();
        ASSERT_TRUE(link->add(LinkInfo().setName("vx7").setVxlan(before.settable().vxlan))) << toString(before);
        EXPECT_EQ(shown(), wanted) << words;
        link->del(LinkInfo().setName("vx7")).value();
    }
}

}  // namespace
