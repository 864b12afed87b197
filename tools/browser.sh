#!/usr/bin/env bash
# Makes pages of every kind and checks them in a headless Chromium: browser.sh PROGRAM FOLDER.
set -euo pipefail

program=$(realpath "$1") folder=$2
here=$(dirname "$0")
captures=$here/../lab/corpus/captures
rm -rf "$folder"
mkdir -p "$folder"

# A page takes seconds: a command that does not end is ended, and fails.
page() { timeout 120 "$program" "$@"; }

page report -q "$captures"/resp_1_benchmark.pcap -o "$folder/capture.html"
page report -q "$captures"/edns-opts.pcap "$captures"/arp-oobr.pcap "$captures"/of10_s4810.pcap -o "$folder/captures.html"
# A packet alone, and none: without rates.
page read -q "$captures"/icmpv6.pcap -c 1 -w "$folder/one.pcapng"
page report -q "$folder/one.pcapng" -o "$folder/one.html"
page read -q "$captures"/icmpv6.pcap -w "$folder/none.pcapng" 'tcp port 1'
page report -q "$folder/none.pcapng" -o "$folder/none.html"
# A file whose name and texts are hostile.
hostile="$folder/<script>alert(1)<_script>&\"'.pcapng"
page read -q "$captures"/icmpv6.pcap --comment '</p><script>alert(1)</script><img src=http://example.com/x>' -w "$hostile"
page report -q "$hostile" -o "$folder/hostile.html"

# Of runs on the loopback interface of a network namespace: with and without answers, one setting and several.
timeout 120 unshare --net bash -euo pipefail -c 'program=$0 folder=$1
    ip link set lo up
    # Until the delays are measured.
    "$program" ping -q 127.0.0.1 127.0.0.2 -i 50ms --report "$folder/ping.html" >/dev/null & ping=$!
    "$program" latency -i lo -c 20 --report "$folder/latency.html" >/dev/null
    "$program" latency -i lo --compare --duration 1s --report "$folder/latency-settings.html" >/dev/null
    kill -TERM $ping
    wait $ping
    ip route add blackhole 192.0.2.0/24
    "$program" ping -q 192.0.2.1 -c 2 -i 50ms --report "$folder/ping-silent.html" >/dev/null || [ $? != 101 ]
' "$program" "$folder"

# The results of the benches. All packages, of which one has this bench: so cargo chooses the features of `make test`, and compiles
# the bench alone.
cargo test --quiet --locked --workspace --bench report -- --bench --page "$(realpath "$folder")/benchmarks.html" >/dev/null

python3 "$here/browser.py" chromium "$folder/pictures" "$folder"/*.html
