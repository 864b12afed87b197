#!/usr/bin/env bash
# A wrapper of rustc (RUSTC_WRAPPER) that adds counters of coverage to tapline's own crates: instrument.sh RUSTC ARGUMENTS.
set -euo pipefail

case ${CARGO_PKG_NAME:-} in
tapline*) exec "$@" -C instrument-coverage ;;
*) exec "$@" ;;
esac
