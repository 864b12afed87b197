#!/usr/bin/env python3
"""Makes seeds of a fuzz target from the packets of capture files: fuzz-seeds.py TARGET FOLDER FILES.

Targets that read packets take them in a form of their own; the others have no seeds but files.
"""

import hashlib
import pathlib
import struct
import sys

# Link types, by the byte with which an input of each target chooses them.
ONE_PACKET = {
    "wire": [1, 0, 101, 108, 113, 276, 228, 229, 9, 50, 104, 204],
    "anonymize": [0, 1, 9, 50, 101, 104, 108, 113, 204, 228, 229, 276, 147],
    "index": [1, 101, 113, 228, 229, 276, 105, 0],
    "decode": [1],
}
MANY_PACKETS = [1, 1, 1, 101, 113, 228, 229, 276, 0, 9, 104, 12]

# Packets of a file that become seeds of their own.
PACKETS_MAX = 4

# An input of the fuzz targets (-max_len).
BYTES_MAX = 6000

# Numbers of LINKTYPE_RAW in files of some systems.
SAME = {12: 101, 14: 101}


def packets(path):
    """The link type and the packets of a pcap file."""
    data = path.read_bytes()
    orders = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
    order = orders.get(data[:4])
    if order is None or len(data) < 24:
        return 0, []
    (link,) = struct.unpack_from(order + "I", data, 20)
    found, at = [], 24
    while at + 16 <= len(data):
        (length,) = struct.unpack_from(order + "I", data, at + 8)
        if at + 16 + length > len(data):
            break
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    link &= 0xFFFF
    return SAME.get(link, link), found


def seeds(target, link, found):
    """The inputs that hold these packets."""
    if target in ONE_PACKET and link in ONE_PACKET[target]:
        first = bytes([ONE_PACKET[target].index(link)])
        for packet in found[:PACKETS_MAX]:
            yield first + packet
    elif target in ("flows", "columns") and link in MANY_PACKETS:
        kind = MANY_PACKETS.index(link)
        # A table of eight flows, which is looked through now and then; a second between packets.
        seed = b"\x07\x11" if target == "flows" else b""
        for packet in found:
            cut = packet[:255]
            step = b"\x00\x01" if target == "flows" else b""
            part = bytes([kind]) + step + bytes([len(cut)]) + cut
            if len(seed) + len(part) > BYTES_MAX:
                break
            seed += part
        yield seed


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:]:
        for seed in seeds(target, *packets(pathlib.Path(name))):
            (folder / hashlib.sha1(seed[:BYTES_MAX]).hexdigest()).write_bytes(seed[:BYTES_MAX])


main()
