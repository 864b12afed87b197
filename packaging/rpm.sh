#!/usr/bin/env bash
# Makes RPM packages of what `make install` installs, as tapline.spec says: rpm.sh TREE FOLDER
#
# TREE is a DESTDIR that was filled with PREFIX=/usr and LIBDIR=lib64, and with debugging information. The packages are in FOLDER.
set -euo pipefail

tree=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
# shellcheck source=packaging/packages.sh
. "$(dirname "$0")/packages.sh"

sort_files "$tree" lib64
install -m 644 "$here/CHANGELOG.md" "$work/tapline/usr/share/doc/tapline/"
mv "$work/tapline/usr/share/doc/tapline/third-party-licences.txt" "$work/"
for package in tapline:tapline library:tapline-libs; do
    licences=$work/${package%%:*}/usr/share/licenses/${package##*:}
    install -d "$licences"
    install -m 644 "$here"/LICENSE-* "$work/third-party-licences.txt" "$licences/"
done

# What the package has, as lines for rpmbuild. A folder that another package may also have belongs to both, and so goes with
# the last of them; those here are in every system.
list() {
    (cd "$work/$1" && find . -mindepth 1 -printf '%y /%P\n') | LC_ALL=C sort | while read -r kind path; do
        case $kind:$path in
            d:/usr | d:/usr/bin | d:/usr/include | d:/usr/lib | d:/usr/lib64 | d:/usr/share | d:/usr/share/doc | \
                d:/usr/share/man | d:/usr/share/man/man1) ;;
            d:*) echo "%dir $path" ;;
            f:/usr/share/licenses/*) echo "%license $path" ;;
            # tapline-group sets these.
            f:/usr/bin/tapline) echo "%verify(not mode group caps) $path" ;;
            *) echo "$path" ;;
        esac
    done
}
for package in tapline library development debug; do
    list "$package" >"$work/$package.files"
done
rpmbuild -bb --quiet --define "_topdir $work/rpmbuild" --define "_rpmdir $folder" \
    --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
    --define "work $work" --define "tapline_version $version" --define "capabilities $capabilities" --define "units $here/packaging/systemd" \
    "$here/packaging/tapline.spec"
ls "$folder"/*.rpm
