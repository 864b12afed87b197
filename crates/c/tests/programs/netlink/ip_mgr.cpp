// Code that configures the network, tested without a kernel: with mocks, and with the fake kernel.
#include <map>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace tapline::netlink;
using tapline::result;
using testing::Return;
using testing::StrictMock;

namespace {

/// The IP manager of the article: gives an interface its address and sets it up.
class IpMgr {
public:
    explicit IpMgr(INetlinkFactory &factory) : link_(factory.link()), addr_(factory.addr()) {}

    result<void> configure(const std::string &name, const Prefix &prefix)
    {
        const auto address = AddrInfo().setDev(name).setLocal(prefix.address).setPrefixlen(prefix.length);
        if (const auto added = addr_->add(address); !added && added.error().status != TAPLINE_STATUS_EXISTS) {
            return added;
        }
        return link_->set(LinkInfo().setName(name).setAdmin(true));
    }

private:
    std::shared_ptr<ILinkNetlink> link_;
    std::shared_ptr<IAddrNetlink> addr_;
};

/// A factory of mocks that fail at any call that is not expected.
struct Mocks : StrictMock<MockNetlinkFactory> {
    std::shared_ptr<StrictMock<MockLinkNetlink>> links = std::make_shared<StrictMock<MockLinkNetlink>>();
    std::shared_ptr<StrictMock<MockAddrNetlink>> addresses = std::make_shared<StrictMock<MockAddrNetlink>>();

    Mocks()
    {
        EXPECT_CALL(*this, link()).WillOnce(Return(links));
        EXPECT_CALL(*this, addr()).WillOnce(Return(addresses));
    }
};

tapline::error failure(tapline_status status)
{
    tapline::error error;
    error.status = status;
    return error;
}

TEST(IpMgr, AddsTheAddressAndSetsTheLinkUp)
{
    Mocks mocks;
    const testing::InSequence inOrder;
    EXPECT_CALL(*mocks.addresses, add(AddrInfo().setDev("eth7").setLocal("192.0.2.1").setPrefixlen(24)))
        .WillOnce(Return(result<void>()));
    EXPECT_CALL(*mocks.links, set(LinkInfo().setName("eth7").setAdmin(true))).WillOnce(Return(result<void>()));
    EXPECT_TRUE(IpMgr(mocks).configure("eth7", "192.0.2.1/24"));
}

TEST(IpMgr, DoesNotSetTheLinkUpWithoutTheAddress)
{
    Mocks mocks;
    EXPECT_CALL(*mocks.addresses, add(testing::_)).WillOnce(Return(failure(TAPLINE_STATUS_PRIVILEGE)));
    EXPECT_EQ(IpMgr(mocks).configure("eth7", "192.0.2.1/24").error().status, TAPLINE_STATUS_PRIVILEGE);
}

TEST(IpMgr, WorksOnTheFakeKernel)
{
    const auto kernel = FakeKernel::create().value();
    const auto factory = NetlinkFactory::open(kernel).value();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("eth7").setType("dummy")));
    IpMgr manager(*factory);
    EXPECT_TRUE(manager.configure("eth7", "192.0.2.1/24"));
    EXPECT_TRUE(manager.configure("eth7", "192.0.2.1/24")) << "again";
    EXPECT_EQ(factory->link()->get(LinkInfo().setName("eth7")).value().admin, true);
    EXPECT_EQ(factory->addr()->list(AddrInfo().setDev("eth7")).value().size(), 1u);
    EXPECT_FALSE(manager.configure("eth8", "192.0.2.1/24"));
}

/// The transparent IP manager of the article: an interface keeps its addresses although it is deleted and created again.
/// It knows them from the events alone.
class TransparentIpMgr {
public:
    explicit TransparentIpMgr(INetlinkFactory &factory)
        : addr_(factory.addr()),
          links_(factory.link()->watch(LinkInfo()).value()),
          addresses_(factory.addr()->watch(AddrInfo()).value())
    {
    }

    /// Handles the events that have arrived. Returns how many addresses it has restored.
    int handleEvents()
    {
        int restored = 0;
        // The addresses of a deleted link are removed after it.
        for (const auto &event : addresses_->next(0s).value()) {
            if (event.kind == TAPLINE_WATCH_EVENT_ADDED) {
                wanted_[names_[event.object->dev->index]].push_back(*event.object);
            }
        }
        for (const auto &event : links_->next(0s).value()) {
            // An overrun has no object: what was lost follows as differences to the current state.
            if (event.kind == TAPLINE_WATCH_EVENT_REMOVED || event.kind == TAPLINE_WATCH_EVENT_OVERRUN) {
                continue;
            }
            const auto &link = *event.object;
            names_[link.index->index] = *link.name;
            for (auto &address : event.kind == TAPLINE_WATCH_EVENT_ADDED ? wanted_[*link.name] : std::vector<AddrInfo>()) {
                const auto add = AddrInfo().setDev(*link.index).setLocal(*address.local).setPrefixlen(*address.prefixlen);
                restored += addr_->add(add) ? 1 : 0;
            }
        }
        return restored;
    }

private:
    std::shared_ptr<IAddrNetlink> addr_;
    std::unique_ptr<IWatch<LinkInfo>> links_;
    std::unique_ptr<IWatch<AddrInfo>> addresses_;
    std::map<std::uint32_t, std::string> names_;
    std::map<std::string, std::vector<AddrInfo>> wanted_;
};

/// The addresses of 2001:db8:7::/64 that interfaces have: those of this test.
std::vector<AddrInfo> documented(INetlinkFactory &factory)
{
    auto found = factory.addr()->list(AddrInfo().setFamily(Family::V6)).value();
    std::erase_if(found, [](const AddrInfo &address) { return address.local->toString().rfind("2001:db8:7::", 0) != 0; });
    return found;
}

/// An interface of `type` keeps its addresses when it is created again.
void keepsItsAddresses(INetlinkFactory &factory, const char *type)
{
    const auto link = LinkInfo().setName("eth7").setType(type);
    const auto named = LinkInfo().setName("eth7");
    TransparentIpMgr manager(factory);
    ASSERT_TRUE(factory.link()->add(link));
    const auto before = factory.link()->get(named).value().index->index;
    EXPECT_EQ(manager.handleEvents(), 0);
    for (const char *address : {"2001:db8:7::1", "2001:db8:7::2"}) {
        ASSERT_TRUE(factory.addr()->add(AddrInfo().setDev("eth7").setLocal(address).setPrefixlen(64)));
    }
    EXPECT_EQ(manager.handleEvents(), 0);
    ASSERT_TRUE(factory.link()->del(named));
    EXPECT_EQ(documented(factory).size(), 0u);
    ASSERT_TRUE(factory.link()->add(link));
    EXPECT_NE(factory.link()->get(named).value().index->index, before);
    EXPECT_EQ(documented(factory).size(), 0u) << "nobody else restores them";
    EXPECT_EQ(manager.handleEvents(), 2);
    const auto found = documented(factory);
    ASSERT_EQ(found.size(), 2u);
    for (const auto &address : found) {
        EXPECT_EQ(address.dev->name, "eth7");
        EXPECT_EQ(address.prefixlen, 64);
    }
    EXPECT_NE(found[0].local, found[1].local);
    ASSERT_TRUE(factory.link()->del(named));
}

TEST(TransparentIpMgr, WorksOnTheFakeKernel)
{
    const auto kernel = FakeKernel::create().value();
    keepsItsAddresses(*NetlinkFactory::open(kernel).value(), "dummy");
}

TEST(TransparentIpMgr, WorksInANamespace)
{
    keepsItsAddresses(*kernel(), "ifb");
    EXPECT_THAT(output("ip link show eth7"), testing::HasSubstr("does not exist"));
}

// A kind that the kernel of the test machine may lack; run under user-mode-linux.
TEST(Kinds, ADummyKeepsItsAddressesWhenItIsCreatedAgain) { keepsItsAddresses(*kernel(), "dummy"); }

TEST(FakeKernel, StoresEveryKind)
{
    const auto kernel = FakeKernel::create().value();
    const auto factory = NetlinkFactory::open(kernel).value();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("br0").setBridgeStpState(1)));
    EXPECT_EQ(factory->link()->get(LinkInfo().setName("br0")).value().bridge->stpState, 1u);
    ASSERT_TRUE(factory->fdb()->add(FdbInfo().setDev("br0").setLladdr("02:00:00:00:00:01")));
    EXPECT_EQ(factory->fdb()->list(FdbInfo().setDev("br0")).value().size(), 1u);
    ASSERT_TRUE(factory->neigh()->add(NeighInfo().setDev("br0").setDst("192.0.2.2").setLladdr("02:00:00:00:00:02")));
    EXPECT_EQ(factory->neigh()->list({}).value().size(), 1u);
    const auto rule = RuleInfo().setSrc("10.0.0.0/8").setTable(static_cast<RouteTable>(9)).setPriority(5);
    ASSERT_TRUE(factory->rule()->add(rule));
    EXPECT_EQ(factory->rule()->list({}).value().size(), 1u);
    EXPECT_EQ(factory->rule()->add(rule).error().status, TAPLINE_STATUS_EXISTS);
    ASSERT_TRUE(factory->rule()->add(RuleInfo().setSrc("10.1.0.0/16")));
    EXPECT_EQ(factory->rule()->list(RuleInfo().setTable(RouteTable::Main)).value().size(), 1u);
    EXPECT_EQ(factory->rule()->del({}).error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    ASSERT_TRUE(factory->rule()->del(rule));
    ASSERT_TRUE(factory->nexthop()->add(NexthopInfo().setId(3).setDev("br0").setGateway("192.0.2.2")));
    ASSERT_TRUE(factory->route()->add(RouteInfo().setDst("10.0.0.0/8").setNhid(3)));
    EXPECT_EQ(factory->route()->list({}).value().at(0).nhid, 3u);
    ASSERT_TRUE(factory->vlan()->add(VlanInfo().setDev("br0").setVlan(2).setVlanEnd(4).setFlags(PortVlanFlags::Untagged)));
    ASSERT_TRUE(factory->vlan()->del(VlanInfo().setDev("br0").setVlan(3)));
    EXPECT_EQ(factory->vlan()->list(VlanInfo().setDev("br0").setFlags(PortVlanFlags::Untagged)).value().size(), 2u);
    // Its length would wrap, and what follows would be further attributes.
    const auto alias = factory->link()->set(LinkInfo().setName("br0").setAlias(std::string(65541, 'a')));
    EXPECT_EQ(alias.error().status, TAPLINE_STATUS_INVALID_ARGUMENT);
    const auto second = NetlinkFactory::open(kernel).value();
    EXPECT_EQ(second->link()->list({}).value().size(), 1u) << "factories share the kernel";
}

TEST(Values, AreParsedComparedAndPrinted)
{
    EXPECT_EQ(Prefix("10.0.0.0/8"), Prefix(IpAddress("10.0.0.0"), 8));
    EXPECT_EQ(Prefix("2001:db8::1").length, 128);
    for (const auto *text : {"", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/999999999999"}) {
        EXPECT_FALSE(Prefix::parse(text)) << text;
    }
    for (const auto *text : {"", "02:00:00:00:00:", "02::01", "02:00:g0", "1234"}) {
        EXPECT_FALSE(MacAddress::parse(text)) << text;
    }
    EXPECT_THROW(IpAddress("300.0.0.1"), std::invalid_argument);
    EXPECT_EQ(AddrInfo().setValidLifeTime(1193046h).validLifeTime, 1193046h);
    EXPECT_THROW(AddrInfo().setValidLifeTime(1193047h), std::out_of_range) << "2^32 s are 1193046.5 h";
    EXPECT_THROW(AddrInfo().setValidLifeTime(-1s), std::out_of_range);
    AddrInfo assigned;
    EXPECT_THROW(assigned.validLifeTime = 1193047h, std::out_of_range);
    EXPECT_EQ(MacAddress("2:0:0:0:0:a").toString(), "02:00:00:00:00:0a");
    EXPECT_EQ(Interface("eth0"), Interface(3, "eth0"));
    EXPECT_FALSE(Interface(2, "eth0") == Interface(3, "eth0"));
    EXPECT_FALSE(Interface("eth0") == Interface("eth1"));
    const auto link = LinkInfo().setName("br0").setBridgeStpState(1);
    EXPECT_EQ(link, LinkInfo(link));
    EXPECT_FALSE(link == LinkInfo(link).setBridgeStpState(2));
    EXPECT_EQ(toString(link), "LinkInfo{name=br0, type=bridge, bridge=Bridge{stpState=1}}");
    EXPECT_EQ(toString(FdbFlags::Self | FdbFlags::Sticky), "self|sticky");
    EXPECT_EQ(toString(static_cast<Scope>(77)), "77");
    EXPECT_EQ(testing::PrintToString(AddrInfo().setScope(Scope::Link)), "AddrInfo{scope=link}");
}

}  // namespace
