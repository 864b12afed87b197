#!/usr/bin/env bash
# Builds the filter engine for aarch64 and runs its tests there, its native code too, under QEMU's user
# emulation. Left out are the tests that attach filters to the running kernel, which is not of that
# architecture.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
rustup target add "$target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"

cargo test --locked --target "$target" -p tapline-filter --lib --test main -- --skip kernel::
