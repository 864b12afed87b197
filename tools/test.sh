#!/usr/bin/env bash
# Runs every test and ends with one line that counts them, skipped ones included.
#
# Builds all test programs, then runs as many side by side as there are CPUs. The output of each is in a file of its own.
# A program that has not ended after TAPLINE_TEST_LIMIT seconds (2400) is ended, and fails; its output names the tests that
# were running.
# Tests in modules called `alone` measure, or need all CPUs: they follow one at a time. A program that crashes, or
# reports no result, counts as a failed test.
set -uo pipefail

if [ "$(id -u)" -ne 0 ]; then
    echo "the tests make network namespaces and need root; run them with:" >&2
    echo "  sudo --preserve-env=PATH,HOME make test" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/runs"
export TAPLINE_SKIPS=$work/skips
: >"$TAPLINE_SKIPS"

# Tests that need these kernels are skipped, and counted, where they are missing. They are fetched while the tests are built.
kernel=$PWD/target/kernel older=$PWD/target/older-kernel
{ [ "$(uname -m)" != x86_64 ] || { tools/kernel.sh "$kernel"; tools/kernel.sh "$older" bookworm; }; } >"$work/kernels" 2>&1 &

# On a fresh clone nothing can be reused, and its state for the next build costs time.
[ -e target/debug ] || export CARGO_INCREMENTAL=0
cargo test --workspace --locked --no-run --message-format=json-render-diagnostics >"$work/messages" ||
    { echo "the tests do not compile: 0 passed, 1 failed, 0 skipped"; exit 1; }
wait
cat "$work/kernels"
[ ! -e "$kernel/order" ] || export TAPLINE_LAB_KERNEL=$kernel
[ ! -e "$older/order" ] || export TAPLINE_LAB_OLDER_KERNEL=$older
# Folder of the package and path of the program. Those that take longest first: of the command and of the C library, then
# the largest.
sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"overflow_checks":[a-z]*,"test":true.*"executable":"\([^"]*\)".*|\1 \2|p' \
    "$work/messages" | while read -r folder program; do
    case $folder in */crates/cli | */crates/c) first=1 ;; *) first=0 ;; esac
    echo "$first $(stat -c %s "$program") $folder $program"
done | sort -k1,1rn -k2,2rn | cut -d' ' -f3- >"$work/programs"
[ -s "$work/programs" ] || { echo "no test program was built: 0 passed, 1 failed, 0 skipped"; exit 1; }

limit=${TAPLINE_TEST_LIMIT:-2400}

# run NAME FOLDER COMMAND...: leaves the output, and the exit status, in files called NAME.
run() {
    local name=$1 folder=$2 start=$SECONDS status
    shift 2
    (cd "$folder" && timeout --kill-after=30 "$limit" "$@") >"$work/runs/$name.output" 2>&1 </dev/null
    status=$?
    [ "$status" != 124 ] && [ "$status" != 137 ] || echo "$name: ended after $limit s" >>"$work/runs/$name.output"
    echo "$status" >"$work/runs/$name.status"
    printf '%-24s %4d s  %s\n' "$name" $((SECONDS - start)) \
        "$(grep '^test result:' "$work/runs/$name.output" | tail -n 1 || echo "no result, exit status $status")"
}

# The crate and, for tests inside its library, the word "unit".
name() {
    local program=${2##*/}
    case $program in main-*) echo "${1##*/}" ;; *) echo "${1##*/}-unit" ;; esac
}

run doc . cargo test --workspace --locked --no-fail-fast --doc &
while read -r folder program; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    run "$(name "$folder" "$program")" "$folder" "$program" --skip alone:: &
done <"$work/programs"
wait
while read -r folder program; do
    [ -z "$("$program" --list alone:: 2>/dev/null | grep ': test$')" ] ||
        run "$(name "$folder" "$program")-alone" "$folder" "$program" alone:: --test-threads=1
done <"$work/programs"

passed=0 failed=0
for status in "$work"/runs/*.status; do
    output=${status%.status}.output
    # The last result of a program is its own; the others are those of programs that its tests ran. Documentation has
    # a result for each crate.
    read -r ok bad < <(awk -v program="${output##*/doc.output*}" '
        /^test result:/ { if (program != "") ok = bad = 0; ok += $4; bad += $6; n++ }
        END { print ok + 0, n ? bad : 1 }' "$output")
    # Without a failed test the program itself has failed.
    [ "$(<"$status")" = 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok)) failed=$((failed + bad))
    [ "$bad" = 0 ] || { echo; echo "== $(basename "$output" .output)"; grep -v '^test .* \.\.\. ok$' "$output"; }
done
[ ! -s "$TAPLINE_SKIPS" ] || { echo; echo "skipped, with the reason:"; cat "$TAPLINE_SKIPS"; }
echo
echo "$passed passed, $failed failed, $(wc -l <"$TAPLINE_SKIPS") skipped"
[ "$failed" = 0 ]
