#!/usr/bin/env bash
# Writes SHA256SUMS of the files in FOLDER, signs it, and verifies what it wrote: checksums.sh FOLDER KEY.
# KEY is a private key of ssh-keygen(1); who checks needs its public half:
#   ssh-keygen -Y verify -f allowed_signers -I tapline -n tapline -s SHA256SUMS.sig <SHA256SUMS && sha256sum -c SHA256SUMS
set -euo pipefail
[ $# = 2 ] || { echo "usage: checksums.sh FOLDER KEY" >&2; exit 2; }
key=$(realpath "$2")
cd "$1"
rm -f SHA256SUMS SHA256SUMS.sig
find . -type f ! -name 'SHA256SUMS*' -printf '%P\0' | sort -z | xargs -0 --no-run-if-empty sha256sum >SHA256SUMS.new
[ -s SHA256SUMS.new ] || { rm SHA256SUMS.new; echo "checksums.sh: $1 has no files" >&2; exit 1; }
mv SHA256SUMS.new SHA256SUMS
ssh-keygen -q -Y sign -f "$key" -n tapline SHA256SUMS
signers=$(mktemp)
trap 'rm -f "$signers"' EXIT
echo "tapline $(ssh-keygen -y -f "$key")" >"$signers"
ssh-keygen -q -Y verify -f "$signers" -I tapline -n tapline -s SHA256SUMS.sig <SHA256SUMS
sha256sum --quiet --check SHA256SUMS
echo "$PWD/SHA256SUMS: $(wc -l <SHA256SUMS) files"
