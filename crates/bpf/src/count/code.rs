//! Instructions under construction, and where everything is on the stack.

use filter::ebpf::{Helper, Insn as AnyInsn, Label, Reg, Size};

use super::section::CountingPlace;
use crate::Insn;

/// Fragments of filters write to the 384 bytes below `R10`; what has to survive them is below those.
pub(super) const COUNTERS: i16 = -392;
/// Packets that this one becomes on the wire.
pub(super) const PACKETS: i16 = -400;
/// Bytes of them.
pub(super) const BYTES: i16 = -408;
/// What groups are by.
pub(super) const KEY: i16 = -432;
/// First value of a new group.
pub(super) const VALUE: i16 = -448;
/// Headers are read to here, as long as packets are told apart.
pub(super) const HEADER: i16 = -512;
/// Then here are the marks of the classes that take the packet.
pub(super) const MARKS: i16 = HEADER;
/// A word of marks of which none is set.
pub(super) const BLANK: i16 = MARKS + 32;
/// Where the next header is in the packet; fragments use it too, but only behind all this.
pub(super) const OFFSET: Reg = Reg::R9;
/// The program's context, as fragments have it.
pub(super) const CONTEXT: Reg = Reg::R6;

/// Displacement in `struct __sk_buff`.
pub(super) const VLAN_PRESENT: i16 = 20;

/// A program under construction.
pub(super) struct Code<'m> {
    pub insns: Vec<Insn<'m>>,
    pub place: CountingPlace,
    next_label: u32,
}

impl<'m> Code<'m> {
    pub fn new(place: CountingPlace) -> Self {
        Self {
            insns: Vec::new(),
            place,
            next_label: 0,
        }
    }

    pub fn push(&mut self, insn: Insn<'m>) {
        self.insns.push(insn);
    }

    pub fn extend(&mut self, insns: impl IntoIterator<Item = Insn<'m>>) {
        self.insns.extend(insns);
    }

    pub fn label(&mut self) -> Label {
        self.labels(1)
    }

    /// The first of `count` labels in a row.
    pub fn labels(&mut self, count: u32) -> Label {
        let first = Label(self.next_label);
        self.next_label += count;
        first
    }

    pub fn place(&mut self, label: Label) {
        self.push(AnyInsn::Place(label));
    }

    pub fn jump(&mut self, target: Label) {
        self.push(AnyInsn::Jump { target });
    }

    /// Copies the `bytes` bytes at [`OFFSET`] of the packet to [`HEADER`]; goes away if they are not
    /// there. `R0` to `R5` are lost.
    pub fn read_header(&mut self, bytes: i32, otherwise: Label) {
        let helper = if self.place.is_xdp() {
            Helper::XdpLoadBytes
        } else {
            Helper::SkbLoadBytes
        };
        self.extend([
            AnyInsn::mov(Reg::R1, CONTEXT),
            AnyInsn::mov(Reg::R2, OFFSET),
            AnyInsn::mov(Reg::R3, Reg::R10),
            AnyInsn::add(Reg::R3, i32::from(HEADER)),
            AnyInsn::mov32(Reg::R4, bytes),
            AnyInsn::Call(helper),
            AnyInsn::jump_if(filter::ebpf::Condition::NotEqual, Reg::R0, 0, otherwise),
        ]);
    }

    /// `dst =` what was read `at` bytes behind the header's beginning, in network byte order.
    pub fn load_header(&mut self, size: Size, dst: Reg, at: i16) {
        self.push(AnyInsn::load(size, dst, Reg::R10, HEADER + at));
    }
}
