//! The interfaces: `pcap_findalldevs`, `pcap_lookupdev`, `pcap_lookupnet`.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use crate::ffi::abi::{ERROR, pcap_addr, pcap_if};
use crate::ffi::guard::guard;
use crate::ffi::text::{refuse, report, text};
use crate::live::settings::ANY;

const IF_LOOPBACK: u32 = 1;
const IF_UP: u32 = 2;
const IF_RUNNING: u32 = 4;
const IF_WIRELESS: u32 = 8;
const IF_CONNECTED: u32 = 0x10;
const IF_DISCONNECTED: u32 = 0x20;
const IF_NOT_APPLICABLE: u32 = 0x30;
const IF_CONNECTION: u32 = 0x30;

const ANY_TEXT: &CStr = c"Pseudo-device that captures on all interfaces";

/// Longest name of an interface that `pcap_lookupdev` returns, with its zero (`IFNAMSIZ`, and room).
const NAME_BYTES: usize = 32;

// linux/sockios.h, linux/ethtool.h
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GLINK: u32 = 10;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// An interface and its addresses.
struct Device {
    name: CString,
    description: Option<&'static CStr>,
    flags: u32,
    addresses: Vec<Address>,
}

/// The bytes of socket addresses.
#[derive(Default)]
struct Address {
    own: Option<Vec<u8>>,
    netmask: Option<Vec<u8>>,
    broadcast: Option<Vec<u8>>,
    peer: Option<Vec<u8>>,
}

/// The interfaces with their addresses of getifaddrs(3), and `any`.
fn devices() -> io::Result<Vec<Device>> {
    let mut first = ptr::null_mut();
    // SAFETY: a place for a pointer.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let socket = request_socket();
    let mut devices: Vec<Device> = Vec::new();
    let mut next = first;
    // SAFETY: an element of the list, or its end.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: each element has a name.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let place = devices
            .iter()
            .position(|device| device.name.as_c_str() == name);
        let place = place.unwrap_or_else(|| {
            devices.push(Device {
                name: name.to_owned(),
                description: None,
                flags: socket
                    .as_ref()
                    .map_or(0, |socket| flags(name, entry.ifa_flags, socket)),
                addresses: Vec::new(),
            });
            devices.len() - 1
        });
        // SAFETY: the addresses of an element live as long as the list.
        let address = unsafe { address(entry) };
        devices[place].addresses.extend(address);
    }
    // SAFETY: from getifaddrs, and no reference to it is left.
    unsafe { libc::freeifaddrs(first) };
    socket?;
    devices.push(Device {
        name: ANY.to_owned(),
        description: Some(ANY_TEXT),
        flags: IF_UP | IF_RUNNING | IF_NOT_APPLICABLE,
        addresses: Vec::new(),
    });
    devices.sort_by_key(sort_key);
    Ok(devices)
}

fn flags(name: &CStr, flags: u32, socket: &OwnedFd) -> u32 {
    let is = |bit: c_int, flag: u32| {
        if flags & bit.unsigned_abs() != 0 {
            flag
        } else {
            0
        }
    };
    let common = is(libc::IFF_UP, IF_UP) | is(libc::IFF_RUNNING, IF_RUNNING);
    if is(libc::IFF_LOOPBACK, 1) != 0 {
        return common | IF_LOOPBACK | IF_NOT_APPLICABLE;
    }
    let wireless = if is_wireless(name) { IF_WIRELESS } else { 0 };
    common | wireless | connection(name, socket)
}

/// Whether an interface is Wi-Fi, or of another wireless type.
fn is_wireless(name: &CStr) -> bool {
    // linux/if_arp.h: IrDA, IEEE 802.11 and 802.15.4 with their monitors, 6LoWPAN.
    const WIRELESS: [u32; 7] = [783, 801, 802, 803, 804, 805, 825];
    let folder = Path::new("/sys/class/net").join(&*name.to_string_lossy());
    let kind = fs::read_to_string(folder.join("type")).unwrap_or_default();
    folder.join("wireless").exists()
        || kind
            .trim()
            .parse()
            .is_ok_and(|kind| WIRELESS.contains(&kind))
}

/// Whether an interface has a link, as its driver says.
fn connection(name: &CStr, socket: &OwnedFd) -> u32 {
    let mut value = EthtoolValue {
        command: ETHTOOL_GLINK,
        data: 0,
    };
    // SAFETY: a struct of integers and a union of integers and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *place = byte.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names memory that lives, in which the kernel writes an `ethtool_value`.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) } == 0 {
        return if value.data == 0 {
            IF_DISCONNECTED
        } else {
            IF_CONNECTED
        };
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL) => IF_NOT_APPLICABLE,
        _ => 0,
    }
}

/// A socket for requests about interfaces.
fn request_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// The order of the list: what works first. Equal ones are in the order of the kernel.
fn sort_key(device: &Device) -> [bool; 5] {
    let flags = device.flags;
    let is_disconnected = flags & IF_CONNECTION == IF_DISCONNECTED;
    [
        flags & IF_RUNNING == 0,
        flags & IF_UP == 0,
        is_disconnected && flags & IF_WIRELESS == 0,
        flags & IF_LOOPBACK != 0,
        device.name.as_c_str() == ANY,
    ]
}

/// The Internet and link-layer addresses of an element; `None` if it has no address.
///
/// # Safety
/// The element's pointers are null or point to addresses.
unsafe fn address(entry: &libc::ifaddrs) -> Option<Address> {
    // SAFETY: promised by the caller.
    let bytes = |address| unsafe { copy(address) };
    let has = |flag: c_int| entry.ifa_flags & flag.unsigned_abs() != 0;
    let (broadcast, peer) = match entry.ifa_ifu {
        other if has(libc::IFF_BROADCAST) => (bytes(other), None),
        other if has(libc::IFF_POINTOPOINT) => (None, bytes(other)),
        _ => (None, None),
    };
    Some(Address {
        own: Some(bytes(entry.ifa_addr)?),
        netmask: bytes(entry.ifa_netmask),
        broadcast,
        peer,
    })
}

/// # Safety
/// `address` is null or points to an address of its family.
unsafe fn copy(address: *const libc::sockaddr) -> Option<Vec<u8>> {
    // SAFETY: promised by the caller.
    let family = unsafe { address.as_ref() }?.sa_family;
    let bytes = match c_int::from(family) {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        libc::AF_PACKET => size_of::<libc::sockaddr_ll>(),
        _ => return None,
    };
    // SAFETY: an address of this family has as many bytes.
    Some(unsafe { std::slice::from_raw_parts(address.cast::<u8>(), bytes) }.to_vec())
}

/// The list as C sees it. All memory is from `Box` and `CString`, and `pcap_freealldevs` frees it.
fn allocate(devices: Vec<Device>) -> *mut pcap_if {
    let mut next = ptr::null_mut();
    for device in devices.into_iter().rev() {
        let description = device.description.map(CStr::to_owned);
        next = Box::into_raw(Box::new(pcap_if {
            next,
            name: device.name.into_raw(),
            description: description.map_or(ptr::null_mut(), CString::into_raw),
            addresses: allocate_addresses(device.addresses),
            flags: device.flags,
        }));
    }
    next
}

fn allocate_addresses(addresses: Vec<Address>) -> *mut pcap_addr {
    let mut next = ptr::null_mut();
    for address in addresses.into_iter().rev() {
        next = Box::into_raw(Box::new(pcap_addr {
            next,
            addr: allocate_address(address.own.as_deref()),
            netmask: allocate_address(address.netmask.as_deref()),
            broadaddr: allocate_address(address.broadcast.as_deref()),
            dstaddr: allocate_address(address.peer.as_deref()),
        }));
    }
    next
}

/// Room for any address, so that all have one size.
fn allocate_address(bytes: Option<&[u8]>) -> *mut libc::sockaddr {
    let Some(bytes) = bytes else {
        return ptr::null_mut();
    };
    // SAFETY: an address of zeros is valid.
    let mut room: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place: *mut u8 = (&raw mut room).cast();
    let bytes = &bytes[..bytes.len().min(size_of_val(&room))];
    // SAFETY: not more bytes than there is room for.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Box::into_raw(Box::new(room)).cast()
}

/// Lists the interfaces, best first; `pcap_freealldevs` frees the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_findalldevs(list: *mut *mut pcap_if, errbuf: *mut c_char) -> c_int {
    guard(ERROR, || {
        let message = match devices() {
            Ok(devices) if !list.is_null() => {
                // SAFETY: the caller's place for a pointer.
                unsafe { list.write(allocate(devices)) };
                return 0;
            }
            Ok(_) => "a null pointer was supplied for the list".to_owned(),
            Err(error) => format!("getifaddrs: {error}"),
        };
        // SAFETY: the caller's buffer.
        unsafe { refuse(errbuf, &message) }
    })
}

/// Frees a list of `pcap_findalldevs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_freealldevs(list: *mut pcap_if) {
    guard((), || {
        let mut next = list;
        while !next.is_null() {
            // SAFETY: an element of `allocate`, which the caller does not use any more.
            let device = unsafe { Box::from_raw(next) };
            next = device.next;
            for string in [device.name, device.description] {
                if !string.is_null() {
                    // SAFETY: a string of `allocate`.
                    drop(unsafe { CString::from_raw(string) });
                }
            }
            // SAFETY: the addresses of `allocate`.
            unsafe { free_addresses(device.addresses) };
        }
    });
}

/// # Safety
/// `first` is from `allocate_addresses`, and nobody uses it any more.
unsafe fn free_addresses(first: *mut pcap_addr) {
    let mut next = first;
    while !next.is_null() {
        // SAFETY: promised by the caller.
        let address = unsafe { Box::from_raw(next) };
        next = address.next;
        for room in [
            address.addr,
            address.netmask,
            address.broadaddr,
            address.dstaddr,
        ] {
            if !room.is_null() {
                let room: *mut libc::sockaddr_storage = room.cast();
                // SAFETY: promised by the caller.
                drop(unsafe { Box::from_raw(room) });
            }
        }
    }
}

/// The encoding that `pcap_init` has chosen.
static ENCODING: OnceLock<c_uint> = OnceLock::new();

/// Chooses the encoding of strings, once for the process.
///
/// # Errors
/// The text, if there is no such encoding or another one was chosen before.
pub fn initialize(encoding: c_uint) -> Result<(), &'static str> {
    if encoding > 1 {
        return Err("Unknown options specified");
    }
    if *ENCODING.get_or_init(|| encoding) != encoding {
        return Err("Multiple pcap_init calls with different character encodings");
    }
    Ok(())
}

/// The name of the best interface. Valid until the next call of the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_lookupdev(errbuf: *mut c_char) -> *mut c_char {
    thread_local! {
        static NAME: std::cell::RefCell<[u8; NAME_BYTES]> = const { std::cell::RefCell::new([0; NAME_BYTES]) };
    }
    guard(ptr::null_mut(), || {
        if ENCODING.get().is_some() {
            let text = "pcap_lookupdev() is deprecated and is not supported in programs calling pcap_init()";
            // SAFETY: the caller's buffer.
            unsafe { report(errbuf, text) };
            return ptr::null_mut();
        }
        let found = devices().map(|devices| {
            let first = devices.into_iter().next();
            first.filter(|device| device.flags & IF_LOOPBACK == 0)
        });
        let message = match found {
            Ok(Some(device)) => {
                return NAME.with_borrow_mut(|kept| {
                    let name = device.name.to_bytes();
                    let name = &name[..name.len().min(NAME_BYTES - 1)];
                    kept.fill(0);
                    kept[..name.len()].copy_from_slice(name);
                    kept.as_mut_ptr().cast()
                });
            }
            Ok(None) => "no suitable device found".to_owned(),
            Err(error) => format!("getifaddrs: {error}"),
        };
        // SAFETY: the caller's buffer.
        unsafe { report(errbuf, &message) };
        ptr::null_mut()
    })
}

/// Whether an interface is the loopback.
pub fn is_loopback(name: &str) -> bool {
    devices().is_ok_and(|devices| {
        let is_it = |device: &Device| device.name.as_bytes() == name.as_bytes();
        devices
            .iter()
            .any(|device| is_it(device) && device.flags & IF_LOOPBACK != 0)
    })
}

/// The network and the netmask of an interface's first IPv4 address, in network byte order; zeros for `any`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_lookupnet(
    device: *const c_char,
    net: *mut u32,
    mask: *mut u32,
    errbuf: *mut c_char,
) -> c_int {
    guard(ERROR, || {
        // SAFETY: a string of C.
        let device = unsafe { text(device) }.unwrap_or(ANY);
        let (address, netmask) = if device == ANY {
            (0, 0)
        } else {
            match network(device) {
                Ok(found) => found,
                // SAFETY: the caller's buffer.
                Err(message) => return unsafe { refuse(errbuf, &message) },
            }
        };
        for (place, value) in [(net, address & netmask), (mask, netmask)] {
            if !place.is_null() {
                // SAFETY: the caller's place for a number.
                unsafe { place.write(value) };
            }
        }
        0
    })
}

/// The first IPv4 address of an interface, and its netmask, in network byte order.
fn network(name: &CStr) -> Result<(u32, u32), String> {
    let shown = name.to_string_lossy();
    let devices = devices().map_err(|error| format!("getifaddrs: {error}"))?;
    let device = devices.iter().find(|device| device.name.as_c_str() == name);
    let device = device.ok_or_else(|| format!("SIOCGIFADDR: {shown}: No such device"))?;
    // `sin_addr` lies behind family and port.
    let ipv4 = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.as_deref()?;
        let is_ipv4 = bytes.len() == size_of::<libc::sockaddr_in>();
        let number = bytes.get(4..8)?.first_chunk()?;
        is_ipv4.then(|| u32::from_ne_bytes(*number))
    };
    let mut found = device.addresses.iter();
    let found = found.find_map(|address| Some((ipv4(&address.own)?, ipv4(&address.netmask)?)));
    found.ok_or_else(|| format!("{shown}: no IPv4 address assigned"))
}
