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
    /// None: it does not matter.
    std::optional<std::uint32_t> mtu;
    /// An address with its prefix length. Empty for none.
    std::string address;

    bool operator==(const Wanted &) const = default;
};

/// All wanted interfaces, by their names.
using Interfaces = std::map<std::string, Wanted>;

/// What a run of the loop did.
struct Outcome {
    int changes = 0;
    /// What failed. It is tried again at the next event, but a link that the kernel refused to create only if its row is
    /// another one, or after `retryRefused`.
    std::vector<std::string> failures;
};

/// A link that the service created.
struct Own {
    /// 0: the service was about to create it.
    std::uint32_t index = 0;
    /// The addresses of its row, and those of earlier ones that are still to be removed.
    std::vector<Prefix> addresses;

    bool operator==(const Own &) const = default;
};

/// Where it is written what the service owns: it outlives the service. The methods throw if that fails.
class Ownership {
public:
    virtual ~Ownership() = default;
    virtual std::map<std::string, Own> owned() = 0;
    virtual void save(const std::string &name, const Own &own) = 0;
    virtual void forget(const std::string &name) = 0;
};

class Reconciler {
public:
    /// `ownership` must outlive it. What is created is written there before the kernel is changed, and removed from there
    /// after it was deleted: a service that is killed in between owns at most what is gone.
    Reconciler(INetlinkFactory &factory, Ownership &ownership)
        : link_(factory.link()),
          addr_(factory.addr()),
          links_(link_->watch(LinkInfo()).value()),
          addresses_(addr_->watch(AddrInfo()).value()),
          ownership_(ownership),
          own_(ownership.owned())
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
        claimCreated();
        std::erase_if(own_, [&](const auto &own) {
            // Names of a structured binding cannot be captured by clang 14.
            const std::string &name = own.first;
            const Own &link = own.second;
            if (wanted.count(name) != 0 || (isOwn(name) && !done(link_->del(LinkInfo().setIndex(link.index))))) {
                return false;
            }
            written([&] { ownership_.forget(name); });
            return true;
        });
        for (const auto &[name, interface] : wanted) {
            if (reconcileLink(name, interface)) {
                reconcileAddress(name, interface);
            }
        }
        return std::exchange(outcome_, {});
    }

    /// Links that the kernel refused to create are to be tried once more.
    void retryRefused() { refused_.clear(); }

private:
    /// Gives the links their indices that the service was about to create when it ended. One that is there now is its own:
    /// there was none with this name.
    void claimCreated()
    {
        for (auto &[name, own] : own_) {
            const auto known = known_.find(name);
            if (own.index == 0 && known != known_.end()) {
                own.index = known->second.index->index;
                save(name, own);
            }
        }
    }

    /// Whether what the service owns was written. Otherwise the kernel is not to be changed.
    template <class Write>
    bool written(Write write)
    {
        try {
            write();
            return true;
        } catch (const std::exception &failure) {
            outcome_.failures.push_back(failure.what());
            return false;
        }
    }
    bool save(const std::string &name, const Own &own)
    {
        return written([&] { ownership_.save(name, own); });
    }

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
            if (event.kind == TAPLINE_WATCH_EVENT_REMOVED) {
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
                if (event.kind != TAPLINE_WATCH_EVENT_REMOVED) {
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
            const auto refused = refused_.find(name);
            // An attempt is written down, and may cause events itself: repeating it at each event could go on for ever.
            if ((refused != refused_.end() && refused->second == wanted) || !save(name, Own())) {
                return false;
            }
            auto link = LinkInfo().setName(name).setType(wanted.type).setAdmin(true);
            link.mtu = wanted.mtu;
            const auto created = link_->create(link);
            if (!created) {
                refused_[name] = wanted;
                outcome_.failures.push_back(created.error().describe());
                own_.erase(name);
                written([&] { ownership_.forget(name); });
                return false;
            }
            ++outcome_.changes;
            known_[name] = *created;
            own_[name] = {created->index->index, {}};
            save(name, own_[name]);
            return true;
        }
        auto &link = found->second;
        const auto mtu = wanted.mtu ? wanted.mtu : link.mtu;
        if (link.mtu != mtu || link.admin != true) {
            auto change = LinkInfo().setIndex(link.index->index).setAdmin(true);
            change.mtu = mtu;
            if (done(link_->set(change))) {
                link.mtu = mtu;
                link.setAdmin(true);
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
            const auto before = own_.at(name);
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
            if (own_.at(name) != before && !save(name, own_.at(name))) {
                own_.at(name) = before;
                return;
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
    Ownership &ownership_;
    /// The links that this service created and may delete.
    std::map<std::string, Own> own_;
    /// The rows of links that the kernel refused to create.
    Interfaces refused_;
    Outcome outcome_;
};

}  // namespace service
