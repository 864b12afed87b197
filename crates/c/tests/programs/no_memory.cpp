// no_memory: a factory or a watch that finds no memory leaves nothing open. Each allocation of opening them fails once.
#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <tapline/netlink/factory.hpp>

namespace {

/// Allocations before the one that fails; none fails if it is negative.
long left = -1;

}  // namespace

void *operator new(std::size_t size)
{
    if (left >= 0 && left-- == 0) {
        throw std::bad_alloc();
    }
    if (void *const memory = std::malloc(size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace tapline::netlink;

/// What the kernel says that this process has open.
int descriptors()
{
    DIR *const folder = opendir("/proc/self/fd");
    int count = 0;
    while (folder != nullptr && readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

void open()
{
    const auto factory = NetlinkFactory::open().value();
    const auto watch = factory->link()->watch(LinkInfo()).value();
}

}  // namespace

int main()
{
    open();
    const int before = descriptors();
    int failures = 0;
    for (long allocations = 0;; ++allocations) {
        left = allocations;
        try {
            open();
            break;
        } catch (const std::bad_alloc &) {
            ++failures;
        }
        if (const int now = descriptors(); now != before) {
            std::printf("%d more descriptors after allocation %ld failed\n", now - before, allocations);
            return 1;
        }
    }
    // The factory, what its objects share, and the watch.
    std::puts(failures >= 3 ? "done" : "no allocation failed");
    return 0;
}
