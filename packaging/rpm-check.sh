#!/usr/bin/env bash
# Installs, uses, verifies and erases the packages in a new root, as root: rpm-check.sh FOLDER
#
# What the packages leave behind is an error. The root is a Debian 12, since Debian has rpm(8).
set -euo pipefail

folder=$(realpath "$1")
# shellcheck source=packaging/new-root.sh
. "$(dirname "$0")/new-root.sh"
make_root ""
# Debian's rpm(8) asks whether one knows that it is not dpkg(1).
rpm() { command rpm --force-debian --root "$root" --dbpath /var/lib/rpm "$@"; }

# What Debian has of what RPM packages need, as a package without files: so rpm(8) finds what is missing.
{
    printf '%s\n' 'Name: debian' 'Version: 12' 'Release: 1' 'Summary: What the root has' 'License: none' 'BuildArch: noarch'
    find "$root/usr/lib" -name '*.so.[0-9]*' ! -name '*.py' -type f | /usr/lib/rpm/elfdeps --provides | sort -u | sed 's/^/Provides: /'
    # The linker finds symbols by GNU's hash tables.
    echo 'Provides: rtld(GNU_HASH)'
    for file in /bin/sh /sbin/ldconfig /usr/bin/pkg-config /usr/sbin/groupadd /usr/sbin/setcap; do
        [ ! -x "$root$file" ] || echo "Provides: $file"
    done
    printf '%s\n' '%description' 'Debian.' '%files'
} >"$work/debian.spec"
rpmbuild -bb --quiet --define "_topdir $work/debian" --define "_rpmdir $work" --define '_rpmfilename debian.rpm' "$work/debian.spec"

# What people see before they install, and what programs must not take for libpcap.
mapfile -t packages < <(ls "$folder"/*.rpm)
for package in "${packages[@]}"; do
    echo "== $(basename "$package"): $(stat --format=%s "$package") bytes"
    for what in list provides requires scripts triggers; do
        echo "-- $what"
        command rpm --query --package --$what "$package"
    done
done >"$folder/contents"
if grep '^libpcap' "$folder/contents"; then exit 1; fi
# Everything that make install installs is in one package.
(cd "$folder/tree" && find . ! -type d -printf '/%P\n') | sed 's|\(/man1/.*\.1\)$|\1.gz|' | sort >"$work/installed"
command rpm --query --package --list "${packages[@]}" | grep -v '^(' | sort >"$work/listed"
comm -23 "$work/installed" "$work/listed" | tee "$work/missing"
[ ! -s "$work/missing" ]

files >"$work/before"
rpm --install "$work/debian.rpm"
mapfile -t most < <(printf '%s\n' "${packages[@]}" | grep -v '/tapline-group-')
rpm --install "${most[@]}"
use_program
use_library lib64
has_licences /usr/share/licenses/tapline{,-libs}/third-party-licences.txt
has_lines /usr/bin/tapline /usr/lib64/libtapline_pcap.so.1 /usr/lib64/libtapline.so.0
inside '/usr/lib64/wireshark/extcap/tapline --extcap-interfaces | grep -q "value=tapline-lo}"'
rpm --verify tapline tapline-libs tapline-devel tapline-debuginfo

everybody_runs
rpm --install "$folder"/tapline-group-*.rpm
members_capture
# An upgrade keeps it.
rpm --upgrade --replacepkgs "$folder"/tapline-[0-9]*.rpm
members_capture
rpm --verify tapline tapline-group
rpm --erase tapline-group
everybody_runs
remove_users
enable_capture

# The library is needed.
if rpm --erase tapline-libs 2>/dev/null; then exit 1; fi
rpm --erase tapline tapline-libs tapline-devel tapline-debuginfo
rpm --erase debian
files >"$work/after"
diff "$work/before" "$work/after"
echo "the packages install, work, verify and leave nothing behind"
