#!/usr/bin/env bash
# Links libtapline.so from the static library that cargo built, and installs the C library below a prefix.
#
#   c-library.sh libtapline_c.a FOLDER           libtapline.so and its links into FOLDER
#   c-library.sh libtapline_c.a FOLDER PREFIX    the library, headers, pkg-config and CMake files into FOLDER, for use
#                [LIBDIR]                        as PREFIX (FOLDER is $DESTDIR$PREFIX). LIBDIR is below PREFIX: lib, lib64 or
#                                                lib/x86_64-linux-gnu
#
# With KEEP_DEBUG set, the installed shared library keeps its debugging information.
set -euo pipefail

archive=$1 prefix=${3:-} libdir=${4:-lib}
# It may have arguments, or a cache before it.
read -ra compiler <<<"${CC:-cc}"
libdir=${libdir%/}
case $libdir in
/* | *..*)
    echo "c-library.sh: $libdir is not a folder below the prefix" >&2
    exit 2
    ;;
esac
# Whatever the umask, others may read it.
install -d "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
room=$here/crates/c
version=$(sed -n '0,/^version = "\(.*\)"/s//\1/p' "$here/Cargo.toml")
# Programs that were linked with a library of this number run with every later one of the same number: the binary interface only
# grows, as the tests in crates/c/tests/abi.rs hold.
soname=libtapline.so.${version%%.*}
# What Rust's standard library links to. The compiler itself adds the unwinder, libgcc_s or libgcc_eh, which suits -static.
system="-lutil -lrt -lpthread -lm -ldl"

libraries=$folder
[ -z "$prefix" ] || libraries=$folder/$libdir
install -d "$libraries"

# The linker takes from the archive what the exported functions need. dlclose(3) leaves the library loaded: its threads, and what
# it does at the end of threads, need its code.
mapfile -t wanted < <(sed -n 's/^ *\(tapline_[a-z0-9_]*\);$/-Wl,-u,\1/p' "$room/tapline.map")
# shellcheck disable=SC2086
"${compiler[@]}" -shared -o "$libraries/libtapline.so.$version" -Wl,-soname,"$soname" \
    -Wl,--version-script="$room/tapline.map" -Wl,--no-undefined -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,nodelete \
    "${wanted[@]}" "$archive" $system
chmod 755 "$libraries/libtapline.so.$version"
ln -sf "libtapline.so.$version" "$libraries/$soname"
ln -sf "$soname" "$libraries/libtapline.so"
[ -n "$prefix" ] || exit 0

[ -n "${KEEP_DEBUG:-}" ] || strip --strip-debug "$libraries/libtapline.so.$version"
# In the static library, too, only the functions of the header are global: what Rust and zstd define does not clash with what a
# program has of its own.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip --strip-debug -o "$work/all.a" "$archive"
"${compiler[@]}" -r -nostdlib -o "$work/tapline.o" -Wl,--gc-sections,--force-group-allocation "${wanted[@]}" "$work/all.a"
printf '%s\n' "${wanted[@]#-Wl,-u,}" >"$work/names"
# Without the bitcode in objects of Rust's standard library, which tools with a plug-in of LLVM read.
objcopy --keep-global-symbols="$work/names" -R .llvmbc -R .llvmcmd "$work/tapline.o"
rm -f "$libraries/libtapline.a"
ar rcsD "$libraries/libtapline.a" "$work/tapline.o"
chmod 644 "$libraries/libtapline.a"
install -d "$folder/include/tapline" "$libraries/pkgconfig" "$libraries/cmake/tapline"
install -m 644 "$room/include/tapline.h" "$folder/include/"
(cd "$room/include/tapline" && find . -name '*.h*' -exec install -D -m 644 {} "$folder/include/tapline/{}" \;)
# From the folder of the CMake package to the prefix.
up=$(sed 's|[^/][^/]*|..|g' <<<"$libdir/cmake/tapline")
fill() {
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@UP@|$up|" -e "s|@VERSION@|$version|" -e "s|@SERIES@|${version%.*}|" -e "s|@SONAME@|$soname|" -e "s|@SYSTEM@|$system|" \
        "$room/package/$1.in" >"$2/$1"
    chmod 644 "$2/$1"
}
fill tapline.pc "$libraries/pkgconfig"
fill taplineConfig.cmake "$libraries/cmake/tapline"
fill taplineConfigVersion.cmake "$libraries/cmake/tapline"
