#!/usr/bin/env bash
# Prints the folder with the sources of libpcap: LIBPCAP_SOURCE, else Debian's source package of the installed version, which it
# downloads into target. They are not part of this repository.
set -euo pipefail

if [ -n "${LIBPCAP_SOURCE:-}" ]; then
    [ -e "$LIBPCAP_SOURCE/testprogs/fuzz/fuzz_pcap.c" ] && cd "$LIBPCAP_SOURCE" && pwd && exit
    echo "LIBPCAP_SOURCE: $LIBPCAP_SOURCE has no testprogs/fuzz/fuzz_pcap.c" >&2
    exit 1
fi
folder=$PWD/target/libpcap-source
mkdir -p "$folder/lists/partial"
cd "$folder"
version=$(dpkg-query -W -f '${Version}' libpcap0.8)
source=libpcap-${version%-*}
if [ ! -e "$source/testprogs" ]; then
    . /etc/os-release
    # A list of its own: the machine's stay as they are.
    echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >sources.list
    apt=(apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State::lists="$folder/lists" -o APT::Sandbox::User=root)
    if ! { "${apt[@]}" update && "${apt[@]}" source "libpcap=$version"; } >download.log 2>&1; then
        echo "libpcap's sources are not here and cannot be downloaded (see $folder/download.log):" >&2
        echo "set LIBPCAP_SOURCE to a folder with them" >&2
        exit 1
    fi
fi
cd "$source"
pwd
