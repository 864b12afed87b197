#!/usr/bin/env bash
# Builds the program twice, from two copies of the committed sources in folders of different names, and ends with an
# error if the two files differ: reproducible.sh FOLDER. The program is left in FOLDER, and its debugging information beside it.
#
# Paths are the only trace that the place of a build leaves: they are replaced by fixed names.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT

build() {
    local place=$1
    mkdir -p "$place"
    git archive HEAD | tar --extract --directory "$place"
    (cd "$place" &&
        CARGO_TARGET_DIR=$place/target CARGO_INCREMENTAL=0 \
        RUSTFLAGS="--remap-path-prefix=$place=/tapline --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust" \
        CFLAGS="-ffile-prefix-map=$place=/tapline -ffile-prefix-map=$cargo_home=/cargo" \
            cargo build --release --locked --quiet -p tapline-cli)
}
build "$sources/one"
build "$sources/another/place"
cmp "$sources/one/target/release/tapline" "$sources/another/place/target/release/tapline" || {
    echo "reproducible.sh: two builds of the same commit differ" >&2
    exit 1
}
for name in "$sources" "$cargo_home"; do
    if grep --quiet --fixed-strings --text "$name" "$sources/one/target/release/tapline"; then
        echo "reproducible.sh: the program names the folder $name" >&2
        exit 1
    fi
done
packaging/split-debug.sh "$sources/one/target/release/tapline" "$folder"
sha256sum "$folder/tapline"
