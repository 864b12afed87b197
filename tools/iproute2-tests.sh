#!/usr/bin/env bash
# Runs iproute2's own tests of ip and bridge with another program in their place, each in namespaces of its own. Fails if a test
# fails that passes with ip and bridge on this kernel: iproute2-tests.sh PROGRAM. Requires root.
#
# The tests are those of IPROUTE2_SOURCE, else of Debian's source package of the installed version, which is downloaded into
# target. They are not part of this repository.
set -euo pipefail

program=$(realpath "$1")
source=${IPROUTE2_SOURCE:-}
if [ -z "$source" ]; then
    folder=$PWD/target/iproute2-source
    version=$(dpkg-query -W -f '${Version}' iproute2)
    source=$folder/iproute2-${version%-*}
    mkdir -p "$folder/lists/partial"
    if [ ! -e "$source/testsuite" ]; then
        . /etc/os-release
        # A list of its own: the machine's stay as they are.
        echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >"$folder/sources.list"
        apt=(apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
            -o Dir::State::lists="$folder/lists" -o APT::Sandbox::User=root)
        if ! (cd "$folder" && "${apt[@]}" update && "${apt[@]}" source "iproute2=$version") >"$folder/download.log" 2>&1; then
            echo "iproute2's sources are not here and cannot be downloaded (see $folder/download.log):" >&2
            echo "set IPROUTE2_SOURCE to a folder with them" >&2
            exit 1
        fi
    fi
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ERRF=$work/errors STD_ERR=$work/stderr STD_OUT=$work/stdout
cd "$source/testsuite"

# passes TEST IP BRIDGE: a test fails if it writes errors.
passes() {
    : >"$ERRF"
    IP=$2 BRIDGE=$3 timeout 60 unshare --net --mount sh -c \
        'mkdir -p /run/netns && mount -t tmpfs names /run/netns && exec sh "$0"' "$1" >"$work/log" 2>&1 &&
        [ ! -s "$ERRF" ]
}

passed=0 failed=0 skipped=0
for test in tests/ip/*/*.t tests/bridge/*/*.t; do
    if ! passes "$test" ip bridge; then
        echo "$test: skipped, it does not pass with iproute2 here"
        skipped=$((skipped + 1))
    elif passes "$test" "$program" "$program"; then
        echo "$test: passes"
        passed=$((passed + 1))
    else
        echo "$test: FAILS"
        cat "$ERRF"
        failed=$((failed + 1))
    fi
done
echo "$passed pass, $failed fail, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
