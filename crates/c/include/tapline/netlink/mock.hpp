// GMock classes for tests of code that configures the network.
#ifndef TAPLINE_NETLINK_MOCK_HPP
#define TAPLINE_NETLINK_MOCK_HPP

#include <gmock/gmock.h>

#include "interfaces.hpp"
#include "route.hpp"

namespace tapline::netlink {

/// A mock of `Base`, an `INetlink<Info>`.
template <class Info, class Base = INetlink<Info>>
class MockNetlink : public Base {
public:
    MOCK_METHOD(result<void>, add, (const Info &), (override));
    MOCK_METHOD(result<void>, del, (const Info &), (override));
    MOCK_METHOD(result<void>, set, (const Info &), (override));
    MOCK_METHOD(result<Info>, get, (const Info &), (override));
    MOCK_METHOD(result<InfoList<Info>>, list, (const Info &), (override));
    MOCK_METHOD(result<std::unique_ptr<IWatch<Info>>>, watch, (const Info &), (override));
    MOCK_METHOD(result<void>, replace, (const Info &), (override));
    MOCK_METHOD(result<void>, append, (const Info &), (override));
    MOCK_METHOD(result<Info>, create, (const Info &), (override));
};

using MockLinkNetlink = MockNetlink<LinkInfo>;
using MockAddrNetlink = MockNetlink<AddrInfo>;
using MockNeighNetlink = MockNetlink<NeighInfo>;
using MockFdbNetlink = MockNetlink<FdbInfo>;
using MockVlanNetlink = MockNetlink<VlanInfo>;
using MockRuleNetlink = MockNetlink<RuleInfo>;
using MockNexthopNetlink = MockNetlink<NexthopInfo>;

class MockRouteNetlink : public MockNetlink<RouteInfo, IRouteNetlink> {
public:
    MOCK_METHOD(result<RouteInfo>, lookup, (const RouteQuery &), (override));
};

template <class Info>
class MockWatch : public IWatch<Info> {
public:
    using IWatch<Info>::next;
    MOCK_METHOD(result<std::vector<Event<Info>>>, next, (std::chrono::nanoseconds), (override));
    MOCK_METHOD(result<void>, stop, (), (const, override));
    MOCK_METHOD(result<int>, fd, (), (const, override));
};

class MockNetlinkFactory : public INetlinkFactory {
public:
    using INetlinkFactory::run;
    MOCK_METHOD(std::shared_ptr<ILinkNetlink>, link, (), (override));
    MOCK_METHOD(std::shared_ptr<IAddrNetlink>, addr, (), (override));
    MOCK_METHOD(std::shared_ptr<IRouteNetlink>, route, (), (override));
    MOCK_METHOD(std::shared_ptr<INeighNetlink>, neigh, (), (override));
    MOCK_METHOD(std::shared_ptr<IFdbNetlink>, fdb, (), (override));
    MOCK_METHOD(std::shared_ptr<IVlanNetlink>, vlan, (), (override));
    MOCK_METHOD(std::shared_ptr<IRuleNetlink>, rule, (), (override));
    MOCK_METHOD(std::shared_ptr<INexthopNetlink>, nexthop, (), (override));
    MOCK_METHOD(result<std::vector<ItemResult>>, run, (const Batch &, tapline_on_error), (override));
};

}  // namespace tapline::netlink

#endif
