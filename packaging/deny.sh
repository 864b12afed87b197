#!/usr/bin/env bash
# Checks the dependencies with cargo-deny: licences, sources, duplicates, and advisories where their database can be
# fetched. Installs cargo-deny into target/tools if it is missing. Fails where that is impossible, because then
# nothing has been checked. Skips the advisories, and says so, where the database cannot be fetched.
set -uo pipefail

deny=$(command -v cargo-deny || true)
if [ -z "$deny" ]; then
    deny=target/tools/bin/cargo-deny
    if [ ! -x "$deny" ]; then
        echo "installing cargo-deny into target/tools"
        # Unoptimised it is built in a third of the time and runs for a second.
        if ! CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --debug --locked --quiet --version "^0.20" --root target/tools; then
            echo "deny.sh: cargo-deny cannot be installed: the dependencies are NOT checked" >&2
            exit 1
        fi
    fi
fi

"$deny" check licenses bans sources || exit 1
if "$deny" fetch db >/dev/null 2>&1; then
    "$deny" check advisories || exit 1
else
    echo "deny.sh: the advisory database cannot be fetched: advisories are skipped" >&2
fi
