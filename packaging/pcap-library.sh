#!/usr/bin/env bash
# Installs the library with libpcap's interface below a prefix.
#
#   pcap-library.sh libtapline_pcap.so FOLDER [LIBDIR]
#
# The library and links with libpcap's names go into FOLDER/LIBDIR (default: lib), its header into FOLDER/include. With KEEP_DEBUG
# set, the library keeps its debugging information.
set -euo pipefail

library=$1 folder=$2 libdir=${3:-lib}
here=$(cd "$(dirname "$0")/.." && pwd)
name=libtapline_pcap.so.1

install -d "$folder/$libdir/tapline" "$folder/include"
install -m 644 "$library" "$folder/$libdir/$name"
[ -n "${KEEP_DEBUG:-}" ] || strip --strip-debug "$folder/$libdir/$name"
install -m 644 "$here/crates/pcap/include/tapline_pcap.h" "$folder/include/"
# What programs ask for: on Debian, and elsewhere. A folder of its own, so that only LD_LIBRARY_PATH leads there.
for libpcap in libpcap.so.0.8 libpcap.so.1; do
    ln -sf "../$name" "$folder/$libdir/tapline/$libpcap"
done
