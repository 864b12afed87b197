//! Tables that a program fills, in the kernel's test runs: known numbers of packets for each key, on known CPUs.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Condition, CounterTable, Counters, FullTablePolicy, Helper, Insn, Label, Program, ProgramKind,
    Reg, Size, TableOptions,
};

const KEY: i16 = -4;
const VALUE: i16 = -24;
const COUNT: Label = Label(0);
const OTHER: Label = Label(1);
const END: Label = Label(2);

/// An XDP program that counts packets and bytes by the packet's first four bytes. Packets without room in the table are
/// counted in `other`.
fn program(table: &CounterTable<2>, other: &Counters<1>) -> Program {
    let lookup = |map| {
        [
            Insn::LoadMap { dst: Reg::R1, map },
            Insn::mov(Reg::R2, Reg::R10),
            Insn::add(Reg::R2, i32::from(KEY)),
        ]
    };
    let mut code = vec![
        Insn::load(Size::Word, Reg::R7, Reg::R1, 0),
        Insn::load(Size::Word, Reg::R8, Reg::R1, 4),
        Insn::mov(Reg::R2, Reg::R7),
        Insn::add(Reg::R2, 4),
        Insn::jump_if(Condition::Greater, Reg::R2, Reg::R8, END),
        Insn::load(Size::Word, Reg::R2, Reg::R7, 0),
        Insn::store(Size::Word, Reg::R10, KEY, Reg::R2),
        Insn::store(Size::Double, Reg::R10, VALUE, 0),
        Insn::store(Size::Double, Reg::R10, VALUE + 8, 0),
    ];
    code.extend(lookup(table.as_fd()));
    code.extend([
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, COUNT),
    ]);
    code.extend(lookup(table.as_fd()));
    code.extend([
        Insn::mov(Reg::R3, Reg::R10),
        Insn::add(Reg::R3, i32::from(VALUE)),
        Insn::mov(Reg::R4, 1),
        // Whatever it answers: another CPU may have made the key.
        Insn::Call(Helper::MapUpdateElem),
    ]);
    code.extend(lookup(table.as_fd()));
    code.extend([
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, OTHER),
        Insn::Place(COUNT),
        Insn::mov(Reg::R1, 1),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 0,
            src: Reg::R1,
        },
        Insn::alu64(tapline_bpf::Alu::Sub, Reg::R8, Reg::R7),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 8,
            src: Reg::R8,
        },
        Insn::Jump { target: END },
        Insn::Place(OTHER),
        Insn::store(Size::Word, Reg::R10, KEY, 0),
    ]);
    code.extend(lookup(other.as_fd()));
    code.extend([
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, END),
        Insn::mov(Reg::R1, 1),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 0,
            src: Reg::R1,
        },
        Insn::Place(END),
        Insn::mov(Reg::R0, 2),
        Insn::Exit,
    ]);
    Program::load(ProgramKind::Xdp, "tapline_test", &code)
        .unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

fn table(max_entries: u32, when_full: FullTablePolicy) -> CounterTable<2> {
    let options = TableOptions {
        key_bytes: 4,
        max_entries,
        when_full,
    };
    CounterTable::create("tapline_test", options).unwrap()
}

/// Runs the program on `count` packets of 100 bytes that start with `key`.
fn show(program: &Program, key: u32, count: u32) {
    let mut packet = [0; 100];
    packet[..4].copy_from_slice(&key.to_be_bytes());
    let run = TestRun {
        data: &packet,
        ..TestRun::default()
    };
    // One by one: the kernel waits for all CPUs before and after a run that repeats.
    for _ in 0..count {
        program.test_run(&run, &mut []).unwrap();
    }
}

fn rows(table: &mut CounterTable<2>) -> BTreeMap<u32, [u64; 2]> {
    let mut rows = BTreeMap::new();
    let mut add = |key: &[u8], counters| {
        let key = u32::from_be_bytes(key.try_into().unwrap());
        assert!(rows.insert(key, counters).is_none(), "{key} comes twice");
    };
    table.read(&mut add).unwrap();
    rows
}

#[test]
fn per_cpu_counters_add_up_to_the_reported_sums() {
    for when_full in [FullTablePolicy::Refuse, FullTablePolicy::Evict] {
        let mut table = table(5000, when_full);
        let other = Counters::create("tapline_test").unwrap();
        let program = program(&table, &other);
        thread::scope(|scope| {
            for cpu in 0..2 {
                let program = &program;
                scope.spawn(move || {
                    pin_to_cpu(cpu).unwrap();
                    for key in 0..1000 {
                        show(program, key, 1 + key % 3 + 10 * cpu as u32);
                    }
                });
            }
        });
        let [zero, one] = [0, 1].map(|cpu| {
            let counters = table.get_by_cpu(&2_u32.to_be_bytes()).unwrap().unwrap();
            counters[cpu]
        });
        assert_eq!((zero, one), ([3, 300], [13, 1300]));
        let rows = rows(&mut table);
        let expected = (0..1000).map(|key| {
            let packets = u64::from(2 * (1 + key % 3) + 10);
            (key, [packets, 100 * packets])
        });
        assert_eq!(rows, expected.collect());
        assert_eq!(other.read().unwrap(), [0]);
        assert_eq!(table.get(&7_u32.to_be_bytes()).unwrap(), Some([14, 1400]));
    }
}

#[test]
fn a_full_table_refuses_new_keys_and_keeps_the_old() {
    let mut table = table(64, FullTablePolicy::Refuse);
    let other = Counters::create("tapline_test").unwrap();
    let program = program(&table, &other);
    for key in 0..100 {
        show(&program, key, 2);
    }
    show(&program, 5, 1);
    let rows = rows(&mut table);
    let packets: u64 = rows.values().map(|[packets, _]| packets).sum();
    assert_eq!(rows.len(), 64);
    assert_eq!(rows[&5], [3, 300]);
    assert_eq!(packets + other.read().unwrap()[0], 201);
}

#[test]
fn a_table_that_evicts_takes_every_new_key() {
    let mut table = table(256, FullTablePolicy::Evict);
    let other = Counters::create("tapline_test").unwrap();
    let program = program(&table, &other);
    for key in 0..5000 {
        show(&program, key, 1);
    }
    let rows = rows(&mut table);
    assert_eq!(other.read().unwrap(), [0]);
    assert!(rows.len() <= 256 && rows.contains_key(&4999), "{rows:?}");
    assert!(rows.values().all(|&counters| counters == [1, 100]));
}

/// The kernel reports how much memory a map uses.
#[test]
fn room_for_a_key_takes_what_the_kernel_says() {
    for entries in [1 << 14, (1 << 14) + 1, 30_000] {
        let table = table(entries, FullTablePolicy::Refuse);
        let path = format!("/proc/self/fdinfo/{}", table.as_fd().as_raw_fd());
        let told = std::fs::read_to_string(path).unwrap();
        let told = told.lines().find_map(|line| line.strip_prefix("memlock:"));
        let bytes: u64 = told.unwrap().trim().parse().unwrap();
        let entry = CounterTable::<2>::entry_bytes(4).unwrap();
        let each = bytes / u64::from(entries);
        assert!((entry - 32..=entry).contains(&each), "{each}, not {entry}");
    }
}

#[test]
fn a_key_that_is_taken_out_is_gone() {
    let mut table = table(64, FullTablePolicy::Refuse);
    let other = Counters::create("tapline_test").unwrap();
    let program = program(&table, &other);
    for key in [1, 2] {
        show(&program, key, 1);
    }
    let [one, two] = [1_u32, 2].map(u32::to_be_bytes);
    assert!(table.remove(&one).unwrap());
    assert!(!table.remove(&one).unwrap());
    assert_eq!(table.get(&one).unwrap(), None);
    assert_eq!(table.get(&two).unwrap(), Some([1, 100]));
    assert_eq!(rows(&mut table).len(), 1);
    let wrong = table.get(&[0; 3]).unwrap_err();
    assert_eq!(wrong.kind(), std::io::ErrorKind::InvalidInput);
}
