#!/usr/bin/env bash
# Checks the alert rules, and the dashboard with a real Prometheus that scrapes every command with --metrics:
# dashboard.sh PROGRAM. In a network namespace of its own.
set -euo pipefail

program=$(realpath "$1")
cd "$(dirname "$0")/../packaging"
promtool check rules prometheus/tapline-alerts.yml
(cd prometheus && promtool test rules tapline-alerts-test.yml)
exec unshare --net --mount --pid --fork --kill-child --mount-proc python3 ../tools/dashboard.py "$program" grafana/tapline.json prometheus/tapline-alerts.yml
