#!/usr/bin/env bash
# Checks the dependencies with cargo-deny: licences, sources, duplicates, and advisories where their
# database can be fetched. Installs cargo-deny into target/tools if it is not there; where that fails it
# says so, and exits with DENY_REQUIRED (0).
set -uo pipefail

deny=$(command -v cargo-deny || true)
if [ -z "$deny" ]; then
    deny=target/tools/bin/cargo-deny
    if [ ! -x "$deny" ]; then
        echo "installing cargo-deny into target/tools"
        # Unoptimised it is built in a third of the time and runs for a second.
        if ! CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --debug --locked --quiet --version "^0.20" --root target/tools; then
            echo "cargo-deny does not install here: the dependencies are NOT checked" >&2
            exit "${DENY_REQUIRED:-0}"
        fi
    fi
fi

"$deny" check licenses bans sources || exit 1
if "$deny" fetch db >/dev/null 2>&1; then
    "$deny" check advisories || exit 1
else
    echo "the advisory database cannot be fetched here: advisories are NOT checked" >&2
fi
