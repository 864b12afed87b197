// A service that keeps interfaces as a database wants them. One loop: an event of the kernel or of the database makes it
// compare the two, and change the kernel where they differ.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tapline/netlink/interfaces.hpp>
#include <tapline/netlink/addr.hpp>
#include <tapline/netlink/link.hpp>

namespace service {

using namespace std::chrono_literals;
using namespace tapline::netlink;

/// An interface as it is wanted.
struct Wanted {
    std::string type;
    std::uint32_t mtu = 1500;
    /// Empty for none.
    std::string address;
};

/// All wanted interfaces, by their names.
using Interfaces = std::map<std::string, Wanted>;

class Reconciler {
public:
    explicit Reconciler(INetlinkFactory &factory)
        : link_(factory.link()),
          addr_(factory.addr()),
          links_(link_->watch(LinkInfo()).value()),
          addresses_(addr_->watch(AddrInfo()).value())
    {
    }

    /// The descriptors that are readable when the kernel has changed.
    std::vector<int> fds() const { return {links_->fd().value(), addresses_->fd().value()}; }

    /// Reads the events that have arrived, and makes the kernel as it is wanted. Returns the number of changes. Running
    /// it again without a change in between changes nothing: its own changes come back as events that agree.
    int reconcile(const Interfaces &wanted)
    {
        readEvents();
        int changes = 0;
        for (const auto &[name, interface] : wanted) {
            changes += reconcileLink(name, interface);
            changes += reconcileAddress(name, interface);
        }
        for (const auto &name : own_) {
            if (wanted.count(name.first) == 0 && known_.count(name.first) != 0) {
                changes += done(link_->del(LinkInfo().setName(name.first)));
            }
        }
        std::erase_if(own_, [&wanted](const auto &name) { return wanted.count(name.first) == 0; });
        return changes;
    }

    /// Why the last change failed, if it did.
    const std::string &failure() const { return failure_; }

private:
    void readEvents()
    {
        const auto links = links_->next(0s).value();
        for (const auto &event : links) {
            if (event.before) {
                known_.erase(*event.before->name);
            }
            if (event.kind == TAPLINE_EVENT_REMOVED) {
                known_.erase(*event.object->name);
            } else if (event.object) {
                known_[*event.object->name] = *event.object;
            }
        }
        const auto addresses = addresses_->next(0s).value();
        for (const auto &event : addresses) {
            if (event.object) {
                auto &here = assigned_[event.object->dev->index];
                std::erase(here, key(*event.object));
                if (event.kind != TAPLINE_EVENT_REMOVED) {
                    here.push_back(key(*event.object));
                }
            }
        }
    }

    static Prefix key(const AddrInfo &address) { return Prefix(*address.local, *address.prefixlen); }

    int reconcileLink(const std::string &name, const Wanted &wanted)
    {
        const auto found = known_.find(name);
        if (found == known_.end()) {
            const auto created =
                link_->create(LinkInfo().setName(name).setType(wanted.type).setMtu(wanted.mtu).setAdmin(true));
            if (!created) {
                failure_ = created.error().describe();
                return 0;
            }
            known_[name] = *created;
            own_[name] = true;
            return 1;
        }
        auto &link = found->second;
        if (link.mtu == wanted.mtu && link.admin == true) {
            return 0;
        }
        const auto index = link.index->index;
        const int changes = done(link_->set(LinkInfo().setIndex(index).setMtu(wanted.mtu).setAdmin(true)));
        if (changes > 0) {
            link.setMtu(wanted.mtu).setAdmin(true);
        }
        return changes;
    }

    int reconcileAddress(const std::string &name, const Wanted &wanted)
    {
        const auto found = known_.find(name);
        if (wanted.address.empty() || found == known_.end()) {
            return 0;
        }
        const Prefix prefix(wanted.address);
        auto &here = assigned_[found->second.index->index];
        for (const auto &address : here) {
            if (address == prefix) {
                return 0;
            }
        }
        const auto index = found->second.index->index;
        const int changes = done(addr_->add(AddrInfo().setDev(index).setLocal(prefix.address).setPrefixlen(prefix.length)));
        if (changes > 0) {
            here.push_back(prefix);
        }
        return changes;
    }

    int done(const tapline::result<void> &result)
    {
        if (!result) {
            failure_ = result.error().describe();
        }
        return result ? 1 : 0;
    }

    std::shared_ptr<ILinkNetlink> link_;
    std::shared_ptr<IAddrNetlink> addr_;
    std::unique_ptr<IWatch<LinkInfo>> links_;
    std::unique_ptr<IWatch<AddrInfo>> addresses_;
    /// The links of the kernel, according to its events.
    std::map<std::string, LinkInfo> known_;
    /// The addresses of each link.
    std::map<std::uint32_t, std::vector<Prefix>> assigned_;
    /// The links that this service created, and may delete.
    std::map<std::string, bool> own_;
    std::string failure_;
};

}  // namespace service
