#!/usr/bin/env bash
# Installs the capture plug-in for Wireshark: extcap.sh FOLDER PROGRAM
set -euo pipefail
install -d "$1"
printf '#!/bin/sh\nexec %s extcap "$@"\n' "$2" >"$1/tapline"
chmod 755 "$1/tapline"
