//! Compares the counting filter with the kernel's own run of the same classic program.
//!
//! The filter of a receiving socket sees a datagram through a local socket pair as a packet, so every program can run
//! on arbitrary bytes. libpcap (through tcpdump) compiles the expressions.

use crate::support::{Bed, Random, compare, libpcap, options};
use abi::bpf::SockFilter;
use tapline_bpf::socket_filter::{CountingFilter, CountingFilterError, TranslateError};

const EXPRESSIONS: [&str; 52] = [
    "",
    "ip",
    "ip6",
    "arp",
    "rarp",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "igmp",
    "sctp",
    "vlan",
    "vlan 7",
    "vlan 7 and ip",
    "mpls",
    "pppoes",
    "broadcast",
    "multicast",
    "ether host 02:00:00:00:00:01",
    "ether src 02:00:00:00:00:02",
    "ether proto 0x0800",
    "host 10.0.0.1",
    "src host 10.0.0.1",
    "dst host 10.0.0.2",
    "net 10.0.0.0/8",
    "not net 10.0.0.0/8",
    "host fd00::1",
    "net fd00::/16",
    "port 53",
    "src port 53",
    "dst port 80",
    "portrange 1-1024",
    "tcp port 443",
    "udp port 53",
    "tcp port 80 or udp port 53",
    "port 53 and host 10.0.0.1",
    "tcp[tcpflags] & tcp-syn != 0",
    "tcp[13] = 24",
    "ip[8] < 64",
    "ip[0] & 0xf > 5",
    "ether[0] & 1 = 1",
    "len > 100",
    "less 60",
    "greater 128",
    "ip proto 17 and udp[8:4] = 0x01020304",
    "ip[2:2] % 3 = 0",
    "ip[2:2] / 7 > 9",
    "icmp[icmptype] = icmp-echo",
    "ip[6:2] & 0x1fff = 0",
    "ip broadcast",
    "ether[100] = 0",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
];

/// Frames that match most of the expressions, complete and truncated.
fn frames(random: &mut Random) -> Vec<Vec<u8>> {
    let mut frames = vec![vec![0], vec![0; 14], vec![0xff; 60]];
    for _ in 0..400 {
        let mut frame = frame(random);
        if random.below(4) == 0 {
            frame.truncate(1 + random.below(frame.len() as u32) as usize);
        }
        frames.push(frame);
    }
    frames
}

fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = vec![
        2,
        0,
        0,
        0,
        0,
        random.choose(&[1, 2]),
        2,
        0,
        0,
        0,
        0,
        random.choose(&[1, 2]),
    ];
    if random.below(8) == 0 {
        frame[..6].fill(0xff);
    }
    if random.below(4) == 0 {
        frame.extend([0x81, 0, 0, random.choose(&[7, 8])]);
    }
    match random.below(8) {
        0 => frame.extend([8, 6]),
        1 => frame.extend([0x86, 0xdd]),
        2 => frame.extend((random.next() as u16).to_be_bytes()),
        _ => frame.extend([8, 0]),
    }
    let ip = frame.len();
    let rest = 20 + random.below(160) as usize;
    frame.append(&mut random.bytes(rest));
    if frame[ip - 2..ip] == [8, 0] {
        ipv4(random, &mut frame[ip..]);
    } else {
        frame[ip + 6] = random.choose(&[6, 17, 58]);
        frame[ip + 8..ip + 20].copy_from_slice(&[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    frame
}

fn ipv4(random: &mut Random, header: &mut [u8]) {
    header[0] = 0x40 | random.choose(&[5, 5, 5, 6, 15]);
    let fragment = random.choose(&[0, 0, 0, 1]);
    header[6..8].copy_from_slice(&[0, fragment]);
    header[9] = random.choose(&[1, 6, 6, 17, 17, 2, 132]);
    header[12..16].copy_from_slice(&[10, 0, 0, random.choose(&[1, 2])]);
    header[16..20].copy_from_slice(&[random.choose(&[10, 192]), 0, 0, random.choose(&[1, 2])]);
    let at = (header[0] & 15) as usize * 4;
    if let Some(ports) = header.get_mut(at..at + 4) {
        ports[..2].copy_from_slice(&random.choose(&[53u16, 80, 443, 40000]).to_be_bytes());
        ports[2..].copy_from_slice(&random.choose(&[53u16, 80, 443, 40000]).to_be_bytes());
    }
}

#[test]
fn libpcaps_programs_give_the_kernels_verdicts() {
    let frames = frames(&mut Random(1));
    for expression in EXPRESSIONS {
        compare(expression, &libpcap(expression), &frames);
    }
}

fn statement(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Random instructions of the whole instruction set, with all jumps inside the program.
fn program(random: &mut Random) -> Vec<SockFilter> {
    const PLAIN: [u16; 36] = [
        0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x00, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1, 0x02, 0x03,
        0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74,
        0x7c, 0x84, 0x94, 0x9c, 0xa4, 0xac,
    ];
    const JUMPS: [u16; 8] = [0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d];
    // Those whose value is the same for both sockets.
    const PROPERTIES: [u32; 9] = [0, 4, 8, 20, 24, 32, 40, 44, 48];
    let mut code: Vec<SockFilter> = Vec::new();
    for word in 0..16 {
        code.push(statement(0x00, random.next()));
        code.push(statement(0x02, word));
    }
    let body = 4 + random.below(40);
    for left in (0..body).rev() {
        let next = match random.below(10) {
            0..=2 => SockFilter {
                code: random.choose(&JUMPS),
                jt: random.below(left.min(9) + 1) as u8,
                jf: random.below(left.min(9) + 1) as u8,
                k: small_or_large(random),
            },
            3 => statement(0x05, random.below(left.min(5) + 1)),
            4 => statement(random.choose(&[0x07, 0x87]), 0),
            5 => statement(
                random.choose(&[0x20, 0x28, 0x30]),
                0xffff_f000 + random.choose(&PROPERTIES),
            ),
            6 if random.below(4) == 0 => statement(random.choose(&[0x06, 0x16]), random.below(99)),
            _ => {
                let code = random.choose(&PLAIN);
                operation(random, code)
            }
        };
        code.push(next);
    }
    code.push(statement(
        random.choose(&[0x06, 0x16]),
        small_or_large(random),
    ));
    code
}

fn operation(random: &mut Random, code: u16) -> SockFilter {
    let k = match code {
        0x60 | 0x61 | 0x02 | 0x03 => random.below(16),
        0x64 | 0x74 => random.below(32),
        0x34 | 0x94 => random.next().max(1),
        0x20..=0x50 | 0xb1 => random.choose(&[0, 4, 12, 14, 30, 59, 60, 0xfff0_0000, 0xffe0_0002]),
        _ => small_or_large(random),
    };
    statement(code, k)
}

fn small_or_large(random: &mut Random) -> u32 {
    match random.below(3) {
        0 => random.below(64),
        1 => 0x8000_0000 | random.next(),
        _ => random.next(),
    }
}

#[test]
fn random_programs_give_the_kernels_verdicts() {
    let mut random = Random(2);
    let packets: Vec<Vec<u8>> = (0..24).map(|n| random.bytes(1 + n * 3)).collect();
    for number in 0..400 {
        let code = program(&mut random);
        compare(&format!("program {number}: {code:?}"), &code, &packets);
    }
}

#[test]
fn a_division_by_a_zero_x_refuses() {
    let packets = [vec![0; 20], vec![1; 20]];
    for divide in [0x3c, 0x9c] {
        let code = [
            statement(0x30, 0), // A = first byte
            statement(0x07, 0), // X = A
            statement(0x00, 9), // A = 9
            statement(divide, 0),
            statement(0x06, 5),
        ];
        compare("division", &code, &packets);
    }
}

#[test]
fn dead_code_is_left_out() {
    let code = [
        statement(0x05, 1),
        statement(0x06, 1),
        statement(0x06, 7),
        statement(0x06, 3),
    ];
    compare("dead code", &code, &[vec![1; 20]]);
}

#[test]
fn a_filter_that_only_refuses_loads() {
    compare("refuse", &[statement(0x06, 0)], &[vec![1; 20]]);
}

#[test]
fn the_largest_classic_program_is_translated() {
    let mut code = vec![statement(0x04, 1); 4095];
    code.push(statement(0x16, 0));
    compare("4096 instructions", &code, &[vec![1; 20]]);
}

#[test]
fn the_snaplen_cuts_what_the_filter_leaves() {
    for (returned, snaplen, kept) in [(40, 10, 10), (10, 40, 10), (u32::MAX, 33, 33)] {
        let counting =
            CountingFilter::load(&[statement(0x06, returned)], &options(snaplen)).unwrap();
        assert_eq!(Bed::counting(&counting).pass(&[1; 60]).unwrap().len(), kept);
    }
}

#[test]
fn a_payload_offset_has_no_translation() {
    let code = [statement(0x20, 0xffff_f000 + 52), statement(0x16, 0)];
    assert!(Bed::classic(&code).is_some(), "the kernel has it");
    let error = CountingFilter::load(&code, &options(1)).unwrap_err();
    let CountingFilterError::Translate(why) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        why,
        TranslateError::Ancillary {
            at: 0,
            property: 52
        }
    );
}

#[test]
fn invalid_programs_are_refused_as_by_the_kernel() {
    let programs: [&[SockFilter]; 8] = [
        &[],
        &[statement(0x00, 1)],
        &[statement(0x05, 5), statement(0x06, 0)],
        &[statement(0x34, 0), statement(0x06, 0)],
        &[statement(0x64, 32), statement(0x06, 0)],
        &[statement(0x60, 16), statement(0x06, 0)],
        &[statement(0xff, 0), statement(0x06, 0)],
        &[
            SockFilter {
                code: 0x15,
                jt: 0,
                jf: 9,
                k: 0,
            },
            statement(0x06, 0),
        ],
    ];
    for code in programs {
        assert!(Bed::classic(code).is_none(), "{code:?}");
        assert!(CountingFilter::load(code, &options(1)).is_err(), "{code:?}");
    }
}

#[test]
fn the_counters_outlive_the_sockets() {
    let counting = CountingFilter::load(&[statement(0x06, 1)], &options(1)).unwrap();
    for _ in 0..3 {
        Bed::counting(&counting).pass(&[0; 9]);
    }
    assert_eq!(counting.counts().unwrap().accepted, 3);
}
