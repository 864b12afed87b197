//! Filters on an interface, with a known number of packets of each kind: an XDP program that drops, and a tc program
//! with several filters that counts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::filters::load;
use lab::generator::{pin_to_cpu, send_frames, udp_frame};
use lab::rerun::has_run_alone;
use lab::{Host, Net};
use tapline_bpf::{
    Alu, Condition, FilterMaps, Insn, Label, Map, Program, ProgramKind, Reg, Size, TcHook, TcLink,
    XdpAttachMode, XdpLink,
};
use tapline_filter::ebpf::{Fragment, Verdicts, prologue};
use tapline_filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};

const DEADLINE: Duration = Duration::from_secs(10);

/// Destination port of the last packet of a test, which no filter drops.
const LAST: u16 = 7099;

fn filter(expression: &str, at: FilterTarget) -> Filter {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = at;
    Filter::new(expression, &options, &NoNames).unwrap()
}

fn listen(host: &Host, port: u16) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap());
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// Waits for the last packet. Earlier packets have then arrived too, because one CPU sends and receives all of them.
fn wait_for_last(socket: &UdpSocket) {
    let mut buffer = [0; 9];
    socket.recv(&mut buffer).expect("the last packet arrives");
}

/// Number of queued datagrams; must be less than 1000.
fn waiting(socket: &UdpSocket) -> usize {
    socket.set_nonblocking(true).unwrap();
    let mut buffer = [0; 9];
    let mut receive = |_: &u32| socket.recv(&mut buffer).is_ok();
    (0..1000).take_while(&mut receive).count()
}

/// Alone: a process that another test just starts holds a copy of the link, with which the program stays attached.
#[test]
fn an_xdp_filter_drops_what_it_accepts_or_what_it_refuses() {
    const XDP_DROP: u32 = 1;
    const XDP_PASS: u32 = 2;
    if has_run_alone() {
        return;
    }
    let [left, right] = Net::new().pair();
    let sockets = [7001, 7002, LAST].map(|port| listen(&right, port));
    let to = right.interface().v4;
    for (accept, reject, expected) in [(XDP_DROP, XDP_PASS, [0, 70]), (XDP_PASS, XDP_DROP, [50, 0])]
    {
        let expression = format!("udp dst port 7001 or udp dst port {LAST}");
        let expression = match accept {
            XDP_DROP => "udp dst port 7001",
            _ => &expression,
        };
        let verdicts = Verdicts { accept, reject };
        let (program, _) = load(&filter(expression, FilterTarget::Xdp), Some(verdicts));
        let index = right.interface().index.0;
        let link = right.run(|| XdpLink::attach(&program, index, XdpAttachMode::Native).unwrap());
        left.run(|| {
            pin_to_cpu(0).unwrap();
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            let ports = [[7001; 50].as_slice(), &[7002; 70], &[LAST]].concat();
            for port in ports {
                socket.send_to(b"datagram", (to, port)).unwrap();
            }
        });
        wait_for_last(&sockets[2]);
        let arrived = [waiting(&sockets[0]), waiting(&sockets[1])];
        assert_eq!(arrived, expected, "{expression}");
        drop(link);
    }
}

/// Adds 1 to a counter.
fn count(counters: &Map, at: usize) -> [Insn<'_>; 3] {
    let (dst, src) = (Reg::R1, Reg::R2);
    let map = counters.as_fd();
    let offset = 8 * i16::try_from(at).unwrap();
    [
        Insn::LoadMapValue { dst, map },
        Insn::mov(src, 1),
        Insn::AtomicAdd {
            base: dst,
            offset,
            src,
        },
    ]
}

/// A tc program with one u64 counter per filter for the packets that it accepts, and one for packets with a nonlinear
/// part. Passes all packets.
fn counting(filters: &[Filter], counters: &Map) -> Program {
    let fragments: Vec<Fragment> = filters
        .iter()
        .map(|filter| filter.ebpf().unwrap())
        .collect();
    let maps: Vec<FilterMaps> = fragments
        .iter()
        .map(|fragment| FilterMaps::create("tapline_test", fragment).unwrap())
        .collect();
    let direct_bytes = fragments.iter().map(|fragment| fragment.direct_bytes).max();
    let mut code = prologue(
        filters[0].options().target,
        direct_bytes.unwrap(),
        [Label(0), Label(1)],
    );
    let mut first = 2;
    for (at, (fragment, maps)) in fragments.iter().zip(&maps).enumerate() {
        let to = |Label(number)| Label(first + number);
        let resolved = maps.resolve(&fragment.code).unwrap();
        code.extend(resolved.into_iter().map(|insn| insn.with_label(to)));
        code.push(Insn::Place(to(Fragment::ACCEPT)));
        code.extend(count(counters, at));
        code.push(Insn::Place(to(Fragment::REJECT)));
        first += fragment.labels;
    }
    // `len` of `struct __sk_buff` is its first field.
    code.extend([
        Insn::load(Size::Word, Reg::R1, Reg::R6, 0),
        Insn::mov(Reg::R2, Reg::R8),
        Insn::alu64(Alu::Sub, Reg::R2, Reg::R7),
        Insn::jump_if(Condition::LessOrEqual, Reg::R1, Reg::R2, Label(first)),
    ]);
    code.extend(count(counters, filters.len()));
    code.extend([
        Insn::Place(Label(first)),
        Insn::mov32(Reg::R0, -1),
        Insn::Exit,
    ]);
    Program::load(ProgramKind::Tc, "tapline_test", &code)
        .unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

fn read<const N: usize>(counters: &Map) -> [u64; N] {
    let mut bytes = vec![0; 8 * N];
    counters.read(&mut bytes).unwrap();
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_ne_bytes(words[at]))
}

/// A datagram with VLAN tags.
fn tagged(tags: &[u16], bytes: usize) -> Vec<u8> {
    let plain = udp_frame(bytes);
    let tags = tags
        .iter()
        .flat_map(|tag| [0x8100_u16.to_be_bytes(), tag.to_be_bytes()]);
    let (addresses, rest) = plain.split_at(12);
    [
        addresses,
        tags.flatten().collect::<Vec<u8>>().as_slice(),
        rest,
    ]
    .concat()
}

#[test]
fn a_tc_filter_sees_stripped_vlan_tags_and_those_in_the_packet() {
    let [left, right] = Net::new().pair();
    let last = listen(&right, LAST);
    let counters = Map::value("tapline_test", 7 * 8).unwrap();
    let index = right.interface().index;
    let expressions = [
        "vlan".into(),
        "vlan 7".into(),
        "vlan 7 and udp dst port 9".into(),
        "vlan 7 and vlan 8 and ip src 198.18.0.1".into(),
        format!("udp and ifindex {} and not vlan", index.0),
        "inbound and len = 104".into(),
    ];
    let filters =
        expressions.map(|expression: String| filter(&expression, FilterTarget::TcIngress));
    let program = counting(&filters, &counters);
    let link = right.run(|| TcLink::attach(&program, index.0, TcHook::Ingress).unwrap());
    let to = right.interface().v4;
    left.run(|| {
        pin_to_cpu(0).unwrap();
        let of = |count, tags: &[u16]| vec![tagged(tags, 100); count];
        let mut kinds = vec![of(3, &[]), of(5, &[7]), of(11, &[8]), of(17, &[7, 8])];
        // A tag is not a part of the packet that tc sees: these have 104 bytes there.
        kinds.push(vec![tagged(&[7, 9], 100); 23]);
        let frames = kinds.concat();
        send_frames(left.interface().index, &frames).unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.send_to(b"last", (to, LAST)).unwrap();
    });
    wait_for_last(&last);
    drop(link);
    let seven = 5 + 17 + 23;
    let [all, id, ports, two, none, length, paged] = read(&counters);
    assert_eq!([all, id, ports, two], [seven + 11, seven, 5, 17]);
    // The last datagram is without a tag, too.
    assert_eq!([none, length], [3 + 1, 17 + 23]);
    assert_eq!(paged, 0);
}

#[test]
fn a_tc_filter_looks_behind_the_linear_part() {
    const SEGMENTS: [usize; 2] = [20, 30];
    let [left, right] = Net::new().pair();
    let counters = Map::value("tapline_test", 4 * 8).unwrap();
    let payload = "tcp dst port 7003 and tcp[((tcp[12] & 0xf0) >> 2)";
    let expressions = [
        format!("{payload}:4] = 0x4d415443"),
        format!("{payload} + 590:2] = 0x4141 and len > 600"),
        "tcp dst port 7003 and ether[320] = 0x41".into(),
    ];
    let filters = expressions.map(|expression: String| filter(&expression, FilterTarget::TcEgress));
    let program = counting(&filters, &counters);
    let index = left.interface().index.0;
    let _link = left.run(|| TcLink::attach(&program, index, TcHook::Egress).unwrap());
    let to = SocketAddrV4::new(right.interface().v4, 7003);
    let listener = right.run(|| TcpListener::bind(to).unwrap());
    let mut sender = left.run(|| TcpStream::connect_timeout(&to.into(), DEADLINE).unwrap());
    let (mut receiver, _) = listener.accept().unwrap();
    for socket in [&sender, &receiver] {
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
    }
    for (count, start) in SEGMENTS.into_iter().zip([b"MATC", b"OTHE"]) {
        for _ in 0..count {
            let mut bytes = vec![b'A'; 600];
            bytes[..4].copy_from_slice(start);
            // One segment is under way at a time, so none is joined with another.
            sender.write_all(&bytes).unwrap();
            receiver.read_exact(&mut bytes).unwrap();
            receiver.write_all(&[1]).unwrap();
            sender.read_exact(&mut [0]).unwrap();
        }
    }
    let [first, both, fixed, paged] = read(&counters);
    let all = (SEGMENTS[0] + SEGMENTS[1]) as u64;
    assert_eq!([first, both, fixed], [SEGMENTS[0] as u64, all, all]);
    assert_eq!(
        paged, all,
        "the payload of a segment is not in its linear part"
    );
}
