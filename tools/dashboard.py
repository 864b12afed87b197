"""Has Prometheus evaluate every expression of the dashboard: dashboard.py PROGRAM DASHBOARD RULES.

Runs every command that has --metrics between two interfaces of this network namespace, which is to be a new one, and a Prometheus that
scrapes them each second. Fails if an expression or a variable of the dashboard has no result, or a rule cannot be evaluated.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SECONDS = 90
STORAGE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
API = "http://127.0.0.1:9090/api/v1/"
COMMANDS = {
    "capture": ["capture", "-i", "v1", "-w", "capture.pcapng", "-q"],
    "count": ["count", "-i", "v1", "-q"],
    # Nobody listens there: the counters of a collector are there without one.
    "flows": ["flows", "-i", "v1", "-q", "--ipfix", "127.0.0.1:9"],
    "ping": ["ping", "10.0.0.1", "-i", "0.1", "-q"],
    # Nobody listens there: the counters and the failures of uploads are there without a server.
    "uploads": ["flows", "-i", "v1", "-q", "-w", "s3://logs/", "--partition", "--rotate-interval", "1s", "--spool", "spool", "--spool-wait", "0s"],
    "read": ["read", "packets", "-w", "read.parquet", "-q"],
    "serve": ["serve", "rpcap"],
    "remote": ["capture", "-i", "rpcap://127.0.0.1/v1", "-w", "remote.pcapng", "-q"],
    "respond": ["ping", "--respond", "-I", "v0"],
    "latency": ["latency", "-i", "v1"],
    "monitor": ["monitor", "link"],
    "send": ["send", "-i", "v0", "--udp", "--dst", "10.0.0.2", "--dst-mac", "02:00:00:00:00:02", "--rate", "100pps", "-c", "9000", "-q"],
}


def ask(path, **parameters):
    """The data of a response of Prometheus."""
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{API}{path}?{query}", timeout=SECONDS) as response:
        answer = json.load(response)
    assert answer["status"] == "success", answer
    return answer["data"]


def until(what, condition, processes):
    """Waits for a condition; ends with an error when it takes too long, or a process ends."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            if condition():
                return
        except (urllib.error.URLError, ConnectionError):
            pass  # Prometheus starts.
        ended = [name for name, process in processes.items() if process.poll() is not None]
        if ended or time.monotonic() > end:
            sys.exit(f"not so: {what}; ended: {ended}")
        time.sleep(0.1)


def expressions(dashboard):
    """The title of each panel with an expression of it, variables replaced."""
    values = {"$__rate_interval": "10s", "$instance": ".*", "$interface": ".*", "$target": ".*"}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"]
            for name, value in values.items():
                text = text.replace(name, value)
            yield panel["title"], text


def start(program, folder, rules):
    """The commands and a Prometheus that scrapes them, by name."""
    for words in ("link set lo up", "link add v0 type veth peer name v1", "address add 10.0.0.1/24 dev v0", "link set v0 up", "link set v1 up"):
        subprocess.run(["ip", *words.split()], check=True)

    def run(name, words):
        log = open(folder / f"{name}.log", "w")
        return subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, env=os.environ | STORAGE)

    ports = dict(zip(COMMANDS, range(9101, 9200)))
    os.mkfifo(folder / "packets")
    processes = {"writer": run("writer", [program, "capture", "-i", "v1", "-w", "packets", "-q"])}
    for name, words in COMMANDS.items():
        processes[name] = run(name, [program, *words, "--metrics", str(ports[name])])
        if name == "serve":
            # The next command connects to it.
            until("it serves", lambda: socket.create_connection(("127.0.0.1", 2002)), processes)
    jobs = [{"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for name, port in ports.items()]
    config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(json.dumps(config))
    flags = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:9090"]
    processes["prometheus"] = run("prometheus", ["prometheus", *flags])
    return processes


def check(dashboard, rules, processes):
    """What has no result in Prometheus: panels, variables, and metrics that a rule names."""
    # A rate needs two scrapes.
    scraped = f"min(count_over_time(up[1m])) >= 4 and min(up) == 1 and count(up) == {len(COMMANDS)}"
    until("every command was scraped", lambda: ask("query", query=scraped)["result"], processes)
    healthy = lambda: all(rule["health"] == "ok" for group in ask("rules")["groups"] for rule in group["rules"])
    until("every rule is evaluated", healthy, processes)
    missing = [title for title, text in expressions(dashboard) if not ask("query", query=text)["result"]]
    missing += [name for name in ("instance", "interface", "target") if not ask(f"label/{name}/values")]
    known = ask("label/__name__/values")
    return missing + [name for name in set(re.findall(r"tapline_\w+", rules.read_text())) if name not in known]


def main():
    program, dashboard, rules = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), pathlib.Path(sys.argv[3]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder, processes = pathlib.Path(folder), {}
        try:
            processes = start(program, folder, rules)
            missing = check(dashboard, rules, processes)
        except BaseException:
            for path in sorted(folder.glob("*.log")):
                print(f"== {path.name}\n{path.read_text()[-2000:]}", file=sys.stderr)
            raise
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.wait(SECONDS)
    if missing:
        sys.exit(f"without a result: {', '.join(missing)}")
    print(f"all {len(list(expressions(dashboard)))} expressions of the dashboard, and the alert rules, have results")


main()
