"""Uploads to Azurite, and compares the objects with files: azurite.py PROGRAM FOLDER, run by azurite.sh."""

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

from azure.storage.blob import BlobServiceClient

PROGRAM, FOLDER = sys.argv[1:]
CAPTURE = "lab/corpus/captures/bgp-bgpsec.pcap"
PORT = 10000
SECONDS = 60

# The account and the key of Azurite, which everybody knows.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SERVICE = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint=http://127.0.0.1:{PORT}/{ACCOUNT};"


def start(command):
    """Starts the server, and returns when it listens."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until = time.monotonic() + SECONDS
    while socket.socket().connect_ex(("127.0.0.1", PORT)):
        assert server.poll() is None and time.monotonic() < until, command
        time.sleep(0.1)


def tapline(line, variables, status=0):
    """Runs the program. Returns what it prints."""
    done = subprocess.run([PROGRAM, *line.split()], env={**os.environ, **variables}, text=True, capture_output=True)
    assert done.returncode == status, (line, done)
    return done.stdout + done.stderr


start([f"{FOLDER}/node/node_modules/.bin/azurite-blob", "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"])
container = BlobServiceClient.from_connection_string(SERVICE).create_container("logs")
variables = {"AZURE_STORAGE_USE_EMULATOR": "true"}
with tempfile.TemporaryDirectory() as work:
    spool = f"--spool {work}/spool"
    # Three parts, which an earlier run left.
    large = os.urandom(20 << 20)
    os.makedirs(f"{work}/spool/az/logs")
    with open(f"{work}/spool/az/logs/large.parquet", "wb") as file:
        file.write(large)
    tapline(f"read -q {CAPTURE} -w {work}/a.parquet", {})
    said = tapline(f"read --json {CAPTURE} -w az://logs/net/a.parquet {spool}", variables)
    account = json.loads(said.splitlines()[-1])["columns"]["uploads"]
    assert account["uploaded_files"] == 2 and account["failures"] == 0, account
    for host in ("one", "two"):
        tapline(f"flows -q {CAPTURE} -w az://logs/table --partition={host} {spool}", variables)
    with open(f"{work}/a.parquet", "rb") as file:
        assert container.download_blob("net/a.parquet").readall() == file.read()
    assert container.download_blob("large.parquet").readall() == large
    keys = [blob.name for blob in container.list_blobs()]
    hosts = {key.split("host=")[1].split("/")[0] for key in keys if key.startswith("table/")}
    assert hosts == {"one", "two"}, keys
    for place, more, answer in (
        ("az://missing/a.parquet", {}, "404"),
        ("az://logs/b.parquet", {"AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(os.urandom(64)).decode()}, "403"),
    ):
        said = tapline(f"read -q {CAPTURE} -w {place} {spool} --spool-wait 0s", {**variables, **more}, status=1)
        assert f"the service answered {answer}" in said and not any(secret in said for secret in more.values()), said
        print(said.strip().removeprefix("tapline: ").split(": ", 1)[1].split(" (1 file")[0])
print(f"Azurite has {len(keys)} objects, one of them in parts, as the files that are written locally")
