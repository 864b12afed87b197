//! Compiles filters with libpcap.

use std::sync::OnceLock;

use filter::LinkType;
use filter::classic::Instruction;
use pcap::{BpfProgram, Capture, Linktype};

use super::engine::Engine;
use super::packet::Packet;

/// Value that libpcap's programs return for matching packets. The `pcap` crate opens every handle with it.
pub const SNAPLEN: u32 = 65_535;

/// A program compiled by libpcap, run by libpcap's own interpreter.
///
/// Packets are treated as fully captured, because the crate's call takes only one length.
pub struct Libpcap {
    program: BpfProgram,
    instructions: Vec<Instruction>,
    is_optimised: bool,
}

impl Libpcap {
    /// Compiles `text` for packets of link type `link` in a file.
    ///
    /// # Errors
    /// libpcap's error message.
    pub fn new(text: &str, link: LinkType, is_optimised: bool) -> Result<Self, String> {
        let number = i32::from(data_link_type(link));
        let handle = Capture::dead(Linktype(number)).map_err(|error| error.to_string())?;
        let program = handle
            .compile(text, is_optimised)
            .map_err(|error| match error {
                pcap::Error::PcapError(said) => said,
                other => other.to_string(),
            })?;
        let instructions = program
            .get_instructions()
            .iter()
            .map(|line| instruction(&line.to_string()))
            .collect();
        Ok(Self {
            program,
            instructions,
            is_optimised,
        })
    }

    /// Tests whether `text` uses a term that the installed libpcap compiles incorrectly for packets of type `link`.
    ///
    /// Before libpcap 1.11, `byte 0 & 1` does not load the byte, `ip multicast` also matches addresses above 240.0.0.0,
    /// and the IS-IS packet type has eight bits although three of them are reserved. On a few link types, other words are
    /// wrong: `crates/filter/DIFFERENCES.md`.
    pub fn is_faulty(text: &str, link: LinkType) -> bool {
        static FAULTS: OnceLock<Vec<&str>> = OnceLock::new();
        static LINK_FAULTS: OnceLock<Vec<(&[LinkType], &str)>> = OnceLock::new();
        let takes_on = |link, text, packet: &[u8]| {
            let program = Self::new(text, link, false).expect("a filter");
            program.program.filter(packet)
        };
        let takes = |text, packet: &[u8]| takes_on(LinkType::Ipv4, text, packet);
        let faults = FAULTS.get_or_init(|| {
            let mut faults = Vec::new();
            if takes("byte 0 & 1", &[0]) || !takes("byte 0 & 1", &[1]) {
                faults.push("byte ");
            }
            if takes("ip multicast", &[0xf0; 20]) {
                faults.push("ip multicast");
            }
            let mut frame = [0; 60];
            frame[14..18].copy_from_slice(&[0xfe, 0xfe, 3, 0x83]);
            frame[21] = 0xe0 | 0x11;
            if !takes_on(LinkType::Ethernet, "isis proto 17", &frame) {
                faults.extend(["isis proto", "l1", "l2", "iih", "lsp", "snp"]);
            }
            faults
        });
        let link_faults = LINK_FAULTS.get_or_init(|| {
            let mut faults: Vec<(&[LinkType], _)> = Vec::new();
            if !takes_on(LinkType::Mtp2, "sio != 3", &[0; 16]) {
                let links = &[LinkType::Mtp2, LinkType::Mtp2WithHeader, LinkType::SunAtm];
                faults.push((links, " != "));
            }
            if takes_on(LinkType::Slip, "outbound", &[7; 60]) {
                faults.push((&[LinkType::Slip], "bound"));
            }
            let mut frame = [0; 60];
            frame[12] = 0x40;
            if !takes_on(LinkType::DsaMarvell, "outbound", &frame) {
                let links = &[LinkType::DsaBroadcom, LinkType::DsaMarvell];
                faults.push((links, "bound"));
            }
            let links = &[LinkType::Arcnet, LinkType::ArcnetLinux];
            if takes_on(LinkType::Arcnet, "link proto \\ip", &[0xf0; 60]) {
                faults.push((links, "link proto \\"));
            }
            if !takes_on(LinkType::Arcnet, "link dst $12", &[0x12; 60]) {
                faults.push((links, "$"));
            }
            faults
        });
        let is_in =
            |&(links, fault): &(&[LinkType], &str)| links.contains(&link) && text.contains(fault);
        faults.iter().any(|&fault| text.contains(fault)) || link_faults.iter().any(is_in)
    }

    /// The program's instructions. Jumps may go backwards.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

impl Engine for Libpcap {
    fn name(&self) -> &'static str {
        if self.is_optimised {
            "libpcap, optimised"
        } else {
            "libpcap"
        }
    }

    fn answers(&self, packet: &Packet) -> bool {
        packet.is_whole()
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        if self.program.filter(&packet.bytes) {
            SNAPLEN
        } else {
            0
        }
    }
}

/// Converts a link type. A few types have different numbers in capture files and in libpcap handles.
fn data_link_type(link: LinkType) -> u16 {
    match link {
        LinkType::AtmRfc1483 => 11,
        LinkType::Raw => 12,
        LinkType::SlipBsdos => 15,
        LinkType::PppBsdos => 16,
        LinkType::AtmClip => 19,
        other => other.number(),
    }
}

/// Parses the form `code jt jf k`, the only one that the crate provides.
fn instruction(line: &str) -> Instruction {
    let mut numbers = line.split(' ').map(str::parse::<u32>);
    let mut next = || numbers.next().expect("four numbers").expect("a number");
    let [code, jt, jf, k] = [next(), next(), next(), next()];
    Instruction {
        code: code as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    }
}
