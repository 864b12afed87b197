#!/usr/bin/env bash
# Installs, uses and purges the packages in a new Debian 12, as root: deb-check.sh FOLDER
#
# What the packages leave behind is an error. The system is in a temporary folder, and is made from the package
# sources of this machine.
set -euo pipefail

folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,libcap2-bin,pkg-config,tshark,apparmor bookworm "$root" \
    /etc/apt/sources.list.d/debian.sources
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages/"

# inside COMMAND: in the new system, with no network but a loopback of its own.
inside() {
    unshare --net --mount --pid --fork sh -c '
        mount -t proc proc "$0/proc" && ip link set lo up
        exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -e -c "$1"' "$root" "$1"
}

# The files of the system, with mode and owner. Not those that a reboot removes, and the records of dpkg and apt, and the former versions of the lists of users.
files() {
    (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./packages \
        -o -path ./proc -o -path ./run -o -path ./etc/ld.so.cache -o -path './etc/*-' \) -prune -o -printf '%p %M %U %G %l\n' | LC_ALL=C sort)
}

files >"$work/before"
inside 'dpkg --install /packages/*.deb >/dev/null'
inside '
    tapline --version
    tapline capture -i lo -c 2 -q -w /tmp/two.pcapng icmp & capture=$!
    tapline ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
    wait $capture
    tapline read /tmp/two.pcapng | tee /tmp/two
    test "$(wc -l </tmp/two)" = 2
    rm /tmp/two /tmp/two.pcapng
    printf "%s\n" "#include <stdio.h>" "#include <tapline.h>" \
        "int main(void) { puts(tapline_version()); }" >/tmp/version.c
    cc -o /tmp/version /tmp/version.c $(pkg-config --cflags --libs tapline)
    /tmp/version
    rm /tmp/version /tmp/version.c
    zcat /usr/share/man/man1/tapline.1.gz | grep -q tapline
    apparmor_parser --skip-kernel-load --skip-cache --quiet /etc/apparmor.d/tapline-capture
    # The plug-in is where tshark of Debian looks.
    tshark -q -i tapline-lo -f "icmp" -c 2 -w /tmp/plugin.pcapng 2>/dev/null & tshark=$!
    tapline ping -q -c 50 -i 100ms 127.0.0.1 >/dev/null
    wait $tshark
    test "$(tapline read /tmp/plugin.pcapng | wc -l)" = 2
    rm /tmp/plugin.pcapng'
# Members of the group may capture if an administrator says so, and others may not even run the program.
inside '
    useradd --create-home --groups tapline member
    useradd --create-home other
    as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --init-groups env HOME=/tmp "$@"; }
    as other tapline --version
    status=0; as member tapline capture -i lo -q -c 1 2>/dev/null || status=$?; test $status = 3
    dpkg-statoverride --update --add root tapline 0750 /usr/bin/tapline
    dpkg-reconfigure tapline
    as member tapline capture -i lo -q -c 2 -w /tmp/member.pcapng icmp & capture=$!
    as member tapline ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
    wait $capture
    test "$(tapline read /tmp/member.pcapng | wc -l)" = 2
    ! as other tapline --version 2>/dev/null
    rm /tmp/member.pcapng
    # An upgrade keeps it.
    dpkg --install /packages/tapline_*.deb >/dev/null
    getcap /usr/bin/tapline | grep -q cap_net_raw
    userdel --remove member 2>/dev/null
    userdel --remove other 2>/dev/null'
inside 'dpkg --purge tapline-dbgsym libtapline-dev libtapline0 tapline >/dev/null'
files >"$work/after"
diff "$work/before" "$work/after"
echo "the packages install, work and leave nothing behind"
