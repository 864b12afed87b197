"""Counting in the kernel, ping, and sending."""

import collections

from ._library import Handle, Options, Pollable, account, c_string, call, ffi, lib, opened, read, record, text

ClassCount = record("ClassCount", "tapline_class_count")
GroupCount = record("GroupCount", "tapline_group_count")
PingStats = record("PingStats", "tapline_ping_stats")
SenderStats = record("SenderStats", "tapline_sender_stats")
PingEvent = record("PingEvent", "tapline_ping_event")


class Interval(collections.namedtuple("Interval", ["span_ns", "classes"])):
    """The figures of all classes in an interval of ``span_ns`` nanoseconds. False if the interval has not ended yet."""

    __slots__ = ()

    def __bool__(self):
        return bool(self.classes)


_EVENT_KINDS = {
    value: name.removeprefix("TAPLINE_PING_EVENT_KIND_").lower().replace("_", "-")
    for value, name in ffi.typeof("enum tapline_ping_event_kind").elements.items()
}


class Groups(list):
    """The groups of a class, most packets first: a list of ``GroupCount``."""

    #: Packets of groups for which there was no room: see the option ``max_groups``.
    other = 0


class Count(Pollable):
    """Programs in the kernel that count packets. Options: ``tapline_count_options``.

    ``Count("eth0", classes={"web": "tcp port 443", "all": ""}, interval=1)``. Iterating gives the intervals. Requires
    CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.
    """

    _fd_of = lib.tapline_count_fd
    _ENDED = object()

    def __init__(self, interfaces, classes=None, **options):
        given = Options("tapline_count_options", {"interfaces": interfaces, **options})
        if classes:
            pairs = [{"name": given.string(name), "filter": given.string(of)} for name, of in classes.items()]
            given.raw.classes = given.keep(ffi.new("tapline_count_class[]", pairs))
            given.raw.class_count = len(pairs)
        super().__init__(opened("tapline_count", lib.tapline_count_open, given.raw))

    def next(self, timeout=None):
        """Waits for the end of the interval, at most ``timeout`` seconds. False, without classes, if it does not end in that
        time: there are no groups then. None when the count has ended.
        """

        def attempt():
            span = ffi.new("uint64_t *")
            classes = self._figures(lib.tapline_count_next, [0], [span])
            if classes is None:
                return self._ENDED
            return Interval(span[0], classes) if classes else None

        found = self._until_ready(timeout, attempt)
        return None if found is self._ENDED else found or Interval(0, [])

    def totals(self):
        """The figures of all classes since the count was opened."""
        return self._figures(lib.tapline_count_totals)

    def groups(self, index=0):
        """The groups of the class at this position in the figures that were read last: a ``Groups``.

        Raises IndexError if there is no such class, as after an interval that has not ended.
        """
        groups, count, other = ffi.new("const tapline_group_count **"), ffi.new("size_t *"), ffi.new("uint64_t *")
        if not call(lib.tapline_count_groups, self._raw, index, groups, count, other):
            raise IndexError(index)
        found = Groups(read(GroupCount, group) for group in groups[0][0 : count[0]])
        found.other = other[0]
        return found

    def stop(self):
        """Ends the count. Any thread."""
        call(lib.tapline_count_stop, self._raw)

    def __iter__(self):
        return iter(self.next, None)

    def _figures(self, function, before=(), after=()):
        figures, count = ffi.new("const tapline_class_count **"), ffi.new("size_t *")
        if not call(function, self._raw, *before, figures, count, *after):
            return None
        return [read(ClassCount, one) for one in figures[0][0 : count[0]]]

    def _close(self, raw):
        call(lib.tapline_count_close, raw)


class Ping(Pollable):
    """A run of probes to one host, or to a million. Options: ``tapline_ping_options``.

    ``Ping(["192.0.2.1", "198.51.100.0/28"], count=3, interval=0.1)``. Iterating sends what is due and gives the events.
    Requires CAP_NET_RAW, or a group within ``net.ipv4.ping_group_range``.
    """

    _fd_of = lib.tapline_ping_fd
    _ENDED = object()

    def __init__(self, targets, **options):
        given = Options("tapline_ping_options", {"targets": targets, **options})
        super().__init__(opened("tapline_ping", lib.tapline_ping_open, given.raw))

    def next_batch(self, timeout=None):
        """Sends what is due and waits for events, at most ``timeout`` seconds. None when the run is over."""

        def attempt():
            events, count = ffi.new("const tapline_ping_event **"), ffi.new("size_t *")
            if not call(lib.tapline_ping_next_batch, self._raw, 0, events, count):
                return self._ENDED
            found = [read(PingEvent, event) for event in events[0][0 : count[0]]]
            return [event._replace(kind=_EVENT_KINDS[event.kind]) for event in found] or None

        found = self._until_ready(timeout, attempt)
        return None if found is self._ENDED else found or []

    def __iter__(self):
        while (events := self.next_batch()) is not None:
            yield from events

    def stats(self):
        """The account of all targets so far. A time that is not known is None."""
        return account(PingStats, "tapline_ping_stats", lib.tapline_ping_stats_read, self._raw)

    def target(self, index):
        """The account of the target at this position."""
        found = account(PingStats, "tapline_ping_stats", lib.tapline_ping_target_stats, self._raw, index)
        if found is None:
            raise IndexError(index)
        return found

    def name(self, index):
        """The host name of the target at this position; None if it was given as an address."""
        name = ffi.new("const char **")
        if not call(lib.tapline_ping_target_name, self._raw, index, name):
            raise IndexError(index)
        return text(name[0]) or None

    def stop(self):
        """Ends the run. Any thread."""
        call(lib.tapline_ping_stop, self._raw)

    def finish(self):
        """Closes the run and returns the account of all targets."""
        return self._end(lambda raw: account(PingStats, "tapline_ping_stats", lib.tapline_ping_finish, raw))

    def _close(self, raw):
        call(lib.tapline_ping_finish, raw, ffi.NULL)


class Queue(Handle):
    """Packets to send, in order, each with a time."""

    def __init__(self, packets=0, bytes=0):  # noqa: A002 - the names of the C function
        super().__init__(opened("tapline_queue", lib.tapline_queue_create, packets, bytes))

    def push(self, frame, time_ns=0):
        """Adds a packet: its bytes are copied. The time counts with the rates ``recorded`` and ``absolute``."""
        data = ffi.from_buffer("uint8_t[]", frame)
        call(lib.tapline_queue_push, self._raw, time_ns, data, len(data))

    def clear(self):
        """Removes all packets."""
        call(lib.tapline_queue_clear, self._raw)

    def _close(self, raw):
        call(lib.tapline_queue_free, raw)


class Sender(Handle):
    """A send job on an interface. Options: ``tapline_sender_options``. Requires CAP_NET_RAW."""

    def __init__(self, interface, **options):
        given = Options("tapline_sender_options", {"interface": interface, **options})
        super().__init__(opened("tapline_sender", lib.tapline_sender_open, given.raw))

    def inject(self, frame):
        """Sends a packet now, whatever the rate."""
        data = ffi.from_buffer("uint8_t[]", frame)
        call(lib.tapline_sender_inject, self._raw, data, len(data))

    def transmit(self, queue):
        """Sends the packets of a queue at the rate of the job. Returns whether all were sent."""
        return call(lib.tapline_sender_transmit, self._raw, queue._raw)

    def generate(self, destinations, **options):
        """Sends generated packets. Options: ``tapline_generator_options``. Returns whether all were sent."""
        given = Options("tapline_generator_options", {"destinations": destinations, **options})
        return call(lib.tapline_sender_generate, self._raw, given.raw)

    def stop(self):
        """Ends the job. Any thread."""
        call(lib.tapline_sender_stop, self._raw)

    def finish(self):
        """Closes the job and returns its account. A number that cannot be known is None."""
        return self._end(lambda raw: account(SenderStats, "tapline_sender_stats", lib.tapline_sender_finish, raw))

    def _close(self, raw):
        call(lib.tapline_sender_finish, raw, ffi.NULL)


#: A problem for captures or pings: ``severity`` is ``"info"``, ``"warning"`` or ``"severe"``.
Finding = record("Finding", "tapline_finding")

_SEVERITIES = {
    value: name.removeprefix("TAPLINE_SEVERITY_").lower()
    for value, name in ffi.typeof("enum tapline_severity").elements.items()
}


def examine(interface=None):
    """Checks the host and an interface. The most severe findings come first."""
    name = ffi.NULL if interface is None else c_string(interface)
    raw = opened("tapline_doctor", lib.tapline_doctor_examine, name)
    found, findings = ffi.new("tapline_finding *"), []
    try:
        while call(lib.tapline_doctor_finding, raw, len(findings), found):
            finding = read(Finding, found)
            findings.append(finding._replace(severity=_SEVERITIES[finding.severity]))
    finally:
        call(lib.tapline_doctor_free, raw)
    return findings


def version():
    """The version of the library."""
    return text(lib.tapline_version())

