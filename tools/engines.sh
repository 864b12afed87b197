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

capture=lab/corpus/captures/bgp-bgpsec.pcap
for host in one two; do
    "$program" read -q "$capture" -w "$work/packets" --partition="$host"
    "$program" flows -q "$capture" -w "$work/flows" --partition="$host"
done
tcp=$(tshark -n -r "$capture" -Y tcp 2>/dev/null | wc -l)
bytes=$(tshark -n -r "$capture" -T fields -e frame.len 2>/dev/null | awk '{ sum += $1 } END { print sum }')
streams=$(tshark -n -r "$capture" -T fields -e tcp.stream -Y tcp 2>/dev/null | sort -u | wc -l)
first=$(tshark -n -r "$capture" -T fields -e frame.time_epoch -c 1 2>/dev/null | tr -d .)
unshare --net sh -c 'ip link set lo up && exec "$@"' sh env SPARK_LOCAL_IP=127.0.0.1 "$python/bin/python" - "$work" "$tcp" "$bytes" "$streams" "$first" <<'E2'
import sys
from pyspark.sql import SparkSession

work, *wanted = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
spark.read.parquet(f"{work}/packets").createOrReplaceTempView("packets")
spark.read.parquet(f"{work}/flows").createOrReplaceTempView("flows")
packets = spark.sql("""select host, count_if(protocol = 'tcp'), sum(original_bytes), min(time), min(src) is not null
    from packets group by host order by host""").collect()
flows = spark.sql("select host, count_if(protocol = 6) from flows group by host order by host").collect()
tcp, size, streams, first = map(int, wanted)
assert [tuple(row) for row in packets] == [(host, tcp, size, first, True) for host in ("one", "two")], (packets, wanted)
assert [tuple(row) for row in flows] == [(host, streams) for host in ("one", "two")], (flows, wanted)
print(f"Spark {spark.version}: {tcp} packets of TCP, {size} bytes and {streams} connections for each of two hosts, as tshark has them")
E2
