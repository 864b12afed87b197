//! Conversations with the kernel, kept and played again with faults.

use std::iter::repeat_n;

use netlink::Netlink;
use netlink::transport::{
    Fault, Faulty, KernelSocket, RecordedDatagram, Recorder, Recording, Replay,
};
use rustix::io::Errno;
use tapline_lab::Host;

/// A handle on `host`, and what is said by it.
#[track_caller]
pub fn listened(host: &Host) -> (Netlink, Recording) {
    let socket = host.run(KernelSocket::open).expect("a socket");
    let (recorder, recording) = Recorder::new(socket);
    (Netlink::over(recorder), recording)
}

/// Does `talk` with a fresh handle, and returns what was said, too.
#[track_caller]
pub fn record<T>(host: &Host, talk: impl FnOnce(&mut Netlink) -> T) -> (T, Vec<RecordedDatagram>) {
    let (mut netlink, recording) = listened(host);
    let done = talk(&mut netlink);
    (done, recording.datagrams())
}

/// A kernel that says what was said, and to whom `faults` happen.
pub fn play(datagrams: &[RecordedDatagram], faults: Vec<Fault>) -> Faulty<Replay> {
    let player = Replay::new(datagrams.iter().cloned()).expect("a descriptor");
    Faulty::new(player, faults)
}

/// `fault` at one place.
pub fn at(place: usize, fault: Fault) -> Vec<Fault> {
    repeat_n(Fault::None, place).chain([fault]).collect()
}

/// Datagrams that the kernel sent.
pub fn answers(datagrams: &[RecordedDatagram]) -> usize {
    let received = datagrams.iter();
    received
        .filter(|datagram| matches!(datagram, RecordedDatagram::Received(_)))
        .count()
}

/// The same, said `times` after `before` other requests.
pub fn again(datagrams: &[RecordedDatagram], before: u32, times: u32) -> Vec<RecordedDatagram> {
    let requests = datagrams.iter();
    let requests = requests.filter(|datagram| matches!(datagram, RecordedDatagram::Sent(_)));
    let requests = requests.count() as u32;
    let copies = (0..times).flat_map(|time| {
        let by = before + time * requests;
        datagrams.iter().map(move |datagram| later(datagram, by))
    });
    copies.collect()
}

/// As if all answers of another conversation came before the answers of this one.
pub fn with_strays(datagrams: &[RecordedDatagram]) -> Vec<RecordedDatagram> {
    let strays = datagrams.iter().filter_map(|datagram| match datagram {
        RecordedDatagram::Received(_) => Some(later(datagram, 1000)),
        _ => None,
    });
    let (first, rest) = datagrams.split_first().expect("a question");
    let first = std::iter::once(first.clone());
    first.chain(strays).chain(rest.iter().cloned()).collect()
}

/// Notifications, and then none, however often the watch reads.
pub fn and_then_none(datagrams: Vec<RecordedDatagram>) -> Vec<RecordedDatagram> {
    let received = datagrams.into_iter();
    let received = received.filter(|datagram| matches!(datagram, RecordedDatagram::Received(_)));
    let none = RecordedDatagram::Failed(Errno::AGAIN.raw_os_error());
    received.chain(repeat_n(none, 100)).collect()
}

fn later(datagram: &RecordedDatagram, by: u32) -> RecordedDatagram {
    match datagram {
        RecordedDatagram::Sent(bytes) => RecordedDatagram::Sent(renumbered(bytes, by)),
        RecordedDatagram::Received(bytes) => RecordedDatagram::Received(renumbered(bytes, by)),
        other => other.clone(),
    }
}

/// The datagram with other sequence numbers in the headers of its messages.
fn renumbered(datagram: &[u8], by: u32) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..at + 16) {
        let number = |place: &[u8]| u32::from_ne_bytes(place.try_into().expect("four bytes"));
        let (length, sequence) = (number(&header[..4]), number(&header[8..12]));
        header[8..12].copy_from_slice(&sequence.wrapping_add(by).to_ne_bytes());
        at += (length as usize).max(16).next_multiple_of(4);
    }
    bytes
}
