//! Waiting until a packet socket is closed in forked processes, too.

use std::time::Duration;

use abi::open_socket::OpenSocket;
use abi::socket;

/// How long a forked process is waited for. It calls execve(2) within milliseconds, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(1);

/// Waits until the socket, which this process has closed, is closed everywhere and has left its fanout group. Returns whether it has.
pub(super) fn wait_until_closed(closed: &OpenSocket) -> bool {
    if !closed.is_open() {
        return true;
    }
    if !closed.wait(LONGEST) {
        return false;
    }
    // The other process may be about to take it out of the group, and waits for the CPUs only then. Closing any packet socket
    // waits for them (`packet_release`, net/packet/af_packet.c).
    drop(socket::packet_socket());
    true
}
