// batch MODE: runs a batch in which an item names an interface that does not exist and another one that an earlier item
// creates. Prints the state of each item.
#include <cstdio>
#include <cstdlib>
#include <tapline/netlink/factory.hpp>

using namespace tapline::netlink;

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    const auto mode = static_cast<tapline_on_error>(std::atoi(argv[1]));
    const auto address = [](const char *dev) {
        return AddrInfo().setDev(dev).setLocal("192.0.2.1").setPrefixlen(24);
    };
    Batch batch;
    batch.add(LinkInfo().setName("b0").setType("bridge"));
    batch.add(LinkInfo().setName("b1").setType("bridge"));
    batch.add(address("b1"));
    batch.add(address("nowhere0"));
    batch.add(LinkInfo().setName("b2").setType("bridge"));
    batch.add(LinkInfo().setName("b0").setType("bridge"));
    batch.add(address("nowhere1"));
    batch.add(address("b2"));
    const auto factory = NetlinkFactory::open().value();
    for (const auto &item : factory->run(batch, mode).value()) {
        std::printf("%d", static_cast<int>(item.state));
        if (!item) {
            std::printf(" %d %s", static_cast<int>(item.error->status), item.error->message.c_str());
        }
        std::puts("");
    }
    return 0;
}
