# Sourced by deb-check.sh and rpm-check.sh: a new Debian 12, and what packages do in it. Needs root.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# make_root [,PACKAGE...]: a system in a temporary folder, with these packages of Debian beside those that each check needs.
# It is made from the package sources of this machine.
make_root() {
    mmdebstrap --quiet --variant=minbase --include="passwd,g++,libc6-dev,cmake,make,pkg-config,libcap2-bin,tcpdump,systemd$1" bookworm "$root" \
        /etc/apt/sources.list.d/debian.sources
    mkdir "$root/packages"
}

# inside COMMAND: in the new system, with no network but a loopback of its own.
inside() {
    # shellcheck disable=SC2016
    unshare --net --mount --pid --fork sh -c '
        mount -t proc proc "$0/proc" && ip link set lo up
        exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -e -c "$1"' "$root" "$1"
}

# The files of the system, with mode and owner. Not those that a reboot removes, and the records of package managers, and the
# former versions of the lists of users.
files() {
    (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/rpm -o -path ./var/log -o -path ./var/cache -o -path ./packages \
        -o -path ./proc -o -path ./run -o -path ./etc/ld.so.cache -o -path './etc/*-' \) -prune -o -printf '%p %M %U %G %l\n' | LC_ALL=C sort)
}

# The program captures a known number of packets, has its manual, and runs tcpdump on its library.
use_program() {
    inside '
        tapline --version
        tapline capture -i lo -c 10 -q -w /tmp/ten.pcapng icmp & capture=$!
        tapline ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
        wait $capture
        tapline read /tmp/ten.pcapng | tee /tmp/ten
        test "$(wc -l </tmp/ten)" = 10
        rm /tmp/ten /tmp/ten.pcapng
        tapline run -q -- tcpdump --version | grep "^tapline"
        zcat /usr/share/man/man1/tapline.1.gz | grep -q tapline'
}

# use_library LIBDIR: programs are built with pkg-config and with CMake.
use_library() {
    cp -r "$here/crates/c/tests/install" "$root/tmp/install"
    inside "
        cd /tmp/install
        export PKG_CONFIG_PATH=/usr/$1/pkgconfig LD_LIBRARY_PATH=/usr/$1
        cc -o version version.c \$(pkg-config --cflags --libs tapline)
        ./version
        # CMake on Debian does not look into lib64.
        cmake -S . -B build -Dtapline_DIR=/usr/$1/cmake/tapline >/dev/null
        cmake --build build >/dev/null
        for program in shared_c shared_cpp static_c; do test \"\$(build/\$program)\" = \"\$(./version)\"; done
        rm -r /tmp/install"
}

# has_licences FILE...: each names what is linked into the program, and has the text of that.
has_licences() {
    local file name
    for file; do
        for name in 'rustix .*' 'the standard library of Rust' 'zstd-sys .*, zstd/LICENSE'; do
            grep --quiet "^$name" "$root$file" || { echo "$file: $name is missing" >&2; exit 1; }
        done
        grep --quiet 'Permission is hereby granted' "$root$file"
    done
}

# has_lines FILE...: the debugging information of these objects of the new system is installed.
has_lines() {
    local file id debug
    for file; do
        id=$(readelf --notes "$root$file" | sed -n 's/^ *Build ID: //p')
        debug=$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
        readelf --sections --wide "$debug" | grep ' \.debug_line ' >/dev/null ||
            { echo "$file: no line numbers in ${debug#"$root"}" >&2; exit 1; }
    done
}

# A member of the group, and somebody else.
# shellcheck disable=SC2016
as='as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --init-groups env HOME=/tmp "$@"; }'

# Before an administrator lets the members capture: everybody runs the program, and nobody but root captures.
everybody_runs() {
    inside "$as"'
        id member >/dev/null 2>&1 || useradd --create-home --groups tapline member
        id other >/dev/null 2>&1 || useradd --create-home other
        as other tapline --version
        test "$(stat --format="%a %G" /usr/bin/tapline)" = "755 root"
        test -z "$(getcap /usr/bin/tapline)"
        status=0; as member tapline capture -i lo -q -c 1 2>/dev/null || status=$?; test $status = 3'
}

# Afterwards: members capture, and others do not even run the program.
members_capture() {
    inside "$as"'
        as member tapline capture -i lo -q -c 2 -w /tmp/member.pcapng icmp & capture=$!
        as member tapline ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
        wait $capture
        test "$(tapline read /tmp/member.pcapng | wc -l)" = 2
        if as other tapline --version 2>/dev/null; then exit 1; fi
        rm /tmp/member.pcapng'
}

# Units start with the system; the links for that go with the package.
enable_capture() {
    inside 'systemctl --quiet enable tapline-capture@edge.service tapline-capture@edge.socket tapline-flows@edge.service'
}

remove_users() {
    inside 'userdel --remove member 2>/dev/null; userdel --remove other 2>/dev/null'
}
