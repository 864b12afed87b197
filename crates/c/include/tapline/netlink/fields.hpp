// How the generated types cross the C interface: as fields. The format is described at `tapline_netlink_form`.
#ifndef TAPLINE_NETLINK_FIELDS_HPP
#define TAPLINE_NETLINK_FIELDS_HPP

#include <cstdlib>
#include <new>

#include "values.hpp"

namespace tapline::netlink {

/// A growing array of bytes that is never cleared, so that appending costs no more than the copy.
class Bytes {
public:
    Bytes() = default;
    Bytes(const Bytes &other) { append(other.data_, other.size_); }
    Bytes(Bytes &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          room_(std::exchange(other.room_, 0))
    {
    }
    ~Bytes() { std::free(data_); }
    Bytes &operator=(Bytes other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
        return *this;
    }

    const std::uint8_t *data() const { return data_; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }

    /// Room for `count` bytes at the end.
    std::uint8_t *extend(std::size_t count)
    {
        if (room_ - size_ < count) [[unlikely]] {
            grow(count);
        }
        size_ += count;
        return data_ + (size_ - count);
    }
    void append(const void *bytes, std::size_t count)
    {
        if (count != 0) {
            std::memcpy(extend(count), bytes, count);
        }
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    void number(T value)
    {
        std::memcpy(extend(sizeof value), &value, sizeof value);
    }
    /// Keeps only the first `size` bytes.
    void truncate(std::size_t size) { size_ = size; }
    /// Replaces the bytes at `at`.
    void overwrite(std::size_t at, const void *bytes, std::size_t count) { std::memcpy(data_ + at, bytes, count); }
    /// Writes the number of bytes behind the 32 bits at `at` there.
    void patch(std::size_t at)
    {
        const auto length = static_cast<std::uint32_t>(size_ - at - 4);
        std::memcpy(data_ + at, &length, sizeof length);
    }

    bool operator==(const Bytes &other) const
    {
        return size_ == other.size_ && (size_ == 0 || std::memcmp(data_, other.data_, size_) == 0);
    }

private:
    void grow(std::size_t count)
    {
        const std::size_t room = (room_ < 128 ? 256 : 2 * room_) + count;
        void *data = std::realloc(data_, room);
        if (data == nullptr) {
            throw std::bad_alloc();
        }
        data_ = static_cast<std::uint8_t *>(data);
        room_ = room;
    }

    std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t room_ = 0;
};

struct FieldTable;

/// What the value of a field is, which is how it is written.
enum class FieldType : std::uint8_t {
    /// A number, a named number or a time, of `Field::size` bytes.
    Number,
    Bool,
    Text,
    Ip,
    Mac,
    Prefix,
    Interface,
    /// Settings of a generated type, of which `Field::table` has the fields.
    Set,
    Texts,
    Ips,
    Macs,
    Sets,
};

/// An optional list of settings, whatever their type.
struct FieldList {
    /// The elements and their number. False without a list.
    bool (*elements)(const void *list, const void *&first, std::size_t &count);
    /// Makes an empty list.
    void (*clear)(void *list);
    /// Appends an empty element.
    void *(*append)(void *list);
};

/// A member of a generated type. One function reads and writes the members of all types by such entries: with a function
/// for each, a program would take several times as long to compile.
struct Field {
    std::uint32_t id;
    /// Where it is in its type.
    std::uint16_t offset;
    FieldType type;
    std::uint8_t size = 0;
    const FieldTable *table = nullptr;
    const FieldList *list = nullptr;
};

/// The members of a generated type `T`, which is `T::typeFields`.
struct FieldTable {
    const Field *fields;
    std::size_t count;
    /// Size of the type.
    std::size_t bytes;
    /// The value in a `Boxed<T>`, which is created if it is absent.
    void *(*ensure)(void *box);
};

/// Reads values from bytes. What is too short is left as it is: only a library of another version sends it.
struct FieldReader {
    const std::uint8_t *at = nullptr;
    std::size_t left = 0;

    /// The next 32-bit number; 0 at the end.
    std::uint32_t number()
    {
        std::uint32_t value = 0;
        if (left >= sizeof value) {
            std::memcpy(&value, at, sizeof value);
        }
        skip(sizeof value);
        return value;
    }
    /// The bytes behind the next 32-bit number, which is their length.
    FieldReader sized()
    {
        const std::size_t length = number();
        const FieldReader inner{at, length < left ? length : left};
        skip(inner.left);
        return inner;
    }
    /// How many values with their length follow.
    std::size_t count() const
    {
        std::size_t count = 0;
        for (FieldReader rest = *this; rest.left > 0; ++count) {
            rest.sized();
        }
        return count;
    }
    void skip(std::size_t count)
    {
        count = count < left ? count : left;
        at += count;
        left -= count;
    }

    /// Reads the fields of an object. Ignores those that its type does not have.
    template <FieldSet T>
    void get(T &set) const;
};

namespace detail {

template <class T>
void *ensureBoxed(void *box)
{
    return &static_cast<Boxed<T> *>(box)->ensure();
}

template <class T>
inline constexpr FieldList fieldList = {
    [](const void *list, const void *&first, std::size_t &count) {
        const auto &elements = *static_cast<const std::optional<std::vector<T>> *>(list);
        if (elements) {
            first = elements->data();
            count = elements->size();
        }
        return elements.has_value();
    },
    [](void *list) { static_cast<std::optional<std::vector<T>> *>(list)->emplace(); },
    [](void *list) -> void * { return &(*static_cast<std::optional<std::vector<T>> *>(list))->emplace_back(); },
};

// An optional number is the number and then whether there is one, as in all C++ libraries of Linux.
static_assert(sizeof(std::optional<std::uint8_t>) == 2 && sizeof(std::optional<std::uint32_t>) == 8);
static_assert(std::is_trivially_copyable_v<std::optional<std::uint64_t>>);

/// Writes and reads the members of generated types. A template only so that a program that includes this header compiles
/// what it uses.
template <class = void>
struct FieldCodec {
    static void put(Bytes &out, const std::string &value) { out.append(value.data(), value.size()); }
    static void put(Bytes &out, const IpAddress &value) { out.append(value.data(), value.size()); }
    static void put(Bytes &out, const MacAddress &value) { out.append(value.data(), value.size()); }
    static void put(Bytes &out, const Prefix &value)
    {
        out.number(value.length);
        put(out, value.address);
    }
    static void put(Bytes &out, const Interface &value)
    {
        out.number(value.index);
        put(out, value.name);
    }
    template <class T>
    static void put(Bytes &out, const std::vector<T> &values)
    {
        for (const auto &value : values) {
            const std::size_t at = out.size();
            out.extend(4);
            put(out, value);
            out.patch(at);
        }
    }
    /// Appends a field, if it has a value.
    template <class T>
    static void putField(Bytes &out, std::uint32_t id, const void *member)
    {
        const auto &value = *static_cast<const std::optional<T> *>(member);
        if (value) {
            out.number(id);
            const std::size_t at = out.size();
            out.extend(4);
            put(out, *value);
            out.patch(at);
        }
    }

    /// Appends a field with settings, or with a list of them.
    static void putSets(Bytes &out, const Field &field, const void *sets, std::size_t count)
    {
        out.number(field.id);
        const std::size_t start = out.size();
        out.extend(4);
        for (std::size_t number = 0; number < count; ++number) {
            const void *const set = static_cast<const std::uint8_t *>(sets) + number * field.table->bytes;
            if (field.list == nullptr) {
                putFields(out, *field.table, set);
            } else {
                const std::size_t at = out.size();
                out.extend(4);
                putFields(out, *field.table, set);
                out.patch(at);
            }
        }
        out.patch(start);
    }

    /// Appends the fields of an object that have a value.
    static void putFields(Bytes &out, const FieldTable &table, const void *object)
    {
        for (const Field *field = table.fields; field != table.fields + table.count; ++field) {
            const std::uint8_t *const member = static_cast<const std::uint8_t *>(object) + field->offset;
            switch (field->type) {
            case FieldType::Number:
            case FieldType::Bool:
                if (member[field->size] != 0) {
                    const std::uint32_t header[2] = {field->id, field->size};
                    std::uint8_t *const place = out.extend(sizeof header + field->size);
                    std::memcpy(place, header, sizeof header);
                    std::memcpy(place + sizeof header, member, field->size);
                }
                break;
            case FieldType::Text:
                putField<std::string>(out, field->id, member);
                break;
            case FieldType::Ip:
                putField<IpAddress>(out, field->id, member);
                break;
            case FieldType::Mac:
                putField<MacAddress>(out, field->id, member);
                break;
            case FieldType::Prefix:
                putField<Prefix>(out, field->id, member);
                break;
            case FieldType::Interface:
                putField<Interface>(out, field->id, member);
                break;
            case FieldType::Texts:
                putField<std::vector<std::string>>(out, field->id, member);
                break;
            case FieldType::Ips:
                putField<std::vector<IpAddress>>(out, field->id, member);
                break;
            case FieldType::Macs:
                putField<std::vector<MacAddress>>(out, field->id, member);
                break;
            case FieldType::Set: {
                // A box is a pointer.
                const void *set = nullptr;
                std::memcpy(&set, member, sizeof set);
                if (set != nullptr) {
                    putSets(out, *field, set, 1);
                }
                break;
            }
            case FieldType::Sets: {
                const void *sets = nullptr;
                std::size_t count = 0;
                if (field->list->elements(member, sets, count)) {
                    putSets(out, *field, sets, count);
                }
                break;
            }
            }
        }
    }

    static void get(FieldReader bytes, std::string &value)
    {
        value.assign(reinterpret_cast<const char *>(bytes.at), bytes.left);
    }
    static void get(FieldReader bytes, IpAddress &value) { value = IpAddress::fromBytes(bytes.at, bytes.left); }
    static void get(FieldReader bytes, MacAddress &value) { value = MacAddress::fromBytes(bytes.at, bytes.left); }
    static void get(FieldReader bytes, Prefix &value)
    {
        if (bytes.left > 0) {
            value.length = *bytes.at;
        }
        bytes.skip(1);
        get(bytes, value.address);
    }
    static void get(FieldReader bytes, Interface &value)
    {
        value.index = bytes.number();
        get(bytes, value.name);
    }
    template <class T>
    static void get(FieldReader bytes, std::vector<T> &values)
    {
        while (bytes.left > 0) {
            get(bytes.sized(), values.emplace_back());
        }
    }
    template <class T>
    static void getField(FieldReader bytes, void *member)
    {
        get(bytes, static_cast<std::optional<T> *>(member)->emplace());
    }

    static void getField(FieldReader bytes, const Field &field, std::uint8_t *member)
    {
        switch (field.type) {
        case FieldType::Number:
            std::memset(member, 0, field.size);
            if (bytes.left >= field.size) {
                std::memcpy(member, bytes.at, field.size);
            }
            member[field.size] = 1;
            break;
        case FieldType::Bool:
            member[0] = bytes.left > 0 && *bytes.at != 0;
            member[1] = 1;
            break;
        case FieldType::Text:
            return getField<std::string>(bytes, member);
        case FieldType::Ip:
            return getField<IpAddress>(bytes, member);
        case FieldType::Mac:
            return getField<MacAddress>(bytes, member);
        case FieldType::Prefix:
            return getField<Prefix>(bytes, member);
        case FieldType::Interface:
            return getField<Interface>(bytes, member);
        case FieldType::Texts:
            return getField<std::vector<std::string>>(bytes, member);
        case FieldType::Ips:
            return getField<std::vector<IpAddress>>(bytes, member);
        case FieldType::Macs:
            return getField<std::vector<MacAddress>>(bytes, member);
        case FieldType::Set:
            return getFields(bytes, *field.table, field.table->ensure(member));
        case FieldType::Sets:
            field.list->clear(member);
            while (bytes.left > 0) {
                getFields(bytes.sized(), *field.table, field.list->append(member));
            }
            break;
        }
    }

    /// Reads the fields of an object. Ignores those that its type does not have.
    static void getFields(FieldReader bytes, const FieldTable &table, void *object)
    {
        // They are in the order of the table: each is looked for behind the one before.
        std::size_t next = 0;
        while (bytes.left > 0) {
            const std::uint32_t id = bytes.number();
            const FieldReader value = bytes.sized();
            for (std::size_t tried = 0; tried < table.count; ++tried) {
                const Field &field = table.fields[next];
                next = next + 1 == table.count ? 0 : next + 1;
                if (field.id == id) {
                    getField(value, field, static_cast<std::uint8_t *>(object) + field.offset);
                    break;
                }
            }
        }
    }
};

}  // namespace detail

/// Appends objects.
struct FieldWriter {
    Bytes &out;

    template <FieldSet T>
    void put(const T &set)
    {
        detail::FieldCodec<>::putFields(out, T::typeFields, &set);
    }
};

template <FieldSet T>
void FieldReader::get(T &set) const
{
    detail::FieldCodec<>::getFields(*this, T::typeFields, &set);
}

}  // namespace tapline::netlink

#endif
