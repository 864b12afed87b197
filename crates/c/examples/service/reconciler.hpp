// A service that keeps interfaces as a database wants them. One loop: an event of the kernel or of the database makes it
// compare the two, and change the kernel where they differ.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tapline/netlink/addr.hpp>
#include <tapline/netlink/interfaces.hpp>
#include <tapline/netlink/link.hpp>
#include <utility>
#include <vector>

namespace service {

using namespace std::chrono_literals;
using namespace tapline::netlink;

/// An interface as it is wanted.
struct Wanted {
    /// The kind of a new interface; that of an existing one stays.
    std::string type;
    std::uint32_t mtu = 1500;
    /// An address with its prefix length. Empty for none.
    std::string address;
};

/// All wanted interfaces, by their names.
using Interfaces = std::map<std::string, Wanted>;

/// What a run of the loop did.
struct Outcome {
    int changes = 0;
    /// What failed, and is tried again at the next event.
    std::vector<std::string> failures;
};

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
    std::pair<int, int> fds() const { return {links_->fd().value(), addresses_->fd().value()}; }

    /// Reads the events that have arrived, and makes the kernel as it is wanted. Running it again without a change in
    /// between changes nothing: its own changes come back as events that agree.
    Outcome reconcile(const Interfaces &wanted)
    {
        readEvents();
        outcome_ = {};
        std::erase_if(own_, [&](const auto &own) {
            const auto &[name, link] = own;
            return wanted.count(name) == 0 && (!isOwn(name) || done(link_->del(LinkInfo().setIndex(link.index))));
        });
        for (const auto &[name, interface] : wanted) {
            if (reconcileLink(name, interface)) {
                reconcileAddress(name, interface);
            }
        }
        return std::exchange(outcome_, {});
    }

private:
    /// A link that this service created.
    struct Own {
        std::uint32_t index;
        /// The addresses of its row, and those of earlier ones that are still to be removed.
        std::vector<Prefix> addresses;
    };

    /// Whether the link with this name is the one that this service created, and not another in its place.
    bool isOwn(const std::string &name) const
    {
        const auto own = own_.find(name);
        const auto known = known_.find(name);
        return own != own_.end() && known != known_.end() && known->second.index->index == own->second.index;
    }

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
                } else if (here.empty()) {
                    assigned_.erase(event.object->dev->index);
                }
            }
        }
    }

    static Prefix key(const AddrInfo &address) { return Prefix(*address.local, *address.prefixlen); }

    /// Returns whether the link exists.
    bool reconcileLink(const std::string &name, const Wanted &wanted)
    {
        const auto found = known_.find(name);
        if (found == known_.end()) {
            const auto created =
                link_->create(LinkInfo().setName(name).setType(wanted.type).setMtu(wanted.mtu).setAdmin(true));
            if (!created) {
                outcome_.failures.push_back(created.error().describe());
                return false;
            }
            ++outcome_.changes;
            known_[name] = *created;
            own_[name] = {created->index->index, {}};
            return true;
        }
        auto &link = found->second;
        if (link.mtu != wanted.mtu || link.admin != true) {
            const auto change = LinkInfo().setMtu(wanted.mtu).setAdmin(true);
            if (done(link_->set(LinkInfo(change).setIndex(link.index->index)))) {
                link.setMtu(wanted.mtu).setAdmin(true);
            }
        }
        return true;
    }

    void reconcileAddress(const std::string &name, const Wanted &wanted)
    {
        const auto index = known_.at(name).index->index;
        auto &here = assigned_[index];
        const auto has = [&here](const Prefix &prefix) { return std::find(here.begin(), here.end(), prefix) != here.end(); };
        const auto address = [index](const Prefix &prefix) {
            return AddrInfo().setDev(index).setLocal(prefix.address).setPrefixlen(prefix.length);
        };
        std::optional<Prefix> prefix;
        if (!wanted.address.empty() && !(prefix = Prefix::parse(wanted.address))) {
            outcome_.failures.push_back(wanted.address + " is not an address");
            return;
        }
        // Of the addresses that are not wanted, only those of earlier rows are removed, until that succeeds.
        if (isOwn(name)) {
            auto &own = own_.at(name).addresses;
            std::erase_if(own, [&](const Prefix &earlier) {
                if (earlier == prefix || !has(earlier)) {
                    return true;
                }
                const bool isRemoved = done(addr_->del(address(earlier)));
                if (isRemoved) {
                    std::erase(here, earlier);
                }
                return isRemoved;
            });
            if (prefix) {
                own.push_back(*prefix);
            }
        }
        if (prefix && !has(*prefix) && done(addr_->add(address(*prefix)))) {
            here.push_back(*prefix);
        }
    }

    bool done(const tapline::result<void> &result)
    {
        if (result) {
            ++outcome_.changes;
        } else if (result.error().status != TAPLINE_STATUS_NOT_FOUND) {
            // What has disappeared is no failure: an event will say so.
            outcome_.failures.push_back(result.error().describe());
        }
        return result.has_value();
    }

    std::shared_ptr<ILinkNetlink> link_;
    std::shared_ptr<IAddrNetlink> addr_;
    std::unique_ptr<IWatch<LinkInfo>> links_;
    std::unique_ptr<IWatch<AddrInfo>> addresses_;
    /// The links of the kernel, according to its events.
    std::map<std::string, LinkInfo> known_;
    /// The addresses of each link.
    std::map<std::uint32_t, std::vector<Prefix>> assigned_;
    /// The links that this service created and may delete.
    std::map<std::string, Own> own_;
    Outcome outcome_;
};

}  // namespace service
