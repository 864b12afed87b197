#!/usr/bin/env bash
# A kernel of Debian for tests of what no kernel at hand has: kernel.sh FOLDER [SUITE].
# From the Debian mirror that this machine uses, by default its backports, unpacked into FOLDER and not installed: vmlinuz,
# and modules with their order: those of WireGuard, veth, VLANs and VRFs, and the device with hardware time stamps that
# lab/driver has the source of, compiled against the headers of that kernel. Kernels of other suites go without that device.
set -euo pipefail

folder=$1
driver=$(dirname "$0")/../lab/driver
[ ! "$folder/order" -nt "$driver/tapstamp.c" ] || [ ! "$folder/order" -nt "$0" ] || exit 0
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' |
    awk -v codename="$codename" '$2 == codename && $3 == "main" && !at { at = $1 } END { print at }') || mirror=
[ -n "$mirror" ] || { echo "kernel.sh: no Debian mirror among the sources of apt" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/unpacked"
suite=${2:-$codename-backports}
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources"
apt=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
apt-get "${apt[@]}" update
# The kernel that the package of the newest one points to.
package=$(apt-cache "${apt[@]}" depends linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')
release=${package#linux-image-}
headers=("linux-headers-$release" "linux-headers-${release%-cloud-amd64}-common" "linux-kbuild-${release%-cloud-amd64}")
[ $# = 1 ] || headers=()
(cd "$work" && apt-get "${apt[@]}" download "$package" "${headers[@]}")
for file in "$work"/*.deb; do dpkg-deb -x "$file" "$work/unpacked"; done

mkdir -p "$folder"
cp "$work"/unpacked/boot/vmlinuz-* "$folder/vmlinuz"
version=$(ls "$work/unpacked/lib/modules")
depmod -b "$work/unpacked" "$version"
for module in wireguard veth 8021q vrf; do
    modprobe -d "$work/unpacked" -S "$version" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
    while read -r module; do
        name=$(basename "$module" .xz)
        xz -dcf "$module" >"$folder/$name"
        echo "$name"
    done >"$work/order"
[ $# = 1 ] || { mv "$work/order" "$folder/order"; exit 0; }

# The headers expect to be installed.
sources=$work/unpacked/usr/src
sed -i "s|/usr/src/|$sources/|" "$sources/linux-headers-$release/Makefile"
cp -r "$driver" "$work/driver"
make -s -C "$sources/linux-headers-$release" M="$work/driver" CC=gcc CONFIG_DEBUG_INFO_BTF_MODULES= modules >/dev/null
strip --strip-debug "$work/driver/tapstamp.ko"
cp "$work/driver/tapstamp.ko" "$folder/"
echo tapstamp.ko >>"$work/order"
mv "$work/order" "$folder/order"
