// service DATABASE: keeps the interfaces of this network namespace as the table `interfaces` of a SQLite database wants
// them, until standard input ends. One loop waits for the kernel and for the database. After a restart it goes on where it
// was: it deletes what it has created and what is not wanted any more.
#include <poll.h>

#include <cstdio>
#include <tapline/netlink/factory.hpp>

#include "database.hpp"

namespace {

void run(const char *path)
{
    const auto factory = tapline::netlink::NetlinkFactory::open().value();
    service::Database database(path);
    service::DatabaseWatch changed(path);
    service::Reconciler reconciler(*factory, database);
    service::Interfaces wanted;
    bool isNew = database.hasChanged();
    for (;;) {
        if (isNew) {
            wanted = database.interfaces();
            reconciler.retryRefused();
        }
        const auto outcome = reconciler.reconcile(wanted);
        if (outcome.changes > 0) {
            std::printf("changes: %d\n", outcome.changes);
        }
        for (const auto &failure : outcome.failures) {
            std::printf("failed: %s\n", failure.c_str());
        }
        std::fflush(stdout);

        const auto [links, addresses] = reconciler.fds();
        const int fds[] = {links, addresses, changed.fd(), STDIN_FILENO};
        bool isKernel = false;
        // What the service itself writes into the database wakes it, too, and is no reason for another run.
        do {
            pollfd waiting[4] = {};
            for (std::size_t at = 0; at < 4; ++at) {
                waiting[at].fd = fds[at];
                waiting[at].events = POLLIN;
            }
            if (poll(waiting, 4, -1) < 0 && errno != EINTR) {
                throw std::system_error(errno, std::generic_category(), "poll");
            }
            if (waiting[3].revents != 0) {
                return;
            }
            isKernel = waiting[0].revents != 0 || waiting[1].revents != 0;
            isNew = changed.hasChanged() && database.hasChanged();
        } while (!isKernel && !isNew);
    }
}

}  // namespace

int main(int count, char **words)
{
    if (count != 2) {
        std::fprintf(stderr, "usage: service DATABASE\n");
        return 2;
    }
    try {
        run(words[1]);
        return 0;
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "service: %s\n", failure.what());
        return 1;
    }
}
