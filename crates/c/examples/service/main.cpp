// service DATABASE: keeps the interfaces of this network namespace as the table `interfaces` of a SQLite database wants
// them, until standard input ends. A change of the kernel wakes it at once, and one of the database when its folder
// changes.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdio>
#include <tapline/netlink/factory.hpp>

#include "database.hpp"

int main(int count, char **words)
{
    if (count != 2) {
        std::fprintf(stderr, "usage: service DATABASE\n");
        return 2;
    }
    const auto factory = tapline::netlink::NetlinkFactory::open().value();
    service::Database database(words[1]);
    service::Reconciler reconciler(*factory);
    const int changed = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    inotify_add_watch(changed, words[1], IN_MODIFY);
    const auto fds = reconciler.fds();
    for (;;) {
        if (const int changes = reconciler.reconcile(database.interfaces()); changes > 0) {
            std::printf("%d changes\n", changes);
            std::fflush(stdout);
        }
        pollfd waiting[] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}, {changed, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        poll(waiting, 4, -1);
        if (waiting[3].revents != 0) {
            return 0;
        }
        char events[4096];
        while (read(changed, events, sizeof events) > 0) {
        }
    }
}
