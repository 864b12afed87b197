// packets: views over the packets of a cursor take as many as they give, packets can be copied, and filters know their lengths.
#include <algorithm>
#include <cstdio>
#include <ranges>
#include <tapline/capture.hpp>
#include <tapline/count.hpp>
#include <tapline/file.hpp>
#include <tapline/filter.hpp>
#include <tapline/packet.hpp>
#include <tapline/ping.hpp>
#include <utility>
#include <vector>

namespace {

// What a temporary object lends would end with it. `T &` names an object, and `T` is a temporary one.

template <class T>
concept lends_batches = requires(T &&object) { std::forward<T>(object).next_batch(); };
template <class T>
concept lends_packets = requires(T &&object) { std::forward<T>(object).next_packets(); };
template <class T>
concept lends_names = requires(T &&object) { std::forward<T>(object).interface(0); };
template <class T>
concept lends_figures = requires(T &&object) { std::forward<T>(object).totals(); };
template <class T>
concept lends_intervals = requires(T &&object) { std::forward<T>(object).next(); };
template <class T>
concept lends_instructions = requires(T &&object) { std::forward<T>(object).classic(); };

static_assert(lends_batches<tapline::capture &> && !lends_batches<tapline::capture>);
static_assert(lends_batches<tapline::reader &> && !lends_batches<tapline::reader>);
static_assert(lends_batches<tapline::pinger &> && !lends_batches<tapline::pinger>);
static_assert(lends_packets<tapline::capture &> && !lends_packets<tapline::capture>);
static_assert(lends_names<tapline::capture &> && !lends_names<tapline::capture>);
static_assert(lends_names<const tapline::reader &> && !lends_names<const tapline::reader>);
static_assert(lends_figures<tapline::counter &> && !lends_figures<tapline::counter>);
static_assert(lends_intervals<tapline::counter &> && !lends_intervals<tapline::counter>);
static_assert(lends_instructions<tapline::filter &> && !lends_instructions<tapline::filter>);

// Views do not refer to a range that may be gone, and algorithms return iterators of a temporary one.
static_assert(std::ranges::view<tapline::batch> && std::ranges::borrowed_range<tapline::batch>);
static_assert(std::ranges::view<tapline::ping_events> && std::ranges::borrowed_range<tapline::ping_events>);
static_assert(std::ranges::view<tapline::packets> && std::ranges::borrowed_range<tapline::packets>);

/// The lengths of what a range gives.
template <class Range>
std::vector<std::size_t> lengths(Range &&range)
{
    std::vector<std::size_t> found;
    for (const auto packet : range) {
        found.push_back(packet.len());
    }
    return found;
}

}  // namespace

int main()
{
    tapline_packet array[7] = {};
    for (std::uint32_t at = 0; at < 7; ++at) {
        array[at].len = 100 + at;
    }
    tapline_cursor cursor = {};
    cursor.progress = 7 * TAPLINE_CURSOR_PACKET;
    cursor.array = array;
    const tapline::packets packets(&cursor);
    const auto left = [&cursor] { return cursor.progress / TAPLINE_CURSOR_PACKET; };
    using Lengths = std::vector<std::size_t>;
    const auto isEven = [](tapline::packet packet) { return packet.len() % 2 == 0; };
    const bool holds = lengths(packets | std::views::take(0)) == Lengths{} && left() == 7 &&
                       lengths(packets | std::views::take(2)) == Lengths{100, 101} && left() == 5 &&
                       lengths(packets | std::views::drop(1) | std::views::take(1)) == Lengths{103} && left() == 3 &&
                       (*packets.begin()).len() == 104 && left() == 2 &&
                       lengths(packets | std::views::filter(isEven)) == Lengths{106} && left() == 0 &&
                       lengths(packets) == Lengths{};
    std::puts(holds ? "done" : "a packet is lost or repeated");

    // A packet does not change with the iterator that gave it.
    cursor.progress = 7 * TAPLINE_CURSOR_PACKET;
    cursor.array = array;
    const tapline::packet first = *packets.begin();
    const auto below104 = [](const tapline::packet &packet) { return packet.len() < 104 ? packet.len() : 0; };
    const auto longest = std::ranges::max(packets, {}, below104);
    std::puts(first.len() == 100 && longest.len() == 103 ? "copied" : "a copy has changed");

    // 60 bytes of a packet of 1500.
    const std::uint8_t head[60] = {};
    array[0].data = head;
    array[0].captured_len = sizeof head;
    array[0].len = 1500;
    const tapline::packet cut(array[0]);
    const auto is_long = tapline::filter::compile("greater 1000").value();
    const bool agree = is_long.matches(cut).value() && !is_long.matches(cut.data()).value();
    std::puts(agree ? "long" : "the filter does not know the length on the wire");

    // An event does not change with the array of its batch.
    tapline_ping_event happened = {};
    happened.sequence = 7;
    const tapline::ping_event event = tapline::ping_events(&happened, 1, false)[0];
    happened.sequence = 8;
    std::puts(event.sequence() == 7 ? "kept" : "an event has changed");

    // Longer than a packet can be: its length is not truncated.
    const auto everything = tapline::filter::compile("").value();
    const std::span<const std::byte> endless(reinterpret_cast<const std::byte *>(head), (std::size_t{1} << 32) + sizeof head);
    const auto refused = everything.matches(endless);
    std::puts(refused.error().status == TAPLINE_STATUS_INVALID_ARGUMENT ? "refused" : "a length was truncated");
    return 0;
}
