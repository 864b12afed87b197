#!/usr/bin/env bash
# Builds the Python wheel with libtapline.so in it. No compiler is needed.
#
#   python-wheel.sh libtapline.so FOLDER [LICENCES]     the wheel into FOLDER
#
# LICENCES is the file that packaging/licences.sh writes about the library; the licences of tapline are in every wheel.
# PYTHON is the interpreter, which has cffi and setuptools, before version 70.1 also wheel. Default: the first of python3 and
# Debian's that has them.
set -euo pipefail

imports=$'import cffi, setuptools\ntry: import setuptools.command.bdist_wheel\nexcept ImportError: import wheel.bdist_wheel'
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    ! "$python" -c "$imports" 2>/dev/null || break
done

library=$(realpath "$1") folder=$2 licences=${3:+$(realpath "$3")}
here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '0,/^version = "\(.*\)"/s//\1/p' "$here/Cargo.toml")
mkdir -p "$folder"
folder=$(realpath "$folder")

# setuptools writes beside the sources.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/crates/c/python/." "$work"
cp "$here"/LICENSE-* ${licences:+"$licences"} "$work"
cd "$work"
strip --strip-debug -o libtapline.so "$library"
# setuptools warns of the module that it is about to make.
if ! TAPLINE_HEADER=$here/crates/c/include/tapline.h TAPLINE_LIBRARY=$work/libtapline.so TAPLINE_VERSION=$version \
    "$python" setup.py --quiet bdist_wheel --dist-dir "$folder" >log 2>&1; then
    cat log >&2
    exit 1
fi
