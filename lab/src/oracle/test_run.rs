//! Runs eBPF filters in the kernel by `BPF_PROG_TEST_RUN`.

use abi::bpf::TestRun;
use bpf::{FilterMaps, LoadError, Program, ProgramKind};
use filter::classic::Ancillary;
use filter::{Filter, FilterErrorReason, FilterTarget};

use super::engine::Engine;
use super::packet::Packet;

/// Maximum packet size of a test run: a page minus the kernel's overhead.
const MOST_BYTES: usize = 3400;

/// A filter as an XDP or tc program in the kernel, run on given packets with `BPF_PROG_TEST_RUN`.
pub struct KernelTestRun {
    program: Program,
    at: FilterTarget,
}

impl KernelTestRun {
    /// Loads the filter's eBPF program. Returns `None` if its arithmetic needs more than the eBPF stack.
    ///
    /// # Panics
    /// If the verifier rejects the program. The message has the end of the verifier's log.
    pub fn load(filter: &Filter) -> Option<Self> {
        let fragment = match filter.ebpf() {
            Ok(fragment) => fragment,
            Err(error) if error.reason == FilterErrorReason::TooManyRegisters => return None,
            Err(error) => panic!("{error}"),
        };
        let at = filter.options().target;
        let kind = match at {
            FilterTarget::Xdp => ProgramKind::Xdp,
            _ => ProgramKind::Tc,
        };
        let maps = FilterMaps::create("tapline_lab", &fragment).expect("maps of the sets");
        let code = fragment.program(fragment.snaplen_verdicts());
        let code = maps.resolve(&code).expect("a map for each set");
        match Program::load(kind, "tapline_lab", &code) {
            Ok(program) => Some(Self { program, at }),
            Err(LoadError::Refused { log, .. }) => {
                let text = filter.text();
                panic!(
                    "the verifier rejected the program for {at}: {text}\n{}",
                    log.tail(20)
                )
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The metadata of every packet in a test run.
    pub fn ancillary() -> Ancillary {
        Ancillary {
            packet_type: Some(0),
            // The loopback interface.
            interface_index: Some(1),
            queue: Some(0),
            vlan_tag: None,
        }
    }
}

impl Engine for KernelTestRun {
    fn name(&self) -> &'static str {
        match self.at {
            FilterTarget::Xdp => "kernel, XDP",
            _ => "kernel, tc",
        }
    }

    /// The kernel requires an Ethernet header and, for tc, a payload; for IP, at least the fixed IP header
    /// (`bpf_prog_test_run_skb`, net/bpf/test_run.c).
    fn answers(&self, packet: &Packet) -> bool {
        let least = match (self.at, packet.bytes.get(12..14)) {
            (FilterTarget::Xdp, _) => 14,
            (_, Some([0x08, 0x00])) => 14 + 20,
            (_, Some([0x86, 0xdd])) => 14 + 40,
            _ => 15,
        };
        packet.is_whole()
            && packet.ancillary == Self::ancillary()
            && (least..=MOST_BYTES).contains(&packet.bytes.len())
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        let run = TestRun {
            data: &packet.bytes,
            ..TestRun::default()
        };
        let result = self.program.test_run(&run, &mut []);
        let result = result.unwrap_or_else(|error| panic!("{} bytes: {error}", packet.bytes.len()));
        result.return_value
    }
}
