//! Whether the kernel stamps packets when they come.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use abi::clock::realtime_ns;
use abi::datagram::{self, Queue};
use abi::socket::set_option;
use rustix::event::{Timespec, poll};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, getsockname, sendto, socket_with,
};

/// How often the kernel is tried, and time between two tries: 20 ms in all, where the tenth of one has been seen to do.
const MAX_TRIES: u32 = 100;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000,
};

/// Waits until the kernel stamps packets when they come; whether it is known to.
///
/// It begins some time after the first socket of the machine has asked for it. What came before is stamped when it is
/// read. A datagram to this host itself tells which; where the loopback is down none can be had.
///
/// # Source
/// `net_enable_timestamp`, net/core/dev.c, which leaves it to a worker; `__sock_recv_timestamp`, net/socket.c.
pub(super) fn is_stamping() -> bool {
    for _ in 0..MAX_TRIES {
        match has_stamped() {
            Some(true) => return true,
            None => return false,
            // Cut short it is tried sooner.
            Some(false) => _ = poll(&mut [], Some(&PAUSE)),
        }
    }
    false
}

/// Whether a datagram was stamped before it was read; `None` where none can be sent.
fn has_stamped() -> Option<bool> {
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
    // It may be under way.
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
    fn a_loopback_that_is_up_tells_and_one_that_is_down_does_not() {
        let host = lab::Host::new("alone");
        assert!(host.run(is_stamping));
        let down = host
            .command("ip")
            .args(["link", "set", "lo", "down"])
            .status();
        assert!(down.expect("ip runs").success());
        assert!(!host.run(is_stamping));
    }
}
