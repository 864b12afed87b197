//! Information that only the `SIOCETHTOOL` ioctl provides: driver, speed, queues, receive offloads and receive
//! steering.
//!
//! Any socket of the interface's network namespace will do as the descriptor. An interface is named
//! by the 16 bytes of `ifr_name`, ended by a NUL.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::uapi::Uapi;

mod steering;

pub use steering::{
    ANY_LOCATION, FlowRules, FlowSpec, Hash, HashChange, add_flow_rule, flow_rules, hash,
    hashed_fields, remove_flow_rule, set_hash, set_hashed_fields, steered_queues,
};

/// Which driver serves an interface (`struct ethtool_drvinfo`); texts end at their first NUL.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverInfo {
    command: u32,
    /// Name of the driver.
    pub driver: [u8; 32],
    /// Its version.
    pub version: [u8; 32],
    /// Version of the device's firmware.
    pub firmware_version: [u8; 32],
    /// Bus address of the device, e.g. a PCI address.
    pub bus_info: [u8; 32],
    expansion_rom_version: [u8; 32],
    reserved: [u8; 12],
    /// Numbers of private flags, counters and self-test results, and sizes of the EEPROM and
    /// registers to dump.
    counts: [u32; 5],
}

/// Link settings (`struct ethtool_cmd`); only the speed is read.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Settings {
    command: u32,
    supported: u32,
    advertising: u32,
    speed_low: u16,
    duplex_to_mdio: [u8; 6],
    max_packets: [u32; 2],
    speed_high: u16,
    crossover: [u8; 2],
    partner: u32,
    reserved: [u32; 2],
}

/// A command with one value (`struct ethtool_value`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Value {
    command: u32,
    value: u32,
}

/// How many queues an interface has and may have (`struct ethtool_channels`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

// SAFETY: integers of one width.
unsafe impl Uapi for Channels {}
// SAFETY: 4 + 5·32 + 12 + 5·4 = 196 bytes of integers, a multiple of 4: no padding.
unsafe impl Uapi for DriverInfo {}
// SAFETY: 3·4 + 2 + 6 + 2·4 + 2 + 2 + 4 + 2·4 = 44 bytes of integers, each on its alignment.
unsafe impl Uapi for Settings {}
// SAFETY: two integers of one width.
unsafe impl Uapi for Value {}

const _: () = assert!(size_of::<DriverInfo>() == 196);
const _: () = assert!(size_of::<Settings>() == 44);

const ETHTOOL_GSET: u32 = 0x01;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETH_FLAG_RXVLAN: u32 = 1 << 8;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Returns the driver of the interface.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver is unknown.
/// # Source
/// `ethtool_get_drvinfo`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GDRVINFO")]
pub fn driver(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<DriverInfo> {
    let mut answer = DriverInfo {
        command: ETHTOOL_GDRVINFO,
        ..DriverInfo::default()
    };
    // SAFETY: GDRVINFO fills one `ethtool_drvinfo`, the type of `answer`.
    unsafe { request(socket, name, &raw mut answer) }?;
    Ok(answer)
}

/// Returns the link speed in Mbit/s; `None` if the driver does not report it.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if it has no speed.
/// # Source
/// `ethtool_get_settings`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GSET")]
pub fn speed_mbps(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<Option<u32>> {
    let mut answer = Settings {
        command: ETHTOOL_GSET,
        ..Settings::default()
    };
    // SAFETY: GSET fills one `ethtool_cmd`, the type of `answer`.
    unsafe { request(socket, name, &raw mut answer) }?;
    let speed = u32::from(answer.speed_low) | u32::from(answer.speed_high) << 16;
    Ok((speed != SPEED_UNKNOWN).then_some(speed))
}

/// Whether the interface joins received packets (generic receive offload).
///
/// # Errors
/// ENODEV if there is no such interface.
/// # Source
/// `ethtool_get_one_feature`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GGRO")]
pub fn gro(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<bool> {
    let mut answer = Value {
        command: ETHTOOL_GGRO,
        value: 0,
    };
    // SAFETY: GGRO fills one `ethtool_value`, the type of `answer`.
    unsafe { request(socket, name, &raw mut answer) }?;
    Ok(answer.value != 0)
}

/// Whether the interface strips VLAN tags from received packets (the kernel then stores them in the packet's metadata).
///
/// # Errors
/// ENODEV if there is no such interface.
/// # Source
/// `__ethtool_get_flags`, net/ethtool/ioctl.c.
#[doc(alias("ETHTOOL_GFLAGS", "ETH_FLAG_RXVLAN"))]
pub fn strips_vlan_tags(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<bool> {
    let mut answer = Value {
        command: ETHTOOL_GFLAGS,
        value: 0,
    };
    // SAFETY: GFLAGS fills one `ethtool_value`, the type of `answer`.
    unsafe { request(socket, name, &raw mut answer) }?;
    Ok(answer.value & ETH_FLAG_RXVLAN != 0)
}

/// Switches generic receive offload of the interface on or off.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if it cannot be switched.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// `ethtool_set_one_feature`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_SGRO")]
pub fn set_gro(socket: BorrowedFd<'_>, name: [u8; 16], on: bool) -> io::Result<()> {
    let mut wish = Value {
        command: ETHTOOL_SGRO,
        value: u32::from(on),
    };
    // SAFETY: SGRO reads one `ethtool_value`, which is what `wish` is, and writes nothing.
    unsafe { request(socket, name, &raw mut wish) }
}

/// Returns the number of receive queues of the interface.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver does not report it.
/// # Source
/// `ethtool_get_channels`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GCHANNELS")]
pub fn receive_queues(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<u32> {
    let mut answer = Channels {
        command: ETHTOOL_GCHANNELS,
        ..Channels::default()
    };
    // SAFETY: GCHANNELS fills one `ethtool_channels`, the type of `answer`.
    unsafe { request(socket, name, &raw mut answer) }?;
    Ok(answer.receive.saturating_add(answer.combined))
}

/// Hands `argument` to the kernel, which reads it and may fill it.
///
/// # Safety
/// `argument` is valid for reads and writes of what the command in its first field reads and writes.
unsafe fn request<T: Uapi>(
    socket: BorrowedFd<'_>,
    name: [u8; 16],
    argument: *mut T,
) -> io::Result<()> {
    let mut name = name.map(|byte| libc::c_char::from_ne_bytes([byte]));
    name[15] = 0;
    let data = argument.cast();
    // SAFETY: an `ifreq` consists of integers, pointers and unions of them: zero is a value of each. The kernel copies
    // all of it, also the part of the union behind `ifru_data`.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    ifreq.ifr_name = name;
    ifreq.ifr_ifru.ifru_data = data;
    let place = &raw mut ifreq;
    // SAFETY: the kernel reads one `ifreq` from `place` and follows `ifru_data` to `argument`, which
    // is valid and long enough by the promise of the caller.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, place) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
