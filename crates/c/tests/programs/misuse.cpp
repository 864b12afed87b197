// misuse INTERFACE: what C++ code may do wrong is an error, and never a crash.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <fcntl.h>
#include <unistd.h>
#include <tapline/capture.hpp>
#include <tapline/count.hpp>
#include <tapline/doctor.hpp>
#include <tapline/file.hpp>
#include <tapline/filter.hpp>
#include <tapline/netlink/factory.hpp>
#include <tapline/ping.hpp>
#include <tapline/send.hpp>

namespace {

using namespace std::chrono_literals;
namespace net = tapline::netlink;

void check(bool holds, const char *what, int line)
{
    if (!holds) {
        std::fprintf(stderr, "misuse.cpp:%d: %s\n", line, what);
        std::exit(1);
    }
}

/// The call fails with this status.
template <class T>
void fails(const tapline::result<T> &result, tapline_status expected, const char *what, int line)
{
    if (result.has_value() || result.error().status != expected || result.error().message.empty()) {
        std::fprintf(stderr, "misuse.cpp:%d: %s: status %d, %s\n", line, what, static_cast<int>(result.error().status),
                     result.error().message.c_str());
        std::exit(1);
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#define FAILS(status, ...) fails(__VA_ARGS__, TAPLINE_STATUS_##status, #__VA_ARGS__, __LINE__)

const std::byte frame[60] = {};

// Moved-from and closed objects.

void use(tapline::capture &capture)
{
    FAILS(INVALID_HANDLE, capture.next_batch(0ns));
    FAILS(INVALID_HANDLE, capture.next_packets(0ns));
    FAILS(INVALID_HANDLE, capture.set_filter(""));
    FAILS(INVALID_HANDLE, capture.stats());
    FAILS(INVALID_HANDLE, capture.interface_stats(0));
    FAILS(INVALID_HANDLE, capture.delays());
    FAILS(INVALID_HANDLE, capture.stop());
    FAILS(INVALID_HANDLE, capture.finish());
    CHECK(capture.fd() == -1 && capture.stop_fd() == -1 && !capture.interface(0));
}

void captures(const std::string &name)
{
    auto capture = tapline::capture::open({.interfaces = {name}}).value();
    tapline::capture moved = std::move(capture);
    use(capture);
    CHECK(moved.fd() >= 0);
    auto &same = moved;
    moved = std::move(same);
    CHECK(moved.fd() >= 0);
    CHECK(!moved.interface(7));
    capture = std::move(moved);
    use(moved);
    capture.finish().value();
    use(capture);

    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {}}));
    FAILS(NOT_FOUND, tapline::capture::open({.interfaces = {"nowhere0"}}));
    FAILS(SYNTAX, tapline::capture::open({.interfaces = {name}, .filter = "udp prot 53"}));
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {name}, .mode = static_cast<tapline_capture_mode>(17)}));
    FAILS(NOT_FOUND, tapline::capture::open({.interfaces = {name}, .netns = "nowhere"}));
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {name}, .netns = ".."}));
}

/// Times that cannot be negative.
void durations(const std::string &name)
{
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {name}, .delivery_time = -1ns}));
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {name}, .spin = -1ns}));
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {name}, .max_time = -1s}));
    FAILS(INVALID_ARGUMENT, tapline::counter::open({.interfaces = {name}, .interval = -1s}));
    FAILS(INVALID_ARGUMENT, tapline::counter::open({.interfaces = {name}, .max_time = -1s}));
    FAILS(INVALID_ARGUMENT, tapline::pinger::open({.targets = {"127.0.0.1"}, .interval = -1s}));
    FAILS(INVALID_ARGUMENT, tapline::pinger::open({.targets = {"127.0.0.1"}, .timeout = -1s}));
    FAILS(INVALID_ARGUMENT, tapline::pinger::open({.targets = {"127.0.0.1"}, .max_time = -1s}));
    const auto writer = tapline::writer::create("/dev/null", {.rotate_time = -1s});
    FAILS(INVALID_ARGUMENT, writer);
    CHECK(writer.error().message == "rotate_time is negative");
}

/// A capture that cannot wait for packets any more has an account nevertheless.
void failedCapture(const std::string &name)
{
    auto capture = tapline::capture::open({.interfaces = {name}}).value();
    // It waits on this descriptor, which now is one of a file.
    const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK(file >= 0 && dup2(file, capture.fd()) >= 0 && close(file) == 0);
    CHECK(capture.next_batch(1s).value().is_end());
    std::optional<tapline::capture_stats> account;
    FAILS(SYSTEM, capture.finish(account));
    CHECK(account && account->delivered == 0 && account->duration);
    FAILS(INVALID_HANDLE, capture.finish(account));
    CHECK(!account);
    capture = tapline::capture::open({.interfaces = {name}}).value();
    capture.finish(account).value();
    CHECK(account && account->duration);
}

void files()
{
    FAILS(NOT_FOUND, tapline::reader::open("/nowhere"));
    FAILS(NOT_FOUND, tapline::reader::open(""));
    FAILS(SYSTEM, tapline::reader::open("/"));
    FAILS(SYSTEM, tapline::writer::create("/"));
    FAILS(DAMAGED, tapline::reader::open("/proc/self/status"));
    FAILS(NOT_FOUND, tapline::writer::create("/nowhere/file"));
    auto writer = tapline::writer::create("/dev/null").value();
    tapline_packet packet = {};
    packet.interface = 7;
    FAILS(INVALID_ARGUMENT, writer.write({&packet, 1}));
    packet = {};
    packet.captured_len = packet.len = 60;
    FAILS(INVALID_ARGUMENT, writer.write({&packet, 1}));
    tapline::writer moved = std::move(writer);
    FAILS(INVALID_HANDLE, writer.write(tapline::batch()));
    FAILS(INVALID_HANDLE, writer.add_interface({}));
    FAILS(INVALID_HANDLE, writer.flush());
    FAILS(INVALID_HANDLE, writer.close());
    moved.close().value();
    FAILS(INVALID_HANDLE, moved.write(tapline::batch()));
    FAILS(INVALID_HANDLE, moved.close());
    FAILS(SYSTEM, tapline::writer::create("/dev/full"));
}

void filters()
{
    FAILS(SYNTAX, tapline::filter::compile("udp prot 53"));
    // A C string would end in the middle.
    FAILS(INVALID_ARGUMENT, tapline::filter::compile(std::string("udp\0 port 53", 12)));
    auto filter = tapline::filter::compile("udp").value();
    tapline_packet packet = {};
    std::uint32_t keep = 0;
    FAILS(INVALID_ARGUMENT, filter.run({&packet, 1}, {}));
    packet.captured_len = packet.len = 60;
    FAILS(INVALID_ARGUMENT, filter.run({&packet, 1}, {&keep, 1}));
    CHECK(!filter.matches({}).value());
    const tapline::filter moved = std::move(filter);
    FAILS(INVALID_HANDLE, filter.matches(frame));
    FAILS(INVALID_HANDLE, filter.classic());
}

void senders(const std::string &name)
{
    FAILS(INVALID_ARGUMENT, tapline::send_queue::create(static_cast<std::size_t>(-1)));
    FAILS(NOT_FOUND, tapline::sender::open({.interface = "nowhere0"}));
    const std::string cut = name + std::string("\0x", 2);
    FAILS(INVALID_ARGUMENT, tapline::sender::open({.interface = cut}));
    FAILS(INVALID_ARGUMENT, tapline::capture::open({.interfaces = {cut}}));
    FAILS(INVALID_ARGUMENT, tapline::counter::open({.interfaces = {cut}}));
    FAILS(INVALID_ARGUMENT, tapline::pinger::open({.targets = {std::string("127.0.0.1\0x", 11)}}));
    FAILS(INVALID_ARGUMENT, tapline::reader::open(std::string("/dev/null\0x", 11)));
    FAILS(INVALID_ARGUMENT, tapline::writer::create(std::string("/dev/null\0x", 11)));
    FAILS(INVALID_ARGUMENT, tapline::examine(cut));
    FAILS(INVALID_ARGUMENT, net::NetlinkFactory::open(std::string_view("a\0b", 3)));
    auto queue = tapline::send_queue::create().value();
    FAILS(INVALID_ARGUMENT, queue.push({}));
    queue.push(frame).value();
    FAILS(INVALID_ARGUMENT, queue.push(frame, -1s));
    FAILS(INVALID_ARGUMENT, queue.push(frame, tapline::time_point(-1ns)));
    auto sender = tapline::sender::open({.interface = name}).value();
    const auto other = std::move(queue);
    FAILS(INVALID_HANDLE, queue.push(frame));
    FAILS(INVALID_HANDLE, queue.clear());
    FAILS(INVALID_HANDLE, sender.transmit(queue));
    FAILS(INVALID_ARGUMENT, sender.generate({.destinations = "nonsense"}));
    auto moved = std::move(sender);
    FAILS(INVALID_HANDLE, sender.transmit(other));
    FAILS(INVALID_HANDLE, sender.inject(frame));
    FAILS(INVALID_HANDLE, sender.generate({.destinations = "127.0.0.1"}));
    FAILS(INVALID_HANDLE, sender.stop());
    FAILS(INVALID_HANDLE, sender.finish());
    moved.finish().value();
    FAILS(INVALID_HANDLE, moved.transmit(other));
    FAILS(INVALID_HANDLE, moved.finish());
}

void pingers()
{
    FAILS(INVALID_ARGUMENT, tapline::pinger::open({.targets = {}}));
    auto pinger = tapline::pinger::open({.targets = {"127.0.0.1"}, .count = 1}).value();
    CHECK(!pinger.target(1).value() && !pinger.name(0).value() && !pinger.name(1).value());
    {
        // Between two probes there are no events, and a negative time does not wait for them: an empty batch, and no end.
        auto run = tapline::pinger::open({.targets = {"127.0.0.1"}, .count = 2, .interval = 2s}).value();
        auto events = run.next_batch(-1s).value();
        while (events.size() > 0) {
            events = run.next_batch(-1s).value();
        }
        CHECK(!events.is_end());
        run.finish().value();
    }
    auto moved = std::move(pinger);
    FAILS(INVALID_HANDLE, pinger.next_batch(0ns));
    FAILS(INVALID_HANDLE, pinger.stats());
    FAILS(INVALID_HANDLE, pinger.target(0));
    FAILS(INVALID_HANDLE, pinger.name(0));
    FAILS(INVALID_HANDLE, pinger.stop());
    FAILS(INVALID_HANDLE, pinger.finish());
    CHECK(pinger.fd() == -1);
    moved.finish().value();
    FAILS(INVALID_HANDLE, moved.next_batch(0ns));
    FAILS(INVALID_HANDLE, moved.finish());
    FAILS(NOT_FOUND, tapline::examine("nowhere0"));
}

// A second thread in a call with the same object.

void threads(const std::string &name)
{
    auto capture = tapline::capture::open({.interfaces = {name}}).value();
    tapline_status last = TAPLINE_STATUS_OK;
    std::thread waiting([&capture, &last] {
        // The main thread tries to be in a call, too.
        for (;;) {
            const auto batch = capture.next_batch();
            if (batch ? batch->is_end() : batch.error().status != TAPLINE_STATUS_IN_USE) {
                last = batch.error().status;
                return;
            }
        }
    });
    // Until the other thread is in its call.
    while (capture.next_batch(0ns).error().status != TAPLINE_STATUS_IN_USE) {
    }
    FAILS(IN_USE, capture.finish());
    capture.stats().value();
    capture.stop().value();
    waiting.join();
    CHECK(last == TAPLINE_STATUS_OK);
    // The failed attempt did not give it up.
    capture.finish().value();
}

// Results.

void results()
{
    const auto failed = [] { return tapline::filter::compile("udp prot 53"); };
    auto result = failed();
    try {
        result.value();
        CHECK(false);
    } catch (const tapline::bad_result &thrown) {
        CHECK(thrown.error() == result.error() && thrown.error().hint == "did you mean \"port\"?");
        // Each text once.
        const std::string text = thrown.what();
        CHECK(text.find("did you mean") == text.rfind("did you mean"));
    }
    auto moved = std::move(result);
    CHECK(!moved && !result && moved.error().status == TAPLINE_STATUS_SYNTAX);
    FAILS(INVALID_HANDLE, result);
    tapline::result<void> nothing = moved.error();
    const auto copy = nothing;
    const auto taken = std::move(nothing);
    CHECK(!taken && !copy && !nothing);
    CHECK(tapline::result<int>(7).error().status == TAPLINE_STATUS_OK);
    CHECK(tapline::result<void>().error().status == TAPLINE_STATUS_OK);
}

// Netlink, with the fake kernel.


void netlinks()
{
    FAILS(NOT_FOUND, net::NetlinkFactory::open("nowhere"));
    FAILS(NOT_FOUND, net::NetlinkFactory::open(std::string("nowhere")));
    FAILS(NOT_FOUND, net::NetlinkFactory::open(std::string_view("nowhere0", 7)));
    FAILS(INVALID_ARGUMENT, net::NetlinkFactory::open(""));
    auto fake = net::FakeKernel::create().value();
    auto factory = net::NetlinkFactory::open(fake).value();
    const auto kernel = std::move(fake);
    // In C null stands for the real kernel. A fake one that was moved from does not.
    FAILS(INVALID_HANDLE, net::NetlinkFactory::open(fake));

    const auto link = factory->link();
    FAILS(INVALID_ARGUMENT, link->set(net::LinkInfo()));
    FAILS(NOT_FOUND, link->del(net::LinkInfo().setName("nowhere0")));
    FAILS(NOT_FOUND, link->get(net::LinkInfo().setIndex(77)));
    FAILS(INVALID_ARGUMENT, link->add(net::LinkInfo().setName("a name that is too long for the kernel").setType("dummy")));
    FAILS(INVALID_ARGUMENT, link->add(net::LinkInfo().setName("\xff").setType("dummy")));
    FAILS(NOT_FOUND, factory->addr()->add(net::AddrInfo().setDev("nowhere0").setLocal("192.0.2.1")));
    FAILS(NOT_FOUND, factory->addr()->list(net::AddrInfo().setDev("nowhere0")));
    FAILS(NOT_FOUND, factory->addr()->watch(net::AddrInfo().setDev("nowhere0")));
    FAILS(NOT_FOUND, factory->route()->lookup(net::RouteQuery().setTo("192.0.2.1").setOif("nowhere0")));

    // A batch that was moved from is empty, and its results are.
    net::Batch batch;
    batch.add(net::LinkInfo().setName("d0").setType("dummy"));
    const net::Batch taken = std::move(batch);
    CHECK(batch.size() == 0 && taken.size() == 1);
    CHECK(factory->run(batch).value().empty());
    batch = taken;
    CHECK(batch.size() == 1 && batch.bytes().size() == taken.bytes().size());
    auto &same = batch;
    batch = std::move(same);
    CHECK(batch.size() == 1 && batch.bytes().size() == taken.bytes().size());
    CHECK(factory->run(taken).value().size() == 1);

    // A read-only field would have no effect. What the kernel reported has some.
    auto observed = net::LinkInfo().setName("d0").setMtu(1400);
    observed.promiscuity = 1;
    FAILS(INVALID_ARGUMENT, link->set(observed));
    CHECK(link->set(observed).error().message.find("promiscuity is read-only") != std::string::npos);
    CHECK(observed.settable() == net::LinkInfo().setName("d0").setMtu(1400));
    link->set(observed.settable()).value();
    auto route = net::RouteInfo().setDst("192.0.2.0/24").setKind(net::RouteType::Blackhole);
    route.used = 1;
    FAILS(INVALID_ARGUMENT, factory->route()->add(route));
    factory->route()->add(route.settable()).value();

    // What a factory made lives on without it.
    const auto watch = link->watch(net::LinkInfo()).value();
    factory.reset();
    CHECK(link->list(net::LinkInfo()).value().size() == watch->next(0ns).value().size());
    link->add(net::LinkInfo().setName("d1").setType("dummy")).value();

    std::atomic<bool> isLast = false;
    std::thread waiting([&watch, &isLast] {
        for (;;) {
            const auto events = watch->next();
            CHECK(events || events.error().status == TAPLINE_STATUS_IN_USE);
            if (events && isLast) {
                return;
            }
        }
    });
    while (watch->next(0ns).error().status != TAPLINE_STATUS_IN_USE) {
    }
    isLast = true;
    link->add(net::LinkInfo().setName("d2").setType("dummy")).value();
    waiting.join();

    // Another thread ends the watch while a call waits.
    std::thread ending([&watch] {
        for (;;) {
            const auto events = watch->next();
            if (!events && events.error().status == TAPLINE_STATUS_END) {
                return;
            }
            CHECK(events || events.error().status == TAPLINE_STATUS_IN_USE);
        }
    });
    while (watch->next(0ns).error().status != TAPLINE_STATUS_IN_USE) {
    }
    watch->stop().value();
    ending.join();
    FAILS(END, watch->next());
    FAILS(END, watch->next(0ns));
}

/// Threads may share what a factory made: each of their requests is carried out.
void sharedNetlink(const std::string &name)
{
    const auto factory = net::NetlinkFactory::open().value();
    const auto index = factory->link()->get(net::LinkInfo().setName(name)).value().index->index;
    std::vector<std::thread> all;
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
        all.emplace_back([&factory, index, thread] {
            const auto addr = factory->addr();
            for (std::uint32_t number = 0; number < 50; ++number) {
                const auto ip = net::IpAddress::v4(0xc633'6400u + 64 * thread + number);
                addr->add(net::AddrInfo().setDev(index).setLocal(ip).setPrefixlen(32)).value();
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    CHECK(factory->addr()->list(net::AddrInfo().setDev(index).setPrefixlen(32)).value().size() == 200);
}

template <class F>
bool throws(F call)
{
    try {
        call();
        return false;
    } catch (const std::logic_error &) {
        return true;
    }
}

/// More changes than are carried out at once.
void runningBatches()
{
    const auto kernel = net::FakeKernel::create().value();
    const auto factory = net::NetlinkFactory::open(kernel).value();
    const auto before = factory->link()->list(net::LinkInfo()).value().size();
    net::RunningBatch batch(*factory);
    for (std::uint32_t number = 0; number < 600; ++number) {
        const auto name = "d" + std::to_string(number == 550 ? 0 : number);
        batch.add(net::LinkInfo().setName(name).setType("dummy"));
    }
    CHECK(batch.size() == 600);
    const auto failed = batch.finish().value();
    CHECK(failed.size() == 1 && failed[0].number == 550);
    CHECK(failed[0].result.error->status == TAPLINE_STATUS_EXISTS);
    CHECK(factory->link()->list(net::LinkInfo()).value().size() == before + 599);
    CHECK(batch.size() == 0 && batch.finish().value().empty());
    batch.set(net::LinkInfo().setName("d1").setMtu(1400)).del(net::LinkInfo().setName("d0"));
    CHECK(batch.finish().value().empty() && !factory->link()->get(net::LinkInfo().setName("d0")));
    CHECK(factory->link()->get(net::LinkInfo().setName("d1")).value().mtu == 1400u);
    // Without finish() the changes are made all the same.
    const auto left = factory->link()->list(net::LinkInfo()).value().size();
    {
        net::RunningBatch unfinished(*factory);
        for (std::uint32_t number = 0; number < 600; ++number) {
            unfinished.add(net::LinkInfo().setName("e" + std::to_string(number)).setType("dummy"));
        }
    }
    CHECK(factory->link()->list(net::LinkInfo()).value().size() == left + 600);
    static_assert(!std::is_copy_constructible_v<net::RunningBatch> && !std::is_move_constructible_v<net::RunningBatch>);
}

void values()
{
    CHECK(throws([] { return net::IpAddress("192.0.2.256"); }) && throws([] { return net::Prefix("192.0.2.0/33"); }));
    CHECK(throws([] { return net::MacAddress("02:00:zz"); }) && throws([] { return net::IpAddress(std::string()); }));
    static_assert(!std::is_constructible_v<net::IpAddress, std::nullptr_t>);
    static_assert(!std::is_constructible_v<net::Prefix, std::nullptr_t>);
    static_assert(!std::is_constructible_v<net::MacAddress, std::nullptr_t>);
    const char *const none = nullptr;
    CHECK(throws([none] { return net::IpAddress(none); }) && !net::IpAddress::parse(none));
    CHECK(throws([none] { return net::Prefix(none); }) && throws([none] { return net::MacAddress(none); }));
    CHECK(throws([none] { return net::Interface(none); }));
    CHECK(throws([] { return net::IpAddress(std::string("192.0.2.1\0x", 11)); }));
    CHECK(!net::Prefix::parse(std::string_view("192.0.2.1\0x", 11)));
    CHECK(!net::IpAddress::parse(std::string_view("192.0.2.1\0x", 11)) && !net::Prefix::parse(none) && !net::MacAddress::parse(none));
    CHECK(net::IpAddress::parse(std::string("192.0.2.1")) == net::IpAddress("192.0.2.1"));
    {
        const auto kernel = net::FakeKernel::create().value();
        const auto factory = net::NetlinkFactory::open(kernel).value();
        const auto cut = net::LinkInfo().setName("d0").setType(std::string("dummy\0x", 7));
        FAILS(INVALID_ARGUMENT, factory->link()->add(cut));
        factory->link()->add(net::LinkInfo().setName("d0").setType("dummy")).value();
        FAILS(INVALID_ARGUMENT, factory->link()->set(net::LinkInfo().setName("d0").setAlias(std::string("a\0b", 3))));
    }
    // Setters of texts, which std::string would dereference or refuse, depending on the standard library.
    CHECK(throws([none] { return net::LinkInfo().setName(none); }));
    CHECK(throws([none] { return net::LinkInfo().setType(none); }) && throws([none] { return net::RuleInfo().setSport(none); }));
    static_assert(!std::is_convertible_v<std::nullptr_t, net::Text>);
    CHECK(net::LinkInfo().setName(std::string_view("eth0x", 4)).name == "eth0");
    CHECK(net::AddrInfo().setDev(std::string_view("eth0")).dev->name == "eth0");
    // Numbers of any type that an index can be, and no others.
    CHECK(net::Interface(7ul).index == 7 && net::Interface(std::size_t{8}) == net::Interface(8));
    CHECK(throws([] { return net::Interface(-1); }) && throws([] { return net::Interface(std::uint64_t{1} << 32); }));
    static_assert(!std::is_convertible_v<bool, net::Interface>);
    // A text is neither on nor off.
    static_assert(std::is_convertible_v<bool, net::Switch> && !std::is_convertible_v<const char *, net::Switch>);
    CHECK(throws([] { return net::AddrInfo().setValidLifeTime(std::chrono::hours(2'000'000)); }));
    CHECK(throws([] { return net::AddrInfo().setValidLifeTime(-1s); }));
    net::Boxed<net::Bridge> box = net::Bridge().setVlanFiltering(true);
    const auto taken = std::move(box);
    CHECK(!box.has_value() && taken->vlanFiltering == true);
    bool isEmpty = false;
    try {
        CHECK(box->vlanFiltering.has_value());
    } catch (const tapline::empty_boxed &) {
        isEmpty = true;
    }
    CHECK(isEmpty);
}

}  // namespace

int main(int count, char **words)
{
    CHECK(count == 2);
    const std::string name = words[1];
    captures(name);
    durations(name);
    failedCapture(name);
    files();
    filters();
    senders(name);
    pingers();
    threads(name);
    results();
    netlinks();
    sharedNetlink(name);
    runningBatches();
    values();
    std::puts("done");
    return 0;
}
