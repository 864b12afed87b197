//! Instructions under construction, and the layout of the stack.

use filter::ebpf::{Helper, Insn as AnyInsn, Label, Reg, Size};

use super::section::CountingHook;
use crate::Insn;

/// Filter fragments use the 384 bytes below `R10`. Values that must survive them are below.
pub(super) const COUNTERS: i16 = -392;
/// Number of packets on the wire.
pub(super) const PACKETS: i16 = -400;
/// Their bytes.
pub(super) const BYTES: i16 = -408;
/// Group key.
pub(super) const KEY: i16 = -432;
/// Initial value of a new group.
pub(super) const VALUE: i16 = -448;
/// Buffer for headers while the program determines the kind of packet.
pub(super) const HEADER: i16 = -512;
/// Later reused for the marks of the classes that match the packet.
pub(super) const MARKS: i16 = HEADER;
/// A word of marks with no mark set.
pub(super) const BLANK: i16 = MARKS + 32;
/// Offset of the next header in the packet. Fragments use the register, too, but only later.
pub(super) const OFFSET: Reg = Reg::R9;
/// The program's context, where fragments expect it.
pub(super) const CONTEXT: Reg = Reg::R6;

/// Offset in `struct __sk_buff`.
pub(super) const VLAN_PRESENT: i16 = 20;

/// A program under construction.
pub(super) struct Code<'m> {
    pub insns: Vec<Insn<'m>>,
    pub place: CountingHook,
    next_label: u32,
}

impl<'m> Code<'m> {
    pub fn new(place: CountingHook) -> Self {
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

    /// The first of `count` consecutive labels.
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

    /// Copies `bytes` packet bytes at [`OFFSET`] to [`HEADER`]; jumps if the packet is too short. Clobbers `R0` to `R5`.
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

    /// `dst =` the bytes read at offset `at` of the header, in network byte order.
    pub fn load_header(&mut self, size: Size, dst: Reg, at: i16) {
        self.push(AnyInsn::load(size, dst, Reg::R10, HEADER + at));
    }
}
