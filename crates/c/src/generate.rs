//! Generated packets.

use std::mem::MaybeUninit;
use std::str::FromStr;

use tapline::packet::MacAddress;
use tapline::send::{Generator, GeneratorError, PacketKind, ValuesError};

use crate::arguments::{Options, Text, array, options};
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::Object as _;
use crate::send::{Job, tapline_sender};
use crate::status::tapline_status;

/// What a generated packet is.
#[repr(u32)]
pub enum tapline_generator_kind {
    /// A UDP datagram with a payload of zeros.
    Udp = 0,
    /// A TCP segment that opens a connection.
    TcpSyn = 1,
    /// An echo request.
    Icmp = 2,
    /// An ARP request.
    Arp = 3,
}

/// Which packets to generate. Values are single ones, ranges and lists, one after another, or at random behind `random:`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_generator_options<'a> {
    /// `sizeof(tapline_generator_options)`.
    pub size: usize,
    /// Destination addresses: `10.0.0.1`, `10.0.0.0/24`, `random:2001:db8::/64`. Required.
    pub destinations: Text<'a>,
    /// Source addresses. Default: the address of the interface.
    pub sources: Text<'a>,
    /// Destination ports: `53`, `1000-1999`. Default: 9.
    pub destination_ports: Text<'a>,
    /// Source ports. Default: 49152.
    pub source_ports: Text<'a>,
    /// Lengths of the frames in bytes, without FCS: `60`, `random:60-1514`. Default: 60, or as short as the kind allows.
    pub sizes: Text<'a>,
    /// 6 bytes. Default: the address of the next hop in the neighbour table.
    pub destination_mac: *const u8,
    /// 6 bytes. Default: the address of the interface.
    pub source_mac: *const u8,
    /// End after this many packets. Default: never.
    pub max_packets: u64,
    /// Number of different flows. Default: as many as there are combinations of the values.
    pub flows: u64,
    /// Determines the random values.
    pub seed: u64,
    /// A `tapline_generator_kind`.
    pub kind: u32,
    /// Id of a VLAN. Default: no tag.
    pub vlan: u32,
}

// SAFETY: `repr(C)`, its size first, and integers, pointers and strings after it: zeros are the defaults.
unsafe impl Options for tapline_generator_options<'_> {
    const NAME: &'static str = "tapline_generator_options";
}

impl From<GeneratorError> for Error {
    fn from(error: GeneratorError) -> Self {
        match &error {
            GeneratorError::Link(_) | GeneratorError::Namespace(_) => Self::system(&error),
            GeneratorError::NoNeighbour { .. } => {
                Self::from_source(tapline_status::NotFound, &error)
                    .hint("set destination_mac, or ping the next hop once")
            }
            _ => Self::from_source(tapline_status::InvalidArgument, &error),
        }
    }
}

/// The values in `text`, if it is given.
fn values<T: FromStr<Err = ValuesError>>(text: Text<'_>, name: &str) -> Result<Option<T>, Error> {
    let parsed = text.optional(name)?.map(str::parse).transpose();
    parsed.map_err(|error: ValuesError| Error::argument(format!("{name}: {error}")))
}

/// # Safety
/// `bytes` is null or points to 6 bytes.
unsafe fn mac(bytes: *const u8, name: &str) -> Result<Option<MacAddress>, Error> {
    if bytes.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { array(bytes, 6, name) }?;
    Ok(bytes.try_into().ok().map(MacAddress))
}

/// # Safety
/// `given` comes from C.
unsafe fn generator(given: &tapline_generator_options<'_>) -> Result<Generator, Error> {
    let mut wanted = Generator::new(match given.kind {
        0 => PacketKind::Udp,
        1 => PacketKind::TcpSyn,
        2 => PacketKind::Icmp,
        3 => PacketKind::Arp,
        other => return Err(Error::value("kind", other)),
    });
    wanted.destinations = values(given.destinations, "destinations")?;
    wanted.sources = values(given.sources, "sources")?;
    wanted.destination_ports = values(given.destination_ports, "destination_ports")?;
    wanted.source_ports = values(given.source_ports, "source_ports")?;
    wanted.sizes = values(given.sizes, "sizes")?;
    // SAFETY: 6 bytes of C.
    wanted.destination_mac = unsafe { mac(given.destination_mac, "destination_mac") }?;
    // SAFETY: 6 bytes of C.
    wanted.source_mac = unsafe { mac(given.source_mac, "source_mac") }?;
    wanted.packets = (given.max_packets > 0).then_some(given.max_packets);
    wanted.flows = (given.flows > 0).then_some(given.flows);
    wanted.seed = given.seed;
    wanted.vlan = match given.vlan {
        0 => None,
        id @ 1..=4094 => Some(id as u16),
        other => {
            return Err(Error::argument(format!(
                "vlan is {other}, not between 1 and 4094"
            )));
        }
    };
    Ok(wanted)
}

/// Sends generated packets at the rate of the job, and returns when the kernel has taken them. They take no memory.
/// Returns END if not all were sent, because the job was stopped or has reached its packet limit.
///
/// Privileges: CAP_SYS_ADMIN if the calling thread is in another network namespace than the job. Addresses that are not given
/// are looked up in that of the job.
///
/// Errors: INVALID_ARGUMENT for options that contradict each other and for the rates RECORDED and ABSOLUTE; NOT_FOUND if
/// the next hop is not in the neighbour table; otherwise as `tapline_sender_transmit`.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_sender_generate(
    sender: *mut tapline_sender,
    generator_options: *const tapline_generator_options<'_>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: an option struct of C.
        let given = unsafe { options(generator_options) }?;
        // SAFETY: its fields come from C.
        let wanted = unsafe { generator(&given) }?;
        Job::table().with(sender, |open| {
            if open.needs_times {
                return Err(Error::argument("generated packets have no times"));
            }
            let wanted = wanted.for_interface(&open.interface, open.namespace.to_enter()?)?;
            let is_done = open.sender.run(wanted.into_source()?)?;
            Ok(if is_done {
                tapline_status::Ok
            } else {
                tapline_status::End
            })
        })
    })
}
