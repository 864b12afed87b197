#!/usr/bin/env bash
# Builds the program as one file that needs nothing else, and checks that: static.sh FOLDER. Beside it are the licences of the code in it.
#
# The C library in it is musl, since that of Debian loads libraries at run time to look up names.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
most_bytes=$((12 * 1000 * 1000))
target=$(uname -m)-unknown-linux-musl
if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
    rustup target add "$target"
fi
# Without Parquet and Arrow, and with relocations in a packed form (DT_RELR), which musl has since 1.2.4: the file is to stay small.
cargo build --profile small --locked -p tapline-cli --no-default-features --target "$target" \
    --config "target.$target.rustflags = ['-Clink-arg=-Wl,-z,pack-relative-relocs']"
packaging/split-debug.sh "target/$target/small/tapline" "$folder"

packaging/licences.sh "$folder/third-party-licences.txt" "$target" -p tapline-cli --no-default-features

program=$folder/tapline
if readelf --program-headers --dynamic --wide "$program" | grep -E 'INTERP|NEEDED'; then
    echo "static.sh: $program needs other files" >&2
    exit 1
fi
bytes=$(stat --format=%s "$program")
if [ "$bytes" -gt "$most_bytes" ]; then
    echo "static.sh: $program has $bytes bytes, more than $most_bytes" >&2
    exit 1
fi
# Names are looked up without files that a static program could lack.
"$program" filter 'host 127.0.0.1 and tcp port 80' >/dev/null
# What it lacks, it says.
status=0
"$program" read -q lab/corpus/captures/icmpv6.pcap --format parquet -w /dev/null 2>/dev/null || status=$?
[ "$status" = 4 ]
echo "$program: $bytes bytes, static"
