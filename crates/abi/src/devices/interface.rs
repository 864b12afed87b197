//! Interface ioctls: hardware address, hardware type, and MTU.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::socket::check;

/// Hardware address and hardware type of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardwareAddress {
    /// Hardware type (`ARPHRD_*`, `net/if_arp.h`).
    pub hatype: u16,
    /// The address' first bytes; zero where it has fewer.
    pub bytes: [u8; 6],
}

/// A name as the kernel expects it: at most 15 bytes and a zero.
///
/// # Errors
/// ENODEV for a longer name, which no interface has.
pub fn name_bytes(name: &str) -> io::Result<[u8; libc::IFNAMSIZ]> {
    let mut bytes = [0; libc::IFNAMSIZ];
    if name.len() >= bytes.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

/// The hardware address of interface `name`, in the network namespace of `socket`.
///
/// # Errors
/// ENODEV if there is no such interface.
/// # Source
/// netdevice(7).
#[doc(alias = "SIOCGIFHWADDR")]
pub fn hardware_address(socket: BorrowedFd<'_>, name: &str) -> io::Result<HardwareAddress> {
    let answer = ask(socket, name, libc::SIOCGIFHWADDR as _)?;
    // SAFETY: the kernel filled a `sockaddr`, and any bytes are a valid one.
    let address = unsafe { answer.ifr_ifru.ifru_hwaddr };
    let mut bytes = [0; 6];
    for (to, from) in bytes.iter_mut().zip(address.sa_data) {
        *to = from.to_ne_bytes()[0];
    }
    Ok(HardwareAddress {
        hatype: address.sa_family,
        bytes,
    })
}

/// The MTU of interface `name`: bytes without the link-layer header.
///
/// # Errors
/// ENODEV if there is no such interface.
/// # Source
/// netdevice(7).
#[doc(alias = "SIOCGIFMTU")]
pub fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let answer = ask(socket, name, libc::SIOCGIFMTU as _)?;
    // SAFETY: the kernel filled an `int`, and any bytes are a valid one.
    let mtu = unsafe { answer.ifr_ifru.ifru_mtu };
    Ok(mtu.cast_unsigned())
}

fn ask(socket: BorrowedFd<'_>, name: &str, request: libc::Ioctl) -> io::Result<libc::ifreq> {
    let name = name_bytes(name)?.map(|byte| libc::c_char::from_ne_bytes([byte]));
    let nothing = libc::__c_anonymous_ifr_ifru {
        ifru_hwaddr: libc::sockaddr {
            sa_family: 0,
            sa_data: [0; 14],
        },
    };
    let mut ifreq = libc::ifreq {
        ifr_name: name,
        ifr_ifru: nothing,
    };
    // SAFETY: both requests read the name and write one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut ifreq) })?;
    Ok(ifreq)
}
