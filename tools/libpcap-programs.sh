#!/usr/bin/env bash
# Runs libpcap's own test programs, and tshark on files, over libpcap and over another library, in a network namespace of their own,
# and compares what they print: libpcap-programs.sh LIBRARY. Requires root.
set -euo pipefail

library=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
if [ "${2:-}" != inside ]; then
    export LIBPCAP_SOURCE=$("$here/libpcap-source.sh")
    exec unshare --net -- "$0" "$library" inside
fi

source=$LIBPCAP_SOURCE/testprogs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
deadline_s=20
packets=500
failed=0

# threadsignaltest sleeps for a minute before it breaks the loop of the other thread; here for two seconds.
build() {
    sed 's/sleep_secs(60)/sleep_secs(2)/' "$source/$1.c" >"$work/$1.c"
    : >"$work/config.h"
    # config.h of a build would say that these are there. Warnings are libpcap's.
    gcc -w -D_GNU_SOURCE -DHAVE_STRERROR -DHAVE_UNISTD_H -I"$work" -I"$source" -I"$LIBPCAP_SOURCE" \
        "$work/$1.c" -o "$work/$1" -lpcap -pthread
}

# A new pair of interfaces: the programs receive on `right`.
interfaces() {
    ip link del right 2>/dev/null || true
    ip link add left type veth peer name right
    local interface
    for interface in left right; do
        sysctl -qw "net.ipv6.conf.$interface.disable_ipv6=1"
        ip link set "$interface" arp off up
    done
    ip addr add 198.18.0.2/24 dev right
}

send() {
    python3 - "$packets" <<'PYTHON'
import socket, sys, time
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("left", 0))
ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
ip = bytes.fromhex("4500002e000040004011" "0000" "c6120001" "c6120002")
udp = bytes.fromhex("00090009001a0000") + bytes(18)
for _ in range(int(sys.argv[1])):
    sender.send(ethernet + ip + udp)
    # In immediate mode a ring holds some thirty packets that offloads may join.
    time.sleep(0.001)
PYTHON
}

# until WHAT COMMAND: waits for a command to succeed.
until_done() {
    local what=$1 end=$((SECONDS + deadline_s))
    shift
    until "$@"; do
        if [ $SECONDS -gt $end ]; then
            echo "$what: not within $deadline_s s" >&2
            return 1
        fi
        read -rt 0.02 <> <(:) || true
    done
}

# The packets that a program has counted so far, in both of its ways.
counted() {
    grep -o "[0-9]* packets seen, [0-9]* packets counted" "$work/out" |
        awk '{ seen += $1; counted += $4 } END { print seen + 0, counted + 0 }'
}

has_all() { [ "$(counted)" = "$packets $packets" ]; }
is_ready() { grep -q "^Listening on" "$work/out"; }

# capture END PROGRAM ARGUMENTS: runs a program until it has all packets, and ends it by a signal or by removing the interface.
capture() {
    local end=$1 preload=$2 status=0 pid
    shift 2
    interfaces
    : >"$work/out"
    # --foreground passes the signal to the program alone.
    LD_PRELOAD=$preload timeout --foreground -k 1 $((3 * deadline_s)) stdbuf -oL "$work/$1" "${@:2}" >"$work/out" 2>"$work/err" &
    pid=$!
    if ! until_done "$1 listens" is_ready; then
        kill -KILL $pid || true
    elif [ "$end" != itself ]; then
        send
        until_done "$1 counts $packets packets" has_all || true
        case $end in
            interrupt) kill -INT $pid ;;
            remove) ip link del right ;;
        esac
    fi
    wait $pid || status=$?
    # How many packets a call brings depends on the library.
    echo "packets $(counted), status $status"
    # Threads print in any order, and a signal may come after the end.
    grep -v "packets seen\|^Poll returned\|^Poll timed out\|^Select returned\|^Select timed out\|^No packets\|ps_recv\|^$" "$work/out" |
        grep -v "^Got SIGUSR1" | sort || true
    sed "s/^/err: /" "$work/err"
}

# once PROGRAM ARGUMENTS: runs a program that ends by itself.
once() {
    local preload=$1 status=0 sender=
    shift
    interfaces
    if [ "$1" = nonblocktest ]; then
        # A packet ends its loop.
        packets=5000 send 2>/dev/null &
        sender=$!
    fi
    LD_PRELOAD=$preload timeout -k 1 $deadline_s "$work/$1" "${@:2}" >"$work/out" 2>"$work/err" || status=$?
    [ -z "$sender" ] || kill $sender
    echo "status $status"
    # Pseudo devices that are no network interfaces, up to the next empty line.
    sed '/^\(bluetooth\|nflog\|nfqueue\|dbus\|usbmon\)/,/^$/d' "$work/out"
    sed "s/^/err: /" "$work/err"
}

# descriptors: nonblocktest, which fills the table of descriptors, with a small one.
descriptors() {
    (ulimit -n 64 && once "$1" nonblocktest -i right)
}

# filters: which filters filtertest accepts. The programs that it prints are those of another compiler.
filters() {
    local preload=$1 filter dlt
    for dlt in EN10MB RAW LINUX_SLL IEEE802_11_RADIO; do
        while read -r filter; do
            if LD_PRELOAD=$preload "$work/filtertest" -O "$dlt" "$filter" >"$work/out" 2>&1; then
                echo "$dlt: $filter: $(grep -c "^([0-9]*)" "$work/out" | sed 's/^[1-9].*/a program/')"
            else
                echo "$dlt: $filter: refused"
            fi
        done <<'FILTERS'
ip
tcp port 80
host 10.0.0.1 and not udp
ip6 proto 6
vlan 5 and ip
ether host 02:00:00:00:00:01
portrange 1000-2000
less 100
no such words
port
net 300.1.1.1
FILTERS
    done
}

# files: what tshark prints of each capture file of the corpus.
files() {
    local preload=$1 file
    for file in "$here"/../lab/corpus/{captures,made,filters/captures,pcapng/le,pcapng/be}/*.pcap*; do
        echo "${file##*/}: $(LD_PRELOAD=$preload tshark -n -V -x -r "$file" 2>&1 | sha256sum)"
    done
}

expected=
# The lines that only one of the libraries prints have to be $expected.
expect_difference() {
    local found
    found=$(diff "$work/theirs" "$work/ours" | grep "^[<>]" || true)
    if [ "$found" = "$expected" ]; then
        echo "differs as documented: $1"
    else
        printf 'DIFFERENT: %s\n%s\n' "$1" "$found"
        failed=1
    fi
}

# compare NAME FUNCTION ARGUMENTS: the function with both libraries.
compare() {
    local name=$1 function=$2
    shift 2
    local arguments=("$@")
    if [ "$function" = capture ]; then
        capture "$1" "" "${@:2}" >"$work/theirs"
        capture "$1" "$library" "${@:2}" >"$work/ours"
    else
        "$function" "" "$@" >"$work/theirs"
        "$function" "$library" "$@" >"$work/ours"
    fi
    if [ -n "$expected" ]; then
        expect_difference "$name"
    elif diff -u --label libpcap "$work/theirs" --label "$library" "$work/ours"; then
        echo "same: $name"
    else
        echo "DIFFERENT: $name"
        failed=1
    fi
}

ip link set lo up
for program in capturetest filtertest findalldevstest nonblocktest opentest reactivatetest can_set_rfmon_test selpolltest \
    threadsignaltest; do
    build $program
done

compare "capturetest, a handler breaks the loop" capture interrupt capturetest -s -b -i right -t 100
compare "capturetest, immediate" capture interrupt capturetest -s -b -m -i right -t 100
# libpcap finds the request of the handler only behind another packet.
compare "capturetest, nonblocking" capture remove capturetest -n -i right
compare "capturetest, with a filter" capture interrupt capturetest -s -b -i right -t 100 udp
compare "capturetest, any" capture interrupt capturetest -s -b -i any -t 100 inbound and udp
compare "selpolltest, dispatch" capture remove selpolltest -i right
compare "selpolltest, select" capture remove selpolltest -i right -s
compare "selpolltest, poll" capture remove selpolltest -i right -p
compare "selpolltest, select with a timeout" capture remove selpolltest -i right -s -t
compare "selpolltest, poll, nonblocking" capture remove selpolltest -i right -p -n
compare threadsignaltest capture itself threadsignaltest -i right
compare "threadsignaltest, without a signal" capture itself threadsignaltest -i right -n
compare filtertest filters
compare opentest once opentest -i right
compare "opentest, any" once opentest -i any -p
compare "opentest, missing" once opentest -i missing0
compare "opentest, pcap_open_live" once opentest -a -i missing0
compare "opentest, snaplen and buffer" once opentest -i right -s 100 -B 1000000
compare reactivatetest once reactivatetest
compare can_set_rfmon_test once can_set_rfmon_test right
compare "can_set_rfmon_test, missing" once can_set_rfmon_test missing0
compare findalldevstest once findalldevstest
compare "tshark, every file of the corpus" files
# docs/limits.md: pcap_setnonblock needs no descriptor.
expected='< status 0
> status 1
< err: nonblocktest: WARNING: pcap_setnonblock failed as expected: Could not open eventfd: Too many open files
> err: nonblocktest: pcap_setnonblock succeeded even though file table is full'
compare nonblocktest descriptors
exit $failed
