// Configures the network of the kernel, or of a fake one.
#ifndef TAPLINE_NETLINK_FACTORY_HPP
#define TAPLINE_NETLINK_FACTORY_HPP

#include <sys/socket.h>

#include <atomic>
#include <cerrno>

#include "../handle.hpp"
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

template <class>
class BasicNetlinkFactory;

/// A kernel in memory, for tests: it stores objects, needs no privilege and notifies watches. What it does not do is
/// described at `tapline_fake_kernel_new`.
class FakeKernel {
public:
    static result<FakeKernel> create()
    {
        tapline_fake_kernel *raw = nullptr;
        auto status = call(tapline_fake_kernel_new, &raw);
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

/// The socket that the objects of a factory share. A call at a time.
class Socket {
public:
    tapline::handle<tapline_netlink, tapline_netlink_close> handle;
    Mutex mutex;

    explicit Socket(tapline_netlink *raw) : handle(raw)
    {
        if (!call(tapline_netlink_fd, raw, &fd_)) {
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
        return done(call(tapline_netlink_change, handle.get(), static_cast<std::uint32_t>(verb), object, form, bytes, size));
    }

private:
    /// Why a change failed; without a reply, `errno` is the reason.
    static result<void> refused(tapline_netlink_verb verb, std::uint32_t object, const std::uint8_t *message,
                                std::size_t size, const std::uint8_t *reply, std::size_t length)
    {
        return done(call(tapline_netlink_refusal, static_cast<std::uint32_t>(verb), object, message, size, reply, length,
                         static_cast<std::int32_t>(errno)));
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

    FieldReader reader() const
    {
        FieldReader reader;
        call(tapline_list_bytes, static_cast<const tapline_list *>(handle_.get()), &reader.at, &reader.left).value();
        return reader;
    }

private:
    tapline::handle<tapline_list, tapline_list_free> handle_;
};

template <class Info>
class Watch final : public IWatch<Info> {
public:
    explicit Watch(tapline_watch *raw) : handle_(raw) {}

    using IWatch<Info>::next;
    result<std::vector<Event<Info>>> next(std::chrono::nanoseconds timeout) override
    {
        tapline_list *raw = nullptr;
        const auto status = call(tapline_watch_next, handle_.get(), std::int64_t{timeout.count()}, &raw);
        if (!status) {
            return status.error();
        }
        std::vector<Event<Info>> events;
        if (*status == TAPLINE_STATUS_END) {
            tapline::error stopped;
            stopped.status = TAPLINE_STATUS_END;
            stopped.message = "the watch has been stopped";
            return stopped;
        }
        const List list(raw);
        for (auto rest = list.reader(); rest.left > 0;) {
            auto &event = events.emplace_back();
            event.kind = static_cast<tapline_event>(rest.number());
            if (event.kind == TAPLINE_EVENT_CHANGED) {
                rest.sized().get(event.before.emplace());
            }
            if (event.kind != TAPLINE_EVENT_OVERRUN) {
                rest.sized().get(event.object.emplace());
            }
        }
        return events;
    }
    result<void> stop() const override { return done(call(tapline_watch_stop, handle_.get())); }
    result<int> fd() const override
    {
        int fd = -1;
        const auto status = call(tapline_watch_fd, handle_.get(), &fd);
        if (!status) {
            return status.error();
        }
        return fd;
    }

private:
    tapline::handle<tapline_watch, tapline_watch_close> handle_;
};

/// The operations of `Base`, an `INetlink<Info>`.
template <class Info, class Base>
class Netlink : public Base {
public:
    explicit Netlink(std::shared_ptr<Socket> socket) : socket_(std::move(socket)) {}

    result<void> add(const Info &info) override { return change(TAPLINE_NETLINK_VERB_ADD, info); }
    result<void> del(const Info &info) override { return change(TAPLINE_NETLINK_VERB_DEL, info); }
    result<void> set(const Info &info) override { return change(TAPLINE_NETLINK_VERB_SET, info); }
    result<void> replace(const Info &info) override { return change(TAPLINE_NETLINK_VERB_REPLACE, info); }
    result<void> append(const Info &info) override { return change(TAPLINE_NETLINK_VERB_APPEND, info); }
    result<Info> get(const Info &info) override { return one(tapline_netlink_get, info); }
    result<Info> create(const Info &info) override { return one(tapline_netlink_create, info); }

    result<std::vector<Info>> list(const Info &filter) override
    {
        const Lock lock(socket_->mutex);
        tapline_list *raw = nullptr;
        write(filter);
        const auto status = request(tapline_netlink_list, &raw);
        if (!status) {
            return status.error();
        }
        const List list(raw);
        std::vector<Info> objects;
        for (auto rest = list.reader(); rest.left > 0;) {
            rest.sized().get(objects.emplace_back());
        }
        return objects;
    }

    result<std::unique_ptr<IWatch<Info>>> watch(const Info &filter) override
    {
        const Lock lock(socket_->mutex);
        tapline_watch *raw = nullptr;
        write(filter);
        const auto status = request(tapline_watch_open, &raw);
        if (!status) {
            return status.error();
        }
        return std::unique_ptr<IWatch<Info>>(std::make_unique<Watch<Info>>(raw));
    }

protected:
    template <class T>
    void write(const T &object)
    {
        bytes_.clear();
        FieldWriter{bytes_}.put(object);
    }
    /// The object in a list with one.
    static Info first(tapline_list *raw)
    {
        const List list(raw);
        Info info;
        list.reader().sized().get(info);
        return info;
    }

    std::shared_ptr<Socket> socket_;
    Bytes bytes_;

private:
    template <class F, class Out>
    result<tapline_status> request(F *function, Out *out)
    {
        const std::uint32_t form = TAPLINE_NETLINK_FORM_FIELDS;
        return call(function, socket_->handle.get(), objectNumber<Info>, form, bytes_.data(), bytes_.size(), out);
    }

    result<void> change(tapline_netlink_verb verb, const Info &info)
    {
        if constexpr (Encodable<Info>) {
            alignas(4) std::uint8_t message[MessageWriter::maxBytes];
            MessageWriter out(message);
            if (info.encode(verb, out)) [[likely]] {
                const Lock lock(socket_->mutex);
                return socket_->change(verb, objectNumber<Info>, message, out.size());
            }
        }
        const Lock lock(socket_->mutex);
        write(info);
        return socket_->ask(verb, objectNumber<Info>, TAPLINE_NETLINK_FORM_FIELDS, bytes_.data(), bytes_.size());
    }

    template <class F>
    result<Info> one(F *function, const Info &info)
    {
        const Lock lock(socket_->mutex);
        tapline_list *raw = nullptr;
        write(info);
        const auto status = request(function, &raw);
        if (!status) {
            return status.error();
        }
        return first(raw);
    }
};

/// The operations on routes. A template for the reason of BasicNetlinkFactory.
template <class Info>
class RouteNetlink final : public Netlink<Info, IRouteNetlink> {
public:
    using Netlink<Info, IRouteNetlink>::Netlink;

    result<Info> lookup(const RouteQuery &query) override
    {
        const Lock lock(this->socket_->mutex);
        tapline_list *raw = nullptr;
        this->write(query);
        const std::uint32_t form = TAPLINE_NETLINK_FORM_FIELDS;
        const Bytes &bytes = this->bytes_;
        const auto status =
            call(tapline_netlink_lookup, this->socket_->handle.get(), form, bytes.data(), bytes.size(), &raw);
        if (!status) {
            return status.error();
        }
        return this->first(raw);
    }
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
    /// A fake kernel. Several factories see the same objects.
    static result<std::shared_ptr<BasicNetlinkFactory>> open(const FakeKernel &kernel)
    {
        if (kernel.handle_.get() == nullptr) {
            // To the library, null would be the real kernel.
            return gone();
        }
        tapline_netlink_options options{};
        options.size = sizeof options;
        options.fake = kernel.handle_.get();
        return open(options);
    }

    std::shared_ptr<ILinkNetlink> link() override { return make<LinkInfo>(); }
    std::shared_ptr<IAddrNetlink> addr() override { return make<AddrInfo>(); }
    std::shared_ptr<IRouteNetlink> route() override { return std::make_shared<detail::RouteNetlink<RouteInfo>>(socket_); }
    std::shared_ptr<INeighNetlink> neigh() override { return make<NeighInfo>(); }
    std::shared_ptr<IFdbNetlink> fdb() override { return make<FdbInfo>(); }
    std::shared_ptr<IVlanNetlink> vlan() override { return make<VlanInfo>(); }
    std::shared_ptr<IRuleNetlink> rule() override { return make<RuleInfo>(); }
    std::shared_ptr<INexthopNetlink> nexthop() override { return make<NexthopInfo>(); }

    using INetlinkFactory::run;
    result<std::vector<ItemResult>> run(const Batch &batch, tapline_on_error onError) override
    {
        const detail::Lock lock(socket_->mutex);
        tapline_batch *raw = nullptr;
        auto status = call(tapline_netlink_run, socket_->handle.get(), batch.bytes().data(), batch.bytes().size(),
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
            status = call(tapline_batch_result, static_cast<const tapline_batch *>(raw), at, &items[at].state, &error);
            if (!status) {
                return status.error();
            }
            if (error != nullptr) {
                items[at].error = tapline::error::take(error, tapline_error_status(error));
            }
        }
        return items;
    }

private:
    explicit BasicNetlinkFactory(tapline_netlink *raw) : socket_(std::make_shared<detail::Socket>(raw)) {}

    static result<std::shared_ptr<BasicNetlinkFactory>> open(const tapline_netlink_options &options)
    {
        tapline_netlink *raw = nullptr;
        const auto status = call(tapline_netlink_open, &options, &raw);
        if (!status) {
            return status.error();
        }
        return std::shared_ptr<BasicNetlinkFactory>(new BasicNetlinkFactory(raw));
    }
    template <class Info>
    std::shared_ptr<INetlink<Info>> make()
    {
        return std::make_shared<detail::Netlink<Info, INetlink<Info>>>(socket_);
    }

    std::shared_ptr<detail::Socket> socket_;
};

using NetlinkFactory = BasicNetlinkFactory<>;

}  // namespace tapline::netlink

#endif
