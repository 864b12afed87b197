//! Programs whose `select` is constant for all packets: the verifier accepts them, and their verdicts are correct.

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Insn, Label, PacketSelection, Program, RingBufferProgram, RingBufferProgramOptions,
    SlotProgram, SlotProgramOptions, XskProgram, XskProgramOptions,
};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

fn verdict(program: &Program) -> u32 {
    let run = TestRun {
        data: &[7; 60],
        ..TestRun::default()
    };
    let result = program.test_run(&run, &mut [0; 256]).unwrap();
    result.return_value
}

/// Selects all packets, or none.
fn always(target: Label) -> [Insn<'static>; 1] {
    [Insn::Jump { target }]
}

#[test]
fn one_answer_for_all_packets_is_enough_for_slots() {
    pin_to_cpu(0).unwrap();
    for (to, expected, counts) in [
        (PacketSelection::MATCH, XDP_DROP, (1, 0)),
        (PacketSelection::NO_MATCH, XDP_PASS, (0, 1)),
    ] {
        let slot_program = SlotProgram::load(&SlotProgramOptions {
            selection: PacketSelection {
                code: &always(to),
                ..PacketSelection::default()
            },
            ..SlotProgramOptions::new(96)
        })
        .unwrap();
        assert_eq!(verdict(slot_program.program()), expected);
        let counted = slot_program.counters();
        assert_eq!((counted.delivered, counted.unmatched), counts);
    }
}

#[test]
fn one_answer_for_all_packets_is_enough_for_sockets() {
    for (to, counts) in [
        (PacketSelection::MATCH, (1, 0)),
        (PacketSelection::NO_MATCH, (0, 1)),
    ] {
        let redirect = XskProgram::load(&XskProgramOptions {
            selection: PacketSelection {
                code: &always(to),
                ..PacketSelection::default()
            },
            ..XskProgramOptions::new(1)
        })
        .unwrap();
        assert_eq!(verdict(redirect.program()), XDP_PASS);
        let counted = redirect.counters().unwrap();
        assert_eq!((counted.lost, counted.unmatched), counts);
    }
}

#[test]
fn one_answer_for_all_packets_is_enough_for_ring_buffers() {
    for (to, counts) in [
        (PacketSelection::MATCH, (1, 0)),
        (PacketSelection::NO_MATCH, (0, 1)),
    ] {
        let (mirror, _buffers) = RingBufferProgram::load(&RingBufferProgramOptions {
            selection: PacketSelection {
                code: &always(to),
                ..PacketSelection::default()
            },
            ..RingBufferProgramOptions::new(96)
        })
        .unwrap();
        assert_eq!(verdict(mirror.program()), XDP_PASS);
        let counted = mirror.counters().unwrap();
        assert_eq!((counted.delivered, counted.unmatched), counts);
    }
}
