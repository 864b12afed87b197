"""Captures, capture files and filters."""

import operator
import weakref

from ._library import (
    NO_QUEUE,
    UNKNOWN,
    Error,
    Handle,
    Options,
    Pollable,
    account,
    c_string,
    call,
    ffi,
    lib,
    opened,
    read,
    record,
    text,
)

#: Layout of ``Batch.records``, for ``numpy.dtype(tapline.PACKET_DTYPE)``.
PACKET_DTYPE = {
    "names": [],
    "formats": [],
    "offsets": [],
    "itemsize": ffi.sizeof("tapline_packet"),
}
for _name, _field in ffi.typeof("tapline_packet").fields:
    if _name not in ("data", "reserved"):
        PACKET_DTYPE["names"].append(_name)
        PACKET_DTYPE["formats"].append(f"u{ffi.sizeof(_field.type)}")
        PACKET_DTYPE["offsets"].append(_field.offset)

_DIRECTIONS = (None, "in", "out")
_RECEPTIONS = (None, "unicast", "multicast", "broadcast", "promiscuous")
_CHECKSUMS = (None, "not-ready", "valid")

CaptureStats = record("CaptureStats", "tapline_capture_stats")
Delays = record("Delays", "tapline_delays")


class Interface:
    """An interface of a capture or a file. Packets refer to it by position."""

    def __init__(self, name=None, link_type=1, snaplen=0):
        #: Its name on the capturing machine; None if unknown.
        self.name = name
        #: Link-layer header type (LINKTYPE_ of libpcap): 1 is Ethernet.
        self.link_type = link_type
        #: Maximum captured bytes of a packet; 0 is no limit.
        self.snaplen = snaplen

    def __repr__(self):
        return f"Interface({self.name!r}, link_type={self.link_type}, snaplen={self.snaplen})"


class Packet:
    """A packet of a batch. Valid as long as the batch, that is until the next one is read."""

    __slots__ = ("_batch", "_index")

    def __init__(self, batch, index):
        self._batch, self._index = batch, index

    def _field(name, of=lambda value: value):  # noqa: N805 - makes the properties below
        get = operator.attrgetter(name)
        return property(lambda self: of(get(self._batch._packets()[self._index])))

    #: Length on the wire.
    len = _field("len")
    #: Number of captured bytes.
    captured_len = _field("captured_len")
    #: When it was received or sent: nanoseconds since 1970; None if a file has no time for it.
    time_ns = _field("time_ns", lambda value: None if value == UNKNOWN else value)
    #: Position of its interface.
    interface = _field("interface")
    #: Receive queue; None if it is not known, or if the interface has only one.
    queue = _field("queue", lambda value: None if value == NO_QUEUE else value)
    #: Packets that the ring dropped before this one.
    drops_before = _field("drops_before")
    #: ``"in"``, ``"out"``, or None.
    direction = _field("direction", lambda value: _DIRECTIONS[value])
    #: ``"unicast"``, ``"multicast"``, ``"broadcast"``, ``"promiscuous"``, or None.
    reception = _field("reception", lambda value: _RECEPTIONS[value])
    #: ``"not-ready"``, ``"valid"``, or None.
    checksum = _field("checksum", lambda value: _CHECKSUMS[value])
    del _field

    @property
    def data(self):
        """A copy of the captured bytes, from the link-layer header on."""
        raw = self._batch._packets()[self._index]
        return ffi.buffer(raw.data, raw.captured_len)[:]

    @property
    def view(self):
        """The captured bytes where they lie, as a read-only memoryview. It ends with the batch; copy what you keep.

        The batch cannot end while a slice of it exists, or an array that uses it: reading the next one is a BufferError.
        """
        raw = self._batch._packets()[self._index]
        return self._batch._lend(ffi.buffer(raw.data, raw.captured_len))

    def __len__(self):
        return self.captured_len

    def __bytes__(self):
        return self.data


class Batch:
    """Packets that are ready: a sequence, of which a slice is a list. Valid until the next batch is read, or its source is
    closed.
    """

    def __init__(self, raw, count):
        self._raw, self._count, self._views = raw, count, []

    def _packets(self):
        if self._raw is None:
            raise ValueError("the batch has ended: copy what you keep of it")
        return self._raw

    def _lend(self, memory):
        view = memoryview(memory).toreadonly()
        # The view and its slices keep the object alive, and nothing else does.
        self._views.append((view, weakref.ref(memory)))
        return view

    def _end(self):
        """Ends the views. A BufferError of one that is in use, by an array or a slice, leaves the batch as it is."""
        while self._views:
            view, memory = self._views[-1]
            view.release()
            if memory() is not None:
                raise BufferError("a slice of a packet's view still exists: delete it, or copy the bytes")
            self._views.pop()
        self._raw = None

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        # Also turns negative ones around, and reports those that are too great.
        found = range(self._count)[index]
        return Packet(self, found) if isinstance(found, int) else [Packet(self, each) for each in found]

    @property
    def records(self):
        """The fields of all packets, copied: ``numpy.frombuffer(batch.records, numpy.dtype(tapline.PACKET_DTYPE))``."""
        size = self._count * ffi.sizeof("tapline_packet")
        return bytearray(ffi.buffer(self._packets(), size)) if size else bytearray()

    def heads(self, length):
        """The first ``length`` bytes of all packets, one after the other, shorter ones followed by zeros.

        ``numpy.frombuffer(batch.heads(64), numpy.uint8).reshape(-1, 64)`` has a packet in each row.
        """
        packets, rows = self._packets(), bytearray(self._count * length)
        row = ffi.from_buffer(rows)
        for index in range(self._count):
            packet = packets[index]
            ffi.memmove(row + index * length, packet.data, min(packet.captured_len, length))
        return rows


class _Lender:
    """What lends batches."""

    _batch = None

    def _read(self, function, *arguments):
        """The next batch; None at the end."""
        self._end_batch()
        packets, count = ffi.new("const tapline_packet **"), ffi.new("size_t *")
        if not call(function, self._raw, *arguments, packets, count):
            return None
        self._batch = Batch(packets[0], count[0])
        return self._batch

    def _end_batch(self):
        if self._batch is not None:
            self._batch._end()
            self._batch = None

    def close(self):
        """Closes it. Further calls change nothing."""
        self._end_batch()
        super().close()

    def _interface(self, function, index):
        raw = ffi.new("tapline_interface *")
        if not call(function, self._raw, index, raw):
            raise IndexError(index)
        return Interface(text(raw.name) or None, raw.link_type, raw.snaplen)

    def __iter__(self):
        """The batches up to the end. Empty ones are left out."""
        while (batch := self.next_batch()) is not None:
            if batch:
                yield batch


class Capture(_Lender, Pollable):
    """A running capture: packets gather in its rings. Options: ``tapline_capture_options``.

    ``Capture("eth0", filter="udp", delivery="immediate", max_time=2.5)``. Requires CAP_NET_RAW.
    """

    _fd_of = lib.tapline_capture_fd
    _ENDED = object()

    def __init__(self, interfaces, **options):
        given = Options("tapline_capture_options", {"interfaces": interfaces, **options})
        super().__init__(opened("tapline_capture", lib.tapline_capture_open, given.raw))

    def next_batch(self, timeout=None):
        """Waits for packets, at most ``timeout`` seconds. Empty without packets in that time; None when it has ended."""

        batch = None

        def attempt():
            nonlocal batch
            batch = self._read(lib.tapline_capture_next_batch, 0)
            return self._ENDED if batch is None else batch or None

        self._until_ready(timeout, attempt)
        return batch

    def set_filter(self, filter=""):  # noqa: A002 - the name of the option
        """Replaces the filter of a capture of one interface in mirror mode. An empty one captures all packets."""
        self._end_batch()
        call(lib.tapline_capture_set_filter, self._raw, c_string(filter))

    def interface(self, index=0):
        """The interface at this position."""
        return self._interface(lib.tapline_capture_interface, index)

    def stats(self):
        """The account so far. A number that cannot be known is None."""
        return account(CaptureStats, "tapline_capture_stats", lib.tapline_capture_stats_read, self._raw)

    def interface_stats(self, index=0):
        """The account of the interface at this position so far."""
        found = account(
            CaptureStats, "tapline_capture_stats", lib.tapline_capture_interface_stats, self._raw, index
        )
        if found is None:
            raise IndexError(index)
        return found

    def delays(self):
        """How long after their time stamps the packets so far were read, with the option ``measure_delays``."""
        return account(Delays, "tapline_delays", lib.tapline_capture_delays, self._raw)

    def stop(self):
        """Ends the flow of packets. Those in the rings can still be read. Any thread."""
        call(lib.tapline_capture_stop, self._raw)

    def finish(self):
        """Ends and closes the capture, and returns its final account.

        If waiting for packets has failed, that is the error, and its ``account`` is the account.
        """
        self._end_batch()
        stats = ffi.new("tapline_capture_stats *")
        stats.size = ffi.sizeof("tapline_capture_stats")
        # The duration of a capture that has ended is known.
        stats.duration_ns = UNKNOWN
        try:
            self._end(lambda raw: call(lib.tapline_capture_finish, raw, stats))
        except Error as error:
            if stats.duration_ns != UNKNOWN:
                error.account = read(CaptureStats, stats)
            raise
        return read(CaptureStats, stats)

    def _close(self, raw):
        call(lib.tapline_capture_close, raw)


class Reader(_Lender, Handle):
    """A capture file: pcap or pcapng, also compressed. Options: ``tapline_reader_options``."""

    def __init__(self, path, **options):
        given = Options("tapline_reader_options", options)
        name = given.string(path)
        super().__init__(opened("tapline_reader", lib.tapline_reader_open, name, given.raw))

    def next_batch(self):
        """The next packets; None at the end of the file. Waits while a pipe has none."""
        return self._read(lib.tapline_reader_next_batch)

    def stop(self):
        """Ends the reader, also a call that waits for a pipe. Any thread."""
        call(lib.tapline_reader_stop, self._raw)

    def interface(self, index=0):
        """The interface at this position, of the packets that were read so far. Before the first batch, this reads the first
        packet.
        """
        return self._interface(lib.tapline_reader_interface, index)

    def _close(self, raw):
        call(lib.tapline_reader_close, raw)


def _array(packets):
    """Packets for a call: an array, its length, and what has to live as long. Frames, which are bytes, have no time."""
    if isinstance(packets, Batch):
        return packets._packets(), len(packets), packets
    packets = list(packets)
    array, frames = ffi.new("tapline_packet[]", len(packets)), []
    for index, packet in enumerate(packets):
        if isinstance(packet, Packet):
            array[index] = packet._batch._packets()[packet._index]
            continue
        frame, raw = ffi.from_buffer(packet), array[index]
        frames.append(frame)
        raw.data = ffi.cast("uint8_t *", frame)
        raw.captured_len = raw.len = len(frame)
        raw.time_ns, raw.queue = UNKNOWN, NO_QUEUE
    return array, len(packets), frames


class Writer(Handle):
    """A capture file that is being written. Options: ``tapline_writer_options``."""

    def __init__(self, path, interfaces=None, **options):
        given = Options("tapline_writer_options", options)
        if interfaces is not None:
            described = [self._described(interface, given) for interface in interfaces]
            given.raw.interfaces = given.keep(ffi.new("tapline_interface[]", described))
            given.raw.interface_count = len(described)
        name = given.string(path)
        super().__init__(opened("tapline_writer", lib.tapline_writer_create, name, given.raw))

    @staticmethod
    def _described(interface, kept):
        """The fields of a ``tapline_interface``, whose name lives as long as the options ``kept``."""
        name = kept.string(interface.name) if interface.name else ffi.NULL
        return {"name": name, "link_type": interface.link_type, "snaplen": interface.snaplen}

    def add_interface(self, interface):
        """Adds an ``Interface`` behind those of the file, and returns its position."""
        kept, position = Options("tapline_writer_options", {}), ffi.new("uint32_t *")
        described = ffi.new("tapline_interface *", self._described(interface, kept))
        call(lib.tapline_writer_add_interface, self._raw, described, position)
        return position[0]

    def write(self, packets, time_ns=None):
        """Writes a batch, or a list of packets and of frames, which are bytes.

        ``time_ns`` is the time of all of them. Without it, packets have their own time, and frames have none.
        """
        # The packets of a batch belong to the library: those with another time are copies.
        array, count, _kept = _array(packets if time_ns is None else list(packets))
        if time_ns is not None:
            for index in range(count):
                array[index].time_ns = time_ns
        call(lib.tapline_writer_write, self._raw, array, count)

    def flush(self):
        """Writes what is in the buffer."""
        call(lib.tapline_writer_flush, self._raw)

    def finish(self):
        """Closes the file, and returns the number of its packets."""
        packets = ffi.new("uint64_t *")
        self._end(lambda raw: call(lib.tapline_writer_close, raw, packets))
        return packets[0]

    def _close(self, raw):
        call(lib.tapline_writer_close, raw, ffi.NULL)


class Filter(Handle):
    """A compiled filter, in the language of pcap-filter(7). Options: ``tapline_filter_options``."""

    def __init__(self, text="", **options):
        given = Options("tapline_filter_options", options)
        source = given.string(text)
        super().__init__(opened("tapline_filter", lib.tapline_filter_compile, source, given.raw))

    def run(self, packets):
        """Runs it on a batch, or on a list of packets and of frames, which are bytes. Returns a buffer of 32-bit numbers, one
        for each packet: how many bytes to keep, 0 if it does not match. ``numpy.frombuffer(filter.run(batch), numpy.uint32)``.
        """
        array, count, _kept = _array(packets)
        keep = memoryview(bytearray(4 * count)).cast("I")
        call(lib.tapline_filter_run, self._raw, array, count, ffi.from_buffer("uint32_t[]", keep))
        return keep

    def matches(self, frame):
        """Whether a frame, which is bytes, matches."""
        return self.run([frame])[0] != 0

    def classic(self):
        """The program of classic BPF: tuples of code, jt, jf and k."""
        code, count = ffi.new("const tapline_instruction **"), ffi.new("size_t *")
        call(lib.tapline_filter_classic, self._raw, code, count)
        return [(one.code, one.jt, one.jf, one.k) for one in code[0][0 : count[0]]]

    def _close(self, raw):
        call(lib.tapline_filter_free, raw)
