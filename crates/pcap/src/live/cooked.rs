//! The Linux "cooked" header of packets from all interfaces, and filters that see it.
//!
//! A socket that receives from all interfaces gets packets without their link-layer headers. Programs see a header with what
//! the socket's address says instead. A filter was compiled for packets with that header, and the kernel runs it on packets
//! without.
//!
//! # Source
//! <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>,
//! <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>.

use tapline::filter::classic::{ClassicProgram, Instruction, opcode};

/// The longest header, with a VLAN tag.
pub const MOST_BYTES: usize = 20;

const VLAN_BYTES: usize = 4;
/// TPID of a tag whose own is not known (IEEE 802.1Q).
const DOT1Q: u16 = 0x8100;

// linux/filter.h
const AD_OFF: u32 = libc::SKF_AD_OFF.cast_unsigned();
const AD_PROTOCOL: u32 = AD_OFF + libc::SKF_AD_PROTOCOL as u32;
const AD_PKTTYPE: u32 = AD_OFF + libc::SKF_AD_PKTTYPE as u32;
const AD_IFINDEX: u32 = AD_OFF + libc::SKF_AD_IFINDEX as u32;

/// Which header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 16 bytes, `DLT_LINUX_SLL`.
    V1,
    /// 20 bytes with the interface, `DLT_LINUX_SLL2`.
    V2,
}

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// EtherType, or a pseudo protocol.
    pub protocol: u16,
    /// Index of the interface.
    pub index: u32,
    /// `ARPHRD_…`.
    pub hardware: u16,
    /// `PACKET_…`.
    pub packet_type: u8,
    /// Length of the sender's address.
    pub length: u8,
    /// The sender's address.
    pub sender: [u8; 8],
    /// A tag that the kernel has removed, and its TPID if known.
    pub vlan: Option<(u16, Option<u16>)>,
}

impl Version {
    /// Bytes of the header, without a tag.
    pub fn bytes(self) -> usize {
        match self {
            Self::V1 => 16,
            Self::V2 => 20,
        }
    }

    /// Writes the header so that it ends at the end of `room`, which has [`MOST_BYTES`]. Returns where it begins.
    pub fn write(self, room: &mut [u8; MOST_BYTES], address: &Address) -> usize {
        match self {
            Self::V1 => {
                let start = match address.vlan {
                    Some(_) => 0,
                    None => VLAN_BYTES,
                };
                let header = &mut room[start..];
                header[..2].copy_from_slice(&u16::from(address.packet_type).to_be_bytes());
                header[2..4].copy_from_slice(&address.hardware.to_be_bytes());
                header[4..6].copy_from_slice(&u16::from(address.length).to_be_bytes());
                header[6..14].copy_from_slice(&address.sender);
                if let Some((tag, tpid)) = address.vlan {
                    header[14..16].copy_from_slice(&tpid.unwrap_or(DOT1Q).to_be_bytes());
                    header[16..18].copy_from_slice(&tag.to_be_bytes());
                }
                room[18..].copy_from_slice(&address.protocol.to_be_bytes());
                start
            }
            Self::V2 => {
                room[..2].copy_from_slice(&address.protocol.to_be_bytes());
                room[2..4].copy_from_slice(&[0; 2]);
                room[4..8].copy_from_slice(&address.index.to_be_bytes());
                room[8..10].copy_from_slice(&address.hardware.to_be_bytes());
                room[10..12].copy_from_slice(&[address.packet_type, address.length]);
                room[12..].copy_from_slice(&address.sender);
                0
            }
        }
    }

    /// The program for packets without the header; `None` if it reads a part that the kernel does not know, or the length.
    pub fn without_header(self, program: &ClassicProgram) -> Option<ClassicProgram> {
        let moved = program.instructions().iter().map(|&instruction| {
            let mut instruction = instruction;
            match instruction.code {
                opcode::LD_LEN | opcode::LDX_LEN => return None,
                opcode::LD_W_ABS
                | opcode::LD_H_ABS
                | opcode::LD_B_ABS
                | opcode::LD_W_IND
                | opcode::LD_H_IND
                | opcode::LD_B_IND
                | opcode::LDX_MSH => instruction.k = self.offset(instruction)?,
                _ => {}
            }
            Some(instruction)
        });
        ClassicProgram::new(moved.collect::<Option<_>>()?).ok()
    }

    fn offset(self, Instruction { code, k, .. }: Instruction) -> Option<u32> {
        if k >= AD_OFF {
            return Some(k);
        }
        if let Some(k) = k.checked_sub(self.bytes() as u32) {
            return Some(k);
        }
        match (self, code, k) {
            (Self::V1, opcode::LD_H_ABS, 0) | (Self::V2, opcode::LD_B_ABS, 10) => Some(AD_PKTTYPE),
            (Self::V1, opcode::LD_H_ABS, 14) | (Self::V2, opcode::LD_H_ABS, 0) => Some(AD_PROTOCOL),
            (Self::V2, opcode::LD_W_ABS, 4) => Some(AD_IFINDEX),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Address = Address {
        protocol: 0x0800,
        index: 7,
        hardware: 1,
        packet_type: 4,
        length: 6,
        sender: [2, 0, 0, 0, 0, 9, 0, 0],
        vlan: None,
    };

    /// The bytes are those of the two pages of tcpdump.org.
    #[test]
    fn headers_have_the_documented_layout() {
        let mut room = [0xff; MOST_BYTES];
        let start = Version::V1.write(&mut room, &ADDRESS);
        let first = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, 8, 0];
        assert_eq!(room[start..], first);
        let start = Version::V2.write(&mut room, &ADDRESS);
        let second = [8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6, 2, 0, 0, 0, 0, 9, 0, 0];
        assert_eq!(room[start..], second);
        let tagged = Address {
            vlan: Some((42, None)),
            ..ADDRESS
        };
        let start = Version::V1.write(&mut room, &tagged);
        assert_eq!(room[start..][14..], [0x81, 0, 0, 42, 8, 0][..6]);
    }

    #[test]
    fn a_filter_is_moved_in_front_of_the_header_or_refused() {
        let program = |text: &str| text.parse::<ClassicProgram>().expect("a program");
        let moved = |version: Version, text: &str| {
            let moved = version.without_header(&program(text));
            moved.map(|program| program.to_string())
        };
        // ldh [14]; ret 1, and ldb [25]; ret 1
        let protocol = format!("2\n40 0 0 {AD_PROTOCOL}\n6 0 0 1\n");
        assert_eq!(moved(Version::V1, "2\n40 0 0 14\n6 0 0 1"), Some(protocol));
        let ip = Some("2\n48 0 0 9\n6 0 0 1\n".to_owned());
        assert_eq!(moved(Version::V1, "2\n48 0 0 25\n6 0 0 1"), ip);
        let index = format!("2\n32 0 0 {AD_IFINDEX}\n6 0 0 1\n");
        assert_eq!(moved(Version::V2, "2\n32 0 0 4\n6 0 0 1"), Some(index));
        // ldh [6], a part of the address; ld len
        assert_eq!(moved(Version::V1, "2\n40 0 0 6\n6 0 0 1"), None);
        assert_eq!(moved(Version::V1, "2\n128 0 0 0\n22 0 0 0"), None);
    }
}
