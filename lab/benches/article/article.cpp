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

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

using namespace tapline::netlink;

namespace {

const char *kind;
const char *device;
constexpr std::uint32_t routeCount = 100'000;
constexpr std::uint32_t batchSize = 256;
/// Turns in a repetition.
constexpr std::int64_t createTurns = 50;
constexpr std::int64_t upTurns = 200;

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
double seconds(Change change)
{
    const auto begin = std::chrono::steady_clock::now();
    change();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Times `change`, and undoes it.
template <class Change, class Undo>
void alone(benchmark::State &state, Change change, Undo undo)
{
    for ([[maybe_unused]] auto _ : state) {
        state.SetIterationTime(seconds(change));
        undo();
    }
}

/// A method, and the change that it makes.
struct Method {
    const char *name;
    std::function<void()> change;
};

/// Times the methods in turns, so that other load on the machine affects all alike. They take turns to go first, and every
/// second time their order is reversed, so that none always follows the same one. Reports the medians in microseconds.
template <class Undo>
void inTurns(benchmark::State &state, const std::vector<Method> &methods, Undo undo)
{
    std::vector<std::vector<double>> times(methods.size());
    std::size_t pass = 0;
    for ([[maybe_unused]] auto _ : state) {
        double sum = 0;
        for (std::size_t turn = 0; turn < methods.size(); ++turn) {
            const auto step = pass % 2 == 0 ? turn : methods.size() - turn;
            const auto at = (pass / 2 + step) % methods.size();
            const double time = seconds(std::ref(methods[at].change));
            undo();
            times[at].push_back(time);
            sum += time;
        }
        ++pass;
        state.SetIterationTime(sum);
    }
    for (std::size_t at = 0; at < methods.size(); ++at) {
        state.counters[methods[at].name] = 1e6 * median(times[at]);
    }
}

void rawRoutes(Raw &raw)
{
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
    // As the raw socket: the changes are carried out while they are made.
    RunningBatch batch(factory);
    auto route = RouteInfo()
                     .setTable(static_cast<RouteTable>(100))
                     .setProtocol(RouteProtocol::Static)
                     .setGateway(IpAddress::v4(0x0a010002))
                     .setDev(index);
    for (std::uint32_t number = 0; number < routeCount; ++number) {
        batch.add(route.setDst(Prefix(IpAddress::v4(0x14000000 + number), 32)));
    }
    if (!batch.finish().value().empty()) {
        die("a route");
    }
}

/// The same, with all changes in memory before the first is carried out, and a result for each.
void ourBatch(INetlinkFactory &factory)
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
    const auto results = factory.run(batch).value();
    if (results.size() != routeCount || !std::all_of(results.begin(), results.end(), [](const auto &it) { return bool(it); })) {
        die("a route");
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

    const auto bench = [](const char *name, std::int64_t iterations, auto body) {
        const auto task = benchmark::RegisterBenchmark(name, body);
        task->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(iterations);
    };

    const char *const addWords[] = {"ip", "link", "add", "b0", "type", kind, nullptr};
    const auto addLine = std::string("ip link add b0 type ") + kind;
    const auto remove = [&] { rawDelete(raw); };
    bench("create/turns", createTurns, [&](benchmark::State &state) {
        const auto add = [&] { link->add(LinkInfo().setName("b0").setType(kind)).value(); };
        inTurns(state, {{"raw", [&] { rawCreate(raw); }}, {"tapline", add}}, remove);
    });
    bench("create/libnl", 20, [&](benchmark::State &state) { alone(state, [&] { libnl.create(); }, remove); });
    bench("create/exec", 10, [&](benchmark::State &state) { alone(state, [&] { exec(addWords); }, remove); });
    bench("create/system", 10, [&](benchmark::State &state) { alone(state, [&] { shell(addLine); }, remove); });

    const char *const upWords[] = {"ip", "link", "set", "b0", "up", nullptr};
    const auto down = [&] { rawAdmin(raw, false); };
    const auto up = [&](const char *name, std::int64_t iterations, auto body) {
        bench(name, iterations, [&raw, body](benchmark::State &state) {
            rawCreate(raw);
            body(state);
            rawDelete(raw);
        });
    };
    up("up/turns", upTurns, [&](benchmark::State &state) {
        const auto set = [&] { link->set(LinkInfo().setName("b0").setAdmin(true)).value(); };
        inTurns(state, {{"raw", [&] { rawAdmin(raw, true); }}, {"tapline", set}}, down);
    });
    up("up/libnl", 20, [&](benchmark::State &state) {
        const auto index = static_cast<int>(if_nametoindex("b0"));
        alone(state, [&] { libnl.up(index); }, down);
    });
    up("up/exec", 10, [&](benchmark::State &state) { alone(state, [&] { exec(upWords); }, down); });
    up("up/system", 10, [&](benchmark::State &state) { alone(state, [] { shell("ip link set b0 up"); }, down); });

    // The routes are deleted by setting their link down and up.
    const auto removeRoutes = [&] {
        link->set(LinkInfo().setName(device).setAdmin(false)).value();
        link->set(LinkInfo().setName(device).setAdmin(true)).value();
    };
    // Each order of the three once.
    bench("routes/turns", 6, [&](benchmark::State &state) {
        const Method ours{"tapline", [&] { ourRoutes(*factory); }};
        inTurns(state, {{"raw", [&] { rawRoutes(raw); }}, ours, {"batch", [&] { ourBatch(*factory); }}}, removeRoutes);
    });
    bench("routes/libnl", 1, [&](benchmark::State &state) {
        const auto index = static_cast<int>(if_nametoindex(device));
        const auto add = [&] {
            for (std::uint32_t number = 0; number < routeCount; ++number) {
                libnl.addRoute(number, index);
            }
        };
        alone(state, add, removeRoutes);
    });
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
