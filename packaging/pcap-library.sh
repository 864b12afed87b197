#!/usr/bin/env bash
# Installs the library with libpcap's interface below a prefix.
#
#   pcap-library.sh libtapline_pcap.so FOLDER    the library, its header, and links with libpcap's names into FOLDER
set -euo pipefail

library=$1 folder=$2
here=$(cd "$(dirname "$0")/.." && pwd)
name=libtapline_pcap.so.1

install -d "$folder/lib/tapline" "$folder/include"
install -m 644 "$library" "$folder/lib/$name"
strip --strip-debug "$folder/lib/$name"
install -m 644 "$here/crates/pcap/include/tapline_pcap.h" "$folder/include/"
# What programs ask for: on Debian, and elsewhere. A folder of its own, so that only LD_LIBRARY_PATH leads there.
for libpcap in libpcap.so.0.8 libpcap.so.1; do
    ln -sf "../$name" "$folder/lib/tapline/$libpcap"
done
