#!/usr/bin/env bash
# Reads the program's tables with Spark in local mode, and compares with tshark: engines.sh PROGRAM FOLDER
#
# Spark takes 400 MB of download and needs Java, so that `make test` does without it.
set -euo pipefail

program=$1 folder=$2
package=pyspark==4.1.0
python=$folder/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$(cat "$python/package" 2>/dev/null)" != "$package" ]; then
    rm -rf "$python"
    /usr/bin/python3 -m venv "$python"
    "$python/bin/pip" install --quiet --disable-pip-version-check "$package"
    echo "$package" >"$python/package"
fi

# A live capture in a namespace of its own: packets go through a pipe into a table of two hosts, and flows are measured beside it.
# Enough for several groups of rows.
packets=600000
# shellcheck disable=SC2016
unshare --net bash -euo pipefail -c '
    program=$1 work=$2 packets=$3
    # Nothing stays if a command fails.
    trap "jobs -p | xargs -r kill 2>/dev/null || true" EXIT
    ip link set lo up
    ip link add left type veth peer name right
    for link in left right; do
        sysctl -qw "net.ipv6.conf.$link.disable_ipv6=1"
        ip link set "$link" up
    done
    mkfifo "$work/ready.packets" "$work/ready.flows"
    "$program" capture -i right -Q in --buffer 256M -c "$packets" -w - 2>"$work/ready.packets" |
        tee "$work/live.pcapng" | "$program" read -q - -w "$work/packets" --partition=one & reading=$!
    exec 3<"$work/ready.packets" && read -r <&3
    "$program" flows -i right --direction in --buffer 256M -c "$packets" -w "$work/flows" --partition=one 2>"$work/ready.flows" & flows=$!
    exec 4<"$work/ready.flows" && read -r <&4
    cat <&3 >/dev/null & cat <&4 >/dev/null &
    "$program" send -q -i left --udp --dst-mac 02:00:00:00:00:02 --src 10.1.0.1-10.1.0.250 --sport 1024-60000 --dst 10.9.0.1 --dport 443 \
        --flows 1000 --size 200 --rate 60kpps -c "$packets"
    wait "$reading" && wait "$flows"
' bash "$program" "$work" "$packets"
"$program" read -q "$work/live.pcapng" -w "$work/packets" --partition=two
"$program" flows -q "$work/live.pcapng" -w "$work/flows" --partition=two
tshark -n -r "$work/live.pcapng" -Y udp -T fields -e frame.time_epoch -e frame.len -e ip.src -e udp.srcport 2>/dev/null >"$work/tshark"
udp=$(wc -l <"$work/tshark")
bytes=$(awk '{ sum += $2 } END { print sum }' "$work/tshark")
streams=$(cut -f 3,4 "$work/tshark" | sort -u | wc -l)
first=$(head -n 1 "$work/tshark" | cut -f 1 | tr -d .)
[ "$udp" = "$packets" ]
unshare --net sh -c 'ip link set lo up && exec "$@"' sh env SPARK_LOCAL_IP=127.0.0.1 "$python/bin/python" - "$work" "$udp" "$bytes" "$streams" "$first" <<'E2'
import sys
from pyspark.sql import SparkSession

work, *wanted = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
spark.read.parquet(f"{work}/packets").createOrReplaceTempView("packets")
spark.read.parquet(f"{work}/flows").createOrReplaceTempView("flows")
packets = spark.sql("""select host, count_if(protocol = 'udp'), sum(original_bytes), min(time), min(src) is not null
    from packets group by host order by host""").collect()
flows = spark.sql("select host, count_if(protocol = 17) from flows group by host order by host").collect()
udp, size, streams, first = map(int, wanted)
assert [tuple(row) for row in packets] == [(host, udp, size, first, True) for host in ("one", "two")], (packets, wanted)
assert [tuple(row) for row in flows] == [(host, streams) for host in ("one", "two")], (flows, wanted)
print(f"Spark {spark.version}: {udp} packets of UDP, {size} bytes and {streams} flows for each of two hosts, as tshark has them")
E2
