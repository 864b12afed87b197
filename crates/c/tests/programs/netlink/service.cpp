// The example service, with the fake kernel and in a namespace: what it does is read with a factory of its own.
#include "../../../examples/service/database.hpp"
#include "support.hpp"

using namespace tapline::netlink;

namespace {

/// What the test and the service see the same kernel through.
struct Kernel {
    std::shared_ptr<NetlinkFactory> ours;
    std::shared_ptr<NetlinkFactory> theirs;
};

Kernel fakeKernel()
{
    const auto fake = FakeKernel::create().value();
    return {NetlinkFactory::open(fake).value(), NetlinkFactory::open(fake).value()};
}

class Service : public testing::TestWithParam<Kernel (*)()> {
protected:
    Kernel kernel_ = GetParam()();
    service::Database database_{":memory:"};
    service::Reconciler reconciler_{*kernel_.theirs, database_};

    /// Number of changes.
    int reconcile()
    {
        const auto outcome = reconciler_.reconcile(database_.interfaces());
        EXPECT_THAT(outcome.failures, testing::IsEmpty());
        return outcome.changes;
    }
    tapline::result<LinkInfo> link(const char *name) { return kernel_.ours->link()->get(LinkInfo().setName(name)); }
    std::size_t addresses(const char *name)
    {
        return kernel_.ours->addr()->list(AddrInfo().setDev(name).setFamily(Family::V4)).value().size();
    }
};

TEST_P(Service, TheKernelFollowsTheDatabaseAndIsRestoredAfterOthersChangedIt)
{
    database_.execute("INSERT INTO interfaces VALUES ('s0', 'bridge', 1400, '192.0.2.1/24')");
    EXPECT_EQ(reconcile(), 2) << "a link and an address";
    EXPECT_EQ(link("s0").value().mtu, 1400u);
    EXPECT_EQ(link("s0").value().admin, true);
    EXPECT_EQ(addresses("s0"), 1u);
    EXPECT_EQ(reconcile(), 0);

    database_.execute("UPDATE interfaces SET mtu = 1300");
    EXPECT_EQ(reconcile(), 1);
    EXPECT_EQ(link("s0").value().mtu, 1300u);

    kernel_.ours->link()->set(LinkInfo().setName("s0").setMtu(900)).value();
    EXPECT_EQ(reconcile(), 1);
    EXPECT_EQ(link("s0").value().mtu, 1300u);

    kernel_.ours->link()->del(LinkInfo().setName("s0")).value();
    EXPECT_EQ(reconcile(), 2);
    EXPECT_EQ(addresses("s0"), 1u);

    kernel_.ours->link()->add(LinkInfo().setName("foreign").setType("bridge")).value();
    database_.execute("DELETE FROM interfaces");
    EXPECT_EQ(reconcile(), 1);
    EXPECT_EQ(link("s0").error().status, TAPLINE_STATUS_NOT_FOUND);
    EXPECT_TRUE(link("foreign")) << "it is not the service's";
    EXPECT_EQ(reconcile(), 0);
    kernel_.ours->link()->del(LinkInfo().setName("foreign")).value();
}

TEST_P(Service, ALinkThatSomebodyReplacedGetsItsAddressAgain)
{
    database_.execute("INSERT INTO interfaces VALUES ('s1', 'bridge', 1400, '192.0.2.1/24')");
    EXPECT_EQ(reconcile(), 2);
    kernel_.ours->link()->del(LinkInfo().setName("s1")).value();
    kernel_.ours->link()->add(LinkInfo().setName("s1").setType("bridge").setMtu(1400)).value();
    EXPECT_GE(reconcile(), 1) << "the new link gets its address";
    EXPECT_EQ(addresses("s1"), 1u);
    kernel_.ours->link()->del(LinkInfo().setName("s1")).value();
}

TEST_P(Service, AnAddressOfAnEarlierRowIsReplacedAndThoseOfOthersStay)
{
    database_.execute("INSERT INTO interfaces VALUES ('s2', 'bridge', 1400, '192.0.2.1/24')");
    EXPECT_EQ(reconcile(), 2);
    kernel_.ours->addr()->add(AddrInfo().setDev("s2").setLocal("198.51.100.1").setPrefixlen(24)).value();
    database_.execute("UPDATE interfaces SET address = '203.0.113.1/24'");
    EXPECT_EQ(reconcile(), 2) << "one is removed and one is added";
    const auto found = kernel_.ours->addr()->list(AddrInfo().setDev("s2").setFamily(Family::V4)).value();
    std::vector<std::string> locals;
    for (const auto &address : found) {
        locals.push_back(address.local->toString());
    }
    EXPECT_THAT(locals, testing::UnorderedElementsAre("198.51.100.1", "203.0.113.1"));
    database_.execute("UPDATE interfaces SET address = ''");
    EXPECT_EQ(reconcile(), 1);
    EXPECT_EQ(addresses("s2"), 1u);
    kernel_.ours->link()->del(LinkInfo().setName("s2")).value();
}

TEST_P(Service, WhatFailsIsReportedAndTheRestIsDone)
{
    database_.execute("INSERT INTO interfaces VALUES ('s3', 'bridge', 1400, 'nonsense')");
    database_.execute("INSERT INTO interfaces VALUES ('s4/', 'bridge', 1400, '')");
    database_.execute("INSERT INTO interfaces VALUES ('s5', 'bridge', 1400, '')");
    const auto outcome = reconciler_.reconcile(database_.interfaces());
    EXPECT_EQ(outcome.changes, 2);
    ASSERT_EQ(outcome.failures.size(), 2u);
    EXPECT_EQ(outcome.failures[0], "nonsense is not an address");
    EXPECT_THAT(outcome.failures[1], testing::HasSubstr("s4/"));
    for (const char *name : {"s3", "s5"}) {
        kernel_.ours->link()->del(LinkInfo().setName(name)).value();
    }
}

TEST_P(Service, ALinkThatSomebodyPutInThePlaceOfItsOwnIsNotDeleted)
{
    database_.execute("INSERT INTO interfaces VALUES ('s6', 'bridge', 1400, '')");
    EXPECT_EQ(reconcile(), 1);
    kernel_.ours->link()->del(LinkInfo().setName("s6")).value();
    kernel_.ours->link()->add(LinkInfo().setName("s6").setType("bridge").setIndex(4000)).value();
    database_.execute("DELETE FROM interfaces");
    EXPECT_EQ(reconcile(), 0);
    EXPECT_EQ(link("s6").value().index->index, 4000u);
    kernel_.ours->link()->del(LinkInfo().setName("s6")).value();
}

TEST_P(Service, ARemovalOfAnAddressThatFailsIsTriedAgain)
{
    const auto addr = std::make_shared<testing::NiceMock<MockAddrNetlink>>();
    testing::NiceMock<MockNetlinkFactory> factory;
    const auto theirs = kernel_.theirs->addr();
    ON_CALL(factory, link).WillByDefault(testing::Return(kernel_.theirs->link()));
    ON_CALL(factory, addr).WillByDefault(testing::Return(addr));
    ON_CALL(*addr, watch).WillByDefault([&](const AddrInfo &filter) { return theirs->watch(filter); });
    ON_CALL(*addr, add).WillByDefault([&](const AddrInfo &info) { return theirs->add(info); });
    tapline::error busy;
    busy.status = TAPLINE_STATUS_SYSTEM;
    busy.message = "busy";
    EXPECT_CALL(*addr, del)
        .WillOnce(testing::Return(busy))
        .WillOnce([&](const AddrInfo &info) { return theirs->del(info); });
    service::Reconciler reconciler(factory, database_);
    database_.execute("INSERT INTO interfaces VALUES ('s7', 'bridge', 1400, '192.0.2.1/24')");
    EXPECT_EQ(reconciler.reconcile(database_.interfaces()).changes, 2);
    database_.execute("UPDATE interfaces SET address = ''");
    EXPECT_THAT(reconciler.reconcile(database_.interfaces()).failures, testing::ElementsAre("busy"));
    EXPECT_EQ(addresses("s7"), 1u);
    EXPECT_EQ(reconciler.reconcile(database_.interfaces()).changes, 1);
    EXPECT_EQ(addresses("s7"), 0u);
    EXPECT_EQ(reconciler.reconcile(database_.interfaces()).changes, 0);
    kernel_.ours->link()->del(LinkInfo().setName("s7")).value();
}

TEST_P(Service, ARestartedServiceOwnsWhatItHasCreated)
{
    database_.execute("INSERT INTO interfaces VALUES ('t0', 'bridge', 1400, '192.0.2.1/24'), ('t1', 'bridge', 1400, '')");
    EXPECT_EQ(reconcile(), 3);
    kernel_.ours->link()->add(LinkInfo().setName("foreign").setType("bridge")).value();
    database_.execute("UPDATE interfaces SET address = '192.0.2.9/24' WHERE name = 't0'");
    database_.execute("DELETE FROM interfaces WHERE name = 't1'");
    service::Reconciler second(*kernel_.theirs, database_);
    EXPECT_EQ(second.reconcile(database_.interfaces()).changes, 3) << "a link and an address go, and an address comes";
    EXPECT_EQ(link("t1").error().status, TAPLINE_STATUS_NOT_FOUND);
    EXPECT_TRUE(link("foreign")) << "it is not the service's";
    const auto found = kernel_.ours->addr()->list(AddrInfo().setDev("t0").setFamily(Family::V4)).value();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].local, IpAddress("192.0.2.9"));
    EXPECT_EQ(second.reconcile(database_.interfaces()).changes, 0);
    database_.execute("DELETE FROM interfaces");
    service::Reconciler third(*kernel_.theirs, database_);
    EXPECT_EQ(third.reconcile(database_.interfaces()).changes, 1);
    EXPECT_THAT(database_.owned(), testing::IsEmpty());
    kernel_.ours->link()->del(LinkInfo().setName("foreign")).value();
}

TEST_P(Service, ALinkThatItWasCreatingWhenItEndedIsItsOwn)
{
    // As if it had ended before it knew the index, and once in another namespace.
    database_.save("t2", {});
    kernel_.ours->link()->add(LinkInfo().setName("t2").setType("bridge")).value();
    kernel_.ours->link()->add(LinkInfo().setName("t3").setType("bridge")).value();
    database_.save("t3", {link("t3").value().index->index, {}});
    database_.execute("UPDATE owned SET place = 'elsewhere' WHERE name = 't3'");
    service::Reconciler restarted(*kernel_.theirs, database_);
    EXPECT_EQ(restarted.reconcile(database_.interfaces()).changes, 1);
    EXPECT_FALSE(link("t2"));
    EXPECT_TRUE(link("t3"));
    kernel_.ours->link()->del(LinkInfo().setName("t3")).value();
}

TEST_P(Service, WhatCannotBeWrittenIsNotDone)
{
    database_.execute("INSERT INTO interfaces VALUES ('t4', 'bridge', 1400, '')");
    database_.execute("CREATE TRIGGER full BEFORE INSERT ON owned BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    const auto outcome = reconciler_.reconcile(database_.interfaces());
    EXPECT_THAT(outcome.failures, testing::ElementsAre("the disk is full"));
    EXPECT_FALSE(link("t4"));
    database_.execute("DROP TRIGGER full");
    EXPECT_EQ(reconcile(), 1);
    kernel_.ours->link()->del(LinkInfo().setName("t4")).value();
}

/// Counts what is written.
class Counted final : public service::Ownership {
public:
    explicit Counted(service::Ownership &inner) : inner_(inner) {}
    std::map<std::string, service::Own> owned() override { return inner_.owned(); }
    void save(const std::string &name, const service::Own &own) override
    {
        ++writes;
        inner_.save(name, own);
    }
    void forget(const std::string &name) override
    {
        ++writes;
        inner_.forget(name);
    }

    int writes = 0;

private:
    service::Ownership &inner_;
};

TEST_P(Service, ALinkThatTheKernelRefusesIsNotTriedAndWrittenAgainUntilItsRowIsAnother)
{
    Counted counted(database_);
    service::Reconciler reconciler(*kernel_.theirs, counted);
    database_.execute("INSERT INTO interfaces VALUES ('t5/', 'bridge', 1400, '')");
    const auto first = reconciler.reconcile(database_.interfaces());
    ASSERT_EQ(first.failures.size(), 1u);
    EXPECT_THAT(first.failures[0], testing::HasSubstr("t5/"));
    EXPECT_EQ(counted.writes, 2) << "before and after the attempt";
    for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(reconciler.reconcile(database_.interfaces()).changes, 0);
    }
    EXPECT_EQ(counted.writes, 2);
    reconciler.retryRefused();
    EXPECT_EQ(reconciler.reconcile(database_.interfaces()).failures, first.failures);
    EXPECT_EQ(counted.writes, 4);
    database_.execute("UPDATE interfaces SET name = 't5'");
    EXPECT_EQ(reconciler.reconcile(database_.interfaces()).changes, 1);
    kernel_.ours->link()->del(LinkInfo().setName("t5")).value();
}

TEST_P(Service, WithoutAnMtuThatOfTheKernelStays)
{
    database_.execute("DROP TABLE interfaces");
    database_.execute("CREATE TABLE interfaces(name TEXT PRIMARY KEY, type TEXT, mtu INTEGER, address TEXT)");
    database_.execute("INSERT INTO interfaces VALUES ('t6', 'bridge', NULL, '')");
    EXPECT_EQ(reconcile(), 1);
    kernel_.ours->link()->set(LinkInfo().setName("t6").setMtu(1234)).value();
    EXPECT_EQ(reconcile(), 0);
    EXPECT_EQ(link("t6").value().mtu, 1234u);
    kernel_.ours->link()->del(LinkInfo().setName("t6")).value();
}

TEST(Database, ThatCannotBeOpenedIsAnErrorAndLeaksNothing)
{
    EXPECT_THROW(service::Database("/nowhere/interfaces.db"), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(OnTheFakeKernel, Service, testing::Values(fakeKernel));
INSTANTIATE_TEST_SUITE_P(InANamespace, Service, testing::Values(+[] { return Kernel{kernel(), kernel()}; }));

}  // namespace
