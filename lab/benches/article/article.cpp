// The benchmark of the article on typed netlink, with Google Benchmark: the same change by exec, std::system, the C++
// library of tapline, libnl3 and a raw socket. Only the change is timed; what it needs and leaves is prepared and undone
// outside. Link kind: argv[1]. Interface for the routes: argv[2], whose network has 10.1.0.2.
#include <benchmark/benchmark.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tapline/netlink/factory.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tapline::netlink;

namespace {

const char *kind;
const char *device;
constexpr std::uint32_t routeCount = 100'000;
constexpr std::uint32_t batchSize = 256;

[[noreturn]] void die(const char *what)
{
    std::perror(what);
    std::exit(1);
}

// A raw socket: messages by hand, nothing checked but the acknowledgement.

class Raw {
public:
    Raw()
    {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        const int on = 1;
        fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) < 0) {
            die("socket");
        }
        setsockopt(fd_, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
        setsockopt(fd_, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
    }
    ~Raw() { close(fd_); }
    Raw(const Raw &) = delete;
    Raw &operator=(const Raw &) = delete;

    template <class Header>
    void begin(int type, int flags, const Header &header)
    {
        start_ = length_;
        nlmsghdr message{};
        message.nlmsg_type = static_cast<std::uint16_t>(type);
        message.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
        message.nlmsg_seq = ++sequence_;
        append(&message, sizeof message);
        append(&header, sizeof header);
    }
    std::size_t put(int type, const void *data, std::size_t size)
    {
        const std::size_t at = length_;
        const rtattr attribute{static_cast<std::uint16_t>(RTA_LENGTH(size)), static_cast<std::uint16_t>(type)};
        append(&attribute, sizeof attribute);
        append(data, size);
        return at;
    }
    void endNest(std::size_t at)
    {
        const auto size = static_cast<std::uint16_t>(length_ - at);
        std::memcpy(buffer_ + at, &size, sizeof size);
    }
    void end()
    {
        const auto size = static_cast<std::uint32_t>(length_ - start_);
        std::memcpy(buffer_ + start_, &size, sizeof size);
    }
    /// Sends the messages and reads until the last one is acknowledged.
    void flush()
    {
        if (send(fd_, buffer_, length_, 0) < 0) {
            die("send");
        }
        length_ = 0;
        for (;;) {
            char answer[8192];
            const auto bytes = recv(fd_, answer, sizeof answer, 0);
            if (bytes < 0) {
                die("recv");
            }
            nlmsghdr message;
            nlmsgerr error;
            std::memcpy(&message, answer, sizeof message);
            std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
            if (message.nlmsg_type == NLMSG_ERROR && error.error != 0) {
                errno = -error.error;
                die("refused");
            }
            if (message.nlmsg_seq == sequence_) {
                return;
            }
        }
    }

private:
    void append(const void *data, std::size_t size)
    {
        std::memcpy(buffer_ + length_, data, size);
        length_ += size;
        while (length_ % 4 != 0) {
            buffer_[length_++] = 0;
        }
    }

    int fd_ = -1;
    unsigned sequence_ = 0;
    std::size_t start_ = 0;
    std::size_t length_ = 0;
    char buffer_[65536];
};

void rawCreate(Raw &raw)
{
    raw.begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
    raw.put(IFLA_IFNAME, "b0", 3);
    const auto info = raw.put(IFLA_LINKINFO | NLA_F_NESTED, "", 0);
    raw.put(IFLA_INFO_KIND, kind, std::strlen(kind) + 1);
    raw.endNest(info);
    raw.end();
    raw.flush();
}

void rawDelete(Raw &raw)
{
    raw.begin(RTM_DELLINK, NLM_F_ACK, ifinfomsg{});
    raw.put(IFLA_IFNAME, "b0", 3);
    raw.end();
    raw.flush();
}

void rawAdmin(Raw &raw, bool up)
{
    ifinfomsg header{};
    header.ifi_flags = up ? static_cast<unsigned>(IFF_UP) : 0u;
    header.ifi_change = IFF_UP;
    raw.begin(RTM_NEWLINK, NLM_F_ACK, header);
    raw.put(IFLA_IFNAME, "b0", 3);
    raw.end();
    raw.flush();
}

// Processes.

void exec(const char *const *words)
{
    const pid_t child = fork();
    if (child == 0) {
        execvp(words[0], const_cast<char *const *>(words));
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
        die("ip");
    }
}

void shell(const std::string &command)
{
    if (std::system(command.c_str()) != 0) {
        die("ip");
    }
}

// libnl3.

class Libnl {
public:
    Libnl() : socket_(nl_socket_alloc())
    {
        if (nl_connect(socket_, NETLINK_ROUTE) < 0) {
            die("libnl");
        }
    }
    ~Libnl() { nl_socket_free(socket_); }
    Libnl(const Libnl &) = delete;
    Libnl &operator=(const Libnl &) = delete;

    void create()
    {
        rtnl_link *link = rtnl_link_alloc();
        rtnl_link_set_name(link, "b0");
        rtnl_link_set_type(link, kind);
        check(rtnl_link_add(socket_, link, NLM_F_CREATE | NLM_F_EXCL));
        rtnl_link_put(link);
    }
    /// It needs the index.
    void up(int index)
    {
        rtnl_link *link = rtnl_link_alloc();
        rtnl_link *change = rtnl_link_alloc();
        rtnl_link_set_ifindex(link, index);
        rtnl_link_set_flags(change, IFF_UP);
        check(rtnl_link_change(socket_, link, change, 0));
        rtnl_link_put(link);
        rtnl_link_put(change);
    }
    void addRoute(std::uint32_t number, int index)
    {
        const std::uint32_t bytes = htonl(0x14000000 + number);
        const std::uint32_t gatewayBytes = htonl(0x0a010002);
        nl_addr *dst = nl_addr_build(AF_INET, &bytes, 4);
        nl_addr *gateway = nl_addr_build(AF_INET, &gatewayBytes, 4);
        rtnl_route *route = rtnl_route_alloc();
        rtnl_nexthop *hop = rtnl_route_nh_alloc();
        rtnl_route_set_table(route, 100);
        rtnl_route_set_dst(route, dst);
        rtnl_route_nh_set_gateway(hop, gateway);
        rtnl_route_nh_set_ifindex(hop, index);
        rtnl_route_add_nexthop(route, hop);
        check(rtnl_route_add(socket_, route, NLM_F_EXCL));
        rtnl_route_put(route);
        nl_addr_put(dst);
        nl_addr_put(gateway);
    }

private:
    static void check(int status)
    {
        if (status < 0) {
            std::fprintf(stderr, "libnl: %s\n", nl_geterror(status));
            std::exit(1);
        }
    }

    nl_sock *socket_;
};

// The benchmarks.

template <class Change>
void timed(benchmark::State &state, Change change)
{
    const auto begin = std::chrono::steady_clock::now();
    change();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

template <class Change>
void create(benchmark::State &state, Change change)
{
    Raw raw;
    for ([[maybe_unused]] auto _ : state) {
        timed(state, change);
        rawDelete(raw);
    }
}

template <class Change>
void up(benchmark::State &state, Change change)
{
    Raw raw;
    rawCreate(raw);
    const auto index = static_cast<int>(if_nametoindex("b0"));
    for ([[maybe_unused]] auto _ : state) {
        timed(state, [&] { change(index); });
        rawAdmin(raw, false);
    }
    rawDelete(raw);
}

/// The routes are deleted by setting their link down and up.
template <class Change>
void routes(benchmark::State &state, Change change)
{
    const auto factory = NetlinkFactory::open().value();
    const auto link = factory->link();
    for ([[maybe_unused]] auto _ : state) {
        timed(state, change);
        link->set(LinkInfo().setName(device).setAdmin(false)).value();
        link->set(LinkInfo().setName(device).setAdmin(true)).value();
    }
}

void rawRoutes()
{
    static Raw raw;
    const auto index = if_nametoindex(device);
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_dst_len = 32;
    header.rtm_table = 100;
    header.rtm_protocol = RTPROT_STATIC;
    header.rtm_type = RTN_UNICAST;
    const std::uint32_t gateway = htonl(0x0a010002);
    for (std::uint32_t number = 0; number < routeCount; ++number) {
        const bool isLast = number % batchSize == batchSize - 1 || number == routeCount - 1;
        raw.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | (isLast ? NLM_F_ACK : 0), header);
        const std::uint32_t destination = htonl(0x14000000 + number);
        raw.put(RTA_DST, &destination, 4);
        raw.put(RTA_GATEWAY, &gateway, 4);
        raw.put(RTA_OIF, &index, 4);
        raw.end();
        if (isLast) {
            raw.flush();
        }
    }
}

void ourRoutes(INetlinkFactory &factory)
{
    const auto index = if_nametoindex(device);
    Batch batch;
    auto route = RouteInfo()
                     .setTable(static_cast<RouteTable>(100))
                     .setProtocol(RouteProtocol::Static)
                     .setGateway(IpAddress::v4(0x0a010002))
                     .setDev(index);
    for (std::uint32_t number = 0; number < routeCount; ++number) {
        batch.add(route.setDst(Prefix(IpAddress::v4(0x14000000 + number), 32)));
    }
    for (const auto &item : factory.run(batch).value()) {
        if (!item) {
            die("a route");
        }
    }
}

}  // namespace

int main(int count, char **words)
{
    benchmark::Initialize(&count, words);
    if (count != 3) {
        return 2;
    }
    kind = words[1];
    device = words[2];
    const auto factory = NetlinkFactory::open().value();
    const auto link = factory->link();
    Raw raw;
    Libnl libnl;

    const auto bench = [](const char *name, auto body) {
        return benchmark::RegisterBenchmark(name, body)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(20);
    };
    const char *const addWords[] = {"ip", "link", "add", "b0", "type", kind, nullptr};
    const char *const upWords[] = {"ip", "link", "set", "b0", "up", nullptr};
    const auto add = std::string("ip link add b0 type ") + kind;
    bench("create/raw", [&](benchmark::State &state) { create(state, [&] { rawCreate(raw); }); });
    bench("create/tapline", [&](benchmark::State &state) {
        create(state, [&] { link->add(LinkInfo().setName("b0").setType(kind)).value(); });
    });
    bench("create/libnl", [&](benchmark::State &state) { create(state, [&] { libnl.create(); }); });
    bench("create/exec", [&](benchmark::State &state) { create(state, [&] { exec(addWords); }); })->Iterations(10);
    bench("create/system", [&](benchmark::State &state) { create(state, [&] { shell(add); }); })->Iterations(10);
    bench("up/raw", [&](benchmark::State &state) { up(state, [&](int) { rawAdmin(raw, true); }); });
    bench("up/tapline", [&](benchmark::State &state) {
        up(state, [&](int) { link->set(LinkInfo().setName("b0").setAdmin(true)).value(); });
    });
    bench("up/libnl", [&](benchmark::State &state) { up(state, [&](int index) { libnl.up(index); }); });
    bench("up/exec", [&](benchmark::State &state) { up(state, [&](int) { exec(upWords); }); })->Iterations(10);
    bench("up/system", [&](benchmark::State &state) { up(state, [](int) { shell("ip link set b0 up"); }); })->Iterations(10);
    bench("routes/raw", [](benchmark::State &state) { routes(state, rawRoutes); })->Iterations(1);
    bench("routes/tapline", [&](benchmark::State &state) { routes(state, [&] { ourRoutes(*factory); }); })->Iterations(1);
    bench("routes/libnl", [&](benchmark::State &state) {
        routes(state, [&] {
            const auto index = static_cast<int>(if_nametoindex(device));
            for (std::uint32_t number = 0; number < routeCount; ++number) {
                libnl.addRoute(number, index);
            }
        });
    })->Iterations(1);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
