#!/usr/bin/env bash
# Writes the software bill of materials of the program and of the libraries, as CycloneDX JSON: sbom.sh FOLDER.
# Ends with an error if a document and the dependencies that cargo resolves differ. Installs cargo-cyclonedx into
# target/tools if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)
target=$(rustc -vV | sed -n 's/^host: //p')

PATH=$PWD/target/tools/bin:$PATH
if ! command -v cargo-cyclonedx >/dev/null; then
    echo "installing cargo-cyclonedx into target/tools"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-cyclonedx --debug --locked --quiet --version "^0.5" --root target/tools
fi
# It writes each document beside the manifest of its package, so it works on links to the sources.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git ls-files -z Cargo.toml Cargo.lock crates lab/Cargo.toml lab/src lab/benches | cpio --null --pass-through --make-directories --quiet "$tree"
# The time of the last commit, so that equal sources have equal documents.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
(cd "$tree" && cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$target" --override-filename sbom.cdx)

for package in cli:tapline c:libtapline pcap:libtapline_pcap; do
    room=${package%%:*} name=${package##*:}
    document=$folder/$name.cdx.json
    # What cargo links or runs to build it; a dependency is one line "name version".
    cargo tree --locked --quiet -p "tapline-$room" --target "$target" --edges normal,build --prefix none --format '{p}' |
        awk '{ print $1, substr($2, 2) }' | sort -u | grep -v "^tapline-$room " >"$tree/resolved"
    # cargo-cyclonedx resolves the workspace as a whole, and so lists crates that only other packages turn on.
    # The folder of the sources names nothing that lasts.
    sed "s|file://$tree/|file:///tapline/|g" "$tree/crates/$room/sbom.cdx.json" | jq --rawfile resolved "$tree/resolved" '
        ($resolved | split("\n")) as $kept
        | .components |= map(select("\(.name) \(.version)" | IN($kept[])))
        | ([.metadata.component["bom-ref"]] + [.components[]["bom-ref"]]) as $refs
        | .dependencies |= map(select(.ref | IN($refs[])) | if .dependsOn then .dependsOn |= map(select(IN($refs[]))) else . end)
    ' >"$document"
    jq -r '.components[] | "\(.name) \(.version)"' "$document" | sort -u >"$tree/listed"
    diff "$tree/resolved" "$tree/listed" >"$tree/difference" || {
        echo "sbom.sh: $document lacks what cargo tree has:" >&2
        cat "$tree/difference" >&2
        exit 1
    }
    jq -e '.bomFormat == "CycloneDX" and ([.components[] | select(.licenses == null)] == [])' "$document" >/dev/null || {
        echo "sbom.sh: $document has components without a licence" >&2
        exit 1
    }
    echo "$document: $(wc -l <"$tree/listed") components"
done
