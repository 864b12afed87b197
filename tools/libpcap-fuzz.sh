#!/usr/bin/env bash
# Runs libpcap's three fuzz targets over libtapline_pcap for a number of seconds, all at the same time: libpcap-fuzz.sh SECONDS.
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

targets=(fuzz_pcap fuzz_filter fuzz_both)
for target in "${targets[@]}"; do
    folder=$work/$target
    mkdir -p "$folder/corpus" "$folder/findings" "$folder/seeds"
    clang -g -w -fsanitize=fuzzer,address -I"$source" "$source/testprogs/fuzz/$target.c" "$library" \
        -o "$folder/$target" -lpthread -ldl -lm
    python3 "$here/libpcap-seeds.py" "$target" "$folder/seeds"
done

# None outlives this script.
declare -A running
trap '[ ${#running[@]} = 0 ] || kill "${running[@]}"' EXIT
trap 'exit 130' INT TERM
for target in "${targets[@]}"; do
    folder=$work/$target
    echo "== $target for $seconds s, output in $folder/log"
    # The targets report errors to a file that they make where they run. Long times: a busy machine makes an input slow.
    (cd "$folder" && exec "./$target" corpus seeds -max_total_time="$seconds" -max_len=20000 -timeout=120 \
        -report_slow_units=120 -rss_limit_mb=2048 -artifact_prefix=findings/ -print_final_stats=1) >"$folder/log" 2>&1 </dev/null &
    running[$target]=$!
done

# One that ends early leaves the others running.
failed=0
for target in "${targets[@]}"; do
    folder=$work/$target
    status=0
    wait "${running[$target]}" || status=$?
    unset "running[$target]"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    time=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$folder/log")
    findings=$(find "$folder/findings" -type f | wc -l)
    echo "$target: ${runs:-0} runs in ${time:-?} s, $findings findings, status $status"
    [ "$status" = 0 ] && [ "$findings" = 0 ] || failed=1
done
exit $failed
