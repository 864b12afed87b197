//! The commands that are run with faults, and what must be true when one of them reports success.

/// What a successful run must have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Printed what it prints without a fault.
    Same,
    /// Written [`SENT`] packets to files of this name, or reported those that are missing as lost.
    Captured(&'static str),
    /// Printed [`SENT`] packets.
    Printed,
    /// Left `DIR/out.pcapng` as it is without a fault, but for the times in it.
    File,
    /// Left a file of this name, as large as without a fault.
    Bytes(&'static str),
    /// Sent to the left host what its summary reports.
    Sends,
    /// Accounted for each probe.
    Pings,
    /// Left the network namespace, a new one each time, as it is without a fault.
    Configures,
    /// Like [`Configures`](Self::Configures), and if it failed, as it was before.
    Undoes,
    /// Nothing that can be compared.
    Ends,
}

/// A command line of `tapline`.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// `DIR` is a folder with the captures `in.pcap` and `ip.pcap`, `SEND` a command that sends [`SENT`] packets from the left
    /// host, `CORPUS` a file.
    pub line: &'static str,
    pub check: Check,
}

/// Packets that `SEND` sends, to UDP port 9 of the right host.
pub const SENT: u64 = 20;

const fn case(line: &'static str, check: Check) -> Case {
    Case { line, check }
}

/// Commands that end by themselves. They run at the right host, whose interface is `right0`.
pub const CASES: &[Case] = &[
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcap udp dst port 9 -- SEND",
        Check::Captured("a.pcap"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --no-sandbox udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --queues 2 udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --index --rotate-packets 7 udp dst port 9 -- SEND",
        Check::Captured("a_"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --backend packet-v2 udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --backend xdp-ringbuf --direction in -s 96 udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --mode drop udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --json -w DIR/a.pcapng --mode drop -s 96 udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i any --buffer 1M --json -w DIR/a.pcapng udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M --who --json -w DIR/a.pcapng udp dst port 9 -- SEND",
        Check::Captured("a.pcapng"),
    ),
    case(
        "capture -i right0 --buffer 1M udp dst port 9 -- SEND",
        Check::Printed,
    ),
    case(
        "capture -i right0 --buffer 1M -w DIR/a.pcapng.zst udp dst port 9 -- SEND",
        Check::Ends,
    ),
    case(
        "capture -i right0 --buffer 1M -w DIR/a.pcapng --record 1MiB --trigger udp --after 1ms udp dst port 9 -- SEND",
        Check::Ends,
    ),
    case(
        "capture -i right0 --buffer 1M -q --name faults --metrics 127.0.0.1:0 -- CTL stats -n faults",
        Check::Ends,
    ),
    case(
        "capture -i right0 --buffer 1M -q --name faults -- CTL filter -n faults udp",
        Check::Ends,
    ),
    case("capture -D", Check::Ends),
    case("read CORPUS", Check::Same),
    case("read --json CORPUS", Check::Same),
    case("read --summary CORPUS", Check::Same),
    case("read CORPUS CORPUS -w DIR/out.pcapng", Check::File),
    case("read CORPUS -w DIR/out.pcapng.zst", Check::Ends),
    case("read CORPUS --sort -w DIR/out.pcapng", Check::File),
    case("read CORPUS -c 3 -x ether[0]>0", Check::Same),
    case("read CORPUS --anonymize -w DIR/out.pcapng.zst", Check::Ends),
    case(
        "read DIR/ip.pcap -w DIR/out.parquet",
        Check::Bytes("out.parquet"),
    ),
    case("read DIR/ip.pcap -w DIR/table --partition", Check::Ends),
    case(
        "read DIR/ip.pcap --split flow -w DIR/flow.pcapng",
        Check::Ends,
    ),
    case("flows DIR/ip.pcap", Check::Same),
    case("flows --json DIR/ip.pcap", Check::Same),
    case(
        "flows -q DIR/ip.pcap -w DIR/out.parquet",
        Check::Bytes("out.parquet"),
    ),
    case("flows -i right0 --json --duration 20ms", Check::Ends),
    case(
        "report -q DIR/ip.pcap -o DIR/page.html",
        Check::Bytes("page.html"),
    ),
    case("index --again DIR/in.pcap", Check::Ends),
    case("read --index DIR/in.pcap host 10.0.0.1", Check::Ends),
    case(
        "count -i right0 --interval 10ms --duration 30ms --json udp=udp",
        Check::Ends,
    ),
    case("count -i right0 --by src --duration 20ms", Check::Ends),
    case(
        "count -i right0 --ingress tc --duration 20ms --metrics 127.0.0.1:0",
        Check::Ends,
    ),
    case("ping -c 3 -i 0.01 -W 0.2 --json 10.1.0.1", Check::Pings),
    case(
        "ping -c 3 -i 0.01 -W 0.2 --json --backend raw 10.1.0.1",
        Check::Pings,
    ),
    case(
        "ping -c 3 -i 0.01 -W 0.2 --json --backend ring 10.1.0.1",
        Check::Pings,
    ),
    case(
        "ping -q -c 1 -W 0.1 --json --backend xdp -I right0 10.1.0.1",
        Check::Pings,
    ),
    case(
        "ping -q -c 1 -W 0.1 --fail-loss 100% --json --backend xdp -I right0 --state DIR/state 10.1.0.0/28",
        Check::Pings,
    ),
    case("ping -c 2 -i 0.01 -W 0.2 10.1.0.1 fd00:1::1", Check::Ends),
    case("latency -i right0 --duration 20ms --json", Check::Ends),
    case(
        "latency -i right0 -c 5 --direction in --duration 20ms",
        Check::Ends,
    ),
    case(
        "send -i right0 --udp --dst 10.1.0.1 -c 100 --json --path live-frames",
        Check::Sends,
    ),
    case(
        "send -i right0 --udp --dst 10.1.0.1 -c 100 --json --path xdp",
        Check::Sends,
    ),
    case(
        "send -i right0 --udp --dst 10.1.0.1 -c 100 --json --path bypass",
        Check::Sends,
    ),
    case(
        "send -i right0 --udp --dst 10.1.0.1 -c 30 --rate 10000pps --json --path qdisc",
        Check::Sends,
    ),
    case("send -i right0 -r CORPUS --json", Check::Sends),
    case(
        "send -i right0 --udp --dst 10.1.0.1 -c 100 -w DIR/out.pcapng",
        Check::File,
    ),
    case("filter tcp port 80 and host 10.0.0.1", Check::Same),
    case("filter --packet CORPUS stp", Check::Same),
    case("filter --emit ebpf udp", Check::Same),
    case("explain DIR/message", Check::Same),
    case("doctor", Check::Ends),
    case("doctor -i right0 --json", Check::Ends),
    case("generate DIR/generated", Check::Same),
    case("ctl list", Check::Same),
    case("monitor link -c 1", Check::Ends),
    case("link show", Check::Same),
    case("addr show --json", Check::Same),
    case("route show table all", Check::Same),
    case("neigh show", Check::Same),
    case("netns", Check::Same),
    case("vrf show", Check::Same),
    case("maddr show", Check::Same),
    case("fdb show", Check::Same),
    case("vlan show", Check::Same),
    case("mdb show", Check::Same),
    case("ethtool show right0", Check::Same),
    case("extcap --extcap-interfaces", Check::Same),
    case(
        "link add b0 address 02:00:00:00:00:b0 type bridge",
        Check::Configures,
    ),
    case(
        "link add v0 address 02:00:00:00:00:a0 type veth peer name v1 address 02:00:00:00:00:a1",
        Check::Configures,
    ),
    case("link set lo up mtu 9000", Check::Configures),
    case("addr add 10.9.0.1/24 dev lo", Check::Configures),
    case("rule add from 10.9.0.0/16 table 7", Check::Configures),
    case("nexthop add id 7 blackhole", Check::Configures),
    case("route add blackhole 10.9.0.0/16", Check::Configures),
    case("tuntap add dev t0 mode tun", Check::Configures),
    case("netns add faults", Check::Configures),
    case("batch DIR/batch", Check::Configures),
    case("batch --undo DIR/batch", Check::Undoes),
];

/// The lines of `DIR/batch`.
pub const BATCH: &str = "\
link add d1 address 02:00:00:00:00:d1 type bridge
link set d1 up mtu 1400
addr add 10.8.0.1/24 dev d1
route add 10.7.0.0/16 via 10.8.0.2
link add d2 address 02:00:00:00:00:d2 type bridge
link show d2
";
