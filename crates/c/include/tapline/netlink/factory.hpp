// Configures the network of the kernel, or of a fake one.
#ifndef TAPLINE_NETLINK_FACTORY_HPP
#define TAPLINE_NETLINK_FACTORY_HPP

#include <sys/socket.h>

#include <atomic>
#include <cerrno>

#include "../handle.hpp"
#include "../options.hpp"
#include "addr.hpp"
#include "fdb.hpp"
#include "interfaces.hpp"
#include "link.hpp"
#include "neigh.hpp"
#include "nexthop.hpp"
#include "route.hpp"
#include "rule.hpp"
#include "vlan.hpp"

namespace tapline::netlink {

namespace detail {

using tapline::detail::c_strings;
using tapline::detail::call;
using tapline::detail::done;
using tapline::detail::gone;
using tapline::detail::waiting_ns;

}  // namespace detail

template <class>
class BasicNetlinkFactory;

/// A fake kernel for tests: the configuration of one network namespace in memory. Requires no privilege. It stores objects of every
/// kind, rejects requests as the kernel does, deletes what depends on a deleted object, and notifies watches. It checks neither
/// ranges nor what drivers support. `tapline_fake_kernel_new` in `tapline.h` lists what it does and what it does not.
///
/// Threads: any number may open factories on it at once, but none beside a move or the destructor.
class FakeKernel {
public:
    static result<FakeKernel> create()
    {
        tapline_fake_kernel *raw = nullptr;
        auto status = detail::call(tapline_fake_kernel_new, &raw);
        if (!status) {
            return status.error();
        }
        return FakeKernel(raw);
    }

private:
    template <class>
    friend class BasicNetlinkFactory;

    explicit FakeKernel(tapline_fake_kernel *raw) : handle_(raw) {}

    tapline::handle<tapline_fake_kernel, tapline_fake_kernel_free> handle_;
};

namespace detail {

/// A mutex that is inline as long as no thread waits: after a call into the kernel, the code of std::mutex in the C
/// library would have to be fetched from memory again.
class Mutex {
public:
    void lock()
    {
        std::uint32_t state = free;
        if (!state_.compare_exchange_strong(state, held, std::memory_order_acquire)) [[unlikely]] {
            wait();
        }
    }
    void unlock()
    {
        if (state_.exchange(free, std::memory_order_release) == contended) [[unlikely]] {
            state_.notify_one();
        }
    }

private:
    [[gnu::noinline]] void wait()
    {
        while (state_.exchange(contended, std::memory_order_acquire) != free) {
            state_.wait(contended, std::memory_order_relaxed);
        }
    }

    static constexpr std::uint32_t free = 0, held = 1, contended = 2;

    std::atomic<std::uint32_t> state_ = free;
};

/// Holds a mutex.
class Lock {
public:
    explicit Lock(Mutex &mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Lock() { mutex_.unlock(); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

private:
    Mutex &mutex_;
};

using NetlinkHandle = tapline::handle<tapline_netlink, tapline_netlink_close>;
using WatchHandle = tapline::handle<tapline_watch, tapline_watch_close>;

/// The socket that the objects of a factory share. A call at a time.
class Socket {
public:
    NetlinkHandle handle;
    Mutex mutex;

    explicit Socket(NetlinkHandle &&opened) : handle(std::move(opened))
    {
        if (!detail::call(tapline_netlink_fd, handle.get(), &fd_)) {
            fd_ = -1;
        }
    }

    /// Makes the change in a message and waits for its acknowledgement. Requires the mutex.
    ///
    /// After a call into the kernel, caches are cold: each line of code or data that is not needed would cost more than
    /// its work. So the library is called only if something is out of the ordinary.
    result<void> change(tapline_netlink_verb verb, std::uint32_t object, std::uint8_t *message, std::size_t size)
    {
        sequence_ = (sequence_ + 1) | 0x8000'0000u;
        std::memcpy(message + offsetof(MessageHeader, sequence), &sequence_, sizeof sequence_);
        if (fd_ < 0 || ::send(fd_, message, size, 0) < 0) [[unlikely]] {
            return ask(verb, object, TAPLINE_NETLINK_FORM_MESSAGE, message, size);
        }
        // The kernel has replied. Replies to earlier calls that failed may precede.
        std::uint8_t reply[1024];
        for (;;) {
            const auto length = ::recv(fd_, reply, sizeof reply, 0);
            if (length < 0) [[unlikely]] {
                if (errno == EINTR) {
                    continue;
                }
                return refused(verb, object, message, size, reply, 0);
            }
            struct {
                MessageHeader header;
                std::int32_t error;
            } answer;
            std::memcpy(&answer, reply, sizeof answer);
            if (length < static_cast<std::make_signed_t<std::size_t>>(sizeof answer) ||
                answer.header.sequence != sequence_) [[unlikely]] {
                continue;
            }
            // NLMSG_ERROR, which is an acknowledgement too.
            if (answer.header.type != 2 || answer.error != 0) [[unlikely]] {
                return refused(verb, object, message, size, reply, static_cast<std::size_t>(length));
            }
            return {};
        }
    }

    /// Has the library make a change. Requires the mutex.
    result<void> ask(tapline_netlink_verb verb, std::uint32_t object, std::uint32_t form, const std::uint8_t *bytes,
                     std::size_t size)
    {
        return done(
            detail::call(tapline_netlink_change, handle.get(), static_cast<std::uint32_t>(verb), object, form, bytes, size));
    }

private:
    /// Why a change failed; without a reply, `errno` is the reason.
    static result<void> refused(tapline_netlink_verb verb, std::uint32_t object, const std::uint8_t *message,
                                std::size_t size, const std::uint8_t *reply, std::size_t length)
    {
        return done(detail::call(tapline_netlink_reply_error, static_cast<std::uint32_t>(verb), object, message, size,
                                 reply, length, static_cast<std::int32_t>(errno)));
    }

    /// -1 with a fake kernel.
    int fd_ = -1;
    /// Sequence number of the last message. The library's own have no bit 31.
    std::uint32_t sequence_ = 0;
};

/// A reply of the library.
class List {
public:
    explicit List(tapline_list *raw) : handle_(raw) {}

    /// The objects behind their lengths, or what precedes them in a watch.
    FieldReader reader() const
    {
        FieldReader reader;
        const auto *list = static_cast<const tapline_list *>(handle_.get());
        detail::call(tapline_list_bytes, list, &reader.at, &reader.left).value();
        return reader;
    }
    /// Whether the list may be incomplete.
    bool isInterrupted() const { return tapline_list_is_interrupted(handle_.get()); }

private:
    tapline::handle<tapline_list, tapline_list_free> handle_;
};

/// Requests about objects of all types, which it knows by their tables: little code is compiled for each type. A template
/// for the reason of BasicNetlinkFactory, as what follows.
template <class = void>
class Requests {
public:
    explicit Requests(NetlinkHandle &&opened) : socket(std::move(opened)) {}

    /// Calls a function of the library with an object.
    template <class Function, class Out>
    result<tapline_status> request(Function *function, std::uint32_t object, const FieldTable &table, const void *info,
                                   Out *out)
    {
        const Lock lock(socket.mutex);
        write(table, info);
        const std::uint32_t form = TAPLINE_NETLINK_FORM_FIELDS;
        return detail::call(function, socket.handle.get(), object, form, bytes_.data(), bytes_.size(), out);
    }
    result<List> lookup(const FieldTable &table, const void *query)
    {
        const Lock lock(socket.mutex);
        write(table, query);
        tapline_list *raw = nullptr;
        const std::uint32_t form = TAPLINE_NETLINK_FORM_FIELDS;
        const Bytes &bytes = bytes_;
        const auto status = detail::call(tapline_netlink_lookup, socket.handle.get(), form, bytes.data(), bytes.size(), &raw);
        if (!status) {
            return status.error();
        }
        return List(raw);
    }
    template <class Function>
    result<List> list(Function *function, std::uint32_t object, const FieldTable &table, const void *info)
    {
        tapline_list *raw = nullptr;
        const auto status = request(function, object, table, info, &raw);
        if (!status) {
            return status.error();
        }
        return List(raw);
    }
    /// Has the library make a change.
    result<void> ask(tapline_netlink_verb verb, std::uint32_t object, const FieldTable &table, const void *info)
    {
        const Lock lock(socket.mutex);
        write(table, info);
        return socket.ask(verb, object, TAPLINE_NETLINK_FORM_FIELDS, bytes_.data(), bytes_.size());
    }

    Socket socket;

private:
    void write(const FieldTable &table, const void *object)
    {
        bytes_.clear();
        FieldCodec<>::putFields(bytes_, table, object);
    }

    Bytes bytes_;
};

/// The object in a reply with one.
template <class Info>
result<Info> first(const result<List> &reply)
{
    if (!reply) {
        return reply.error();
    }
    return result<Info>(std::in_place, [&](Info &info) { reply->reader().sized().get(info); });
}

/// The next events of a watch.
template <class = void>
result<List> nextEvents(tapline_watch *watch, std::chrono::nanoseconds timeout)
{
    tapline_list *raw = nullptr;
    const auto status = detail::call(tapline_watch_next, watch, waiting_ns(timeout), &raw);
    if (!status) {
        return status.error();
    }
    if (*status == TAPLINE_STATUS_END) {
        tapline::error stopped;
        stopped.status = TAPLINE_STATUS_END;
        stopped.message = "the watch has been stopped";
        return stopped;
    }
    return List(raw);
}

/// Takes the kind of an event, and says which objects follow.
struct EventHeader {
    explicit EventHeader(FieldReader &rest)
        : kind(static_cast<tapline_watch_event>(rest.number())),
          hasBefore(kind == TAPLINE_WATCH_EVENT_CHANGED),
          hasObject(kind != TAPLINE_WATCH_EVENT_OVERRUN)
    {
    }

    tapline_watch_event kind;
    bool hasBefore;
    bool hasObject;
};

template <class = void>
std::size_t countEvents(FieldReader rest)
{
    std::size_t count = 0;
    for (; rest.left > 0; ++count) {
        const EventHeader header(rest);
        if (header.hasBefore) {
            rest.sized();
        }
        if (header.hasObject) {
            rest.sized();
        }
    }
    return count;
}

template <class Info>
class Watch final : public IWatch<Info> {
public:
    explicit Watch(WatchHandle &&opened) : handle_(std::move(opened)) {}

    using IWatch<Info>::next;
    result<std::vector<Event<Info>>> next(std::chrono::nanoseconds timeout) override
    {
        const auto reply = nextEvents(handle_.get(), timeout);
        if (!reply) {
            return reply.error();
        }
        auto rest = reply->reader();
        std::vector<Event<Info>> events(countEvents(rest));
        for (auto &event : events) {
            const EventHeader header(rest);
            event.kind = header.kind;
            if (header.hasBefore) {
                rest.sized().get(event.before.emplace());
            }
            if (header.hasObject) {
                rest.sized().get(event.object.emplace());
            }
        }
        return events;
    }
    result<void> stop() const override { return done(detail::call(tapline_watch_stop, handle_.get())); }
    result<int> fd() const override
    {
        int fd = -1;
        const auto status = detail::call(tapline_watch_fd, handle_.get(), &fd);
        if (!status) {
            return status.error();
        }
        return fd;
    }

private:
    WatchHandle handle_;
};

/// The operations of `Base`, an `INetlink<Info>`.
template <class Info, class Base = INetlink<Info>>
class Netlink : public Base {
public:
    explicit Netlink(Requests<> &requests) : requests_(requests) {}

    result<void> add(const Info &info) override { return change(TAPLINE_NETLINK_VERB_ADD, info); }
    result<void> del(const Info &info) override { return change(TAPLINE_NETLINK_VERB_DEL, info); }
    result<void> set(const Info &info) override { return change(TAPLINE_NETLINK_VERB_SET, info); }
    result<void> replace(const Info &info) override { return change(TAPLINE_NETLINK_VERB_REPLACE, info); }
    result<void> append(const Info &info) override { return change(TAPLINE_NETLINK_VERB_APPEND, info); }
    result<Info> get(const Info &info) override
    {
        return first<Info>(requests_.list(tapline_netlink_get, objectNumber<Info>, Info::typeFields, &info));
    }
    result<Info> create(const Info &info) override
    {
        return first<Info>(requests_.list(tapline_netlink_create, objectNumber<Info>, Info::typeFields, &info));
    }

    result<InfoList<Info>> list(const Info &filter) override
    {
        const auto reply = requests_.list(tapline_netlink_list, objectNumber<Info>, Info::typeFields, &filter);
        if (!reply) {
            return reply.error();
        }
        auto rest = reply->reader();
        InfoList<Info> objects(rest.count());
        objects.isInterrupted = reply->isInterrupted();
        for (auto &object : objects) {
            rest.sized().get(object);
        }
        return objects;
    }

    result<std::unique_ptr<IWatch<Info>>> watch(const Info &filter) override
    {
        tapline_watch *raw = nullptr;
        const auto status = requests_.request(tapline_watch_open, objectNumber<Info>, Info::typeFields, &filter, &raw);
        if (!status) {
            return status.error();
        }
        // Owned before there is memory for the object.
        WatchHandle opened(raw);
        return std::unique_ptr<IWatch<Info>>(new Watch<Info>(std::move(opened)));
    }

protected:
    Requests<> &requests_;

private:
    result<void> change(tapline_netlink_verb verb, const Info &info)
    {
        if constexpr (Encodable<Info>) {
            alignas(4) std::uint8_t message[MessageWriter::maxBytes];
            MessageWriter out(message);
            if (info.encode(verb, out)) [[likely]] {
                const Lock lock(requests_.socket.mutex);
                return requests_.socket.change(verb, objectNumber<Info>, message, out.size());
            }
        }
        return requests_.ask(verb, objectNumber<Info>, Info::typeFields, &info);
    }
};

/// The operations on routes.
template <class Info>
class RouteNetlink final : public Netlink<Info, IRouteNetlink> {
public:
    using Netlink<Info, IRouteNetlink>::Netlink;

    result<Info> lookup(const RouteQuery &query) override
    {
        return first<Info>(this->requests_.lookup(RouteQuery::typeFields, &query));
    }
};

/// What the objects of a factory share, and the objects.
template <class = void>
struct Shared {
    explicit Shared(NetlinkHandle &&opened) : requests(std::move(opened)) {}
    Shared(const Shared &) = delete;
    Shared &operator=(const Shared &) = delete;

    Requests<> requests;
    Netlink<LinkInfo> link{requests};
    Netlink<AddrInfo> addr{requests};
    RouteNetlink<RouteInfo> route{requests};
    Netlink<NeighInfo> neigh{requests};
    Netlink<FdbInfo> fdb{requests};
    Netlink<VlanInfo> vlan{requests};
    Netlink<RuleInfo> rule{requests};
    Netlink<NexthopInfo> nexthop{requests};
};

}  // namespace detail

/// Configures the network of a namespace. A template only so that a program that includes this header compiles the
/// code for those methods alone that it uses.
template <class = void>
class BasicNetlinkFactory final : public INetlinkFactory {
public:
    /// The namespace `netns`: a name below /run/netns, or a path. Without one: that of the calling thread.
    static result<std::shared_ptr<BasicNetlinkFactory>> open(const char *netns = nullptr)
    {
        tapline_netlink_options options{};
        options.size = sizeof options;
        options.netns = netns;
        return open(options);
    }
    static result<std::shared_ptr<BasicNetlinkFactory>> open(std::string_view netns)
    {
        const std::string name(netns);
        detail::c_strings text;
        const char *const string = text("netns", name);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        return open(string);
    }
    /// A fake kernel. Several factories see the same objects.
    static result<std::shared_ptr<BasicNetlinkFactory>> open(const FakeKernel &kernel)
    {
        if (kernel.handle_.get() == nullptr) {
            // To the library, null would be the real kernel.
            return detail::gone();
        }
        tapline_netlink_options options{};
        options.size = sizeof options;
        options.fake = kernel.handle_.get();
        return open(options);
    }

    std::shared_ptr<ILinkNetlink> link() override { return {shared_, &shared_->link}; }
    std::shared_ptr<IAddrNetlink> addr() override { return {shared_, &shared_->addr}; }
    std::shared_ptr<IRouteNetlink> route() override { return {shared_, &shared_->route}; }
    std::shared_ptr<INeighNetlink> neigh() override { return {shared_, &shared_->neigh}; }
    std::shared_ptr<IFdbNetlink> fdb() override { return {shared_, &shared_->fdb}; }
    std::shared_ptr<IVlanNetlink> vlan() override { return {shared_, &shared_->vlan}; }
    std::shared_ptr<IRuleNetlink> rule() override { return {shared_, &shared_->rule}; }
    std::shared_ptr<INexthopNetlink> nexthop() override { return {shared_, &shared_->nexthop}; }

    using INetlinkFactory::run;
    result<std::vector<ItemResult>> run(const Batch &batch, tapline_on_error onError) override
    {
        detail::Socket &socket = shared_->requests.socket;
        const detail::Lock lock(socket.mutex);
        tapline_batch *raw = nullptr;
        auto status = detail::call(tapline_netlink_run, socket.handle.get(), batch.bytes().data(), batch.bytes().size(),
                                   static_cast<std::uint32_t>(onError), &raw);
        if (!status) {
            return status.error();
        }
        const tapline::handle<tapline_batch, tapline_batch_free> results(raw);
        std::vector<ItemResult> items(tapline_batch_count(raw));
        if (tapline_batch_is_done(raw)) {
            return items;
        }
        for (std::size_t at = 0; at < items.size(); ++at) {
            tapline_error *error = nullptr;
            status =
                detail::call(tapline_batch_result, static_cast<const tapline_batch *>(raw), at, &items[at].state, &error);
            if (!status) {
                return status.error();
            }
            if (error != nullptr) {
                items[at].error = tapline::error::take(error, tapline_error_status(error));
            } else if (!items[at]) {
                items[at].error = canceled(items[at].state);
            }
        }
        return items;
    }

private:
    /// The error of a change for which another one is the reason.
    static tapline::error canceled(tapline_item_state state)
    {
        tapline::error reason;
        reason.status = TAPLINE_STATUS_CANCELED;
        reason.message = state == TAPLINE_ITEM_STATE_UNDONE ? "rolled back, because another change failed"
                                                            : "not carried out, because an earlier change failed";
        return reason;
    }

    explicit BasicNetlinkFactory(detail::NetlinkHandle &&opened)
        : shared_(std::make_shared<detail::Shared<>>(std::move(opened)))
    {
    }

    static result<std::shared_ptr<BasicNetlinkFactory>> open(const tapline_netlink_options &options)
    {
        tapline_netlink *raw = nullptr;
        const auto status = detail::call(tapline_netlink_open, &options, &raw);
        if (!status) {
            return status.error();
        }
        // Owned before there is memory for the object.
        detail::NetlinkHandle opened(raw);
        return std::shared_ptr<BasicNetlinkFactory>(new BasicNetlinkFactory(std::move(opened)));
    }

    std::shared_ptr<detail::Shared<>> shared_;
};

using NetlinkFactory = BasicNetlinkFactory<>;

}  // namespace tapline::netlink

#endif
