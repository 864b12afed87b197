#!/usr/bin/env bash
# Installs a program without debugging information, which goes into a file of its own: split-debug.sh PROGRAM FOLDER [DEBUG]
#
# gdb, perf and the backtraces of a crash find FOLDER/DEBUG/NAME.debug by the name that the program has of it, if DEBUG is
# .debug or not given.
set -euo pipefail

program=$1 folder=$2
name=$(basename "$program")
debug=$folder/${3:-.}/$name.debug
# Whatever the umask, others may read it.
install -d "$folder" "$(dirname "$debug")"
objcopy --only-keep-debug --compress-debug-sections "$program" "$debug"
chmod 644 "$debug"
cp "$program" "$folder/$name"
strip --strip-all --remove-section=.comment "$folder/$name"
objcopy --add-gnu-debuglink="$debug" "$folder/$name"
chmod 755 "$folder/$name"
