// The wanted interfaces, in a table of SQLite: interfaces(name, type, mtu, address). Other programs change it.
#pragma once

#include <sqlite3.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "reconciler.hpp"

namespace service {

class Database {
public:
    explicit Database(const char *path)
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
    }

    void execute(const char *statement) { check(sqlite3_exec(database_.get(), statement, nullptr, nullptr, nullptr)); }

    Interfaces interfaces()
    {
        sqlite3_stmt *rows = nullptr;
        check(sqlite3_prepare_v2(database_.get(), "SELECT name, type, mtu, address FROM interfaces", -1, &rows, nullptr));
        Interfaces found;
        while (sqlite3_step(rows) == SQLITE_ROW) {
            found[text(rows, 0)] = {text(rows, 1), static_cast<std::uint32_t>(sqlite3_column_int(rows, 2)), text(rows, 3)};
        }
        // Reports why the last step failed, if it did.
        check(sqlite3_finalize(rows));
        return found;
    }

private:
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

    std::unique_ptr<sqlite3, Close> database_;
};

/// Notices changes of a database: of its file, and of the journal whose removal commits a change.
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

    /// Whether the database may have changed since the last call.
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
