#![no_main]

use flow::{EndReason, Flow, FlowPacket, FlowTable, TableOptions};

// Packets with any bytes and any times, in tables of any size: each packet is in one place, and is exported once. A table to which
// packets are added in batches is the same.
//
// A packet is: link type, time step (2 bytes, signed seconds), length (1 byte), bytes.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&[flows, mut looks], mut rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let options = TableOptions {
        max_flows: usize::from(flows) % 16 + 1,
        idle_ns: 10_000_000_000,
        active_ns: 60_000_000_000,
        ..TableOptions::default()
    };
    let [mut table, mut batched] = [FlowTable::new(&options), FlowTable::new(&options)];
    let mut flows_of_batches = Vec::new();
    let mut take_batched = |flow: &Flow| flows_of_batches.push(*flow);
    let mut flows_of_packets = Vec::new();
    let mut exported = [0; 3];
    let mut take = |flow: &Flow| {
        assert!(flow.packets() > 0);
        exported[0] += flow.packets();
        exported[1] += flow.bytes();
        exported[2] += 1;
        flows_of_packets.push(*flow);
    };
    let mut time_ns = 1_000_000_000_000_u64;
    let mut most = 0;
    while let Some((&[kind, high, low, len], behind)) = rest.split_first_chunk::<4>() {
        let (packet, behind) = behind.split_at(behind.len().min(usize::from(len)));
        rest = behind;
        let link_type = [1, 1, 1, 101, 113, 228, 229, 276, 0, 9, 104, 12][usize::from(kind) % 12];
        let step = i64::from(i16::from_be_bytes([high, low])) * 1_000_000_000;
        time_ns = time_ns.saturating_add_signed(step);
        let packet = FlowPacket::new(link_type, packet, Some(time_ns));
        table.add(&packet, &mut take);
        looks = looks.rotate_left(1);
        batched.push(&packet, &mut take_batched);
        if looks & 1 == 1 {
            batched.add_waiting(&mut take_batched);
            assert_eq!(table.account(), batched.account());
            table.expire_all(time_ns, &mut take);
            batched.expire_all(time_ns, &mut take_batched);
        }
        most = most.max(table.account().flows);
    }
    table.finish(&mut take);
    batched.finish(&mut take_batched);
    assert_eq!(flows_of_packets, flows_of_batches);
    assert_eq!(table.account(), batched.account());
    let account = table.account();
    assert_eq!(account.packets, account.in_flows + account.not_ip + account.fragments + account.malformed);
    assert_eq!(exported[0], account.in_flows);
    assert!(exported[1] <= account.bytes);
    assert_eq!(exported[2], account.exported());
    assert_eq!(account.flows, 0);
    assert!(most <= u64::from(flows) % 16 + 1);
    assert!(account.ended(EndReason::Evicted) <= account.packets);
});
