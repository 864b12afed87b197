#!/usr/bin/env bash
# Uploads to Azurite, Microsoft's server of Azure Blob Storage for tests, and reads the objects back: azurite.sh PROGRAM FOLDER
#
# Azurite takes 190 MB of packages and needs Node.js, so that `make test` does without it.
set -euo pipefail

program=$(realpath "$1") folder=$2
here=$(cd "$(dirname "$0")" && pwd)
python=azure-storage-blob==12.27.1
node=azurite@3.35.0
if [ "$(cat "$folder/packages" 2>/dev/null)" != "$python $node" ]; then
    rm -rf "$folder"
    /usr/bin/python3 -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$python"
    npm install --prefix "$folder/node" --no-audit --no-fund --loglevel error "$node"
    echo "$python $node" >"$folder/packages"
fi
# Without a network but a loopback of its own.
exec unshare --net --mount --pid --fork --kill-child --mount-proc \
    sh -c 'ip link set lo up && exec "$@"' sh "$folder/python/bin/python" "$here/azurite.py" "$program" "$folder"
