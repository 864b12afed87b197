// What code that configures the network depends on: interfaces with a method for each verb, which a test can replace.
#ifndef TAPLINE_NETLINK_INTERFACES_HPP
#define TAPLINE_NETLINK_INTERFACES_HPP

#include <memory>
#include <utility>

#include "../result.hpp"
#include "fields.hpp"
#include "message.hpp"

namespace tapline::netlink {

struct LinkInfo;
struct AddrInfo;
struct RouteInfo;
struct NeighInfo;
struct FdbInfo;
struct VlanInfo;
struct RuleInfo;
struct NexthopInfo;
struct RouteQuery;

/// The number of a type of objects in the C interface.
template <class Info>
inline constexpr std::uint32_t objectNumber = 0;
template <>
inline constexpr std::uint32_t objectNumber<LinkInfo> = TAPLINE_NETLINK_OBJECT_LINK;
template <>
inline constexpr std::uint32_t objectNumber<AddrInfo> = TAPLINE_NETLINK_OBJECT_ADDR;
template <>
inline constexpr std::uint32_t objectNumber<RouteInfo> = TAPLINE_NETLINK_OBJECT_ROUTE;
template <>
inline constexpr std::uint32_t objectNumber<NeighInfo> = TAPLINE_NETLINK_OBJECT_NEIGH;
template <>
inline constexpr std::uint32_t objectNumber<FdbInfo> = TAPLINE_NETLINK_OBJECT_FDB;
template <>
inline constexpr std::uint32_t objectNumber<VlanInfo> = TAPLINE_NETLINK_OBJECT_VLAN;
template <>
inline constexpr std::uint32_t objectNumber<RuleInfo> = TAPLINE_NETLINK_OBJECT_RULE;
template <>
inline constexpr std::uint32_t objectNumber<NexthopInfo> = TAPLINE_NETLINK_OBJECT_NEXTHOP;

/// A change that a watch reports.
template <class Info>
struct Event {
    /// TAPLINE_WATCH_EVENT_ADDED, _CHANGED, _REMOVED, or _OVERRUN: notifications were lost, and the events after it are the
    /// difference to the current state.
    tapline_watch_event kind = TAPLINE_WATCH_EVENT_OVERRUN;
    /// The last state, of a removed object too; empty for OVERRUN.
    std::optional<Info> object;
    /// The state before, for CHANGED.
    std::optional<Info> before;

    bool operator==(const Event &) const = default;
};

/// `added LinkInfo{…}`, `changed LinkInfo{…} to LinkInfo{…}`, `removed LinkInfo{…}` or `overrun`.
template <class Info>
std::string toString(const Event<Info> &event)
{
    if (event.kind == TAPLINE_WATCH_EVENT_OVERRUN || !event.object) {
        return "overrun";
    }
    const std::string object = toString(*event.object);
    if (event.kind == TAPLINE_WATCH_EVENT_CHANGED) {
        return "changed " + (event.before ? toString(*event.before) + " to " : "") + object;
    }
    return (event.kind == TAPLINE_WATCH_EVENT_ADDED ? "added " : "removed ") + object;
}
template <class Info>
inline constexpr bool isPrintable<Event<Info>> = true;

/// The objects of one kind: first those that exist, and then every change, without a gap.
///
/// Threads: one at a time. `next` and `fd` fail with TAPLINE_STATUS_IN_USE while another thread is in either of them. `stop`
/// is for any thread.
template <class Info>
class IWatch {
public:
    virtual ~IWatch() = default;
    /// Waits at most `timeout` for events, and returns those that are available. Does not wait if `timeout` is negative.
    virtual result<std::vector<Event<Info>>> next(std::chrono::nanoseconds timeout) = 0;
    /// Waits for events without a limit: as long as std::chrono can say, 292 years.
    result<std::vector<Event<Info>>> next() { return next(std::chrono::nanoseconds::max()); }
    /// Ends the watch: a `next` that waits, and all later ones, fail with TAPLINE_STATUS_END. Any thread.
    virtual result<void> stop() const = 0;
    /// Readable when events may be available, and once the watch has been stopped.
    virtual result<int> fd() const = 0;
};

/// The objects that `list` returns.
template <class Info>
struct InfoList : std::vector<Info> {
    using std::vector<Info>::vector;

    /// Whether objects were added or deleted while the kernel made the list, in each of four attempts. Then objects may be
    /// missing or listed twice.
    bool isInterrupted = false;
};

/// The operations on one kind of object.
///
/// A request fails with NOT_FOUND or EXISTS if the object does not or does exist, and with the kernel's own text and
/// the path of the rejected attribute. Threads: any; requests of one factory wait for each other.
template <class Info>
class INetlink {
public:
    virtual ~INetlink() = default;
    /// Creates the object, which must not exist.
    virtual result<void> add(const Info &info) = 0;
    /// Deletes the object that the key fields identify. Fails with INVALID_ARGUMENT if they identify none.
    virtual result<void> del(const Info &info) = 0;
    /// Changes the given fields of an existing object.
    virtual result<void> set(const Info &info) = 0;
    /// Reads the object that the key fields identify. Fails as `del`.
    virtual result<Info> get(const Info &info) = 0;
    /// The objects in which each field of `filter` has the same value. The kernel filters by the fields that it supports.
    virtual result<InfoList<Info>> list(const Info &filter) = 0;
    /// Watches the objects that match `filter`, with sockets of its own.
    virtual result<std::unique_ptr<IWatch<Info>>> watch(const Info &filter) = 0;
    /// Creates the object, or replaces the existing one.
    virtual result<void> replace(const Info &info) = 0;
    /// Creates the object next to others with the same key.
    virtual result<void> append(const Info &info) = 0;
    /// Creates the object and returns it with the values that the kernel chose, such as the index of a link.
    virtual result<Info> create(const Info &info) = 0;
};

using ILinkNetlink = INetlink<LinkInfo>;
using IAddrNetlink = INetlink<AddrInfo>;
using INeighNetlink = INetlink<NeighInfo>;
using IFdbNetlink = INetlink<FdbInfo>;
using IVlanNetlink = INetlink<VlanInfo>;
using IRuleNetlink = INetlink<RuleInfo>;
using INexthopNetlink = INetlink<NexthopInfo>;

/// The operations on routes.
class IRouteNetlink : public INetlink<RouteInfo> {
public:
    /// The route that the kernel uses for a packet. Equals `ip route get`.
    virtual result<RouteInfo> lookup(const RouteQuery &query) = 0;
};

/// Changes to be carried out together, in few system calls.
///
/// Threads: as a container of the standard library. Several may read it, for example in `INetlinkFactory::run`, and one may
/// change it while no other uses it.
class Batch {
public:
    Batch() = default;
    Batch(const Batch &) = default;
    Batch(Batch &&other) noexcept : bytes_(std::move(other.bytes_)), count_(std::exchange(other.count_, 0)) {}
    Batch &operator=(Batch other) noexcept
    {
        bytes_ = std::move(other.bytes_);
        count_ = other.count_;
        return *this;
    }

    template <class Info>
    Batch &add(const Info &info) { return push(TAPLINE_NETLINK_VERB_ADD, info); }
    template <class Info>
    Batch &replace(const Info &info) { return push(TAPLINE_NETLINK_VERB_REPLACE, info); }
    template <class Info>
    Batch &set(const Info &info) { return push(TAPLINE_NETLINK_VERB_SET, info); }
    template <class Info>
    Batch &append(const Info &info) { return push(TAPLINE_NETLINK_VERB_APPEND, info); }
    template <class Info>
    Batch &del(const Info &info) { return push(TAPLINE_NETLINK_VERB_DEL, info); }

    /// Number of changes.
    std::size_t size() const { return count_; }
    const Bytes &bytes() const { return bytes_; }
    /// Removes all changes and keeps the memory.
    void clear()
    {
        bytes_.clear();
        count_ = 0;
    }

    /// Whether both have the same changes in the same order, for tests with mocks. An interface by its name and by its index
    /// is not the same here.
    bool operator==(const Batch &) const = default;

private:
    template <class Info>
    Batch &push(tapline_netlink_verb verb, const Info &info)
    {
        const std::size_t start = bytes_.size();
        if constexpr (Encodable<Info>) {
            MessageWriter out(bytes_.extend(headerBytes + MessageWriter::maxBytes) + headerBytes);
            const bool isEncoded = info.encode(verb, out);
            bytes_.truncate(start + headerBytes + (isEncoded ? out.size() : 0));
            if (isEncoded) [[likely]] {
                return finish(start, verb, TAPLINE_NETLINK_FORM_MESSAGE, objectNumber<Info>);
            }
        } else {
            bytes_.extend(headerBytes);
        }
        try {
            FieldWriter{bytes_}.put(info);
        } catch (...) {
            // Without the memory for it, the batch is as it was before.
            bytes_.truncate(start);
            throw;
        }
        return finish(start, verb, TAPLINE_NETLINK_FORM_FIELDS, objectNumber<Info>);
    }
    /// Writes the header of the item at `start`, as `tapline_netlink_run` takes it.
    Batch &finish(std::size_t start, tapline_netlink_verb verb, tapline_netlink_form form, std::uint32_t object)
    {
        const auto length = static_cast<std::uint32_t>(bytes_.size() - start - headerBytes);
        const std::uint32_t header[3] = {static_cast<std::uint32_t>(verb) + 256u * form, object, length};
        static_assert(sizeof header == headerBytes);
        bytes_.overwrite(start, header, sizeof header);
        ++count_;
        return *this;
    }

    static constexpr std::size_t headerBytes = 12;

    Bytes bytes_;
    std::size_t count_ = 0;
};

/// The result of a change of a batch.
struct ItemResult {
    tapline_item_state state = TAPLINE_ITEM_STATE_DONE;
    /// Why it is not DONE: for NOT_RUN and UNDONE an error with TAPLINE_STATUS_CANCELED. Empty if it is DONE.
    Boxed<tapline::error> error;

    explicit operator bool() const { return state == TAPLINE_ITEM_STATE_DONE; }
    bool operator==(const ItemResult &) const = default;
};

/// Makes the objects through which the network is configured. They share one socket for each netlink protocol, of which
/// rtnetlink is the only one so far, and live as long as they are used, also when the factory does not. A second socket of
/// rtnetlink is opened when the first name of an interface is looked up: that may be while a batch uses the other one.
///
/// Threads: any may call each method, also `run`, and the objects that the factory makes. Requests of one factory wait for
/// each other, and for the end of a batch.
class INetlinkFactory {
public:
    virtual ~INetlinkFactory() = default;
    virtual std::shared_ptr<ILinkNetlink> link() = 0;
    virtual std::shared_ptr<IAddrNetlink> addr() = 0;
    virtual std::shared_ptr<IRouteNetlink> route() = 0;
    virtual std::shared_ptr<INeighNetlink> neigh() = 0;
    virtual std::shared_ptr<IFdbNetlink> fdb() = 0;
    virtual std::shared_ptr<IVlanNetlink> vlan() = 0;
    virtual std::shared_ptr<IRuleNetlink> rule() = 0;
    virtual std::shared_ptr<INexthopNetlink> nexthop() = 0;
    /// Carries out a batch: a result for each change, in their order. Fails only if nothing is known about the changes.
    virtual result<std::vector<ItemResult>> run(const Batch &batch, tapline_on_error onError) = 0;
    result<std::vector<ItemResult>> run(const Batch &batch) { return run(batch, TAPLINE_ON_ERROR_CONTINUE); }
};

/// A change that was not carried out.
struct FailedItem {
    /// Its number, counted from 0.
    std::size_t number = 0;
    ItemResult result;

    bool operator==(const FailedItem &) const = default;
};

/// Carries out changes while they are added, a few hundred at a time: they stay in the caches of the CPU, and the memory
/// does not grow with their number. They cannot be rolled back.
///
/// Call `finish` at the end: it says which changes failed. Without it, the destructor carries out the rest, and nobody
/// learns about failures. If the factory throws, the exception passes through; the changes that it had got are not repeated,
/// and `finish` fails, because nothing is known about them.
///
/// Threads: one at a time, without a check. Several threads have one each, also with the same factory.
class [[nodiscard]] RunningBatch {
public:
    /// `factory` must outlive it. After a failure the other changes are carried out all the same.
    [[nodiscard]] explicit RunningBatch(INetlinkFactory &factory) : factory_(factory) {}
    RunningBatch(const RunningBatch &) = delete;
    RunningBatch &operator=(const RunningBatch &) = delete;
    ~RunningBatch()
    {
        try {
            run();
        } catch (...) {
            // No memory for the results. A destructor has nobody to tell.
        }
    }

    template <class Info>
    RunningBatch &add(const Info &info) { return push(batch_.add(info)); }
    template <class Info>
    RunningBatch &replace(const Info &info) { return push(batch_.replace(info)); }
    template <class Info>
    RunningBatch &set(const Info &info) { return push(batch_.set(info)); }
    template <class Info>
    RunningBatch &append(const Info &info) { return push(batch_.append(info)); }
    template <class Info>
    RunningBatch &del(const Info &info) { return push(batch_.del(info)); }

    /// Number of changes.
    std::size_t size() const { return done_ + batch_.size(); }
    /// Carries out the rest, and returns the changes that failed. Fails if nothing is known about some of them. More changes
    /// may follow, which begin another batch.
    result<std::vector<FailedItem>> finish()
    {
        run();
        done_ = 0;
        const bool isUnknown = std::exchange(isUnknown_, false);
        const result<void> state = std::exchange(state_, {});
        auto failed = std::exchange(failed_, {});
        if (!state) {
            return state.error();
        }
        if (isUnknown) {
            tapline::error unknown;
            unknown.status = TAPLINE_STATUS_INTERNAL;
            unknown.message = "an exception ended a part of the batch, about which nothing is known";
            return unknown;
        }
        return failed;
    }

private:
    RunningBatch &push(const Batch &batch)
    {
        if (batch.size() == atOnce) [[unlikely]] {
            run();
        }
        return *this;
    }
    [[gnu::noinline]] void run()
    {
        if (batch_.size() == 0) {
            return;
        }
        // Whatever is thrown on the way, these changes are not carried out again.
        const Taken taken{*this};
        const std::size_t first = done_;
        const bool wasUnknown = std::exchange(isUnknown_, true);
        auto results = factory_.run(batch_, TAPLINE_ON_ERROR_CONTINUE);
        if (!results) {
            state_ = results.error();
        } else {
            for (std::size_t at = 0; at < results->size(); ++at) {
                if (auto &result = (*results)[at]; !result) {
                    failed_.push_back({first + at, std::move(result)});
                }
            }
        }
        isUnknown_ = wasUnknown;
    }
    /// Removes the changes that are being carried out.
    struct Taken {
        RunningBatch &batch;

        ~Taken()
        {
            batch.done_ += batch.batch_.size();
            batch.batch_.clear();
        }
    };

    /// As many as the library sends in one system call, twice.
    static constexpr std::size_t atOnce = 512;

    INetlinkFactory &factory_;
    Batch batch_;
    /// Number of changes that have been carried out or have failed.
    std::size_t done_ = 0;
    std::vector<FailedItem> failed_;
    result<void> state_;
    /// Whether an exception hides the results of changes.
    bool isUnknown_ = false;
};

}  // namespace tapline::netlink

#endif
