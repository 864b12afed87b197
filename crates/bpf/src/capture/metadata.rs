//! Code that asks the device about a packet.
//!
//! ```text
//! ask for time, hash and tag ─▶ answers on the stack ─▶ tag back into the packet ─▶ room before it ─▶ answers there
//!                                                    └▶ record in a ring buffer
//! ```
//!
//! All questions come first: a driver may keep the answers in front of the packet, where the tag and the room go. Who passes the
//! packet on does not ask for the tag, which is the stack's.

use std::io;
use std::mem::offset_of;

use wire::record::DeviceMetadata;

use super::XdpProgramError;
use super::select::CONTEXT;
use crate::kernel_function;
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

/// What a program asks a device about each packet, with [`wire::record::DeviceMetadata`] as the answer. The driver must
/// offer it (`netlink::XdpAbilities`): others load such a program and answer nothing.
///
/// # Kernel
/// Linux 6.3; the VLAN tag 6.8.
/// # Source
/// Documentation/networking/xdp-rx-metadata.rst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxMetadata {
    /// Index of the interface.
    pub ifindex: u32,
    /// The time stamp by the device's clock.
    #[doc(alias = "bpf_xdp_metadata_rx_timestamp")]
    pub timestamp: bool,
    /// The hash.
    #[doc(alias = "bpf_xdp_metadata_rx_hash")]
    pub hash: bool,
    /// The VLAN tag that the device has stripped. The program puts it back into the packet.
    #[doc(alias = "bpf_xdp_metadata_rx_vlan_tag")]
    pub vlan: bool,
}

/// Numbers of the kernel's functions to call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Functions {
    timestamp: Option<u32>,
    hash: Option<u32>,
    vlan: Option<u32>,
}

impl Functions {
    pub fn find(wanted: RxMetadata) -> Result<Self, XdpProgramError> {
        let find = |is_wanted: bool, name: &str| {
            let number = is_wanted.then(|| kernel_function::number(name));
            let number: io::Result<_> = number.transpose();
            number.map_err(|source| XdpProgramError::KernelFunction { source })
        };
        Ok(Self {
            timestamp: find(wanted.timestamp, "bpf_xdp_metadata_rx_timestamp")?,
            hash: find(wanted.hash, "bpf_xdp_metadata_rx_hash")?,
            vlan: find(wanted.vlan, "bpf_xdp_metadata_rx_vlan_tag")?,
        })
    }
}

/// Bytes of the answers.
pub(super) const BYTES: i16 = 16;
const _: () = assert!(size_of::<DeviceMetadata>() == BYTES as usize);
const _: () = assert!(offset_of!(DeviceMetadata, device_ns) == 0);
const _: () = assert!(offset_of!(DeviceMetadata, hash) == 8);
const _: () = assert!(offset_of!(DeviceMetadata, flags) == 12);

// Stack offsets: the answers as they are written before the packet, and what else the functions return. The sampler,
// whose memory is here, has ended.
const ANSWERS: i16 = -24;
const TIME: i16 = ANSWERS;
const HASH: i16 = ANSWERS + 8;
const FLAGS: i16 = ANSWERS + 12;
const HASH_TYPE: i16 = -32;
const PROTOCOL: i16 = -40;
const TAG: i16 = -36;

/// Place of the `EtherType` in a frame, and bytes of a tag.
const ETHERTYPE_AT: i16 = 12;
const TAG_BYTES: i32 = 4;

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

// Labels that no earlier code uses.
const NO_TIME: Label = Label(u32::MAX - 4);
const NO_HASH: Label = Label(u32::MAX - 5);
const NO_TAG: Label = Label(u32::MAX - 6);
const PASS: Label = Label(u32::MAX - 7);

const XDP_DROP: i32 = 1;

/// Asks, and puts the VLAN tag back. Leaves the answers on the stack.
pub(super) fn ask(code: &mut Vec<Insn<'_>>, functions: &Functions) {
    for at in [TIME, HASH, HASH_TYPE, PROTOCOL] {
        code.push(Insn::store(Size::Double, Reg::R10, at, 0));
    }
    if let Some(function) = functions.timestamp {
        call(code, function, &[TIME]);
        code.extend([
            Insn::jump_if32(Condition::Equal, Reg::R0, 0, NO_TIME),
            Insn::store(Size::Double, Reg::R10, TIME, 0),
            Insn::Place(NO_TIME),
        ]);
    }
    if let Some(function) = functions.hash {
        call(code, function, &[HASH, HASH_TYPE]);
        code.extend([
            Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, NO_HASH),
            Insn::store(
                Size::Word,
                Reg::R10,
                FLAGS,
                DeviceMetadata::HAS_HASH.cast_signed(),
            ),
            Insn::Place(NO_HASH),
        ]);
    }
    if let Some(function) = functions.vlan {
        call(code, function, &[PROTOCOL, TAG]);
        code.push(Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, NO_TAG));
        put_tag_back(code);
        code.push(Insn::Place(NO_TAG));
    }
}

/// Calls `function` with the context and stack addresses.
fn call(code: &mut Vec<Insn<'_>>, function: u32, addresses: &[i16]) {
    code.push(Insn::mov(Reg::R1, CONTEXT));
    for (register, &at) in [Reg::R2, Reg::R3].into_iter().zip(addresses) {
        code.extend([
            Insn::mov(register, Reg::R10),
            Insn::add(register, i32::from(at)),
        ]);
    }
    code.push(Insn::CallKernel { function });
}

/// Moves the addresses outwards and writes the tag behind them. A packet without room keeps its bytes.
fn put_tag_back(code: &mut Vec<Insn<'_>>) {
    code.extend([
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, -TAG_BYTES),
        Insn::Call(Helper::XdpAdjustHead),
        Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, NO_TAG),
        Insn::load(Size::Word, Reg::R2, CONTEXT, DATA),
        Insn::load(Size::Word, Reg::R3, CONTEXT, DATA_END),
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, i32::from(ETHERTYPE_AT) + TAG_BYTES),
        // No frame is shorter than an Ethernet header, but the verifier requires the check.
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, NO_TAG),
    ]);
    for at in [0, 4, 8] {
        code.extend([
            Insn::load(Size::Word, Reg::R1, Reg::R2, at + TAG_BYTES as i16),
            Insn::store(Size::Word, Reg::R2, at, Reg::R1),
        ]);
    }
    code.extend([
        // The protocol is in network byte order, the tag in that of the host.
        Insn::load(Size::Half, Reg::R1, Reg::R10, PROTOCOL),
        Insn::store(Size::Half, Reg::R2, ETHERTYPE_AT, Reg::R1),
        Insn::load(Size::Half, Reg::R1, Reg::R10, TAG),
        Insn::mov(Reg::R3, Reg::R1),
        Insn::Be16ToHost { dst: Reg::R3 },
        Insn::store(Size::Half, Reg::R2, ETHERTYPE_AT + 2, Reg::R3),
        Insn::alu32(Alu::Lsh, Reg::R1, 16),
        Insn::alu32(Alu::Or, Reg::R1, DeviceMetadata::HAS_VLAN.cast_signed()),
        Insn::load(Size::Word, Reg::R3, Reg::R10, FLAGS),
        Insn::alu32(Alu::Or, Reg::R3, Reg::R1),
        Insn::store(Size::Word, Reg::R10, FLAGS, Reg::R3),
    ]);
}

/// Makes `verdict` `XDP_DROP` if a tag was put back.
pub(super) fn drop_tagged(code: &mut Vec<Insn<'_>>, verdict: Reg) {
    code.extend([
        Insn::load(Size::Word, Reg::R1, Reg::R10, FLAGS),
        Insn::alu32(Alu::And, Reg::R1, DeviceMetadata::HAS_VLAN.cast_signed()),
        Insn::jump_if32(Condition::Equal, Reg::R1, 0, PASS),
        Insn::mov(verdict, XDP_DROP),
        Insn::Place(PASS),
    ]);
}

/// Copies the answers to `at` before address `R2`. Clobbers `R1`.
pub(super) fn write(code: &mut Vec<Insn<'_>>, at: i16) {
    for word in [0, 8] {
        code.extend([
            Insn::load(Size::Double, Reg::R1, Reg::R10, ANSWERS + word),
            Insn::store(Size::Double, Reg::R2, at + word, Reg::R1),
        ]);
    }
}
