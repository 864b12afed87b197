// The wanted interfaces, in a table of SQLite: interfaces(name, type, mtu, address).
#pragma once

#include <sqlite3.h>

#include <stdexcept>

#include "reconciler.hpp"

namespace service {

class Database {
public:
    explicit Database(const char *path)
    {
        check(sqlite3_open(path, &database_));
        // Another program may be in the middle of a change.
        check(sqlite3_busy_timeout(database_, 1000));
        execute("CREATE TABLE IF NOT EXISTS interfaces("
                "name TEXT PRIMARY KEY, type TEXT NOT NULL, mtu INTEGER NOT NULL DEFAULT 1500, "
                "address TEXT NOT NULL DEFAULT '')");
    }
    ~Database() { sqlite3_close(database_); }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;

    void execute(const char *statement) { check(sqlite3_exec(database_, statement, nullptr, nullptr, nullptr)); }

    Interfaces interfaces()
    {
        sqlite3_stmt *rows = nullptr;
        check(sqlite3_prepare_v2(database_, "SELECT name, type, mtu, address FROM interfaces", -1, &rows, nullptr));
        Interfaces found;
        while (sqlite3_step(rows) == SQLITE_ROW) {
            found[text(rows, 0)] = {text(rows, 1), static_cast<std::uint32_t>(sqlite3_column_int(rows, 2)), text(rows, 3)};
        }
        check(sqlite3_finalize(rows));
        return found;
    }

private:
    static std::string text(sqlite3_stmt *row, int column)
    {
        return reinterpret_cast<const char *>(sqlite3_column_text(row, column));
    }
    void check(int status)
    {
        if (status != SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(database_));
        }
    }

    sqlite3 *database_ = nullptr;
};

}  // namespace service
