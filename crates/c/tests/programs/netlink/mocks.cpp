// The mocks of every interface.
#include "support.hpp"

using namespace std::chrono_literals;
using namespace tapline::netlink;
using testing::Return;
using testing::StrictMock;

namespace {

bool isInterrupted = false;

}  // namespace

/// Takes the place of the library's, because changes that interrupt four lists of the kernel cannot be arranged.
bool tapline_list_is_interrupted(const tapline_list *) { return isInterrupted; }

namespace {

TEST(Lists, SayWhetherTheyMayBeIncomplete)
{
    const auto kernel = FakeKernel::create().value();
    const auto factory = NetlinkFactory::open(kernel).value();
    ASSERT_TRUE(factory->link()->add(LinkInfo().setName("eth7").setType("dummy")));
    for (const bool interrupted : {true, false}) {
        isInterrupted = interrupted;
        const auto links = factory->link()->list({}).value();
        EXPECT_EQ(links.isInterrupted, interrupted);
        ASSERT_EQ(links.size(), 1u);
        EXPECT_EQ(links[0].name, "eth7");
    }
    const std::vector<LinkInfo> alone = factory->link()->list({}).value();
    EXPECT_EQ(alone.size(), 1u);
}

tapline::error refused()
{
    tapline::error error;
    error.status = TAPLINE_STATUS_PRIVILEGE;
    return error;
}

/// Every method of the mock of `Info` is called through the interface, with `info`.
template <class Mock, class Info>
void eachMethodIsExpected(const Info &info)
{
    const auto mock = std::make_shared<StrictMock<Mock>>();
    const std::shared_ptr<INetlink<Info>> objects = mock;
    EXPECT_CALL(*mock, add(info)).WillOnce(Return(tapline::result<void>()));
    EXPECT_CALL(*mock, del(info)).WillOnce(Return(refused()));
    EXPECT_CALL(*mock, set(info)).WillOnce(Return(tapline::result<void>()));
    EXPECT_CALL(*mock, get(info)).WillOnce(Return(info));
    EXPECT_CALL(*mock, list(info)).WillOnce(Return(InfoList<Info>(2, info)));
    EXPECT_CALL(*mock, watch(info)).WillOnce([](const Info &) {
        auto watch = std::make_unique<StrictMock<MockWatch<Info>>>();
        EXPECT_CALL(*watch, next(std::chrono::nanoseconds::max())).WillOnce(Return(std::vector<Event<Info>>(3)));
        EXPECT_CALL(*watch, fd()).WillOnce(Return(7));
        EXPECT_CALL(*watch, stop()).WillOnce(Return(tapline::result<void>()));
        return tapline::result<std::unique_ptr<IWatch<Info>>>(std::move(watch));
    });
    EXPECT_CALL(*mock, replace(info)).WillOnce(Return(tapline::result<void>()));
    EXPECT_CALL(*mock, append(info)).WillOnce(Return(tapline::result<void>()));
    EXPECT_CALL(*mock, create(info)).WillOnce(Return(info));
    EXPECT_TRUE(objects->add(info));
    EXPECT_EQ(objects->del(info).error().status, TAPLINE_STATUS_PRIVILEGE);
    EXPECT_TRUE(objects->set(info));
    EXPECT_EQ(objects->get(info).value(), info);
    EXPECT_EQ(objects->list(info).value().size(), 2u);
    const auto watch = objects->watch(info).value();
    EXPECT_EQ(watch->next().value().size(), 3u);
    EXPECT_EQ(watch->fd().value(), 7);
    EXPECT_TRUE(watch->stop());
    EXPECT_TRUE(objects->replace(info));
    EXPECT_TRUE(objects->append(info));
    EXPECT_EQ(objects->create(info).value(), info);
}

TEST(Mocks, HaveEveryMethodOfEveryInterface)
{
    eachMethodIsExpected<MockLinkNetlink>(LinkInfo().setName("eth7"));
    eachMethodIsExpected<MockAddrNetlink>(AddrInfo().setDev("eth7"));
    eachMethodIsExpected<MockRouteNetlink>(RouteInfo().setDst("10.0.0.0/8"));
    eachMethodIsExpected<MockNeighNetlink>(NeighInfo().setDev("eth7"));
    eachMethodIsExpected<MockFdbNetlink>(FdbInfo().setDev("eth7"));
    eachMethodIsExpected<MockVlanNetlink>(VlanInfo().setVlan(7));
    eachMethodIsExpected<MockRuleNetlink>(RuleInfo().setPriority(7));
    eachMethodIsExpected<MockNexthopNetlink>(NexthopInfo().setId(7));
    StrictMock<MockRouteNetlink> routes;
    const auto query = RouteQuery().setTo("192.0.2.1");
    EXPECT_CALL(routes, lookup(query)).WillOnce(Return(RouteInfo().setTable(RouteTable::Main)));
    EXPECT_EQ(routes.lookup(query).value().table, RouteTable::Main);
}

TEST(Mocks, OfAFactoryHaveEveryKindOfObject)
{
    StrictMock<MockNetlinkFactory> mock;
    INetlinkFactory &factory = mock;
    EXPECT_CALL(mock, link()).WillOnce(Return(std::make_shared<StrictMock<MockLinkNetlink>>()));
    EXPECT_CALL(mock, addr()).WillOnce(Return(std::make_shared<StrictMock<MockAddrNetlink>>()));
    EXPECT_CALL(mock, route()).WillOnce(Return(std::make_shared<StrictMock<MockRouteNetlink>>()));
    EXPECT_CALL(mock, neigh()).WillOnce(Return(std::make_shared<StrictMock<MockNeighNetlink>>()));
    EXPECT_CALL(mock, fdb()).WillOnce(Return(std::make_shared<StrictMock<MockFdbNetlink>>()));
    EXPECT_CALL(mock, vlan()).WillOnce(Return(std::make_shared<StrictMock<MockVlanNetlink>>()));
    EXPECT_CALL(mock, rule()).WillOnce(Return(std::make_shared<StrictMock<MockRuleNetlink>>()));
    EXPECT_CALL(mock, nexthop()).WillOnce(Return(std::make_shared<StrictMock<MockNexthopNetlink>>()));
    EXPECT_TRUE(factory.link() && factory.addr() && factory.route() && factory.neigh() && factory.fdb() &&
                factory.vlan() && factory.rule() && factory.nexthop());
    EXPECT_CALL(mock, run(testing::_, TAPLINE_ON_ERROR_CONTINUE)).WillOnce(Return(std::vector<ItemResult>()));
    EXPECT_TRUE(factory.run(Batch()));
}

TEST(Mocks, OfAFactoryExpectBatchesByTheirChanges)
{
    const auto link = LinkInfo().setName("eth7").setMtu(1400);
    const auto vlan = VlanInfo().setDev("eth7").setVlan(7);
    const auto batch = [&](std::uint16_t id) { return Batch().set(link).add(VlanInfo(vlan).setVlan(id)); };
    EXPECT_EQ(Batch(), Batch());
    EXPECT_EQ(batch(7), batch(7));
    EXPECT_NE(batch(7), batch(8));
    EXPECT_NE(batch(7), Batch().set(link));
    EXPECT_NE(Batch().add(link), Batch().set(link));
    StrictMock<MockNetlinkFactory> mock;
    INetlinkFactory &factory = mock;
    EXPECT_CALL(mock, run(batch(7), TAPLINE_ON_ERROR_UNDO)).WillOnce(Return(std::vector<ItemResult>(2)));
    EXPECT_EQ(factory.run(batch(7), TAPLINE_ON_ERROR_UNDO).value().size(), 2u);
}

TEST(Mocks, ExpectEventsAndResultsByTheirValues)
{
    const auto link = LinkInfo().setName("eth7");
    const auto event = [&](tapline_watch_event kind) { return Event<LinkInfo>{kind, link, {}}; };
    EXPECT_EQ(event(TAPLINE_WATCH_EVENT_ADDED), event(TAPLINE_WATCH_EVENT_ADDED));
    EXPECT_NE(event(TAPLINE_WATCH_EVENT_ADDED), event(TAPLINE_WATCH_EVENT_REMOVED));
    EXPECT_NE(event(TAPLINE_WATCH_EVENT_CHANGED), (Event<LinkInfo>{TAPLINE_WATCH_EVENT_CHANGED, link, link}));
    const ItemResult failed{TAPLINE_ITEM_STATE_FAILED, refused()};
    EXPECT_EQ(failed, (ItemResult{TAPLINE_ITEM_STATE_FAILED, refused()}));
    EXPECT_NE(failed, (ItemResult{TAPLINE_ITEM_STATE_FAILED, {}}));
    EXPECT_EQ((FailedItem{3, failed}), (FailedItem{3, failed}));
    EXPECT_NE((FailedItem{3, failed}), (FailedItem{4, failed}));
}

testing::Matcher<const Batch &> hasSize(std::size_t size) { return testing::Property(&Batch::size, size); }

TEST(RunningBatch, DoesNotRepeatChangesAfterAnException)
{
    StrictMock<MockNetlinkFactory> factory;
    const testing::InSequence inOrder;
    EXPECT_CALL(factory, run(hasSize(512), testing::_)).WillOnce(testing::Throw(std::bad_alloc()));
    EXPECT_CALL(factory, run(hasSize(3), testing::_)).WillOnce(Return(std::vector<ItemResult>(3)));
    RunningBatch batch(factory);
    const auto route = RouteInfo().setDst("192.0.2.0/24").setDev(1);
    for (int number = 0; number < 511; ++number) {
        batch.add(route);
    }
    EXPECT_THROW(batch.add(route), std::bad_alloc);
    EXPECT_EQ(batch.size(), 512u);
    batch.add(route).add(route).add(route);
    EXPECT_EQ(batch.finish().error().status, TAPLINE_STATUS_INTERNAL) << "nobody knows what the 512 did";
    // The next one is not affected.
    std::vector<ItemResult> failed(2);
    failed[1].state = TAPLINE_ITEM_STATE_FAILED;
    EXPECT_CALL(factory, run(hasSize(2), testing::_)).WillOnce(Return(failed));
    const auto items = batch.add(route).add(route).finish().value();
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].number, 1u);
}

/// An object for the second field of which there is no memory.
struct Large {
    static constexpr std::string_view typeName = "Large";
    static const FieldTable typeFields;

    std::optional<std::uint32_t> number = 7;
    std::optional<std::vector<VlanInfo>> list = {};
};

constexpr FieldList noMemory = {
    [](const void *, const void *&, std::size_t &) -> bool { throw std::bad_alloc(); },
    [](void *) {},
    [](void *) -> void * { return nullptr; },
};
constexpr Field largeFields[] = {
    {1, offsetof(Large, number), FieldType::Number, 4},
    {2, offsetof(Large, list), FieldType::Sets, 0, &VlanInfo::typeFields, &noMemory},
};
constexpr FieldTable Large::typeFields = {largeFields, std::size(largeFields), sizeof(Large), nullptr};

TEST(Batch, IsUnchangedIfAChangeFindsNoMemory)
{
    Batch batch;
    batch.add(VlanInfo().setVlan(7));
    const std::vector<std::uint8_t> before(batch.bytes().data(), batch.bytes().data() + batch.bytes().size());
    EXPECT_THROW(batch.add(Large()), std::bad_alloc);
    EXPECT_EQ(batch.size(), 1u);
    EXPECT_THAT(before, testing::ElementsAreArray(batch.bytes().data(), batch.bytes().size()));
}

}  // namespace
