// What was listed is deleted, added and set again, and what a field cannot hold is refused. iproute2 shows what the kernel has.
#include <map>

#include "support.hpp"

using namespace tapline::netlink;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A bridge `sb0` with the port `sv0`, whose peer is `sv1`. All are up.
class Settable : public testing::Test {
protected:
    void SetUp() override
    {
        link_->add(LinkInfo().setName("sb0").setType("bridge").setAdmin(true)).value();
        const auto peer = LinkInfo().setName("sv1").setAdmin(true);
        link_->add(LinkInfo().setName("sv0").setType("veth").setAdmin(true).setVethPeer(peer)).value();
        link_->set(LinkInfo().setName("sv0").setMaster("sb0")).value();
    }
    void TearDown() override
    {
        link_->del(LinkInfo().setName("sb0")).value();
        link_->del(LinkInfo().setName("sv0")).value();
    }

    /// The only one that matches a filter.
    template <class Netlink, class Info>
    static Info only(Netlink &netlink, const Info &filter)
    {
        const auto found = netlink.list(filter).value();
        EXPECT_EQ(found.size(), 1u);
        return found.at(0);
    }
    /// Deletes an object as it was listed, and adds what can be set of it: the same is listed then.
    template <class Netlink, class Info>
    static void deleteAndAdd(Netlink &netlink, const Info &filter)
    {
        const auto before = only(netlink, filter);
        netlink.del(before).value();
        EXPECT_EQ(netlink.list(filter).value().size(), 0u);
        netlink.add(before.settable()).value();
        EXPECT_EQ(only(netlink, filter).settable(), before.settable());
    }

    std::shared_ptr<NetlinkFactory> factory_ = kernel();
    std::shared_ptr<ILinkNetlink> link_ = factory_->link();
};

TEST_F(Settable, AForwardingEntryStaysInTheTableThatHasIt)
{
    const auto shown = [](const char *dev) { return output(std::string("bridge fdb show dev ") + dev); };
    ASSERT_EQ(output("bridge fdb add 02:00:00:00:00:99 dev sv0 master static"), "");
    ASSERT_EQ(output("bridge fdb add 02:00:00:00:00:98 dev sv0 self permanent"), "");
    ASSERT_EQ(output("bridge fdb add 02:00:00:00:00:97 dev sb0 self permanent"), "");
    const auto fdb = factory_->fdb();
    const auto of = [](const char *lladdr) { return FdbInfo().setLladdr(lladdr); };

    const auto ofBridge = only(*fdb, of("02:00:00:00:00:99"));
    EXPECT_EQ(ofBridge.master->name, "sb0");
    EXPECT_EQ(fdb->get(ofBridge).value().settable(), ofBridge.settable());
    fdb->del(ofBridge).value();
    EXPECT_THAT(shown("sv0"), Not(HasSubstr("02:00:00:00:00:99")));
    fdb->add(ofBridge.settable()).value();
    EXPECT_THAT(shown("sv0"), HasSubstr("02:00:00:00:00:99 master sb0 static"));
    EXPECT_THAT(shown("sv0"), Not(HasSubstr("02:00:00:00:00:99 self")));

    deleteAndAdd(*fdb, of("02:00:00:00:00:98"));
    EXPECT_THAT(shown("sv0"), HasSubstr("02:00:00:00:00:98 self permanent"));
    // That of the bridge itself, which is no port of a bridge.
    deleteAndAdd(*fdb, of("02:00:00:00:00:97"));
    EXPECT_THAT(shown("sb0"), HasSubstr("02:00:00:00:00:97 master sb0 permanent"));
}

TEST_F(Settable, AForwardingEntryInJsonIsDeletedFromTheBridgeThatHasIt)
{
    ASSERT_EQ(output("bridge fdb add 02:00:00:00:00:96 dev sv0 master static"), "");
    tapline_netlink *raw = nullptr;
    ASSERT_EQ(tapline_netlink_open(nullptr, &raw, nullptr), TAPLINE_STATUS_OK);
    const tapline::handle<tapline_netlink, tapline_netlink_close> netlink(raw);
    const std::string filter = R"({"mac":"02:00:00:00:00:96"})";
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(filter.data());
    tapline_list *list = nullptr;
    ASSERT_EQ(tapline_netlink_list(raw, TAPLINE_NETLINK_OBJECT_FDB, TAPLINE_NETLINK_FORM_JSON, bytes, filter.size(), &list,
                                   nullptr),
              TAPLINE_STATUS_OK);
    const tapline::handle<tapline_list, tapline_list_free> listed(list);
    std::size_t length = 0;
    ASSERT_EQ(tapline_list_bytes(list, &bytes, &length, nullptr), TAPLINE_STATUS_OK);
    EXPECT_THAT(std::string(reinterpret_cast<const char *>(bytes), length), HasSubstr(R"("master":)"));
    EXPECT_EQ(tapline_netlink_change(raw, TAPLINE_NETLINK_VERB_DEL, TAPLINE_NETLINK_OBJECT_FDB, TAPLINE_NETLINK_FORM_JSON,
                                     bytes, length, nullptr),
              TAPLINE_STATUS_OK);
    EXPECT_THAT(output("bridge fdb show dev sv0"), Not(HasSubstr("02:00:00:00:00:96")));
}

TEST_F(Settable, LinksAreSetToWhatTheyAre)
{
    int count = 0;
    for (const auto &before : link_->list(LinkInfo()).value()) {
        // Other tests leave links of which the kernel reports an address that it does not take.
        const std::string names = " lo sb0 sv0 sv1 ";
        if (!before.lowerNamespace && names.find(' ' + *before.name + ' ') == std::string::npos) {
            continue;
        }
        ++count;
        auto again = before.settable();
        if (again.bridge) {
            // A kernel without filters by VLAN reports these, and does not take them.
            again.bridge->vlanFiltering = {};
            again.bridge->mstEnabled = {};
        }
        const auto set = link_->set(again);
        EXPECT_TRUE(set) << toString(again);
        EXPECT_EQ(link_->get(LinkInfo().setIndex(before.index->index)).value().settable(), before.settable());
    }
    EXPECT_GE(count, 5) << "the loopback, one whose peer is in another namespace, and these three";
}

TEST_F(Settable, AddressesNeighboursRoutesRulesAndNexthopsAreAddedAgain)
{
    const auto addr = factory_->addr();
    for (const char *local : {"100.64.77.1", "2001:db8:77::1"}) {
        const auto bits = IpAddress(local).isV4() ? 24 : 64;
        auto address = AddrInfo().setDev("sv1").setLocal(local).setPrefixlen(bits);
        addr->add(bits == 64 ? address.setNodad(true) : address).value();
        deleteAndAdd(*addr, AddrInfo().setDev("sv1").setLocal(local));
        const auto listed = only(*addr, AddrInfo().setDev("sv1").setLocal(local));
        EXPECT_TRUE(addr->replace(listed.settable()));
    }
    EXPECT_THAT(output("ip address show sv1"), AllOf(HasSubstr("inet 100.64.77.1/24"), HasSubstr("inet6 2001:db8:77::1/64")));

    const auto neigh = factory_->neigh();
    neigh->add(NeighInfo().setDev("sv1").setDst("100.64.77.9").setLladdr("02:00:00:00:00:09")).value();
    deleteAndAdd(*neigh, NeighInfo().setDev("sv1").setDst("100.64.77.9"));
    EXPECT_THAT(output("ip neighbour show dev sv1"), HasSubstr("100.64.77.9 lladdr 02:00:00:00:00:09 PERMANENT"));

    const auto nexthop = factory_->nexthop();
    nexthop->add(NexthopInfo().setId(7777).setGateway("100.64.77.9").setDev("sv1")).value();
    deleteAndAdd(*nexthop, NexthopInfo().setId(7777));
    EXPECT_THAT(output("ip nexthop show id 7777"), HasSubstr("via 100.64.77.9 dev sv1"));

    const auto route = factory_->route();
    route->add(RouteInfo().setDst("100.64.78.0/24").setGateway("100.64.77.9").setMetric(7)).value();
    deleteAndAdd(*route, RouteInfo().setDst("100.64.78.0/24"));
    EXPECT_THAT(output("ip route show 100.64.78.0/24"), HasSubstr("via 100.64.77.9 dev sv1 metric 7"));
    route->add(RouteInfo().setDst("100.64.79.0/24").setNhid(7777)).value();
    deleteAndAdd(*route, RouteInfo().setDst("100.64.79.0/24"));
    EXPECT_THAT(output("ip route show 100.64.79.0/24"), HasSubstr("nhid 7777"));
    nexthop->del(NexthopInfo().setId(7777)).value();

    const auto rule = factory_->rule();
    const auto selector = RuleInfo().setFamily(Family::V4).setPriority(7777);
    rule->add(RuleInfo(selector).setFwmark(7).setTable(RouteTable::Main)).value();
    deleteAndAdd(*rule, selector);
    EXPECT_THAT(output("ip rule show priority 7777"), HasSubstr("fwmark 0x7 lookup main"));
    rule->del(only(*rule, selector)).value();
}

TEST_F(Settable, ALowerLinkInAnotherNamespaceHasAnIndexAndNoName)
{
    const auto macvlan = LinkInfo().setName("sm0").setType("macvlan").setLowerNamespace(3);
    const auto named = link_->add(LinkInfo(macvlan).setLower("sv1"));
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(named.error().message,
              "Link.lower: an interface in another namespace cannot be named: give its index there");
    // The kernel answers about an index: it does not know that namespace.
    const auto numbered = link_->add(LinkInfo(macvlan).setLower(1));
    ASSERT_FALSE(numbered);
    EXPECT_EQ(numbered.error().os_error, EINVAL);
}

TEST(Values, AreKeysOfMaps)
{
    const std::vector<Prefix> ascending = {"9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/24", "10.0.1.0/24", "192.0.2.0/24",
                                           "200.0.0.0/8", "::/0", "2001:db8::/32", "2001:db8::/48", "fe80::/10"};
    std::map<Prefix, std::size_t> places;
    for (std::size_t at = ascending.size(); at-- > 0;) {
        places[ascending[at]] = at;
    }
    ASSERT_EQ(places.size(), ascending.size());
    std::size_t next = 0;
    for (const auto &[prefix, at] : places) {
        EXPECT_EQ(at, next++) << toString(prefix);
    }
    EXPECT_LT(IpAddress("255.255.255.255"), IpAddress("::"));
    EXPECT_LT(MacAddress("02:00:00:00:00:ff"), MacAddress("02:00:00:00:01:00"));
    EXPECT_LT(MacAddress("ff:ff:ff:ff:ff:ff"), MacAddress("00:00:00:00:00:00:00:01"));
}

TEST(Numbers, WhatAFieldCannotHoldIsRefused)
{
    const auto refused = [](const auto &set) {
        try {
            set();
        } catch (const std::out_of_range &error) {
            return std::string(error.what());
        }
        return std::string("not refused");
    };
    EXPECT_EQ(refused([] { AddrInfo().setPrefixlen(280); }), "280 is not between 0 and 255");
    EXPECT_EQ(refused([] { LinkInfo().setMtu(-1); }), "-1 is not between 0 and 4294967295");
    EXPECT_EQ(refused([] { LinkInfo().setMtu(std::uint64_t{1} << 32); }), "4294967296 is not between 0 and 4294967295");
    EXPECT_EQ(refused([] { LinkInfo().setLowerNamespace(4'000'000'000); }),
              "4000000000 is not between -2147483648 and 2147483647");
    EXPECT_EQ(refused([] { LinkInfo().setLowerNamespace(std::numeric_limits<std::uint64_t>::max()); }),
              "18446744073709551615 is not between -2147483648 and 2147483647");
    EXPECT_EQ(refused([] { LinkInfo().setLowerNamespace(std::numeric_limits<std::int64_t>::min()); }),
              "-9223372036854775808 is not between -2147483648 and 2147483647");
    EXPECT_EQ(refused([] { Prefix("192.0.2.0", 280); }), "280 is not between 0 and 255");
    EXPECT_EQ(AddrInfo().setPrefixlen(255).prefixlen, 255);
    EXPECT_EQ(LinkInfo().setMtu(4'294'967'295).mtu, 4'294'967'295u);
    EXPECT_EQ(LinkInfo().setLowerNamespace(-1).lowerNamespace, -1);
}

}  // namespace
