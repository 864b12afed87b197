#!/usr/bin/env bash
# Runs each fuzz target, or those that are named, for a number of seconds: fuzz.sh SECONDS [TARGET...].
set -euo pipefail

seconds=${1:-60}
PATH=$PATH:$PWD/target/tools/bin
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --quiet --root target/tools
cd lab/fuzz
[ $# -gt 1 ] && targets=("${@:2}") || mapfile -t targets < <(cargo +nightly fuzz list)
for target in "${targets[@]}"; do
    echo "== $target for $seconds s"
    mkdir -p "corpus/$target"
    seeds=(../corpus/captures ../corpus/made)
    [ -d "../corpus/$target" ] && seeds+=("../corpus/$target")
    made=../../target/fuzz-seeds/$target
    rm -rf "$made"
    ../../tools/fuzz-seeds.py "$target" "$made" ../corpus/captures/* ../corpus/filters/captures/*
    seeds+=("$made")
    case $target in
    read | read_stream | merge | index | report | columns) words=pcapng ;;
    *) words=$target ;;
    esac
    flags=(-max_total_time="$seconds" -max_len=6000)
    [ -f "dictionaries/$words.dict" ] && flags+=(-dict="dictionaries/$words.dict")
    cargo +nightly fuzz run "$target" "corpus/$target" "${seeds[@]}" -- "${flags[@]}"
done
