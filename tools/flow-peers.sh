#!/usr/bin/env bash
# Unpacks the programs that the bench of flows compares with: flow-peers.sh FOLDER
#
# Debian's packages start them as daemons when they are installed, so they are not installed. Nothing is downloaded if they are there.
set -euo pipefail

folder=$(realpath -m "$1")
packages=(nfdump softflowd pmacct argus-server argus-client)
[ "$(cat "$folder/packages" 2>/dev/null)" = "${packages[*]}" ] && exit 0
rm -rf "$folder"
mkdir -p "$folder/archives"
cd "$folder/archives"
apt=(apt-get -qq -o APT::Sandbox::User=root)
# The libraries that are not installed, too.
simulated=$("${apt[@]}" --simulate --no-install-recommends install "${packages[@]}") || {
    echo "Debian's packages of ${packages[*]} are unknown here: apt-get update" >&2
    exit 1
}
mapfile -t needed < <(sed -n 's/^Inst \([^ ]*\).*/\1/p' <<<"$simulated" | sort -u - <(printf '%s\n' "${packages[@]}"))
"${apt[@]}" download "${needed[@]}"
for archive in *.deb; do
    dpkg-deb --extract "$archive" "$folder"
done
rm -rf "$folder/archives"
echo "${packages[*]}" >"$folder/packages"
