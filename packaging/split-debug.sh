#!/usr/bin/env bash
# Installs a program without debugging information, which goes into a file beside it: split-debug.sh PROGRAM FOLDER
#
# gdb, perf and the backtraces of a crash find FOLDER/NAME.debug by the name that the program has of it.
set -euo pipefail

program=$1 folder=$2
name=$(basename "$program")
mkdir -p "$folder"
objcopy --only-keep-debug --compress-debug-sections "$program" "$folder/$name.debug"
chmod 644 "$folder/$name.debug"
cp "$program" "$folder/$name"
strip --strip-all --remove-section=.comment "$folder/$name"
(cd "$folder" && objcopy --add-gnu-debuglink="$name.debug" "$name")
chmod 755 "$folder/$name"
