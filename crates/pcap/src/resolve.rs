//! Names of hosts, services and protocols: `pcap_nameto…` and the addresses of ethers(5).

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_ushort};
use std::net::IpAddr;
use std::ptr;

use tapline::filter::{NameResolver, SystemNames, Transport};

use crate::ffi::guard::guard;
use crate::ffi::text::text;

/// An EtherType by name.
#[repr(C)]
pub struct eproto {
    name: *const c_char,
    number: c_ushort,
}

// SAFETY: it points to texts that never change.
unsafe impl Sync for eproto {}

const fn row(name: &'static std::ffi::CStr, number: c_ushort) -> eproto {
    let name = name.as_ptr();
    eproto { name, number }
}

/// EtherTypes with the names that filters know. Ends with a null name.
#[unsafe(no_mangle)]
pub static eproto_db: [eproto; 13] = [
    row(c"aarp", 0x80f3),
    row(c"arp", 0x0806),
    row(c"atalk", 0x809b),
    row(c"decnet", 0x6003),
    row(c"ip", 0x0800),
    row(c"ip6", 0x86dd),
    row(c"lat", 0x6004),
    row(c"loopback", 0x9000),
    row(c"mopdl", 0x6001),
    row(c"moprc", 0x6002),
    row(c"rarp", 0x8035),
    row(c"sca", 0x6007),
    eproto {
        name: ptr::null(),
        number: 0,
    },
];

/// LLC service access points by name.
const LLC: [(&str, c_int); 4] = [
    ("iso", 0xfe),
    ("stp", 0x42),
    ("ipx", 0xe0),
    ("netbeui", 0xf0),
];

/// A line of ethers(5).
#[repr(C)]
pub struct pcap_etherent {
    addr: [u8; 6],
    name: [c_char; 122],
}

/// The caller's name as text; empty if it is none.
unsafe fn name<'a>(given: *const c_char) -> &'a str {
    // SAFETY: promised by the caller.
    let name = unsafe { text(given) };
    name.and_then(|name| name.to_str().ok()).unwrap_or_default()
}

/// Copies an Ethernet address into memory that the program frees.
fn copy_out(address: Option<[u8; 6]>) -> *mut u8 {
    let Some(address) = address else {
        return ptr::null_mut();
    };
    // SAFETY: no pointers are passed.
    let memory: *mut u8 = unsafe { libc::malloc(address.len()) }.cast();
    if !memory.is_null() {
        // SAFETY: room for the address, and new.
        unsafe { memory.copy_from_nonoverlapping(address.as_ptr(), address.len()) };
    }
    memory
}

/// Six numbers in hexadecimal, separated or not, or three of four digits.
fn ethernet(text: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let is_plain = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_plain {
        let number = u64::from_str_radix(text, 16).ok()?;
        address.copy_from_slice(&number.to_be_bytes()[2..]);
        return Some(address);
    }
    let groups: Vec<_> = text.split('.').collect();
    if let [first, second, third] = groups[..] {
        for (place, group) in address.chunks_exact_mut(2).zip([first, second, third]) {
            if group.len() != 4 {
                return None;
            }
            place.copy_from_slice(&u16::from_str_radix(group, 16).ok()?.to_be_bytes());
        }
        return Some(address);
    }
    let mut parts = text.split([':', '-', '.']);
    for byte in &mut address {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(address)
}

/// The Ethernet address in a text, in memory of malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_ether_aton(given: *const c_char) -> *mut u8 {
    // SAFETY: a string of C.
    let wanted = unsafe { name(given) };
    guard(ptr::null_mut(), || copy_out(ethernet(wanted)))
}

/// The Ethernet address of a host in `/etc/ethers`, in memory of malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_ether_hostton(given: *const c_char) -> *mut u8 {
    guard(ptr::null_mut(), || {
        // SAFETY: a string of C.
        let wanted = unsafe { name(given) };
        copy_out(SystemNames::new().ethernet(wanted))
    })
}

/// The next line of a file like `/etc/ethers`. Valid until the next call of the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_next_etherent(file: *mut libc::FILE) -> *mut pcap_etherent {
    thread_local! {
        static ENTRY: RefCell<pcap_etherent> = const { RefCell::new(pcap_etherent { addr: [0; 6], name: [0; 122] }) };
    }
    guard(ptr::null_mut(), || {
        let mut line = [0_u8; 512];
        // Each round reads a line of the file, which ends.
        // SAFETY: room for as many bytes as it says, and an open stream.
        while !unsafe { libc::fgets(line.as_mut_ptr().cast(), 512, file) }.is_null() {
            let text = String::from_utf8_lossy(&line);
            let text = text.split(['\0', '#', '\n']).next().unwrap_or_default();
            let mut words = text.split_ascii_whitespace();
            let (Some(address), Some(host)) = (words.next().and_then(ethernet), words.next())
            else {
                continue;
            };
            return ENTRY.with_borrow_mut(|entry| {
                entry.addr = address;
                entry.name.fill(0);
                let room = entry.name.len() - 1;
                for (place, byte) in entry.name[..room].iter_mut().zip(host.bytes()) {
                    *place = byte.cast_signed();
                }
                ptr::from_mut(entry)
            });
        }
        ptr::null_mut()
    })
}

/// The IPv4 addresses of a host, in host byte order, as a list that ends with null. Valid until the next call of the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoaddr(given: *const c_char) -> *mut *mut u32 {
    thread_local! {
        static FOUND: RefCell<(Vec<u32>, Vec<*mut u32>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    }
    guard(ptr::null_mut(), || {
        // SAFETY: a string of C.
        let addresses = SystemNames::new().host(unsafe { name(given) });
        let ipv4 = addresses.into_iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(u32::from(address)),
            IpAddr::V6(_) => None,
        });
        FOUND.with_borrow_mut(|(numbers, pointers)| {
            *numbers = ipv4.collect();
            *pointers = numbers.iter_mut().map(ptr::from_mut).collect();
            pointers.push(ptr::null_mut());
            if numbers.is_empty() {
                ptr::null_mut()
            } else {
                pointers.as_mut_ptr()
            }
        })
    })
}

/// The addresses of a host, which freeaddrinfo(3) frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoaddrinfo(given: *const c_char) -> *mut libc::addrinfo {
    guard(ptr::null_mut(), || {
        // SAFETY: a struct of pointers and integers.
        let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
        hints.ai_socktype = libc::SOCK_STREAM;
        hints.ai_protocol = libc::IPPROTO_TCP;
        let mut found = ptr::null_mut();
        // SAFETY: a string of C, hints and a place that live.
        let error =
            unsafe { libc::getaddrinfo(given, ptr::null(), &raw const hints, &raw mut found) };
        if error == 0 { found } else { ptr::null_mut() }
    })
}

/// The number of a network in `/etc/networks`, in host byte order; 0 if it is not there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametonetaddr(given: *const c_char) -> u32 {
    guard(0, || {
        // SAFETY: a string of C.
        let wanted = unsafe { name(given) };
        let mut number = SystemNames::new().network(wanted).map_or(0, u32::from);
        // Names have numbers without trailing zeros.
        while number != 0 && number >> 24 == 0 {
            number <<= 8;
        }
        number
    })
}

/// The port of a service and its protocol, -1 for both TCP and UDP; 1 if there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoport(
    given: *const c_char,
    port: *mut c_int,
    protocol: *mut c_int,
) -> c_int {
    guard(0, || {
        // SAFETY: a string of C.
        let Some((number, transport)) = service(unsafe { name(given) }) else {
            return 0;
        };
        for (place, value) in [(port, number), (protocol, transport)] {
            if !place.is_null() {
                // SAFETY: the caller's place for a number.
                unsafe { place.write(value) };
            }
        }
        1
    })
}

fn service(name: &str) -> Option<(c_int, c_int)> {
    if let Ok(number) = name.parse::<u16>() {
        return Some((number.into(), UNKNOWN_PROTOCOL));
    }
    let names = SystemNames::new();
    let [tcp, udp] = [Transport::Tcp, Transport::Udp].map(|transport| names.port(name, transport));
    let number = tcp.or(udp)?;
    let protocol = match (tcp, udp) {
        (Some(one), Some(other)) if one == other => UNKNOWN_PROTOCOL,
        (Some(_), _) => libc::IPPROTO_TCP,
        _ => libc::IPPROTO_UDP,
    };
    Some((number.into(), protocol))
}

/// Not one protocol (`PROTO_UNDEF`).
const UNKNOWN_PROTOCOL: c_int = -1;

/// The ports of a range like `1024-2048`, and its protocol; 1 if it is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoportrange(
    given: *const c_char,
    first: *mut c_int,
    last: *mut c_int,
    protocol: *mut c_int,
) -> c_int {
    guard(0, || {
        // SAFETY: a string of C.
        let Some((low, high)) = (unsafe { name(given) }).split_once('-') else {
            return 0;
        };
        // Numbers of a range are not checked.
        let found = match (low.parse(), high.parse()) {
            (Ok(low), Ok(high)) => Some(((low, UNKNOWN_PROTOCOL), (high, UNKNOWN_PROTOCOL))),
            _ => service(low).zip(service(high)),
        };
        let Some(((low, one), (high, other))) = found else {
            return 0;
        };
        let transport = if one == other { one } else { UNKNOWN_PROTOCOL };
        for (place, value) in [(first, low), (last, high), (protocol, transport)] {
            if !place.is_null() {
                // SAFETY: the caller's place for a number.
                unsafe { place.write(value) };
            }
        }
        1
    })
}

/// The number of a protocol over IP, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoproto(given: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: a string of C.
        let wanted = unsafe { name(given) };
        SystemNames::new().protocol(wanted).map_or(-1, c_int::from)
    })
}

/// The number of an EtherType, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametoeproto(given: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: a string of C.
        let wanted = CString::new(unsafe { name(given) }).unwrap_or_default();
        // SAFETY: the texts of the table.
        let mut known = eproto_db
            .iter()
            .filter(|row| unsafe { text(row.name) } == Some(&wanted));
        known.next().map_or(-1, |row| row.number.into())
    })
}

/// The LLC service access point of a protocol, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_nametollc(given: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: a string of C.
        let wanted = unsafe { name(given) };
        LLC.iter()
            .find(|row| row.0 == wanted)
            .map_or(-1, |row| row.1)
    })
}
