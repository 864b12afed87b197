//! Python's and Perl's modules for libpcap return the same with libpcap and with this library.

use std::process::Command;

use lab::Net;
use lab::generator::udp_frame;

use crate::support::{BOTH, Library, begin_command, captures, end, succeed};

/// Debian's interpreter, which has Debian's modules.
const PYTHON: &str = "/usr/bin/python3";

/// pcapy. Its `loop` fails with Python 3.11, over any library.
const PYTHON_LIVE: &str = r#"
import sys, pcapy
reader = pcapy.open_live(sys.argv[1], 65535, 1, 100)
reader.setfilter("udp")
library = "tapline" if "libtapline_pcap" in open("/proc/self/maps").read() else "libpcap"
print("ready with", library, file=sys.stderr, flush=True)
packets = 0
while packets < 30:
    header, data = reader.next()
    if header is not None:
        packets += 1
        print(header.getlen(), header.getcaplen(), data.hex())
print(reader.datalink(), reader.getnet(), reader.getmask(), reader.stats())
"#;

/// Times modulo 2³²: libpcap takes those from 2038 on for times from 1901 on.
const PYTHON_FILES: &str = r"
import sys, pcapy
for path in sys.argv[1:]:
    try:
        reader = pcapy.open_offline(path)
        print(path, reader.datalink())
        while True:
            header, data = reader.next()
            if header is None:
                break
            print(*(part % 2**32 for part in header.getts()), header.getlen(), data.hex())
    except pcapy.PcapError as error:
        print(path, error)
";

/// Net::Pcap.
const PERL_LIVE: &str = r#"
use Net::Pcap;
my ($errors, $filter, %counters);
my $pcap = Net::Pcap::open_live($ARGV[0], 65535, 1, 100, \$errors) or die $errors;
Net::Pcap::compile($pcap, \$filter, "udp", 1, 0) == 0 or die Net::Pcap::geterr($pcap);
Net::Pcap::setfilter($pcap, $filter) == 0 or die Net::Pcap::geterr($pcap);
print STDERR "ready with ", Net::Pcap::lib_version(), "\n";
Net::Pcap::loop($pcap, 30, sub {
    my (undef, $header, $bytes) = @_;
    print "$header->{len} $header->{caplen} ", unpack("H*", $bytes), "\n";
}, "");
Net::Pcap::stats($pcap, \%counters) == 0 or die Net::Pcap::geterr($pcap);
print "$_ $counters{$_}\n" for sort keys %counters;
print Net::Pcap::datalink_val_to_name(Net::Pcap::datalink($pcap)), "\n";
"#;

const PERL_FILES: &str = r#"
use Net::Pcap;
for my $path (@ARGV) {
    my $errors;
    my $pcap = Net::Pcap::open_offline($path, \$errors);
    if (!$pcap) { print "$path $errors\n"; next }
    print "$path ", Net::Pcap::datalink($pcap), " ", Net::Pcap::snapshot($pcap), "\n";
    my $status = Net::Pcap::loop($pcap, -1, sub {
        my (undef, $header, $bytes) = @_;
        print $header->{tv_sec} % 2**32, " ", $header->{tv_usec} % 2**32, " $header->{len} ", unpack("H*", $bytes), "\n";
    }, "");
    print "$status ", Net::Pcap::geterr($pcap), "\n";
    Net::Pcap::close($pcap);
}
"#;

/// What a script prints of 30 UDP frames among others.
fn live(library: Library, interpreter: &str, option: &str, script: &str) -> String {
    let [left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let mut command = right.command(interpreter);
    command.args([option, script, &name]);
    let ready = match library {
        Library::Libpcap => "ready with libpcap",
        Library::Tapline => "ready with tapline",
    };
    let program = begin_command(command, library, ready);
    let mut other = udp_frame(60);
    // An EtherType for experiments.
    other[12..14].copy_from_slice(&[0x88, 0xb5]);
    left.send((0..30).flat_map(|number| [other.clone(), udp_frame(60 + number)]));
    end(program)
}

#[track_caller]
fn receives_the_same(interpreter: &str, option: &str, script: &str) {
    let [libpcap, tapline] = BOTH.map(|library| live(library, interpreter, option, script));
    let packets = libpcap.lines().filter(|line| line.contains("0800"));
    assert_eq!(packets.count(), 30, "{libpcap}");
    assert_eq!(libpcap, tapline);
}

#[track_caller]
fn reads_the_same(interpreter: &str, option: &str, script: &str) {
    let files = ["captures", "made"].map(captures).concat();
    let [libpcap, tapline] = BOTH.map(|library| {
        let mut command = Command::new(interpreter);
        command.args([option, script]).args(&files);
        succeed(library.load(&mut command)).stdout
    });
    assert!(libpcap.len() > 1 << 20, "{} bytes", libpcap.len());
    assert!(libpcap == tapline, "{interpreter}");
}

#[test]
fn python_receives_the_same() {
    receives_the_same(PYTHON, "-c", PYTHON_LIVE);
}

#[test]
fn python_reads_the_same_in_every_file_of_the_corpus() {
    reads_the_same(PYTHON, "-c", PYTHON_FILES);
}

#[test]
fn perl_receives_the_same() {
    receives_the_same("/usr/bin/perl", "-e", PERL_LIVE);
}

#[test]
fn perl_reads_the_same_in_every_file_of_the_corpus() {
    reads_the_same("/usr/bin/perl", "-e", PERL_FILES);
}
