use std::collections::BTreeMap;

use proptest::prelude::*;
use wire::build::Frame;
use wire::protocol::link_type;
use wire::{MacAddress, TcpFields, TcpFlags};

use super::*;
use crate::flow::TcpState;

const SECOND: u64 = 1_000_000_000;

/// A TCP segment without data between port 5 of two hosts.
fn segment(from: u8, to: u8, flags: u16, sequence: u32) -> Vec<u8> {
    let address = |host: u8| std::net::Ipv4Addr::new(10, 0, 0, host);
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    Frame::ethernet(mac, mac)
        .ipv4(address(from), address(to))
        .tcp(TcpFields {
            source_port: 5,
            destination_port: 5,
            sequence,
            flags: TcpFlags(flags),
            ..TcpFields::default()
        })
        .payload(b"")
}

/// A table in virtual time, and what it has exported.
struct Rig {
    table: FlowTable,
    flows: Vec<Flow>,
}

impl Rig {
    fn new(max_flows: usize) -> Self {
        Self::with_active(max_flows, 60 * SECOND)
    }

    fn with_active(max_flows: usize, active_ns: u64) -> Self {
        let options = TableOptions {
            max_flows,
            idle_ns: 10 * SECOND,
            active_ns,
            ..TableOptions::default()
        };
        Self {
            table: FlowTable::new(&options),
            flows: Vec::new(),
        }
    }

    /// A UDP packet between host `from` and host `to`.
    fn udp(&mut self, time_ns: u64, from: u16, to: u16) {
        let address = |host: u16| std::net::Ipv4Addr::from_bits(0x0a00_0000 | u32::from(host));
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let frame = Frame::ethernet(mac, mac)
            .ipv4(address(from), address(to))
            .udp(5, 5)
            .payload(b"");
        let packet = FlowPacket::new(link_type::ETHERNET, &frame, Some(time_ns));
        let flows = &mut self.flows;
        self.table.add(&packet, &mut |flow| flows.push(*flow));
    }

    /// A TCP segment without data between host 1, port 5 and host 2, port 5.
    fn tcp(&mut self, time_ns: u64, from: u8, to: u8, flags: u16, sequence: u32) {
        let frame = segment(from, to, flags, sequence);
        let packet = FlowPacket::new(link_type::ETHERNET, &frame, Some(time_ns));
        let flows = &mut self.flows;
        self.table.add(&packet, &mut |flow| flows.push(*flow));
    }

    fn expire(&mut self, now_ns: u64) {
        let flows = &mut self.flows;
        self.table.expire_all(now_ns, &mut |flow| flows.push(*flow));
    }

    fn finish(mut self) -> (Vec<Flow>, FlowAccount) {
        let flows = &mut self.flows;
        self.table.finish(&mut |flow| flows.push(*flow));
        (self.flows, *self.table.account())
    }

    fn ended(&self) -> Vec<(EndReason, u64)> {
        let ended = self.flows.iter();
        ended.map(|flow| (flow.end, flow.packets())).collect()
    }
}

#[test]
fn a_flow_ends_when_it_was_idle() {
    let mut rig = Rig::new(10);
    rig.udp(0, 1, 2);
    rig.udp(9 * SECOND, 2, 1);
    rig.expire(18 * SECOND);
    assert_eq!(rig.ended(), []);
    // A tick of the wheel is less than 100 ms here.
    rig.expire(19 * SECOND + SECOND / 10);
    assert_eq!(rig.ended(), [(EndReason::Idle, 2)]);
    assert_eq!(rig.flows[0].duration_ns(), 9 * SECOND);
    assert_eq!(rig.table.account().flows, 0);
}

#[test]
fn a_packet_behind_a_long_gap_begins_another_flow() {
    let mut rig = Rig::new(10);
    rig.udp(0, 1, 2);
    rig.udp(9 * SECOND, 2, 1);
    rig.udp(3600 * SECOND, 1, 2);
    assert_eq!(rig.ended(), [(EndReason::Idle, 2)]);
    rig.udp(7200 * SECOND, 1, 2);
    assert_eq!(rig.ended(), [(EndReason::Idle, 2), (EndReason::Idle, 1)]);
    assert_eq!(rig.table.account().flows, 1);
}

#[test]
fn packets_alone_end_others() {
    let mut rig = Rig::new(10);
    rig.udp(0, 1, 2);
    // Each looks at a few slots only; a gap is caught up with after some packets.
    for step in 0..100 {
        rig.udp(20 * SECOND + step, 3, 4);
    }
    assert_eq!(rig.ended(), [(EndReason::Idle, 1)]);
}

#[test]
fn a_flow_that_lasts_is_exported_and_goes_on() {
    let mut rig = Rig::new(10);
    for second in 0..150 {
        rig.udp(
            second * SECOND,
            if second % 2 == 0 { 1 } else { 2 },
            if second % 2 == 0 { 2 } else { 1 },
        );
        rig.expire(second * SECOND + SECOND / 2);
    }
    rig.expire(200 * SECOND);
    let packets: Vec<u64> = rig.flows.iter().map(Flow::packets).collect();
    let reasons: Vec<EndReason> = rig.flows.iter().map(|flow| flow.end).collect();
    assert_eq!(
        reasons,
        [EndReason::Active, EndReason::Active, EndReason::Idle]
    );
    assert_eq!(packets.iter().sum::<u64>(), 150);
    // Whoever began it is the initiator of all parts.
    assert!(rig.flows.iter().all(|flow| flow.initiator < flow.responder));
    assert!(rig.flows[1].first_ns > rig.flows[0].last_ns);
    // One that was exported at its end is not exported again.
    let mut rig = Rig::new(10);
    rig.udp(0, 1, 2);
    for second in (0..=60).step_by(5) {
        rig.udp(second * SECOND, 1, 2);
    }
    rig.expire(60 * SECOND + SECOND / 2);
    rig.expire(100 * SECOND);
    assert_eq!(rig.ended(), [(EndReason::Active, 14)]);
    assert_eq!(rig.table.account().flows, 0);
}

#[test]
fn the_active_timeout_can_be_shorter_than_the_idle_one() {
    let mut rig = Rig::with_active(10, 3 * SECOND);
    // Packets at 0 and 2 s are a part, and those at 4 and 6 s; an export is late by a tick at the most.
    for step in 0..4 {
        rig.udp(step * 2 * SECOND, 1, 2);
        rig.expire(step * 2 * SECOND + SECOND + SECOND / 10);
    }
    rig.expire(8 * SECOND);
    let part = (EndReason::Active, 2);
    assert_eq!(rig.ended(), [part, part]);
}

const FIN: u16 = 1;
const SYN: u16 = 2;
const RST: u16 = 4;
const ACK: u16 = 16;

#[test]
fn connections_end_with_fin_or_rst_or_another_one() {
    let shake_hands = |rig: &mut Rig, at: u64| {
        rig.tcp(at, 1, 2, SYN, 100);
        rig.tcp(at + 3000, 2, 1, SYN | ACK, 500);
        rig.tcp(at + 5000, 1, 2, ACK, 101);
    };
    let mut rig = Rig::new(10);
    shake_hands(&mut rig, SECOND);
    rig.tcp(2 * SECOND, 1, 2, FIN | ACK, 101);
    rig.tcp(2 * SECOND, 2, 1, FIN | ACK, 501);
    rig.tcp(2 * SECOND, 1, 2, ACK, 102);
    // Its last segments belong to it; then it ends, sooner than an idle flow.
    rig.expire(6 * SECOND);
    assert_eq!(rig.flows, []);
    rig.expire(7 * SECOND + SECOND / 10);
    assert_eq!(rig.ended(), [(EndReason::Fin, 6)]);
    let tcp = rig.flows[0].tcp.expect("TCP");
    assert_eq!((tcp.rtt_ns, tcp.responder_rtt_ns), (Some(5000), Some(3000)));
    assert_eq!((tcp.state, tcp.flags), (TcpState::Closed, [0x13, 0x13]));

    let mut rig = Rig::new(10);
    shake_hands(&mut rig, SECOND);
    rig.tcp(2 * SECOND, 2, 1, RST, 501);
    // Another connection, whose SYN has another number.
    rig.tcp(3 * SECOND, 1, 2, SYN, 999);
    assert_eq!(rig.ended(), [(EndReason::Rst, 4)]);
    // The same SYN again belongs to it, another one does not.
    rig.tcp(4 * SECOND, 1, 2, SYN, 999);
    rig.tcp(5 * SECOND, 1, 2, SYN, 1001);
    assert_eq!(rig.ended(), [(EndReason::Rst, 4), (EndReason::Reused, 2)]);
    assert_eq!(rig.flows[1].tcp.expect("TCP").state, TcpState::SynSent);
    assert_eq!(rig.flows[1].tcp.expect("TCP").retransmissions, [1, 0]);
    // Of a connection whose SYN was not seen, the SYN's answer says who began it.
    let mut rig = Rig::new(10);
    rig.tcp(SECOND, 2, 1, SYN | ACK, 500);
    let (flows, _) = rig.finish();
    assert_eq!(
        flows[0].initiator.address,
        std::net::Ipv4Addr::new(10, 0, 0, 1)
    );
    assert_eq!(
        (flows[0].forward.packets, flows[0].backward.packets),
        (0, 1)
    );
}

#[test]
fn a_full_table_lets_the_longest_idle_go() {
    let mut rig = Rig::new(4);
    for host in 0..4 {
        rig.udp(u64::from(host) * SECOND, 100 + host, 1);
    }
    // The first is busy again.
    rig.udp(5 * SECOND, 100, 1);
    rig.udp(6 * SECOND, 200, 1);
    assert_eq!(rig.ended(), [(EndReason::Evicted, 1)]);
    assert_ne!(
        rig.flows[0].initiator.address,
        std::net::Ipv4Addr::new(10, 0, 0, 100)
    );
    let (flows, account) = rig.finish();
    assert_eq!((flows.len(), account.most_flows), (5, 4));
    assert_eq!(account.ended(EndReason::Evicted), 1);
}

#[test]
fn a_time_far_ahead_does_not_end_everything_after_it() {
    let mut rig = Rig::new(10);
    rig.udp(SECOND, 1, 2);
    rig.udp(1_000_000 * SECOND, 3, 4);
    for step in 2..500 {
        rig.udp(SECOND + step * SECOND / 1000, 1, 2);
    }
    let (flows, _) = rig.finish();
    // The flow of the first packet may have ended at the jump, and that is all.
    assert!(flows.len() <= 3, "{flows:?}");
    assert_eq!(flows.iter().map(Flow::packets).sum::<u64>(), 500);
}

#[test]
fn flows_end_at_any_time_that_a_file_can_have() {
    const SYN: u16 = 2;
    const RST: u16 = 4;
    for idle_ns in [1, 10 * SECOND, u64::MAX] {
        for time_ns in [0, u64::MAX - SECOND, u64::MAX] {
            let options = TableOptions {
                idle_ns,
                active_ns: idle_ns,
                ..TableOptions::default()
            };
            let mut rig = Rig {
                table: FlowTable::new(&options),
                flows: Vec::new(),
            };
            rig.tcp(time_ns, 1, 2, SYN, 0);
            rig.tcp(time_ns, 1, 2, RST, 1);
            rig.udp(time_ns, 1, 2);
            rig.expire(u64::MAX);
            let (flows, account) = rig.finish();
            assert_eq!(flows.iter().map(Flow::packets).sum::<u64>(), 3);
            assert_eq!((flows.len(), account.in_flows), (2, 3), "{flows:?}");
        }
    }
}

#[test]
fn a_table_of_many_flows_finds_each() {
    let mut rig = Rig::new(50_000);
    for round in 0..2 {
        for host in 0..50_000 {
            rig.udp(round * SECOND, host, 60_000);
        }
    }
    assert_eq!(rig.flows, []);
    let (flows, account) = rig.finish();
    assert_eq!((flows.len(), account.most_flows), (50_000, 50_000));
    assert!(flows.iter().all(|flow| flow.packets() == 2));
}

proptest! {
    /// Packets that wait are added as they are one by one.
    #[test]
    fn packets_that_wait_are_added_in_their_order(
        max_flows in 1..20_usize,
        packets in prop::collection::vec((0..12_u8, 0..12_u8, 0..4 * SECOND, 0..64_u16), 1..200),
        size in 1..40_usize,
    ) {
        let (mut one, mut other) = (Rig::new(max_flows), Rig::new(max_flows));
        let mut time_ns = 1000 * SECOND;
        for (number, (from, to, gap_ns, flags)) in packets.into_iter().enumerate() {
            time_ns += gap_ns;
            let frame = segment(from, to, flags, number as u32);
            let packet = FlowPacket::new(link_type::ETHERNET, &frame, Some(time_ns));
            let flows = &mut one.flows;
            one.table.add(&packet, &mut |flow| flows.push(*flow));
            let flows = &mut other.flows;
            let take = &mut |flow: &Flow| flows.push(*flow);
            other.table.push(&packet, take);
            if number % size == 0 {
                let flows = &mut other.flows;
                other.table.add_waiting(&mut |flow| flows.push(*flow));
                prop_assert_eq!(one.table.account(), other.table.account());
            }
        }
        prop_assert_eq!(one.finish(), other.finish());
    }

    /// No packet is lost or counted twice, and no direction is confused, whatever ends flows.
    #[test]
    fn all_packets_are_exported_once(
        max_flows in 1..20_usize,
        packets in prop::collection::vec((0..12_u16, 0..12_u16, 0..4 * SECOND, any::<bool>()), 1..400),
    ) {
        let mut rig = Rig::new(max_flows);
        let mut sent = BTreeMap::new();
        let mut time_ns = 1000 * SECOND;
        let count = packets.len() as u64;
        for (from, to, gap_ns, looks) in packets {
            time_ns += gap_ns;
            rig.udp(time_ns, from, to);
            if from != to {
                *sent.entry((from, to)).or_insert(0) += 1;
            }
            if looks {
                rig.expire(time_ns);
            }
            prop_assert!(rig.table.account().flows <= max_flows as u64);
        }
        let (flows, account) = rig.finish();
        let mut exported = BTreeMap::new();
        for flow in &flows {
            prop_assert!(flow.packets() > 0 && flow.first_ns <= flow.last_ns);
            let host = |end: crate::FlowEnd| match end.address {
                std::net::IpAddr::V4(address) => address.to_bits() as u16,
                std::net::IpAddr::V6(_) => 0,
            };
            let (one, other) = (host(flow.initiator), host(flow.responder));
            if one != other {
                *exported.entry((one, other)).or_insert(0) += flow.forward.packets;
                *exported.entry((other, one)).or_insert(0) += flow.backward.packets;
            }
        }
        exported.retain(|_, packets| *packets > 0);
        prop_assert_eq!(exported, sent);
        prop_assert_eq!(account.flows, 0);
        prop_assert_eq!(account.exported(), flows.len() as u64);
        prop_assert_eq!((account.packets, account.in_flows), (count, count));
    }
}
