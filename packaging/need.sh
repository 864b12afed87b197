#!/usr/bin/env bash
# Sees to the programs that a make target needs: need.sh build|lint|test|fuzz|browser|dashboard|engines|azurite|libpcap|bench|aarch64|deb|rpm|static|image|wheel|sbom.
# Missing ones are installed from Debian's packages by root; anybody else is told the command.
set -euo pipefail

build=(make:make gcc:gcc g++:g++)
test=("${build[@]}" tcpdump:tcpdump tshark:tshark dumpcap:wireshark-common ip:iproute2
    ethtool:ethtool fping:fping zstd:zstd gzip:gzip unshare:util-linux script:bsdutils setpriv:util-linux ping:iputils-ping
    python3:python3 openssl:openssl jq:jq nft:nftables strace:strace ssh:openssh-client sshd:openssh-server
    # Units run under a systemd of the test's own.
    systemctl:systemd nsenter:util-linux setcap:libcap2-bin
    # Programs in C and C++ with the C library.
    clang:clang cmake:cmake pkg-config:pkg-config valgrind:valgrind
    # A collector of flows, and a client of Kafka.
    nfcapd:nfdump kcat:kcat
    # Programs that use libpcap.
    ngrep:ngrep arp-scan:arp-scan p0f:p0f nmap:nmap)
# The kernels that tests of rare kinds of links run in.
[ "$(uname -m)" != x86_64 ] || test+=(linux.uml:user-mode-linux modprobe:kmod
    qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio xz:xz-utils
    strip:binutils)
# Seeds of fuzz targets, and what they reach.
fuzz=("${build[@]}" python3:python3 jq:jq)
# libpcap's own test programs and fuzz targets.
libpcap=("${build[@]}" clang:clang python3:python3 ip:iproute2 unshare:util-linux dpkg-source:dpkg-dev tshark:tshark)
bench=("${build[@]}" tcpdump:tcpdump dumpcap:wireshark-common netsniff-ng:netsniff-ng ip:iproute2
    nft:nftables ping:iputils-ping fping:fping tcpreplay:tcpreplay xdpdump:xdp-tools zmap:zmap masscan:masscan)
aarch64=("${build[@]}" qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu)
sbom=("${build[@]}" jq:jq cpio:cpio git:git objcopy:binutils strings:binutils)
static=("${build[@]}" jq:jq musl-gcc:musl-tools objcopy:binutils readelf:binutils)
image=("${static[@]}" skopeo:skopeo unshare:util-linux ip:iproute2)
deb=("${build[@]}" jq:jq dpkg-shlibdeps:dpkg-dev mmdebstrap:mmdebstrap objcopy:binutils readelf:binutils)
rpm=("${build[@]}" jq:jq rpmbuild:rpm pkg-config:pkg-config mmdebstrap:mmdebstrap objcopy:binutils readelf:binutils)

target=${1:-}
case $target in
    build | lint) needed=("${build[@]}") ;;
    wheel) needed=("${build[@]}" jq:jq) ;;
    test) needed=("${test[@]}") ;;
    fuzz) needed=("${fuzz[@]}") ;;
    browser) needed=("${build[@]}" chromium:chromium python3:python3 unshare:util-linux ip:iproute2) ;;
    dashboard) needed=("${build[@]}" prometheus:prometheus promtool:prometheus python3:python3 unshare:util-linux ip:iproute2) ;;
    engines) needed=("${build[@]}" java:default-jre-headless tshark:tshark unshare:util-linux ip:iproute2) ;;
    azurite) needed=("${build[@]}" node:nodejs npm:npm python3:python3 unshare:util-linux ip:iproute2) ;;
    libpcap) needed=("${libpcap[@]}") ;;
    bench) needed=("${bench[@]}") ;;
    aarch64) needed=("${aarch64[@]}") ;;
    deb) needed=("${deb[@]}") ;;
    rpm) needed=("${rpm[@]}") ;;
    static) needed=("${static[@]}") ;;
    image) needed=("${image[@]}") ;;
    sbom) needed=("${sbom[@]}") ;;
    *) echo "usage: need.sh build|lint|test|fuzz|browser|dashboard|engines|azurite|libpcap|bench|aarch64|deb|rpm|static|image|wheel|sbom" >&2; exit 2 ;;
esac

# A user's path often lacks the system's directories, where ip and tcpdump are.
PATH=$PATH:/usr/sbin:/sbin
missing=()
for pair in "${needed[@]}"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
# The headers of the C library and the kernel, which have no command.
[ -e /usr/include/linux/if_packet.h ] || missing+=(linux-libc-dev)
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
[ "${1:-}" != aarch64 ] || [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || missing+=(libc6-dev-arm64-cross)
# The lab compares with libpcap; the program does without.
[ "${1:-}" = build ] || [ -e /usr/include/pcap/pcap.h ] || missing+=(libpcap-dev)
# The tests of the C++ library, and the example service.
if [ "${1:-}" = test ]; then
    command -v clang++ >/dev/null || missing+=(clang)
    [ -e /usr/include/gtest/gtest.h ] || missing+=(libgtest-dev)
    [ -e /usr/include/gmock/gmock.h ] || missing+=(libgmock-dev)
    [ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
    # std::format, which is younger than Debian 12's GCC and clang.
    if ! g++ -std=c++20 -x c++ -include format -fsyntax-only /dev/null 2>/dev/null &&
        ! [ -e /usr/lib/llvm-19/include/c++/v1/format ] && apt-cache show clang-19 libc++-19-dev >/dev/null 2>&1; then
        missing+=(clang-19 libc++-19-dev libc++abi-19-dev)
    fi
    # Modules of Python and Perl.
    [ -e /usr/lib/python3/dist-packages/scapy ] || missing+=(python3-scapy)
    /usr/bin/python3 -c "import pcapy" 2>/dev/null || missing+=(python3-pcapy)
    /usr/bin/perl -MNet::Pcap -e 1 2>/dev/null || missing+=(libnet-pcap-perl)
fi
# The Python package and its build, for which Debian's Python serves if that in the path lacks them.
if [ "${1:-}" = test ] || [ "${1:-}" = wheel ]; then
    modules=(cffi setuptools)
    [ "$1" = wheel ] || modules+=(numpy)
    [ "$1" = wheel ] || python3 -c "import ensurepip, venv" 2>/dev/null || /usr/bin/python3 -c "import ensurepip, venv" 2>/dev/null ||
        missing+=(python3-venv)
    # setuptools before 70.1 makes wheels with the package wheel.
    makes_wheels=$'try: import setuptools.command.bdist_wheel\nexcept ImportError: import wheel.bdist_wheel'
    has_modules() { "$1" -c "import $(IFS=, && echo "${modules[*]}")"$'\n'"$makes_wheels" 2>/dev/null; }
    has_modules python3 || has_modules /usr/bin/python3 || missing+=("${modules[@]/#/python3-}" python3-wheel)
fi
{ [ "${1:-}" != engines ] && [ "${1:-}" != azurite ]; } || /usr/bin/python3 -c "import ensurepip, venv" 2>/dev/null || missing+=(python3-venv)
# A test checks that the sources of the benches compile. libnl is a peer of the netlink bench.
if [ "${1:-}" = test ] || [ "${1:-}" = bench ]; then
    [ -e /usr/include/benchmark/benchmark.h ] || missing+=(libbenchmark-dev)
    [ -e /usr/include/libnl3/netlink/route/route.h ] || missing+=(libnl-route-3-dev)
fi
# Uploads to object storage check certificates with those of the system.
[ "${1:-}" != test ] || [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
# Valgrind needs the symbols of the C library.
[ "${1:-}" != test ] || [ -e /usr/share/doc/libc6-dbg ] || missing+=(libc6-dbg)
# The sanitizers of clang, which its package only recommends, and its fuzzer, which comes with them.
if [ "${1:-}" = test ] || [ "${1:-}" = libpcap ]; then
    runtime=libclang_rt.asan-$(uname -m).a
    [ -e "$(clang -print-file-name="$runtime" 2>/dev/null)" ] || missing+=(libclang-rt-dev)
fi

if ! command -v cargo >/dev/null; then
    echo "a Rust toolchain is needed in the PATH: see https://rustup.rs; with sudo, keep yours:" >&2
    echo "  sudo --preserve-env=PATH,HOME make ..." >&2
    exit 1
fi
if [ "$target" = lint ]; then
    # With sudo, what rustup adds to the user's toolchain belongs to the user.
    as_owner=()
    if [ "$(stat -c %u "${RUSTUP_HOME:-$HOME/.rustup}" 2>/dev/null)" = "${SUDO_UID:-none}" ]; then
        as_owner=(setpriv --reuid="$SUDO_UID" --regid="$SUDO_GID" --clear-groups)
    fi
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 || "${as_owner[@]}" rustup component add rustfmt clippy || {
            echo "cargo $component is missing and rustup could not add it: install rustfmt and clippy" >&2
            exit 1
        }
    done
fi
# The engines that read Parquet and Arrow: Debian has none.
finish() {
    [ "$target" != test ] || packaging/python.sh target/python
    exit 0
}
[ ${#missing[@]} -eq 0 ] && finish

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if [ "$(id -u)" -ne 0 ]; then
    echo "missing packages; install them with:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -qq --no-install-recommends)
apt-get update -qq
"${install[@]}" --download-only "${missing[@]}" >/dev/null
# dpkg is not interrupted: somebody would have to repair the packages by hand.
trap 'exit 143' TERM
(
    trap '' TERM
    "${install[@]}" "${missing[@]}" >/dev/null
)
trap - TERM
finish
