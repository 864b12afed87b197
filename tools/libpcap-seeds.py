#!/usr/bin/env python3
"""Writes inputs for one of libpcap's fuzz targets: libpcap-seeds.py TARGET FOLDER. They are made of the corpus of this repository."""

import itertools
import json
import pathlib
import re
import sys

target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
root = pathlib.Path(__file__).parent.parent
corpus = root / "lab" / "corpus"
rows = json.loads((corpus / "filters" / "accept.json").read_text())
table = (root / "crates" / "pcap" / "src" / "datalinks.rs").read_text()
# Number and name, on one line or on several.
numbers = {name: int(number) for number, name in re.findall(r'\(\s*(\d+),\s*c"(\w+)"', table)}
filters = [(text.encode(), numbers[row["link_type"]]) for row in rows for text in row["expressions"]]
captures = [file.read_bytes() for name in ("captures", "made") for file in sorted((corpus / name).iterdir())]

if target == "fuzz_filter":
    # The last byte is the link-layer header type; types above 255 have no input.
    seeds = [text + bytes([number]) for text, number in filters if number < 256]
elif target == "fuzz_pcap":
    seeds = captures
else:
    # A length, a filter with its zero, and a capture.
    short = itertools.cycle(text for text, _ in filters if 0 < len(text) < 255)
    seeds = [bytes([len(text) + 1]) + text + b"\0" + capture for text, capture in zip(short, captures)]
for number, seed in enumerate(seeds):
    (folder / str(number)).write_bytes(seed)
