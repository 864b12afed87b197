#!/usr/bin/env bash
# Makes a virtual environment of Python for the tests: python.sh FOLDER
#
# DuckDB and nanoarrow read what the program writes for engines; moto is a server of Amazon S3, which DuckDB reads by s3fs; the client
# of Kafka has a broker for tests. Nothing is downloaded if they are there.
set -euo pipefail

folder=$1
packages=(duckdb==2.0.1 nanoarrow==0.9.0 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5 s3fs==2026.9.0 confluent-kafka==2.12.0)
[ "$(cat "$folder/packages" 2>/dev/null)" = "${packages[*]}" ] && exit 0
# Debian's Python, if that in the path cannot make one.
python=python3
"$python" -c 'import ensurepip, venv' 2>/dev/null || python=/usr/bin/python3
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "${packages[@]}"
echo "${packages[*]}" >"$folder/packages"
