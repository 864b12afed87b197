//! Interfaces of the tun driver, which receive what is written to their file.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use lab::Host;

/// `struct ifreq` with its `ifr_flags` member.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}

/// Creates interface `name` on the host and sets it up. Takes `IFF_*` flags of the driver and an optional hardware
/// type. The interface exists as long as the file is open.
#[track_caller]
pub fn open(host: &Host, name: &CStr, flags: i32, hatype: Option<i32>) -> File {
    let bytes = name.to_bytes_with_nul();
    let file = host.run(|| {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun");
        let file = device.expect("the tun driver");
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags: (flags | libc::IFF_NO_PI) as i16,
            rest: [0; 22],
        };
        request.name[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: the request has the size and layout of `struct ifreq` and outlives the call.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        assert_eq!(made, 0);
        if let Some(hatype) = hatype {
            // SAFETY: the argument is a plain number.
            let set = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETLINK, hatype) };
            assert_eq!(set, 0);
        }
        file
    });
    let name = name.to_str().expect("a name of ASCII");
    for arguments in ["addrgenmode none", "up"] {
        host.ip(&format!("link set {name} {arguments}"));
    }
    file
}
