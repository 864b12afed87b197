//! Counts stamped packets by stream: loss, order, copies and one-way delay.
//!
//! ```text
//! find the stamp ─▶ delay and its bucket ─▶ the stream, or a new one ─▶ lock ─▶ window, counters, buckets ─▶ unlock
//! ```
//!
//! The code runs behind all classes, so it may use all registers. Packets of one stream can arrive on several CPUs: a lock
//! in the stream's value keeps its figures consistent.

use filter::ebpf::{Alu, Condition, Helper, Insn as AnyInsn, Label, Reg, Size};
use wire::stamp::Stamp;

use super::code::{Code, OFFSET};
use super::decode;
use super::stream_table::{
    BASE_SHIFT, BUCKETS, BUCKETS_AT, DELAY_TOP, DISTANCE, DUPLICATED, FIRST, LATE, LEAST_DELAY,
    LOCK, MOST_DELAY, NEGATIVE, NEXT, PARTS, RECEIVED, REORDERED, SUM, StreamMaps, UNCOUNTED,
    UNSTAMPED, WINDOW, WORD_NUMBERS, WORDS, WORDS_AT,
};

/// The number of the stream on the stack.
const STREAM: i16 = -8;
/// Whether the packet is a fragment.
const FRAGMENT: i16 = -16;
/// Where the stamp is in the bytes that are read: its numbers are aligned then.
const STAMP: i16 = 6;
/// Extension header of fragments (RFC 8200, 4.5).
const FRAGMENT_HEADER: i32 = 44;

const BPF_NOEXIST: i32 = 1;

// In the second half of the code; none is clobbered by calls.
/// The stream's value.
const VALUE: Reg = Reg::R6;
/// The one-way delay plus 2^63, so that it can be compared unsigned.
const DELAY: Reg = Reg::R7;
const SEQUENCE: Reg = Reg::R8;
/// Offset of the delay's bucket.
const BUCKET: Reg = Reg::R9;
/// The sequence number in the stream, with all its bits.
const NUMBER: Reg = Reg::R2;
/// How far it is behind the next one; 0 ahead of all.
const BEHIND: Reg = Reg::R3;

/// Counts the packet if it has a stamp.
pub(super) fn count<'m>(code: &mut Code<'m>, maps: &StreamMaps<'m>) {
    let [unstamped, uncounted, done] = [(); 3].map(|()| code.label());
    find(code, unstamped, done);
    measure(code, maps);
    look_up(code, maps, uncounted);
    update(code);
    code.jump(done);
    code.place(unstamped);
    add_other(code, maps, UNSTAMPED);
    code.jump(done);
    code.place(uncounted);
    add_other(code, maps, UNCOUNTED);
    code.place(done);
}

/// Reads the stamp: the last bytes of the IP packet. Jumps to `unstamped` for a fragment that ends like one.
fn find(code: &mut Code<'_>, unstamped: Label, otherwise: Label) {
    let [ip, ipv6, fragment, whole, found] = [(); 5].map(|()| code.label());
    let stamp_bytes = (Stamp::LEN as u32).cast_signed();
    decode::ip_header(code, ip, ipv6, otherwise);
    code.place(ip);
    // `R1` is the length of the packet, `R2` that of its headers and a stamp.
    code.load_header(Size::Half, Reg::R1, 2);
    code.push(AnyInsn::Be16ToHost { dst: Reg::R1 });
    code.load_header(Size::Byte, Reg::R2, 0);
    code.extend([
        AnyInsn::alu32(Alu::And, Reg::R2, 15),
        AnyInsn::alu32(Alu::Lsh, Reg::R2, 2),
        AnyInsn::add(Reg::R2, stamp_bytes),
    ]);
    code.load_header(Size::Half, Reg::R3, 6);
    let more_or_later = decode::in_memory(0x3fff);
    code.extend([
        AnyInsn::alu32(Alu::And, Reg::R3, more_or_later),
        AnyInsn::jump_if32(Condition::NotEqual, Reg::R3, 0, fragment),
        AnyInsn::Jump { target: whole },
        AnyInsn::Place(ipv6),
    ]);
    code.load_header(Size::Half, Reg::R1, 4);
    code.push(AnyInsn::Be16ToHost { dst: Reg::R1 });
    code.extend([
        AnyInsn::add(Reg::R1, 40),
        AnyInsn::mov(Reg::R2, 40 + stamp_bytes),
    ]);
    code.load_header(Size::Byte, Reg::R3, 6);
    code.extend([
        AnyInsn::jump_if32(Condition::NotEqual, Reg::R3, FRAGMENT_HEADER, whole),
        AnyInsn::Place(fragment),
        AnyInsn::store(Size::Double, Reg::R10, FRAGMENT, 1),
        AnyInsn::Jump { target: found },
        AnyInsn::Place(whole),
        AnyInsn::store(Size::Double, Reg::R10, FRAGMENT, 0),
        AnyInsn::Place(found),
        AnyInsn::jump_if(Condition::Less, Reg::R1, Reg::R2, otherwise),
        AnyInsn::add(OFFSET, Reg::R1),
        AnyInsn::add(OFFSET, -stamp_bytes - i32::from(STAMP)),
    ]);
    code.read_header(stamp_bytes + i32::from(STAMP), otherwise);
    let magic = Stamp::MAGIC;
    for (at, half) in [(0, (magic >> 16) as u16), (2, magic as u16)] {
        code.load_header(Size::Half, Reg::R1, STAMP + at);
        let half = decode::in_memory(half);
        code.push(AnyInsn::jump_if32(
            Condition::NotEqual,
            Reg::R1,
            half,
            otherwise,
        ));
    }
    code.extend([
        AnyInsn::load(Size::Double, Reg::R1, Reg::R10, FRAGMENT),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R1, 0, unstamped),
    ]);
}

/// Sets [`DELAY`], [`BUCKET`], [`SEQUENCE`] and the key.
fn measure<'m>(code: &mut Code<'m>, maps: &StreamMaps<'m>) {
    let [has_bucket, in_range] = [(); 2].map(|()| code.label());
    code.extend([
        AnyInsn::Call(Helper::KtimeGetNs),
        AnyInsn::mov(DELAY, Reg::R0),
        AnyInsn::LoadMapValue {
            dst: Reg::R1,
            map: maps.clock,
        },
        AnyInsn::load(Size::Double, Reg::R1, Reg::R1, 0),
        AnyInsn::add(DELAY, Reg::R1),
    ]);
    code.load_header(Size::Half, Reg::R1, STAMP + 4);
    code.extend([
        AnyInsn::Be16ToHost { dst: Reg::R1 },
        AnyInsn::store(Size::Double, Reg::R10, STREAM, Reg::R1),
    ]);
    code.load_header(Size::Word, SEQUENCE, STAMP + 6);
    code.push(AnyInsn::Be32ToHost { dst: SEQUENCE });
    code.load_header(Size::Double, Reg::R1, STAMP + 10);
    code.extend([
        AnyInsn::HostToBe64 { dst: Reg::R1 },
        AnyInsn::alu64(Alu::Sub, DELAY, Reg::R1),
        // The bucket: as many bits behind the highest one as a doubling has parts.
        AnyInsn::mov(Reg::R1, DELAY),
        AnyInsn::mov(BUCKET, 0),
        AnyInsn::mov(Reg::R2, Reg::R1),
        AnyInsn::alu64(Alu::Rsh, Reg::R2, DELAY_TOP),
        AnyInsn::jump_if(Condition::Equal, Reg::R2, 0, in_range),
        // Longer ones, and negative ones, which have no bucket.
        AnyInsn::mov(Reg::R1, 1),
        AnyInsn::alu64(Alu::Lsh, Reg::R1, DELAY_TOP),
        AnyInsn::add(Reg::R1, -1),
        AnyInsn::Place(in_range),
        AnyInsn::mov(Reg::R2, Reg::R1),
        AnyInsn::alu64(Alu::Rsh, Reg::R2, PARTS),
    ]);
    // The number of its bits, less one.
    for step in [32, 16, 8, 4, 2, 1] {
        let next = code.label();
        code.extend([
            AnyInsn::mov(Reg::R3, Reg::R2),
            AnyInsn::alu64(Alu::Rsh, Reg::R3, step),
            AnyInsn::jump_if(Condition::Equal, Reg::R3, 0, next),
            AnyInsn::mov(Reg::R2, Reg::R3),
            AnyInsn::add(BUCKET, step),
            AnyInsn::Place(next),
        ]);
    }
    code.extend([
        AnyInsn::alu64(Alu::Rsh, Reg::R1, BUCKET),
        AnyInsn::alu64(Alu::Lsh, BUCKET, PARTS),
        AnyInsn::add(BUCKET, Reg::R1),
        // It is smaller; the verifier wants to see it.
        AnyInsn::jump_if(Condition::Less, BUCKET, BUCKETS, has_bucket),
        AnyInsn::mov(BUCKET, BUCKETS - 1),
        AnyInsn::Place(has_bucket),
        AnyInsn::alu64(Alu::Lsh, BUCKET, 3),
        AnyInsn::mov(Reg::R1, 1),
        AnyInsn::alu64(Alu::Lsh, Reg::R1, 63),
        AnyInsn::add(DELAY, Reg::R1),
    ]);
}

/// Sets [`VALUE`] to the stream of the key, which is inserted if it is new.
fn look_up<'m>(code: &mut Code<'m>, maps: &StreamMaps<'m>, otherwise: Label) {
    let found = code.label();
    let key = |code: &mut Code<'m>| {
        code.extend([
            AnyInsn::LoadMap {
                dst: Reg::R1,
                map: maps.streams,
            },
            AnyInsn::mov(Reg::R2, Reg::R10),
            AnyInsn::add(Reg::R2, i32::from(STREAM)),
        ]);
    };
    key(code);
    code.extend([
        AnyInsn::Call(Helper::MapLookupElem),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R0, 0, found),
    ]);
    key(code);
    code.extend([
        AnyInsn::LoadMapValue {
            dst: Reg::R3,
            map: maps.blank,
        },
        AnyInsn::mov(Reg::R4, BPF_NOEXIST),
        AnyInsn::Call(Helper::MapUpdateElem),
    ]);
    // Another CPU may have inserted it.
    key(code);
    code.extend([
        AnyInsn::Call(Helper::MapLookupElem),
        AnyInsn::jump_if(Condition::Equal, Reg::R0, 0, otherwise),
        AnyInsn::Place(found),
        AnyInsn::mov(VALUE, Reg::R0),
    ]);
}

/// Counts the packet in [`VALUE`].
fn update(code: &mut Code<'_>) {
    let [late, duplicated, unlock] = [(); 3].map(|()| code.label());
    lock(code, Helper::SpinLock);
    find_number(code, late);
    mark(code, duplicated);
    add(code, RECEIVED);
    note_order(code);
    add_delay(code, unlock);
    code.jump(unlock);
    code.place(late);
    add(code, LATE);
    code.jump(unlock);
    code.place(duplicated);
    add(code, DUPLICATED);
    code.place(unlock);
    lock(code, Helper::SpinUnlock);
}

/// Sets [`NUMBER`] and [`BEHIND`]. Jumps to `late` if the window does not have the number any more.
fn find_number(code: &mut Code<'_>, late: Label) {
    let [known, near, ahead] = [(); 3].map(|()| code.label());
    code.extend([
        AnyInsn::load(Size::Double, Reg::R1, VALUE, NEXT),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R1, 0, known),
        AnyInsn::mov(Reg::R1, 1),
        AnyInsn::alu64(Alu::Lsh, Reg::R1, BASE_SHIFT),
        AnyInsn::add(Reg::R1, SEQUENCE),
        AnyInsn::store(Size::Double, VALUE, FIRST, Reg::R1),
        AnyInsn::store(Size::Double, VALUE, NEXT, Reg::R1),
        AnyInsn::Place(known),
        // The number with these low bits that is the nearest to the next one.
        AnyInsn::mov(NUMBER, SEQUENCE),
        AnyInsn::alu32(Alu::Sub, NUMBER, Reg::R1),
        AnyInsn::mov(Reg::R4, NUMBER),
        AnyInsn::add(NUMBER, Reg::R1),
        AnyInsn::jump_if32(Condition::Less, Reg::R4, i32::MIN, near),
        AnyInsn::mov(Reg::R4, 1),
        AnyInsn::alu64(Alu::Lsh, Reg::R4, 32),
        AnyInsn::alu64(Alu::Sub, NUMBER, Reg::R4),
        AnyInsn::Place(near),
        // Ahead, it is 0.
        AnyInsn::mov(BEHIND, 0),
        AnyInsn::jump_if(Condition::GreaterOrEqual, NUMBER, Reg::R1, ahead),
        AnyInsn::mov(BEHIND, Reg::R1),
        AnyInsn::alu64(Alu::Sub, BEHIND, NUMBER),
        AnyInsn::jump_if(Condition::Greater, BEHIND, WINDOW, late),
        AnyInsn::Place(ahead),
    ]);
}

/// Notes in the window that [`NUMBER`] came. Jumps if it had come before.
fn mark(code: &mut Code<'_>, duplicated: Label) {
    let same = code.label();
    // A word has the bits of some numbers, and above them which of the numbers with this place they are.
    let (place, bit, word) = (Reg::R4, Reg::R5, Reg::R0);
    code.extend([
        AnyInsn::mov(place, NUMBER),
        AnyInsn::alu64(Alu::Rsh, place, WORD_NUMBERS.ilog2().cast_signed()),
        AnyInsn::mov(bit, place),
        AnyInsn::alu64(Alu::Rsh, bit, WORDS.ilog2().cast_signed()),
        AnyInsn::mov32(bit, bit),
        AnyInsn::alu64(Alu::And, place, WORDS - 1),
        AnyInsn::alu64(Alu::Lsh, place, 3),
        AnyInsn::add(place, VALUE),
        AnyInsn::load(Size::Double, word, place, WORDS_AT),
        AnyInsn::mov(Reg::R1, word),
        AnyInsn::alu64(Alu::Rsh, Reg::R1, 32),
        AnyInsn::jump_if(Condition::Equal, Reg::R1, bit, same),
        AnyInsn::mov(word, bit),
        AnyInsn::alu64(Alu::Lsh, word, 32),
        AnyInsn::Place(same),
        AnyInsn::mov(Reg::R1, NUMBER),
        AnyInsn::alu64(Alu::And, Reg::R1, WORD_NUMBERS - 1),
        AnyInsn::mov(bit, 1),
        AnyInsn::alu64(Alu::Lsh, bit, Reg::R1),
        AnyInsn::jump_if(Condition::AnyBitSet, word, bit, duplicated),
        AnyInsn::alu64(Alu::Or, word, bit),
        AnyInsn::store(Size::Double, place, WORDS_AT, word),
    ]);
}

/// Counts a packet behind others, or moves the end of the stream.
fn note_order(code: &mut Code<'_>) {
    let [in_order, no_further, done] = [(); 3].map(|()| code.label());
    code.push(AnyInsn::jump_if(Condition::Equal, BEHIND, 0, in_order));
    add(code, REORDERED);
    code.extend([
        // Behind the highest one, not the next one.
        AnyInsn::add(BEHIND, -1),
        AnyInsn::load(Size::Double, Reg::R1, VALUE, DISTANCE),
        AnyInsn::jump_if(Condition::LessOrEqual, BEHIND, Reg::R1, no_further),
        AnyInsn::store(Size::Double, VALUE, DISTANCE, BEHIND),
        AnyInsn::Place(no_further),
        AnyInsn::load(Size::Double, Reg::R1, VALUE, FIRST),
        AnyInsn::jump_if(Condition::GreaterOrEqual, NUMBER, Reg::R1, done),
        AnyInsn::store(Size::Double, VALUE, FIRST, NUMBER),
        AnyInsn::Jump { target: done },
        AnyInsn::Place(in_order),
        AnyInsn::add(NUMBER, 1),
        AnyInsn::store(Size::Double, VALUE, NEXT, NUMBER),
        AnyInsn::Place(done),
    ]);
}

fn add_delay(code: &mut Code<'_>, done: Label) {
    let [not_first, not_least, not_most, positive] = [(); 4].map(|()| code.label());
    code.extend([
        AnyInsn::load(Size::Double, Reg::R1, VALUE, RECEIVED),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R1, 1, not_first),
        AnyInsn::store(Size::Double, VALUE, LEAST_DELAY, DELAY),
        AnyInsn::store(Size::Double, VALUE, MOST_DELAY, DELAY),
        AnyInsn::Place(not_first),
        AnyInsn::load(Size::Double, Reg::R1, VALUE, LEAST_DELAY),
        AnyInsn::jump_if(Condition::GreaterOrEqual, DELAY, Reg::R1, not_least),
        AnyInsn::store(Size::Double, VALUE, LEAST_DELAY, DELAY),
        AnyInsn::Place(not_least),
        AnyInsn::load(Size::Double, Reg::R1, VALUE, MOST_DELAY),
        AnyInsn::jump_if(Condition::LessOrEqual, DELAY, Reg::R1, not_most),
        AnyInsn::store(Size::Double, VALUE, MOST_DELAY, DELAY),
        AnyInsn::Place(not_most),
        AnyInsn::mov(Reg::R1, DELAY),
        AnyInsn::alu64(Alu::Rsh, Reg::R1, 63),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R1, 0, positive),
    ]);
    add(code, NEGATIVE);
    code.jump(done);
    code.place(positive);
    code.extend([
        AnyInsn::alu64(Alu::Lsh, Reg::R1, 63),
        AnyInsn::mov(Reg::R2, DELAY),
        AnyInsn::alu64(Alu::Sub, Reg::R2, Reg::R1),
        AnyInsn::load(Size::Double, Reg::R1, VALUE, SUM),
        AnyInsn::add(Reg::R1, Reg::R2),
        AnyInsn::store(Size::Double, VALUE, SUM, Reg::R1),
        AnyInsn::mov(Reg::R2, VALUE),
        AnyInsn::add(Reg::R2, BUCKETS_AT),
        AnyInsn::add(Reg::R2, BUCKET),
        AnyInsn::load(Size::Double, Reg::R1, Reg::R2, 0),
        AnyInsn::add(Reg::R1, 1),
        AnyInsn::store(Size::Double, Reg::R2, 0, Reg::R1),
    ]);
}

fn lock(code: &mut Code<'_>, helper: Helper) {
    code.extend([
        AnyInsn::mov(Reg::R1, VALUE),
        AnyInsn::add(Reg::R1, LOCK),
        AnyInsn::Call(helper),
    ]);
}

/// Adds 1 to a counter of the stream. Clobbers `R1`.
fn add(code: &mut Code<'_>, at: i16) {
    code.extend([
        AnyInsn::load(Size::Double, Reg::R1, VALUE, at),
        AnyInsn::add(Reg::R1, 1),
        AnyInsn::store(Size::Double, VALUE, at, Reg::R1),
    ]);
}

/// Adds 1 to a counter of packets that belong to no stream.
fn add_other<'m>(code: &mut Code<'m>, maps: &StreamMaps<'m>, at: i16) {
    code.extend([
        AnyInsn::LoadMapValue {
            dst: Reg::R1,
            map: maps.others,
        },
        AnyInsn::mov(Reg::R2, 1),
        AnyInsn::AtomicAdd {
            base: Reg::R1,
            offset: at,
            src: Reg::R2,
        },
    ]);
}
