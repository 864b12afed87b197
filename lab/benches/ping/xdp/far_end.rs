//! Who answers on the other host.

use bpf::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};
use tapline::ping::{Responder, respond};
use tapline_lab::Host;

use crate::harness::empty_program;
use crate::rig::Rig;

const XDP_PASS: i32 = 2;

/// What the other host does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// An XDP program drops them.
    Drop,
    /// `ping --respond` answers in the driver.
    Responder,
    /// The network stack answers, behind an XDP program that passes everything: a veth interface takes XDP frames only if it
    /// has one. It copies each packet of the other end's sockets for the program.
    Kernel,
    /// The network stack answers, and no interface has a program.
    Plain,
}

/// Programs that are detached on drop.
#[derive(Debug)]
pub struct Running {
    pub responder: Option<Responder>,
    _links: Vec<XdpLink>,
}

impl FarEnd {
    /// Starts it. A veth interface takes XDP frames only if it has a program itself: `has_own` says that the prober
    /// attaches one to its interface.
    pub fn start(self, rig: &Rig, has_own: bool) -> Running {
        let mut links = Vec::new();
        let mut responder = None;
        match self {
            Self::Drop => links.push(attach(&rig.right, &empty_program())),
            Self::Kernel => links.push(attach(&rig.right, &pass())),
            Self::Plain => {}
            Self::Responder => {
                let name = rig.right.interface().name.to_string();
                let options = respond(name).mode(XdpAttachMode::Native);
                responder = Some(rig.right.run(|| options.open()).expect("it answers"));
                if !has_own {
                    links.push(attach(&rig.left, &pass()));
                }
            }
        }
        Running {
            responder,
            _links: links,
        }
    }
}

/// Lets the interface take XDP frames of the other end.
pub fn attach_pass(host: &Host) -> XdpLink {
    attach(host, &pass())
}

fn pass() -> Program {
    let code = [Insn::mov32(Reg::R0, XDP_PASS), Insn::Exit];
    let program = Program::load(ProgramKind::Xdp, "tapline_bench", &code);
    program.expect("the kernel takes the program")
}

fn attach(host: &Host, program: &Program) -> XdpLink {
    let index = host.interface().index.0;
    let link = host.run(|| XdpLink::attach(program, index, XdpAttachMode::Native));
    link.expect("no other program is attached")
}
