#!/usr/bin/env bash
# Installs, uses and purges the packages in a new Debian 12, as root: deb-check.sh FOLDER
#
# What the packages leave behind is an error.
set -euo pipefail

folder=$(realpath "$1")
# shellcheck source=packaging/new-root.sh
. "$(dirname "$0")/new-root.sh"
make_root ,tshark,apparmor
cp "$folder"/*.deb "$root/packages/"

files >"$work/before"
inside 'dpkg --install /packages/*.deb >/dev/null'
use_program
use_library lib
has_licences /usr/share/doc/{tapline,libtapline0}/third-party-licences.txt
has_lines /usr/bin/tapline /usr/lib/libtapline_pcap.so.1 /usr/lib/libtapline.so.0
# So packages of programs that use the library depend on it.
inside 'grep --quiet "^libtapline 0 libtapline0 (>= " /var/lib/dpkg/info/libtapline0*.shlibs'
# Where the shells of Debian look.
inside 'cd /usr/share && ls bash-completion/completions/tapline zsh/vendor-completions/_tapline fish/vendor_completions.d/tapline.fish >/dev/null'
inside '
    apparmor_parser --skip-kernel-load --skip-cache --quiet /etc/apparmor.d/tapline-capture /etc/apparmor.d/tapline-flows
    # The plug-in is where tshark of Debian looks.
    tshark -q -i tapline-lo -f "icmp" -c 2 -w /tmp/plugin.pcapng 2>/dev/null & tshark=$!
    # Until tshark has two packets, however late it starts.
    tapline ping -q -c 1000 -i 100ms 127.0.0.1 >/dev/null & ping=$!
    wait $tshark
    kill $ping
    wait $ping || true
    test "$(tapline read /tmp/plugin.pcapng | wc -l)" = 2
    rm /tmp/plugin.pcapng'
everybody_runs
inside 'dpkg-statoverride --update --add root tapline 0750 /usr/bin/tapline && dpkg-reconfigure tapline'
members_capture
# An upgrade keeps it.
inside 'dpkg --install /packages/tapline_*.deb >/dev/null'
members_capture
inside 'dpkg-statoverride --remove /usr/bin/tapline && dpkg-reconfigure tapline'
everybody_runs
remove_users
enable_capture
inside '
    dpkg-statoverride --update --add root tapline 0750 /usr/bin/tapline
    dpkg --purge tapline-dbgsym libtapline-dev libtapline0 tapline >/dev/null
    if dpkg-statoverride --list /usr/bin/tapline; then exit 1; fi'
files >"$work/after"
diff "$work/before" "$work/after"
echo "the packages install, work and leave nothing behind"
