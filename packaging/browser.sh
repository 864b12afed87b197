#!/usr/bin/env bash
# Makes pages of every kind and checks them in a headless Chromium: browser.sh PROGRAM FOLDER.
set -euo pipefail

program=$1 folder=$2
here=$(dirname "$0")
captures=$here/../lab/corpus/captures
rm -rf "$folder"
mkdir -p "$folder"

"$program" report -q "$captures"/resp_1_benchmark.pcap -o "$folder/capture.html"
"$program" report -q "$captures"/edns-opts.pcap "$captures"/arp-oobr.pcap "$captures"/of10_s4810.pcap -o "$folder/captures.html"
# A file whose name and texts are hostile.
hostile="$folder/<script>alert(1)<_script>&\"'.pcapng"
"$program" read -q "$captures"/icmpv6.pcap --comment '</p><script>alert(1)</script><img src=http://example.com/x>' -w "$hostile"
"$program" report -q "$hostile" -o "$folder/hostile.html"

python3 "$here/browser.py" chromium "$folder/pictures" "$folder"/*.html
