//! The tun driver: interfaces whose packets a program reads and writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::socket::check;

/// Link layer of a tun driver's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunLayer {
    /// An IP header.
    #[doc(alias = "IFF_TUN")]
    Ip,
    /// An Ethernet header.
    #[doc(alias = "IFF_TAP")]
    Ethernet,
}

/// Options of a tun driver's interface.
#[derive(Clone, Copy, Debug)]
pub struct TunOptions {
    /// Its name, filled up with NULs; none lets the driver choose `tun0` or `tap0` and so on.
    pub name: [u8; libc::IFNAMSIZ],
    /// Link layer: IP packets (tun) or Ethernet frames (tap).
    pub layer: TunLayer,
    /// Whether a 4-byte header precedes each packet.
    pub packet_information: bool,
    /// Whether an offload header precedes each packet (`struct virtio_net_hdr`).
    pub offload_header: bool,
    /// Whether more than one file may be attached to it.
    pub multi_queue: bool,
}

/// A file of the tun driver. It belongs to the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct TunFile(File);

/// Writing to the descriptor has the interface receive a packet, reading takes one that it sent.
impl AsFd for TunFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `struct ifreq` with its `ifr_flags` member.
#[repr(C)]
struct Ifreq {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<Ifreq>() == size_of::<libc::ifreq>());

impl TunFile {
    /// Opens the driver's file, `/dev/net/tun`.
    ///
    /// # Errors
    /// ENOENT or ENODEV without the driver, EACCES where the file is not for everyone.
    pub fn open() -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")?;
        Ok(Self(file))
    }

    /// Creates an interface, attaches the file to it and returns its name. The driver replaces `%d` by a
    /// number. Closing the file removes the interface, unless [`keep`](Self::keep) was called.
    ///
    /// # Errors
    /// EBUSY when a link has this name, EINVAL when it cannot be a name or the file is attached already.
    /// # Privileges
    /// `CAP_NET_ADMIN`.
    /// # Source
    /// `tun_set_iff`, drivers/net/tun.c.
    #[doc(alias = "TUNSETIFF")]
    pub fn make(&self, options: &TunOptions) -> io::Result<[u8; libc::IFNAMSIZ]> {
        let mut flags = libc::IFF_TUN_EXCL;
        flags |= match options.layer {
            TunLayer::Ip => libc::IFF_TUN,
            TunLayer::Ethernet => libc::IFF_TAP,
        };
        for (on, flag) in [
            (!options.packet_information, libc::IFF_NO_PI),
            (options.offload_header, libc::IFF_VNET_HDR),
            (options.multi_queue, libc::IFF_MULTI_QUEUE),
        ] {
            flags |= if on { flag } else { 0 };
        }
        let mut request = Ifreq {
            name: options.name,
            flags: flags.cast_unsigned() as u16,
            rest: [0; 22],
        };
        let place = &raw mut request;
        // SAFETY: on a file of the tun driver TUNSETIFF reads and writes one `struct ifreq`, whose size and
        // layout `Ifreq` has, and it outlives the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETIFF, place) })?;
        Ok(request.name)
    }

    /// Keeps the interface when the file is closed (`TUNSETPERSIST`).
    ///
    /// # Errors
    /// EBADFD when the file is attached to none.
    #[doc(alias = "TUNSETPERSIST")]
    pub fn keep(&self) -> io::Result<()> {
        self.set(libc::TUNSETPERSIST, 1)
    }

    /// Lets this user attach to the link without privilege.
    ///
    /// # Errors
    /// EBADFD when the file is attached to none, EINVAL when the user namespace has no such user.
    #[doc(alias = "TUNSETOWNER")]
    pub fn set_owner(&self, user: u32) -> io::Result<()> {
        self.set(libc::TUNSETOWNER, user)
    }

    /// Lets this group attach to the interface without privilege.
    ///
    /// # Errors
    /// EBADFD if the file is attached to no interface, EINVAL if the user namespace has no such group.
    #[doc(alias = "TUNSETGROUP")]
    pub fn set_group(&self, group: u32) -> io::Result<()> {
        self.set(libc::TUNSETGROUP, group)
    }

    fn set(&self, request: libc::Ioctl, value: u32) -> io::Result<()> {
        let value = libc::c_ulong::from(value);
        // SAFETY: the argument of these requests is a plain number.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), request, value) })?;
        Ok(())
    }
}
