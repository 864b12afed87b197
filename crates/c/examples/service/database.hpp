// The wanted interfaces, in a table of SQLite: interfaces(name, type, mtu, address). Other programs change it. What the
// service itself has created is in the table `owned`, so that a restart does not forget it.
#pragma once

#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "reconciler.hpp"

namespace service {

/// The network namespace of this process, and the boot of the machine: in another one, what was created is gone, and an
/// interface with the same name and index is somebody else's.
inline std::string thisPlace()
{
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    struct stat space = {};
    if (boot.empty() || stat("/proc/self/ns/net", &space) != 0) {
        throw std::runtime_error("/proc does not say in which namespace this is");
    }
    return boot + ' ' + std::to_string(space.st_ino);
}

class Database final : public Ownership {
public:
    explicit Database(const char *path, std::string place = thisPlace()) : place_(std::move(place))
    {
        sqlite3 *opened = nullptr;
        const int status = sqlite3_open(path, &opened);
        // A database that could not be opened is to be closed, too.
        database_.reset(opened);
        check(status);
        // Another program may be in the middle of a change.
        check(sqlite3_busy_timeout(database_.get(), 10'000));
        // With a write-ahead log a change would become visible after the last event of its file.
        execute("PRAGMA journal_mode = DELETE");
        execute("CREATE TABLE IF NOT EXISTS interfaces("
                "name TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, mtu INTEGER NOT NULL DEFAULT 1500, "
                "address TEXT NOT NULL DEFAULT '')");
        // An index of 0: about to be created. Addresses are separated by spaces.
        execute("CREATE TABLE IF NOT EXISTS owned("
                "name TEXT PRIMARY KEY NOT NULL, place TEXT NOT NULL, ifindex INTEGER NOT NULL, addresses TEXT NOT NULL)");
    }

    /// Whether another program may have changed the database since the last call, or this is the first one. Changes that the
    /// service itself makes do not count.
    bool hasChanged()
    {
        std::int64_t version = 0;
        query("PRAGMA data_version", {}, [&version](sqlite3_stmt *row) { version = sqlite3_column_int64(row, 0); });
        return std::exchange(version_, version) != version;
    }

    void execute(const char *statement) { check(sqlite3_exec(database_.get(), statement, nullptr, nullptr, nullptr)); }

    Interfaces interfaces()
    {
        Interfaces found;
        query("SELECT name, type, mtu, address FROM interfaces", {}, [&found](sqlite3_stmt *row) {
            found[text(row, 0)] = {text(row, 1), optionalNumber(row, 2), text(row, 3)};
        });
        return found;
    }

    std::map<std::string, Own> owned() override
    {
        std::map<std::string, Own> found;
        query("SELECT name, ifindex, addresses FROM owned WHERE place = ?", {place_}, [&found](sqlite3_stmt *row) {
            Own &own = found[text(row, 0)];
            own.index = number(row, 1);
            std::istringstream words(text(row, 2));
            for (std::string word; words >> word;) {
                own.addresses.push_back(Prefix(word));
            }
        });
        return found;
    }

    void save(const std::string &name, const Own &own) override
    {
        std::string addresses;
        for (const auto &address : own.addresses) {
            addresses += address.toString() + ' ';
        }
        query("INSERT OR REPLACE INTO owned VALUES (?, ?, ?, ?)", {name, place_, std::to_string(own.index), addresses});
    }

    void forget(const std::string &name) override { query("DELETE FROM owned WHERE name = ?", {name}); }

private:
    /// Runs a statement with its parameters, and calls `each` with its rows.
    template <class Each>
    void query(const char *statement, const std::vector<std::string> &parameters, Each each)
    {
        sqlite3_stmt *rows = nullptr;
        check(sqlite3_prepare_v2(database_.get(), statement, -1, &rows, nullptr));
        for (std::size_t at = 0; at < parameters.size(); ++at) {
            const auto &text = parameters[at];
            sqlite3_bind_text(rows, static_cast<int>(at) + 1, text.data(), static_cast<int>(text.size()), nullptr);
        }
        while (sqlite3_step(rows) == SQLITE_ROW) {
            each(rows);
        }
        // Reports why the last step failed, if it did.
        check(sqlite3_finalize(rows));
    }
    void query(const char *statement, const std::vector<std::string> &parameters)
    {
        query(statement, parameters, [](sqlite3_stmt *) {});
    }

    /// What is out of range becomes the nearest number, which the kernel refuses.
    static std::uint32_t number(sqlite3_stmt *row, int column)
    {
        const std::int64_t greatest = std::numeric_limits<std::uint32_t>::max();
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(sqlite3_column_int64(row, column), 0, greatest));
    }
    static std::optional<std::uint32_t> optionalNumber(sqlite3_stmt *row, int column)
    {
        if (sqlite3_column_type(row, column) == SQLITE_NULL) {
            return std::nullopt;
        }
        return number(row, column);
    }
    static std::string text(sqlite3_stmt *row, int column)
    {
        const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(row, column));
        return text == nullptr ? "" : text;
    }
    void check(int status)
    {
        if (status != SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        }
    }

    struct Close {
        void operator()(sqlite3 *database) const { sqlite3_close(database); }
    };

    std::string place_;
    std::int64_t version_ = -1;
    std::unique_ptr<sqlite3, Close> database_;
};

/// Notices changes of a database: of its file, and of the journal whose removal commits a change. `Database::hasChanged`
/// says whether another program made them.
class DatabaseWatch {
public:
    explicit DatabaseWatch(const std::filesystem::path &path)
        : name_(path.filename()), fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
    {
        const auto folder = std::filesystem::absolute(path).parent_path();
        if (fd_ < 0 || inotify_add_watch(fd_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVE) < 0) {
            throw std::system_error(errno, std::generic_category(), folder);
        }
    }
    ~DatabaseWatch() { close(fd_); }
    DatabaseWatch(const DatabaseWatch &) = delete;
    DatabaseWatch &operator=(const DatabaseWatch &) = delete;

    /// Readable when a file in the folder has changed.
    int fd() const { return fd_; }

    /// Whether the files may have changed since the last call.
    bool hasChanged()
    {
        bool changed = false;
        alignas(inotify_event) char events[4096];
        for (ssize_t length; (length = read(fd_, events, sizeof events)) > 0;) {
            for (const char *at = events; at < events + length;) {
                inotify_event event;
                std::memcpy(&event, at, sizeof event);
                const char *name = at + sizeof event;
                // An event without a name: some were lost.
                changed = changed || event.len == 0 || std::strncmp(name, name_.c_str(), name_.size()) == 0;
                at = name + event.len;
            }
        }
        return changed;
    }

private:
    std::string name_;
    int fd_;
};

}  // namespace service
