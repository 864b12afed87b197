//! The XDP back end under other kernels, and on VLAN interfaces, which not every kernel supports.

use bpf::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};
use lab::{Host, Net};
use netlink::Link;
use tapline::ping::{PingError, PingOptions, XdpRefusal};
use tapline::send::SendPath;

use super::runs::xdp;
use crate::support::ping::{echoes_answered, run, try_open};

const PROBES: u32 = 200;
const BOTH: u64 = 2 * PROBES as u64;
const PATHS: [SendPath; 2] = [SendPath::LiveFrames, SendPath::Xdp];

mod newer {
    use crate::VM;

    #[test]
    fn a_vlan_whose_lower_interface_is_elsewhere_is_refused() {
        if !VM.has_run() {
            super::ping_by_a_moved_vlan();
        }
    }

    #[test]
    fn requests_by_a_vlan_have_its_tag() {
        if !VM.has_run() {
            super::ping_by_a_vlan();
        }
    }

    #[test]
    fn all_programs_load_and_count() {
        if !VM.has_run() {
            super::ping_both_ways();
        }
    }
}

mod older {
    use crate::OLDER_VM;

    #[test]
    fn requests_by_a_vlan_have_its_tag() {
        if !OLDER_VM.has_run() {
            super::ping_by_a_vlan();
        }
    }

    #[test]
    fn all_programs_load_and_count() {
        if !OLDER_VM.has_run() {
            super::ping_both_ways();
        }
    }
}

fn options(path: SendPath) -> PingOptions {
    let mut options = xdp(PROBES);
    options.send_path = path;
    options
}

/// Lets the interface take XDP frames of the other end.
fn pass_all(host: &Host) -> XdpLink {
    let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
    let program = Program::load(ProgramKind::Xdp, "tapline_pass", &code).unwrap();
    let index = host.interface().index.0;
    host.run(|| XdpLink::attach(&program, index, XdpAttachMode::Native))
        .unwrap()
}

/// Packets that the interface has received, as ip(8) says.
fn received(host: &Host, interface: &str) -> u64 {
    let text = host.ip(&format!("-s -o link show dev {interface}"));
    let (_, counters) = text.split_once("RX:").expect("counters");
    let (_, values) = counters.split_once('\\').expect("their values");
    let packets = values.split_whitespace().nth(1).expect("packets");
    packets.parse().expect("a number")
}

/// Requests leave by the lower interface; the other host's kernel takes them only at its VLAN.
fn ping_by_a_vlan() {
    let [left, right] = Net::new().pair();
    for (host, other, own, peer) in [(&left, &right, 1, 2), (&right, &left, 2, 1)] {
        let (lower, mac) = (host.interface().name, other.interface().mac);
        for line in [
            format!("link add link {lower} name v7 type vlan id 7"),
            "link set v7 up arp on".into(),
            format!("address add 10.7.0.{own}/24 dev v7"),
            format!("address add fd00:7::{own}/64 dev v7 nodad"),
            format!("neighbour replace 10.7.0.{peer} lladdr {mac} dev v7"),
            format!("neighbour replace fd00:7::{peer} lladdr {mac} dev v7"),
        ] {
            host.ip(&line);
        }
    }
    let _pass = pass_all(&right);
    for path in PATHS {
        let mut options = options(path);
        options.interface = Some("v7".into());
        let (before, at_vlan) = (echoes_answered(&right), received(&right, "v7"));
        let summary = run(&left, &options, "10.7.0.2 fd00:7::2");
        assert_eq!(summary.send_path, Some(path));
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (BOTH, BOTH), "{summary}");
        let after = echoes_answered(&right);
        let answered = [0, 1].map(|family| after[family] - before[family]);
        assert_eq!(answered, [u64::from(PROBES); 2], "{path:?}");
        assert!(received(&right, "v7") - at_vlan >= BOTH, "{path:?}");
    }
}

/// In the other namespace, the index of the lower interface is that of none, or of another one.
fn ping_by_a_moved_vlan() {
    let [left, right] = Net::new().pair();
    left.ip("link add link left0 name v7 type vlan id 7");
    let vlan = left.netlink().link_named("v7").expect("a link");
    let namespace = right.namespace().try_clone().expect("a descriptor");
    let moved = Link::at(vlan.ifindex()).in_namespace(namespace);
    left.netlink().set(&moved).expect("it is moved");
    for line in ["link set v7 up", "address add 10.7.0.1/24 dev v7"] {
        right.ip(line);
    }
    let mut options = options(SendPath::Auto);
    options.interface = Some("v7".into());
    let error = try_open(&right, &options, "10.7.0.2").expect_err("it is refused");
    let refusal = XdpRefusal::LowerNamespace { link: "v7".into() };
    assert!(
        matches!(&error, PingError::XdpRefused(found) if *found == refusal),
        "{error:?}"
    );
}

/// The kernel's answers, then a responder's; counted for each target, with histograms, and with one probe to each.
fn ping_both_ways() {
    let [left, right] = Net::new().pair();
    let pass = pass_all(&right);
    for path in PATHS {
        let mut options = options(path);
        options.histograms = true;
        let before = echoes_answered(&right);
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (BOTH, BOTH), "{summary}");
        let after = echoes_answered(&right);
        let answered = [0, 1].map(|family| after[family] - before[family]);
        assert_eq!(answered, [u64::from(PROBES); 2], "{path:?}");
        for target in [0, 1] {
            let buckets = summary.statistics.buckets(target);
            let timed: u64 = buckets.map(|(.., count)| count).sum();
            assert_eq!(timed, u64::from(PROBES), "{path:?}");
        }
    }
    drop(pass);
    let responder = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| responder.open()).unwrap();
    for path in PATHS {
        let mut options = options(path);
        options.count = Some(1);
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (2, 2), "{summary}");
    }
    assert_eq!(responder.finish().unwrap().counts.answered, 4);
}
