# Sourced by deb.sh and rpm.sh: what the packages have in common.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -n '0,/^version = "\(.*\)"/s//\1/p' "$here/Cargo.toml")
# What members of the group may run the program with, if an administrator says so.
# shellcheck disable=SC2034
capabilities=cap_net_raw,cap_bpf,cap_perfmon,cap_net_admin+ep
# The same input makes the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE PATH...: moves paths of the tree into the package. Paths are relative to /usr.
take() {
    local package=$1 path
    shift
    for path; do
        install -d "$work/$package/usr/$(dirname "$path")"
        mv "$work/tree/usr/$path" "$work/$package/usr/$path"
    done
}

# split PACKAGE FILE: moves the debugging information of an object into the package "debug".
split() {
    local object=$work/$1/usr/$2 id place
    id=$(readelf --notes "$object" | sed -n 's/^ *Build ID: //p')
    place=$work/debug/usr/lib/debug/.build-id/${id:0:2}
    install -d "$place"
    objcopy --only-keep-debug --compress-debug-sections "$object" "$place/${id:2}.debug"
    strip --strip-unneeded --remove-section=.comment "$object"
    objcopy --add-gnu-debuglink="$place/${id:2}.debug" "$object"
}

# sort_files TREE LIBDIR: TREE is a DESTDIR that `make install` filled with PREFIX=/usr and LIBDIR. Leaves the files of each
# package in a folder of that name below $work:
#   tapline      the program, its manual, completions and units, the plug-in for Wireshark, and the library that replaces libpcap
#   library      the library for C
#   development  headers, the static library, pkg-config and CMake files
#   debug        line numbers for backtraces of the program and the libraries
sort_files() {
    local libdir=$2 wireshark left unit
    cp -a "$1" "$work/tree"
    install -d "$work/tree/usr/lib/systemd/system"
    install -m 644 "$here"/packaging/systemd/tapline-*@.{service,socket} "$work/tree/usr/lib/systemd/system/"
    for unit in tapline-capture@ tapline-flows@; do
        install -D -m 644 "$here/packaging/systemd/$unit.service.d/group.conf" "$work/tree/usr/lib/systemd/system/$unit.service.d/group.conf"
    done
    install -D -m 644 "$here/packaging/sysusers/tapline.conf" "$work/tree/usr/lib/sysusers.d/tapline.conf"
    install -D -m 644 "$here/README.md" "$work/tree/usr/share/doc/tapline/README.md"
    cp -a "$here/docs/guide" "$work/tree/usr/share/doc/tapline/"
    "$here/packaging/licences.sh" "$work/tree/usr/share/doc/tapline/third-party-licences.txt" "$(rustc -vV | sed -n 's/^host: //p')" \
        -p tapline-cli -p tapline-c -p tapline-pcap

    wireshark=$(cd "$work/tree/usr" && find "$libdir" -type d -name wireshark)
    take library "$libdir/libtapline.so.${version%%.*}" "$libdir/libtapline.so.$version"
    take development include "$libdir/libtapline.so" "$libdir/libtapline.a" "$libdir/pkgconfig" "$libdir/cmake"
    take tapline bin lib/systemd lib/sysusers.d "$wireshark" "$libdir/tapline" "$libdir/libtapline_pcap.so.1" share
    left=$(cd "$work/tree" && find . ! -type d)
    [ -z "$left" ] || { echo "files in no package: $left" >&2; exit 1; }

    split tapline bin/tapline
    split tapline "$libdir/libtapline_pcap.so.1"
    split library "$libdir/libtapline.so.$version"
    gzip -9n "$work"/tapline/usr/share/man/man1/*.1
    chmod -R u=rwX,go=rX "$work"/{tapline,library,development,debug}
}
