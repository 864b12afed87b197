#!/usr/bin/env bash
# Prints the folder for Wireshark's capture plug-ins: extcap-folder.sh PREFIX
#
# Wireshark knows one folder for the system and one for the user, and neither depends on where tapline is.
set -euo pipefail
case $1 in
    /usr | /usr/local)
        folder=$(tshark -G folders 2>/dev/null | sed -n 's/^\(Global \)\?Extcap path:[[:space:]]*//p' | head -n 1)
        [ -n "$folder" ] || folder=$1/lib/wireshark/extcap
        ;;
    *) folder=$1/lib/wireshark/extcap ;;
esac
echo "$folder"
