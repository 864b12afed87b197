#!/usr/bin/env bash
# Runs each of libpcap's fuzz targets over libtapline_pcap for a number of seconds, one after another: libpcap-fuzz.sh SECONDS.
# The library is built with coverage and AddressSanitizer, and a panic ends the process. Prints the number of runs, the time and
# the findings of each target; inputs that fail stay in target/libpcap-fuzz/TARGET/findings.
set -euo pipefail

seconds=${1:-3600}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
cd "$root"
source=$("$here/libpcap-source.sh")
work=$root/target/libpcap-fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p "$work"

# What cargo-fuzz sets.
export RUSTFLAGS="-Zsanitizer=address -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions --cfg fuzzing"
# The generator of native code is not used here, and takes long to optimise.
cargo +nightly rustc --quiet --locked --target "$triple" --target-dir "$work/build" \
    --config profile.dev.package.cranelift-codegen.opt-level=0 -p tapline-pcap --lib --crate-type staticlib
library=$work/build/$triple/debug/libtapline_pcap.a

failed=0
for target in fuzz_pcap fuzz_filter fuzz_both; do
    folder=$work/$target
    mkdir -p "$folder/corpus" "$folder/findings"
    clang -g -w -fsanitize=fuzzer,address -I"$source" "$source/testprogs/fuzz/$target.c" "$library" \
        -o "$folder/$target" -lpthread -ldl -lm
    mkdir -p "$folder/seeds"
    python3 "$here/libpcap-seeds.py" "$target" "$folder/seeds"
    log=$folder/log
    start=$SECONDS status=0
    echo "== $target for $seconds s, output in $log"
    # Crashes of one input do not end the run of the others.
    (cd "$folder" && "./$target" corpus seeds -max_total_time="$seconds" -max_len=20000 -timeout=20 \
        -rss_limit_mb=2048 -artifact_prefix=findings/ -print_final_stats=1) >"$log" 2>&1 || status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    findings=$(find "$folder/findings" -type f | wc -l)
    echo "$target: ${runs:-0} runs in $((SECONDS - start)) s, $findings findings, status $status"
    [ "$status" = 0 ] && [ "$findings" = 0 ] || failed=1
done
exit $failed
