// The sockets of a factory, as the kernel lists them.
#include <net/if.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace tapline::netlink;

namespace {

/// The netlink sockets of this process: how many of each protocol /proc/net/netlink lists, of those that a descriptor
/// belongs to.
std::map<int, int> sockets()
{
    std::set<std::string> open;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        // The descriptor of the directory itself is gone when it is read.
        std::error_code gone;
        open.insert(std::filesystem::read_symlink(entry.path(), gone).string());
    }
    std::map<int, int> found;
    std::ifstream table("/proc/net/netlink");
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
        std::istringstream words(line);
        std::vector<std::string> cells;
        for (std::string cell; words >> cell;) {
            cells.push_back(cell);
        }
        // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
        if (cells.size() == 10 && open.count("socket:[" + cells[9] + "]") != 0) {
            found[std::stoi(cells[1])]++;
        }
    }
    return found;
}

const std::map<int, int> none;
/// NETLINK_ROUTE is protocol 0.
std::map<int, int> rtnetlink(int count) { return {{0, count}}; }

TEST(Sockets, AFactoryHasOneForEachProtocolAndOneForNames)
{
    ASSERT_EQ(sockets(), none);
    auto factory = kernel();
    EXPECT_EQ(sockets(), rtnetlink(1));
    const auto link = factory->link();
    const auto addr = factory->addr();
    const auto route = factory->route();
    const auto neigh = factory->neigh();
    const auto fdb = factory->fdb();
    const auto vlan = factory->vlan();
    const auto rule = factory->rule();
    const auto nexthop = factory->nexthop();
    EXPECT_EQ(sockets(), rtnetlink(1));
    // Changes that name no interface, and a batch of such.
    ASSERT_TRUE(link->add(LinkInfo().setName("so0").setType("ifb").setAdmin(true)));
    const std::uint32_t index = if_nametoindex("so0");
    ASSERT_TRUE(link->set(LinkInfo().setIndex(index).setMtu(1300)));
    ASSERT_TRUE(addr->add(AddrInfo().setDev(index).setLocal("192.0.2.9").setPrefixlen(32)));
    ASSERT_TRUE(neigh->add(NeighInfo().setDev(index).setDst("192.0.2.10").setLladdr("02:00:00:00:00:01")));
    ASSERT_TRUE(route->add(RouteInfo().setDst("198.51.100.0/24").setDev(index)));
    const auto ofRule = RuleInfo().setSrc("10.2.0.0/16").setTable(static_cast<RouteTable>(56)).setPriority(98);
    ASSERT_TRUE(rule->add(ofRule));
    ASSERT_TRUE(rule->del(ofRule));
    Batch batch;
    batch.del(RouteInfo().setDst("198.51.100.0/24").setDev(index));
    batch.del(AddrInfo().setDev(index).setLocal("192.0.2.9").setPrefixlen(32));
    ASSERT_TRUE(factory->run(batch).value().at(1));
    EXPECT_EQ(sockets(), rtnetlink(1));
    // The first name needs the second socket; later ones share it.
    ASSERT_TRUE(addr->add(AddrInfo().setDev("so0").setLocal("192.0.2.9").setPrefixlen(32)));
    EXPECT_EQ(sockets(), rtnetlink(2));
    EXPECT_EQ(link->get(LinkInfo().setName("so0")).value().admin, true);
    EXPECT_EQ(addr->list(AddrInfo().setDev("so0").setFamily(Family::V4)).value().size(), 1u);
    EXPECT_EQ(route->lookup(RouteQuery().setTo("127.0.0.1")).value().dev->name, "lo");
    ASSERT_TRUE(neigh->list({}));
    ASSERT_TRUE(fdb->list({}));
    ASSERT_TRUE(rule->list({}));
    ASSERT_TRUE(nexthop->list({}));
    EXPECT_EQ(sockets(), rtnetlink(2));
    // A watch has its own, and returns them.
    {
        const auto watch = link->watch(LinkInfo()).value();
        ASSERT_FALSE(watch->next(0s).value().empty());
        EXPECT_GT(sockets()[0], 2);
    }
    EXPECT_EQ(sockets(), rtnetlink(2));
    // Another factory shares nothing.
    const auto other = kernel();
    EXPECT_EQ(sockets(), rtnetlink(3));
    // They live as long as the last object that uses them.
    factory.reset();
    EXPECT_EQ(sockets(), rtnetlink(3));
    ASSERT_TRUE(link->del(LinkInfo().setName("so0")));
}

TEST(Sockets, AFactoryOfTheFakeKernelHasNone)
{
    const auto kernel = FakeKernel::create().value();
    const auto factory = NetlinkFactory::open(kernel).value();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("eth7").setType("dummy")));
    ASSERT_TRUE(factory->addr()->add(AddrInfo().setDev("eth7").setLocal("192.0.2.1").setPrefixlen(24)));
    EXPECT_EQ(sockets(), none);
}

}  // namespace
