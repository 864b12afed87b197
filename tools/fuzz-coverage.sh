#!/usr/bin/env bash
# Runs each fuzz target once over its seeds, and writes which share of the code that it tests they reach:
# fuzz-coverage.sh FOLDER TABLE. FOLDER keeps the programs, and for each target a profile and its uncovered lines.
#
# Needs a nightly toolchain with llvm-tools: rustup component add llvm-tools --toolchain nightly.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd) table=$2

host=$(rustc +nightly -vV | sed -n 's/^host: //p')
tools=$(rustc +nightly --print sysroot)/lib/rustlib/$host/bin
[ -x "$tools/llvm-cov" ] || {
    echo "fuzz-coverage.sh: run: rustup component add llvm-tools --toolchain nightly" >&2
    exit 1
}

# An input has at most so many bytes.
max_bytes=6000

# What each target tests: files, and folders, below crates.
tested() {
    case $1 in
    anonymize) echo tapline/src/read/anonymize/ ;;
    c_interface) echo c/src/netlink/ c/src/filter.rs c/src/arguments.rs ;;
    classic) echo filter/src/classic/ ;;
    columns) echo columns/src/packets.rs columns/src/addresses.rs columns/src/batch.rs ;;
    control) echo tapline/src/control/message.rs ;;
    decode) echo wire/src/application wire/src/transport/tcp_options wire/src/{record,tunnel,escaped} ;;
    filters) echo filter/src/lower/ filter/src/graph/ filter/src/backend/{interpreter,native} ;;
    flows) echo flow/src/{account,batch,decode,entries,flow,index,key,table,tcp,wheel} ;;
    index) echo store/src/index/ ;;
    key_log) echo tapline/src/key_log/ ;;
    language) echo filter/src/language/ filter/src/lower/ filter/src/graph/ filter/src/backend/classic ;;
    merge | read | read_stream) echo store/src/read/ store/src/block.rs ;;
    netlink) echo netlink/src/codec/ netlink/src/explain.rs ;;
    probe) echo probe/src/ ;;
    report) echo tapline/src/analysis/ cli/src/page/ ;;
    rpcap) echo tapline/src/rpcap/{fields,interface_list,message,packet,start}.rs ;;
    send) echo tapline/src/send/{generate,rewrite}/ tapline/src/send/replay/{roles,clients}.rs ;;
    steering) echo tapline/src/steering/setting.rs ;;
    toolbar) echo cli/src/extcap/message.rs ;;
    wire) echo wire/src/{link,network}/ wire/src/transport/{tcp,udp}.rs wire/src/{dissect,packet_id,protocol}.rs ;;
    *) echo "fuzz-coverage.sh: what does $1 test?" >&2 && exit 1 ;;
    esac
}

RUSTC_WRAPPER=$PWD/tools/instrument.sh RUSTFLAGS="--cfg fuzzing" CARGO_INCREMENTAL=0 \
    cargo +nightly build --quiet --locked --manifest-path lab/fuzz/Cargo.toml --target-dir "$folder/target" --bins
{
    echo "# What the fuzz targets reach"
    echo
    echo "\`make fuzz-coverage\` writes this page: the code that each fuzz target tests, and the share of it that the seeds of the target reach"
    echo "before any fuzzing. \`make fuzz\` starts from the same seeds."
    echo
    echo "- **Seeds** are the captures in \`lab/corpus/captures\` and \`lab/corpus/made\`, the folder of \`lab/corpus\` that has the target's name,"
    echo "  and packets of the captures in the form that the target reads (\`tools/fuzz-seeds.py\`). Of each, $max_bytes bytes are read."
    echo "- **Tests** names files and folders below \`crates\`. Code beside them that the target also runs is not counted."
    echo "- **Lines and regions** are those that llvm-cov counts in tapline's crates, which $(rustc +nightly --version | cut -d ' ' -f 1,2) builds"
    echo "  with \`-C instrument-coverage\`. Each program runs its seeds once (\`-runs=0\`)."
    echo "- The lines that no seed reaches are then in \`target/fuzz-coverage/TARGET.uncovered\`."
    echo
    echo "| target | tests | seeds | KiB | lines | covered | regions | covered |"
    echo "|---|---|---:|---:|---:|---:|---:|---:|"
} >"$folder/table"
for source in lab/fuzz/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    program=$folder/target/debug/$target
    tested=$(tested "$target")
    seeds=(lab/corpus/captures lab/corpus/made)
    [ ! -d "lab/corpus/$target" ] || seeds+=("lab/corpus/$target")
    rm -rf "$folder/seeds"
    tools/fuzz-seeds.py "$target" "$folder/seeds" lab/corpus/captures/* lab/corpus/filters/captures/*
    seeds+=("$folder/seeds")
    LLVM_PROFILE_FILE=$folder/$target.profraw "$program" -runs=0 -max_len=$max_bytes "${seeds[@]}" >"$folder/$target.log" 2>&1 ||
        { tail -n 5 "$folder/$target.log" >&2; exit 1; }
    "$tools/llvm-profdata" merge --sparse --output "$folder/$target.profdata" "$folder/$target.profraw"
    rm "$folder/$target.profraw"
    pattern=$(printf '^%s|' $(printf 'crates/%s\n' $tested))
    bytes=$(find "${seeds[@]}" -type f -printf '%s\n' | awk -v most="$max_bytes" '{ bytes += $1 < most ? $1 : most } END { print bytes }')
    # Sources that a target includes have names such as "lab/fuzz/fuzz_targets/../../../crates/…".
    "$tools/llvm-cov" export --format=text --summary-only --instr-profile "$folder/$target.profdata" "$program" |
        jq --raw-output --arg root "$PWD/" --arg pattern "${pattern%|}" --arg target "$target" --arg tested "$(tr ' ' '\n' <<<"$tested" | sed 's/.*/`&`/' | paste -s -d ' ')" \
            --arg seeds "$(find "${seeds[@]}" -type f | wc -l)" --arg bytes "$bytes" '
            def plain: if test("[^/]+/\\.\\./") then sub("[^/]+/\\.\\./"; "") | plain else . end;
            [.data[0].files[] | select(.filename | plain | ltrimstr($root) | test($pattern)) | .summary]
            | (map(.lines.count) | add) as $lines | (map(.lines.covered) | add) as $line
            | (map(.regions.count) | add) as $regions | (map(.regions.covered) | add) as $region
            | def share($part; $whole): "\(1000 * $part / $whole | round / 10) %";
            "| \($target) | \($tested) | \($seeds) | \(($bytes | tonumber) / 1024 | round) | \($lines) | \(share($line; $lines)) | \($regions) | \(share($region; $regions)) |"' \
            >>"$folder/table"
    # Lines that no seed reaches, with their text.
    "$tools/llvm-cov" export --format=lcov --instr-profile "$folder/$target.profdata" "$program" |
        awk -F '[:,]' -v root="$PWD/" -v pattern="${pattern%|}" '
            $1 == "SF" {
                file = $2
                while (match(file, "[^/]+/[.][.]/")) file = substr(file, 1, RSTART - 1) substr(file, RSTART + RLENGTH)
                sub(root, "", file)
                chosen = file ~ pattern
            }
            chosen && $1 == "DA" && $3 == 0 { print file ":" $2 }' |
        awk -F : '
            $1 != file { file = $1; lines = 0; while ((getline line < file) > 0) text[++lines] = line; close(file) }
            { print $0 ":" text[$2] }' >"$folder/$target.uncovered"
done
cp "$folder/table" "$table"
cat "$table"
