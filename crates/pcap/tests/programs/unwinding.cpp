// Leaves pcap_loop and pcap_dispatch by an exception, by the end of the thread, and by its cancellation. Prints what happens, which
// is to be the same with every library.
//
//     unwinding live INTERFACE
//     unwinding file FILE
//
// With an interface, "ready" is printed when packets are queued; a line on standard input follows when they are there.
#include <pcap/pcap.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

char errbuf[PCAP_ERRBUF_SIZE];
pcap_t *handle;

struct Thrown {};

void check(bool holds, const char *what)
{
    if (!holds) {
        std::printf("failed: %s: %s\n", what, handle != nullptr ? pcap_geterr(handle) : errbuf);
        std::exit(1);
    }
}

void throwing(u_char *, const pcap_pkthdr *, const u_char *)
{
    throw Thrown();
}

void leave(u_char *, const pcap_pkthdr *, const u_char *)
{
    pthread_exit(nullptr);
}

void ignore(u_char *, const pcap_pkthdr *, const u_char *) {}

/// Calls until the exception comes.
template <class Call>
void catches(const char *name, Call call)
{
    try {
        while (call() >= 0) {
        }
        std::printf("%s failed\n", name);
    } catch (const Thrown &) {
        std::printf("%s threw\n", name);
    }
}

void *exiting(void *)
{
    pcap_loop(handle, -1, leave, nullptr);
    return &handle;
}

void *sleeping(void *)
{
    pcap_loop(handle, -1, ignore, nullptr);
    return &handle;
}

pthread_t begin(void *(*run)(void *))
{
    pthread_t thread;
    check(pthread_create(&thread, nullptr, run, nullptr) == 0, "a thread");
    return thread;
}

/// The result of a thread: that of its function is not null.
void *result(pthread_t thread)
{
    void *found = nullptr;
    check(pthread_join(thread, &found) == 0, "join");
    return found;
}

void open_live(const char *interface)
{
    handle = pcap_create(interface, errbuf);
    check(handle != nullptr, "create");
    check(pcap_set_timeout(handle, 10) == 0, "timeout");
    check(pcap_activate(handle) == 0, "activate");
    std::puts("ready");
    std::fflush(stdout);
    char line[16];
    check(std::fgets(line, sizeof line, stdin) != nullptr, "a line");
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    const bool is_live = std::strcmp(argv[1], "live") == 0;
    if (is_live) {
        open_live(argv[2]);
    } else {
        handle = pcap_open_offline(argv[2], errbuf);
        check(handle != nullptr, "open");
    }
    catches("loop", [] { return pcap_loop(handle, -1, throwing, nullptr); });
    catches("dispatch", [] { return pcap_dispatch(handle, -1, throwing, nullptr); });
    pcap_pkthdr *header;
    const u_char *bytes;
    int got;
    while ((got = pcap_next_ex(handle, &header, &bytes)) == 0) {
    }
    std::printf("next %d\n", got);
    std::puts(result(begin(exiting)) == nullptr ? "exited" : "returned");
    if (is_live) {
        const pthread_t thread = begin(sleeping);
        check(pthread_cancel(thread) == 0, "cancel");
        std::puts(result(thread) == PTHREAD_CANCELED ? "cancelled" : "returned");
        pcap_stat counters;
        std::printf("statistics %d\n", pcap_stats(handle, &counters));
    }
    pcap_close(handle);
    return 0;
}
