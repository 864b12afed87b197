#!/usr/bin/env bash
# Runs tests that touch kernel interfaces on several of Debian's kernels, in QEMU, and writes what works where into
# docs/limits.md: kernels.sh FOLDER [SERIES...]. Without SERIES: 5.10 6.1 6.12 6.18 and the newest.
#
# Kernels are downloaded into FOLDER and stay there, as does what their tests said: remove FOLDER/*.log to run them again. The machine of a kernel runs from memory: it has the test programs,
# stripped, and the few programs that the tests start. MACHINES (2) run at the same time; the tests of a crate end after
# CRATE_SECONDS (600).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
series=("$@")
[ ${#series[@]} -gt 0 ] || series=(5.10 6.1 6.12 6.18 newest)
crate_seconds=${CRATE_SECONDS:-600} machines=${MACHINES:-2}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# What is tested: the feature, the crate, and the modules of its tests.
rows=(
    "packet rings (TPACKET_V2, V3)|ring|tpacket::open tpacket::vlan"
    "several readers of an interface|ring|tpacket::fanout"
    "AF_XDP|ring|xdp::receive xdp::send"
    "BPF ring buffers|ring|bpf::buffer_receive"
    "slots shared with XDP programs|ring|bpf::slots"
    "XDP programs|bpf|xdp"
    "tc programs|bpf|tc_clsact"
    "answers and requests by XDP (ping)|bpf|echo"
    "capture: the account adds up|tapline|capture::conservation"
    "capture in drop mode|tapline|capture::drop::mode"
    "count|tapline|count::groups"
    "ping|tapline|ping::answers ping::errors"
    "send|tapline|send::paths"
    "links, addresses, neighbours|lab|netlink::addr netlink::neigh"
    "notifications|lab|netlink::watch::changes"
    "ethtool|lab|netlink::drivers::ethtool"
)
modules=(veth dummy bridge 8021q macvlan ipvlan vxlan geneve ifb vrf bonding tun nlmon af_packet sch_ingress sch_fq sch_etf
    sch_mqprio sch_multiq sch_netem cls_bpf act_bpf act_mirred cls_matchall ip_gre ip6_gre ipip sit ip6_tunnel ip_vti xfrm_interface
    mpls_router mpls_iptunnel wireguard netkit nft_compat nf_tables)

mirror() {
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' |
        awk -v codename="$1" '$2 == codename && $3 == "main" && !at { at = $1 } END { print at }'
}

# The packages of every Debian release that has kernels.
lists=$folder/lists
mkdir -p "$lists/partial"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
main=$(mirror "$codename") security=$(mirror "$codename-security")
[ -n "$main" ] || { echo "kernels.sh: no Debian mirror among the sources of apt" >&2; exit 1; }
{
    for suite in bullseye bookworm bookworm-backports trixie trixie-backports; do
        echo "deb [arch=amd64 signed-by=$keyring] $main $suite main"
    done
    [ -z "$security" ] || for suite in bullseye bookworm trixie; do
        echo "deb [arch=amd64 signed-by=$keyring] $security $suite-security main"
    done
} >"$folder/sources"
apt=(-qq -o "Dir::Etc::SourceList=$folder/sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
    -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)

# fetch SERIES: unpacks the latest kernel of a series, and leaves vmlinuz and its modules, in order, in FOLDER/SERIES.
fetch() {
    local series=$1 pattern place=$folder/$1 package release work names
    [ ! -e "$place/order" ] || return 0
    [ -e "$folder/updated" ] || { apt-get "${apt[@]}" update && touch "$folder/updated"; }
    pattern=${series//./\\.}
    [ "$series" != newest ] || pattern='[0-9]+\.[0-9]+'
    package=$(apt-cache "${apt[@]}" pkgnames linux-image- | grep -E "^linux-image-$pattern\.[0-9.]+[-+][^ ]*-cloud-amd64$|^linux-image-$pattern\.[0-9]+-[0-9]+-cloud-amd64$" |
        grep -vE -e '-unsigned$|~rc' | sort -V | tail -n 1)
    [ -n "$package" ] || { echo "kernels.sh: Debian has no kernel $series" >&2; return 1; }
    release=${package#linux-image-}
    work=$(mktemp -d)
    names=("$package")
    # Newer packages are split.
    ! apt-cache "${apt[@]}" depends "$package" | grep -q "linux-binary-$release" || names=("linux-binary-$release" "linux-modules-$release")
    (cd "$work" && apt-get "${apt[@]}" download "${names[@]}" && for file in *.deb; do dpkg-deb -x "$file" unpacked; done)
    mkdir -p "$place" "$work/unpacked/lib"
    [ -e "$work/unpacked/lib/modules" ] || ln -s ../usr/lib/modules "$work/unpacked/lib/modules"
    cp "$work"/unpacked/boot/vmlinuz-* "$place/vmlinuz" 2>/dev/null || cp "$work"/unpacked/lib/modules/*/vmlinuz "$place/vmlinuz"
    depmod -b "$work/unpacked" "$release"
    for module in "${modules[@]}"; do
        modprobe -d "$work/unpacked" -S "$release" --show-depends "$module" 2>/dev/null | awk '$1 == "insmod" { print $2 }' || true
    done | awk '!seen[$0]++' | while read -r module; do
        name=$(basename "$module" .xz)
        case $module in *.xz) xz -dc "$module" >"$place/$name" ;; *) cp "$module" "$place/$name" ;; esac
        echo "$name"
    done >"$work/order"
    echo "$release" >"$place/release"
    mv "$work/order" "$place/order"
    rm -rf "$work"
}

# program CRATE: the test program that cargo built last.
program() {
    local crate=crates/$1 file
    [ "$1" != lab ] || crate=lab
    for file in target/debug/deps/main-*.d; do
        [ ! -x "${file%.d}" ] || ! grep -q "$crate/tests/main.rs" "$file" || echo "$(stat -c %Y "${file%.d}") ${file%.d}"
    done | sort -n | tail -n 1 | cut -d' ' -f2
}

# What every machine has: its initramfs without the modules.
root=$folder/root
rm -rf "$root"
mkdir -p "$root"/{proc,sys,dev,run,tmp,modules,bin,etc}
for crate in ring bpf tapline lab; do
    built=$(program "$crate")
    [ -n "$built" ] || { echo "kernels.sh: the tests of $crate are not built: cargo test --workspace --no-run" >&2; exit 1; }
    strip --strip-debug -o "$root/bin/tests-$crate" "$built"
done
for name in ip tc bridge ethtool tcpdump nsenter unshare bash ping; do
    cp "$(PATH=$PATH:/usr/sbin:/sbin command -v "$name")" "$root/bin/"
done
cp /bin/busybox "$root/bin/" 2>/dev/null || cp "$(command -v busybox)" "$root/bin/"
# Tests look for files where they were built.
mkdir -p "$root$PWD/lab"
cp -r lab/corpus "$root$PWD/lab/"
cp /etc/protocols /etc/services "$root/etc/" 2>/dev/null || true
# tcpdump becomes the user that Debian has for it.
printf '%s:/bin/sh\n' root:x:0:0::/ nobody:x:65534:65534::/ tcpdump:x:101:101::/ >"$root/etc/passwd"
printf '%s:\n' root:x:0 nogroup:x:65534 tcpdump:x:101 >"$root/etc/group"
for file in "$root"/bin/*; do ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
{
    cat <<'INIT'
#!/bin/busybox sh
export PATH=/bin TMPDIR=/tmp RUST_BACKTRACE=0 TAPLINE_SKIPS=/tmp/skips HOME=/
for name in $(/bin/busybox --list); do [ -e /bin/$name ] || ln -s busybox /bin/$name; done
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
# Before Linux 5.11, programs and maps count as locked memory.
ulimit -l unlimited
# Namespaces get no tunnel devices of their own.
echo 1 >/proc/sys/net/core/fb_tunnels_only_for_init_net
while read module; do insmod /modules/$module 2>/dev/null; done </modules/order
ip link set lo up
crate() {
    echo "== $1"
    : >/tmp/skips
    timeout -s KILL CRATE_SECONDS tests-"$1" --test-threads=1 --skip alone:: --skip under_load --skip a_million --skip for_millions --skip live_frames_that_a_slow --nocapture $2 </dev/null 2>&1
    echo "== skipped"
    cat /tmp/skips
}
INIT
    for crate in ring bpf tapline lab; do
        filters=
        for row in "${rows[@]}"; do
            IFS='|' read -r _ of modules_of <<<"$row"
            [ "$of" != "$crate" ] || for module in $modules_of; do filters+=" $module::"; done
        done
        printf 'crate %s "%s"\n' "$crate" "$filters"
    done
    echo "echo == done; poweroff -f"
} | sed "s/CRATE_SECONDS/$crate_seconds/" >"$root/init"
chmod 700 "$root/init"
(cd "$root" && find . | cpio --quiet --create --format=newc) >"$folder/memory"

# run SERIES: boots the kernel and leaves what the tests said in FOLDER/SERIES.log, unless it is there.
run() {
    ! grep -qs '^== done' "$folder/$1.log" || return 0
    local place=$folder/$1 more=$folder/$1.more
    rm -rf "$more" && mkdir -p "$more/modules"
    cp "$place"/*.ko "$place/order" "$more/modules/"
    # An initramfs may consist of several archives.
    (cd "$more" && find . | cpio --quiet --create --format=newc) | cat "$folder/memory" - >"$folder/$1.memory"
    # QEMU 7.2 emulates CMPXCHG16B in a way that crashes newer kernels' allocators.
    timeout -s KILL $((crate_seconds * 4 + 300)) qemu-system-x86_64 -nodefaults -display none -no-reboot -m 3072 -smp 2 \
        -cpu max,-cx16 -serial stdio -append "console=ttyS0 quiet loglevel=0 panic=-1" -kernel "$place/vmlinuz" -initrd "$folder/$1.memory" \
        </dev/null 2>"$folder/$1.errors" | stdbuf -o0 tr -d '\r' >"$folder/$1.log" || true
    rm -rf "$more" "$folder/$1.memory"
    grep -q '^== done' "$folder/$1.log" || echo "kernels.sh: Linux $1 did not finish its tests: $folder/$1.log" >&2
}

ran=()
for kernel in "${series[@]}"; do
    fetch "$kernel" || continue
    while [ "$(jobs -rp | wc -l)" -ge "$machines" ]; do wait -n; done
    echo "Linux $(<"$folder/$kernel/release")"
    run "$kernel" &
    ran+=("$kernel")
done
wait

# cell SERIES CRATE MODULES: how many tests pass, fail and are skipped.
cell() {
    awk -v crate="== $2" -v modules="^(${3// /|})::" '
        /^== / { inside = $0 == crate || (inside && $2 == "skipped"); skips = $2 == "skipped"; failures = 0 }
        !inside { next }
        # A test may lack several features, and may try the others.
        skips && $1 ~ modules && !seen[$1]++ { skipped++ }
        /^test result:/ { ended = 1 }
        /^failures:$/ { failures = 1 }
        failures && /^    [a-z_0-9]+::[a-z_0-9:]+$/ && $1 ~ modules && !seen[$1]++ { bad++ }
        !skips && $1 == "test" && $2 ~ modules { started++ }
        END {
            passed = started - bad - skipped
            if (!started) text = ended ? "no test" : "not run"
            else if (!ended) text = "hangs"
            else if (bad) text = passed ? passed " pass, **" bad " fail**" : "**" bad " fail**"
            else text = passed ? "yes (" passed ")" : "no"
            print text (skipped ? ", " skipped " skipped" : "")
        }' "$folder/$1.log"
}
table=$folder/table
{
    printf '| tests of |'; for kernel in "${ran[@]}"; do printf ' %s |' "$(sed 's/-cloud-amd64//' "$folder/$kernel/release")"; done; echo
    printf '|---|'; for kernel in "${ran[@]}"; do printf -- '---|'; done; echo
    for row in "${rows[@]}"; do
        IFS='|' read -r feature crate modules_of <<<"$row"
        printf '| %s |' "$feature"; for kernel in "${ran[@]}"; do printf ' %s |' "$(cell "$kernel" "$crate" "$modules_of")"; done; echo
    done
} >"$table"
cat "$table"
# Between the two marks.
[ ! -s "$table" ] || [ "${#ran[@]}" -lt 5 ] ||
    sed -i -e "/<!-- kernels: begin -->/,/<!-- kernels: end -->/ { /<!-- kernels: begin -->/r $table
        /<!-- kernels: /!d }" docs/limits.md
! grep -q 'fail\|hangs\|not run' "$table"
