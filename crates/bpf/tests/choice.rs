//! Programs whose `select` says the same of every packet: the verifier takes them, and they do it.

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Insn, Intake, IntakeOptions, Label, Mirror, MirrorOptions, Program, Redirect, RedirectOptions,
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

/// What takes, or does not take, all packets.
fn always(target: Label) -> [Insn<'static>; 1] {
    [Insn::Jump { target }]
}

#[test]
fn one_answer_for_all_packets_is_enough_for_slots() {
    pin_to_cpu(0).unwrap();
    for (to, expected, counts) in [
        (Intake::TAKE, XDP_DROP, (1, 0)),
        (Intake::OTHERS, XDP_PASS, (0, 1)),
    ] {
        let intake = Intake::load(&IntakeOptions {
            select: &always(to),
            ..IntakeOptions::new(96)
        })
        .unwrap();
        assert_eq!(verdict(intake.program()), expected);
        let counted = intake.counts();
        assert_eq!((counted.taken, counted.others), counts);
    }
}

#[test]
fn one_answer_for_all_packets_is_enough_for_sockets() {
    for (to, counts) in [(Redirect::TAKE, (1, 0)), (Redirect::OTHERS, (0, 1))] {
        let redirect = Redirect::load(&RedirectOptions {
            select: &always(to),
            ..RedirectOptions::new(1)
        })
        .unwrap();
        assert_eq!(verdict(redirect.program()), XDP_PASS);
        let counted = redirect.counts().unwrap();
        assert_eq!((counted.unsteered, counted.others), counts);
    }
}

#[test]
fn one_answer_for_all_packets_is_enough_for_ring_buffers() {
    for (to, counts) in [(Mirror::TAKE, (1, 0)), (Mirror::OTHERS, (0, 1))] {
        let (mirror, _buffers) = Mirror::load(&MirrorOptions {
            select: &always(to),
            ..MirrorOptions::new(96)
        })
        .unwrap();
        assert_eq!(verdict(mirror.program()), XDP_PASS);
        let counted = mirror.counts().unwrap();
        assert_eq!((counted.mirrored, counted.others), counts);
    }
}
