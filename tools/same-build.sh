#!/usr/bin/env bash
# Looks for what would make two builds of a commit differ, in a fraction of the time of two release builds:
# same-build.sh PROGRAM. PROGRAM is a debug build of `tapline` in this folder.
#
# 1. Its read-only data do not name this machine, this folder, or today: what a build script or a macro put there. Paths of
#    dependencies, of code that they generate, and of Rust's library are left out, because a release replaces them.
# 2. The crates that parse, with their dependencies, of which one is in C, are built twice in folders of different names.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)

objcopy --dump-section ".rodata=$work/rodata" "$program" "$work/program"
strings --bytes=8 "$work/rodata" | sed "s|$PWD/target/||g; s|$cargo_home||g; s|$sysroot||g; s|${RUSTUP_HOME:-$HOME/.rustup}||g" >"$work/text"
[ "$(wc -l <"$work/text")" -gt 1000 ] || { echo "same-build.sh: $program has no text" >&2; exit 1; }
host=$(uname -n)
words=("$PWD" "$(uname -v)" "$(uname -r)" "$(date +%F)" "$(date '+%b %e %Y')")
# A short name is part of other words.
[ "${#host}" -lt 8 ] || words+=("$host")
for word in "${words[@]}"; do
    if found=$(grep --max-count=3 --fixed-strings --regexp="$word" "$work/text"); then
        echo "same-build.sh: $program contains \"$word\", so that another machine or day builds another program:" >&2
        echo "$found" >&2
        exit 1
    fi
done

# build FOLDER: builds the crates from a copy of the sources in FOLDER, with the flags of reproducible.sh.
build() {
    local place=$1
    mkdir -p "$place"
    git ls-files --cached --others --exclude-standard | tar --create --files-from - | tar --extract --directory "$place"
    (cd "$place" &&
        CARGO_TARGET_DIR=$place/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 \
        RUSTFLAGS="--remap-path-prefix=$place=/tapline --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust" \
        CFLAGS="-ffile-prefix-map=$place=/tapline -ffile-prefix-map=$cargo_home=/cargo" \
            cargo build --locked --quiet -p tapline-flow -p tapline-netlink -p tapline-probe -p tapline-store)
    (cd "$place/target/debug/deps" && sha256sum ./*.rlib) >"$place.sums"
}
# Side by side: neither keeps all CPUs busy, since its crates wait for each other.
build "$work/one" &
one=$!
build "$work/another/place"
wait "$one"
diff "$work/one.sums" "$work/another/place.sums" || {
    echo "same-build.sh: these libraries differ between two builds of the same sources" >&2
    exit 1
}
echo "$(wc -l <"$work/one.sums") libraries are the same in two builds; $program names neither this machine nor its folder"
