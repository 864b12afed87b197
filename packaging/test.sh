#!/usr/bin/env bash
# Runs every test and ends with one line that counts them, skipped ones included.
set -uo pipefail

if [ "$(id -u)" -ne 0 ]; then
    echo "the tests make network namespaces and need root; run them with:" >&2
    echo "  sudo --preserve-env=PATH,HOME make test" >&2
    exit 1
fi
log=$(mktemp)
skips=$(mktemp)
trap 'rm -f "$log" "$skips"' EXIT

# What needs it says so where it is not there.
kernel=$PWD/target/kernel
[ "$(uname -m)" != x86_64 ] || packaging/kernel.sh "$kernel" || true
[ ! -e "$kernel/order" ] || export TAPLINE_LAB_KERNEL=$kernel

TAPLINE_SKIPS=$skips cargo test --workspace --locked --no-fail-fast 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

counted=$(awk '/^test result:/ { passed += $4; failed += $6 } END { printf "%d passed, %d failed", passed, failed }' "$log")
[ -s "$skips" ] && { echo; echo "skipped, with the reason:"; cat "$skips"; }
echo
echo "$counted, $(wc -l <"$skips") skipped"
exit "$status"
