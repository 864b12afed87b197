// std::format of netlink objects and of what print.hpp prints, where the standard library has it. Exits with 3 where it does
// not.
#include <tapline/netlink/addr.hpp>
#include <tapline/netlink/format.hpp>
#include <tapline/doctor.hpp>
#include <tapline/print.hpp>
#include <tapline/send.hpp>

#include <cstdio>

int main()
{
#ifdef __cpp_lib_format
    using namespace std::chrono_literals;
    using namespace tapline::netlink;
    const auto address = AddrInfo().setDev("eth0").setLocal("192.0.2.1").setPrefixlen(24).setValidLifeTime(5min);
    const auto text = std::format("{}", address);
    std::puts(text.c_str());
    std::puts(std::format("{:>12}|{:<6}|{}", IpAddress("192.0.2.1"), Family::V4, Prefix("10.0.0.0/8")).c_str());
    const tapline::finding found = {"link", TAPLINE_SEVERITY_WARNING, "eth0 is down", "", ""};
    std::puts(std::format("[{:>22}] {}", found, tapline::sender_stats{}).c_str());
    return text == toString(address) ? 0 : 1;
#else
    return 3;
#endif
}
