"""Capture, read, filter, count, send, ping and configure on the Linux network path.

The C library does the work: `docs/guide/python.md` shows how, and `tapline.h` documents each option.
"""

from ._jobs import (
    ClassCount,
    Count,
    Finding,
    GroupCount,
    Groups,
    Interval,
    Ping,
    PingEvent,
    PingStats,
    Queue,
    Sender,
    SenderStats,
    examine,
    version,
)
from ._library import Error
from ._netlink import FakeKernel, ItemResult, Netlink, NetlinkEvent, NetlinkList, Watch
from ._packets import (
    PACKET_DTYPE,
    Batch,
    Capture,
    CaptureStats,
    Delays,
    Filter,
    Interface,
    Packet,
    Reader,
    Writer,
)

__all__ = [
    "PACKET_DTYPE",
    "Batch",
    "Capture",
    "CaptureStats",
    "ClassCount",
    "Count",
    "Delays",
    "Error",
    "FakeKernel",
    "Filter",
    "Finding",
    "GroupCount",
    "Groups",
    "Interface",
    "Interval",
    "ItemResult",
    "Netlink",
    "NetlinkEvent",
    "NetlinkList",
    "Packet",
    "Ping",
    "PingEvent",
    "PingStats",
    "Queue",
    "Reader",
    "Sender",
    "SenderStats",
    "Watch",
    "Writer",
    "examine",
    "version",
]
