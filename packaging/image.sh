#!/usr/bin/env bash
# Packs the static program into an OCI image without a base, and checks it: image.sh PROGRAM FOLDER
#
# FOLDER/tapline-VERSION.oci.tar is an OCI image layout as an archive, which podman, skopeo, containerd and buildah load
# (`podman load`, `ctr image import`). The same program makes the same image. No daemon is needed.
set -euo pipefail

program=$1 folder=$2
here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '0,/^version = "\(.*\)"/s//\1/p' "$here/Cargo.toml")
case $(uname -m) in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$(uname -m) ;;
esac
time=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/image/blobs/sha256
mkdir -p "$blobs" "$folder"

pack() {
    tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" --format=gnu "$@"
}

# blob FILE: moves it among the blobs; prints its digest.
blob() {
    local digest
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    mv "$1" "$blobs/$digest"
    echo "$digest"
}

# What a container gets: the program, its licences, and the folders for files and sockets.
root=$work/root
install -d "$root/usr/bin" "$root/etc" "$root/run" "$root/captures"
install -d -m 1777 "$root/tmp"
install -m 755 "$program" "$root/usr/bin/tapline"
install -D -m 644 "$(dirname "$program")/third-party-licences.txt" "$root/usr/share/doc/tapline/third-party-licences.txt"
install -m 644 "$here"/LICENSE-* "$root/usr/share/doc/tapline/"
pack --directory "$root" --file "$work/layer" .
difference=$(sha256sum "$work/layer" | cut -d' ' -f1)
gzip --no-name -9 "$work/layer"
layer_bytes=$(stat --format=%s "$work/layer.gz")
layer=$(blob "$work/layer.gz")

jq --null-input --compact-output --arg architecture "$architecture" --arg time "$(date --utc --date="@$time" +%FT%TZ)" \
    --arg layer "sha256:$difference" '{
        created: $time, architecture: $architecture, os: "linux",
        config: {Entrypoint: ["/usr/bin/tapline"], WorkingDir: "/captures", Env: ["PATH=/usr/bin"]},
        rootfs: {type: "layers", diff_ids: [$layer]},
        history: [{created: $time, created_by: "make image"}]
    }' >"$work/config"
config_bytes=$(stat --format=%s "$work/config")
config=$(blob "$work/config")

jq --null-input --compact-output --arg config "sha256:$config" --argjson config_bytes "$config_bytes" \
    --arg layer "sha256:$layer" --argjson layer_bytes "$layer_bytes" --arg version "$version" '{
        schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $config, size: $config_bytes},
        layers: [{mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: $layer, size: $layer_bytes}],
        annotations: {"org.opencontainers.image.title": "tapline", "org.opencontainers.image.version": $version,
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0"}
    }' >"$work/manifest"
manifest_bytes=$(stat --format=%s "$work/manifest")
manifest=$(blob "$work/manifest")

jq --null-input --compact-output --arg digest "sha256:$manifest" --argjson bytes "$manifest_bytes" \
    --arg architecture "$architecture" --arg version "$version" '{
        schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $digest, size: $bytes,
            platform: {architecture: $architecture, os: "linux"},
            annotations: {"org.opencontainers.image.ref.name": "localhost/tapline:\($version)"}}]
    }' >"$work/image/index.json"
echo -n '{"imageLayoutVersion":"1.0.0"}' >"$work/image/oci-layout"
image=$folder/tapline-$version.oci.tar
pack --directory "$work/image" --file "$image" .

# Another program reads it, and unpacks it; what it unpacked runs in a network namespace of its own.
skopeo --tmpdir "$work" copy --quiet --insecure-policy "oci-archive:$image:localhost/tapline:$version" "dir:$work/copy"
[ "$(sha256sum <"$work/copy/$layer" | cut -d' ' -f1)" = "$layer" ]
if [ "$(id -u)" -eq 0 ]; then
    # Other users may pass.
    chmod go+x "$work"
    mkdir "$work/container"
    tar --extract --directory "$work/container" --file "$work/copy/$layer"
    grep --quiet '^musl (MIT)$' "$work/container/usr/share/doc/tapline/third-party-licences.txt"
    mkdir "$work/container/proc"
    # shellcheck disable=SC2016
    unshare --net --mount --pid --fork sh -ec '
        mount -t proc proc "$0/proc" && ip link set lo up
        root=$0
        # With the capabilities of docs/guide/kubernetes.md, and chroot.
        inside() { setpriv --bounding-set=-all,+net_raw,+bpf,+sys_chroot chroot "$root" /usr/bin/tapline "$@"; }
        inside capture -i lo -q -w /captures/two.pcapng -c 2 icmp & capture=$!
        inside ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
        wait $capture
        inside read /captures/two.pcapng >"$0/captures/lines"
        # As another user than root, who has these capabilities, and who has none.
        user() { capabilities=$1; shift
            setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="$capabilities" --ambient-caps="$capabilities" \
                --bounding-set="$capabilities" chroot "$root" /usr/bin/tapline "$@"; }
        user -all,+net_raw,+bpf,+sys_chroot capture -i lo -q -w /tmp/two.pcapng -c 2 icmp & capture=$!
        inside ping -q -c 20 -i 100ms 127.0.0.1 >/dev/null
        wait $capture
        user -all,+sys_chroot read /tmp/two.pcapng >>"$0/captures/lines"
        status=0; user -all,+sys_chroot capture -i lo -q -c 1 2>/dev/null || status=$?; test $status = 3' "$work/container"
    [ "$(wc -l <"$work/container/captures/lines")" = 4 ]
fi
echo "$image: $(stat --format=%s "$image") bytes"
