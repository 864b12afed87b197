#!/bin/sh
# Compiler for packaging/c-library.sh that links each library once: a second call whose arguments differ only in folders
# copies the result of the first. Results are kept in $LINKED.
set -eu
output='' previous=''
for word; do
    [ "$previous" != -o ] || output=$word
    previous=$word
done
result=$LINKED/$(printf '%s\n' "$@" | sed 's|.*/||' | sha256sum | cut -d ' ' -f 1)
exec 9>"$result.lock"
flock 9
if [ ! -e "$result" ]; then
    cc "$@"
    cp "$output" "$result"
fi
cp "$result" "$output"
