#!/usr/bin/env bash
# Makes Debian packages of what `make install` installs: deb.sh TREE FOLDER
#
# TREE is a DESTDIR that was filled with PREFIX=/usr. The packages, in FOLDER:
#   tapline         the program, its manual, completions and units, the plug-in for Wireshark, and the library that replaces libpcap
#   libtapline0     the library for C
#   libtapline-dev  headers, the static library, pkg-config and CMake files
#   tapline-dbgsym  line numbers for backtraces of the program and the libraries
set -euo pipefail

tree=$1 folder=$2
# shellcheck source=packaging/packages.sh
. "$(dirname "$0")/packages.sh"
architecture=$(dpkg --print-architecture)

# What the objects of a package need from others, with the oldest version that serves.
depends() {
    (
        cd "$work"
        mkdir -p debian
        printf 'Source: tapline\n\nPackage: tapline\nArchitecture: any\n' >debian/control
        dpkg-shlibdeps -O "$@" 2>/dev/null | sed -n 's/^shlibs:Depends=//p'
    )
}

# finish PACKAGE SECTION DEPENDS DESCRIPTION [RECOMMENDS]: writes the package into the folder.
finish() {
    local root=$work/$1 document=$work/$1/usr/share/doc/$1 size
    install -d "$document" "$root/DEBIAN"
    {
        echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
        printf '\nFiles: *\nCopyright: %s\nLicense: MIT or Apache-2.0\n' \
            "$(sed -n 's/^Copyright (c) //p' "$here/LICENSE-MIT")"
        printf ' The text of the Apache licence is in /usr/share/common-licenses/Apache-2.0.\n .\n'
        sed 's/^$/./; s/^/ /' "$here/LICENSE-MIT"
        if [ -e "$document/third-party-licences.txt" ]; then
            printf '\nFiles: code of others in the program and the libraries\nCopyright: see third-party-licences.txt\n'
            printf 'License: see third-party-licences.txt\n Names and licences are in /usr/share/doc/%s/third-party-licences.txt.\n' "$1"
        fi
    } >"$document/copyright"
    gzip -9n <"$here/CHANGELOG.md" >"$document/changelog.gz"
    chmod -R u=rwX,go=rX "$root"
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    size=$(du -k --apparent-size -s "$root" | cut -f1)
    cat >"$root/DEBIAN/control" <<END
Package: $1
Source: tapline
Version: $version
Architecture: $architecture
Maintainer: ${DEB_MAINTAINER:-The tapline authors <root@localhost>}
Installed-Size: $size
Section: $2
Priority: optional
${3:+Depends: $3
}${5:+Recommends: $5
}Description: $4
END
    # Without those that an administrator may change, for which dpkg has sums of its own.
    (cd "$root" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' md5sum) \
        >"$root/DEBIAN/md5sums"
    chmod 644 "$root/DEBIAN/"*
    for script in postinst prerm postrm; do
        [ ! -e "$root/DEBIAN/$script" ] || chmod 755 "$root/DEBIAN/$script"
    done
    dpkg-deb --root-owner-group -Zxz -z2 --build "$root" "$folder/$1_${version}_$architecture.deb" >/dev/null
    echo "$folder/$1_${version}_$architecture.deb"
}

mkdir -p "$folder"
sort_files "$tree" lib
mv "$work/library" "$work/libtapline0"
mv "$work/development" "$work/libtapline-dev"
mv "$work/debug" "$work/tapline-dbgsym"
# Each of the two is there without the other.
install -D -m 644 "$work/tapline/usr/share/doc/tapline/third-party-licences.txt" \
    "$work/libtapline0/usr/share/doc/libtapline0/third-party-licences.txt"
install -d "$work/tapline/etc/apparmor.d"
install -m 644 "$here"/packaging/apparmor/tapline-{capture,flows} "$work/tapline/etc/apparmor.d/"
for package in tapline libtapline0; do
    install -d "$work/$package/DEBIAN"
    echo 'activate-noawait ldconfig' >"$work/$package/DEBIAN/triggers"
done
# What packages of programs that use the library are to depend on: dpkg-shlibdeps(1) reads it.
echo "libtapline ${version%%.*} libtapline0 (>= $version)" >"$work/libtapline0/DEBIAN/shlibs"
printf '/etc/apparmor.d/%s\n' tapline-capture tapline-flows >"$work/tapline/DEBIAN/conffiles"
sed "s/@CAPABILITIES@/$capabilities/" >"$work/tapline/DEBIAN/postinst" <<'END'
#!/bin/sh
# Members of the group 'tapline' may run the program with its capabilities, and nobody else may run it, if an
# administrator says so:
#   dpkg-statoverride --update --add root tapline 0750 /usr/bin/tapline && dpkg-reconfigure tapline
set -e
if [ "$1" = configure ]; then
    # As /usr/lib/sysusers.d/tapline.conf says.
    getent group tapline >/dev/null || groupadd --system tapline
    case $(dpkg-statoverride --list /usr/bin/tapline || true) in
        *' tapline 0750 '* | *' tapline 750 '*)
            # Some file systems have no capabilities, and some containers may not set them. That does not keep the package.
            setcap @CAPABILITIES@ /usr/bin/tapline ||
                echo "tapline: /usr/bin/tapline has no capabilities, so that only root can capture" >&2
            ;;
        # The override is gone, and leaves the file as it was.
        '')
            chown root:root /usr/bin/tapline
            chmod 0755 /usr/bin/tapline
            setcap -q -r /usr/bin/tapline 2>/dev/null || true
            ;;
        *) setcap -q -r /usr/bin/tapline 2>/dev/null || true ;;
    esac
    if aa-enabled --quiet 2>/dev/null; then
        apparmor_parser --replace --write-cache /etc/apparmor.d/tapline-capture /etc/apparmor.d/tapline-flows || true
    fi
    [ ! -d /run/systemd/system ] || systemctl daemon-reload || true
fi
END
{
    printf '#!/bin/sh\nset -e\n'
    cat "$here/packaging/systemd/before-removal.sh"
} >"$work/tapline/DEBIAN/prerm"
cat >"$work/tapline/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
case $1 in
    remove)
        if aa-enabled --quiet 2>/dev/null; then
            for profile in tapline-capture tapline-flows; do
                [ ! -e /etc/apparmor.d/$profile ] || apparmor_parser --remove /etc/apparmor.d/$profile || true
            done
        fi
        [ ! -d /run/systemd/system ] || systemctl daemon-reload || true
        ;;
    purge)
        dpkg-statoverride --quiet --remove /usr/bin/tapline 2>/dev/null || true
        # Fails for a group that is the first of a user.
        groupdel tapline 2>/dev/null || true
        ;;
esac
END
finish tapline net "$(depends "$work/tapline/usr/bin/tapline" "$work/tapline/usr/lib/libtapline_pcap.so.1"), libcap2-bin, passwd" \
    "capture, count, send, ping and configure on the Linux network path
 Captures every packet, counts in the kernel, sends at the rate asked for, pings
 thousands of hosts and configures the network stack. Every packet is accounted
 for. 'tapline run -- tcpdump' runs other programs on its engine." \
    ca-certificates
finish libtapline0 libs "$(depends "$work/libtapline0/usr/lib/libtapline.so.$version")" \
    "library of tapline for C and C++
 Captures, capture files, filters, counters, sending, pings and typed netlink."
finish libtapline-dev libdevel "libtapline0 (= $version)" \
    "headers of tapline for C and C++
 Headers for C11 and C++20, the static library, pkg-config and CMake files."
finish tapline-dbgsym debug "tapline (= $version) | libtapline0 (= $version)" \
    "line numbers for backtraces of tapline
 Separate debugging information of the program and its libraries."
