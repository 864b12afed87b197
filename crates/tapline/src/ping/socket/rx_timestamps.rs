//! Whether the kernel stamps packets on arrival.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use abi::clock::realtime_ns;
use abi::datagram::{self, Queue};
use abi::socket::set_option;
use rustix::event::{Timespec, poll};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, getsockname, sendto, socket_with,
};

/// Maximum tries and the pause between them: 20 ms in total. Usually 2 ms are enough.
const MAX_TRIES: u32 = 100;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000,
};

/// Waits until the kernel stamps packets on arrival. Returns whether it is known to.
///
/// The kernel starts some time after the first socket on the machine requests time stamps. Earlier packets are
/// stamped when they are read. A datagram over the loopback shows which applies; without a loopback it is unknown.
///
/// # Source
/// `net_enable_timestamp`, net/core/dev.c, which leaves it to a worker; `__sock_recv_timestamp`, net/socket.c.
pub(in crate::ping) fn stamps_on_arrival() -> bool {
    for _ in 0..MAX_TRIES {
        match is_stamped_on_arrival() {
            Some(true) => return true,
            None => return false,
            // An interrupted pause is retried sooner.
            Some(false) => _ = poll(&mut [], Some(&PAUSE)),
        }
    }
    false
}

/// Whether a datagram was stamped before it was read; `None` if none can be sent.
fn is_stamped_on_arrival() -> Option<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None).ok()?;
    set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPNS,
        &1_i32,
    )
    .ok()?;
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).ok()?;
    let own = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    sendto(&socket, &[0], SendFlags::DONTWAIT, &own).ok()?;
    let sent_ns = realtime_ns();
    // It may not have arrived yet.
    let stamp_ns = match datagram::receive(socket.as_fd(), &mut [0], Queue::Data) {
        Ok(datagram) => datagram.stamp_ns?,
        Err(_) => return Some(false),
    };
    Some(stamp_ns < sent_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_with_a_loopback_and_unknown_without() {
        let host = lab::Host::new("alone");
        assert!(host.run(stamps_on_arrival));
        let down = host
            .command("ip")
            .args(["link", "set", "lo", "down"])
            .status();
        assert!(down.expect("ip runs").success());
        assert!(!host.run(stamps_on_arrival));
    }
}
