"""Network configuration over netlink. Objects are dictionaries with the names of the JSON objects of ``tapline.h``."""

import collections
import json
import struct

from ._library import Error, Handle, Options, Pollable, call, error_of, ffi, lib, opened

#: A change that a watch reports: ``kind`` is ``"added"``, ``"changed"``, ``"removed"`` or ``"overrun"``.
NetlinkEvent = collections.namedtuple("NetlinkEvent", ["kind", "object", "before"])

#: The result of a change of a batch: ``state`` is ``"done"``, ``"failed"``, ``"not-run"``, ``"undone"`` or ``"not-undone"``,
#: and ``error`` is the ``Error``; None if the change is done.
ItemResult = collections.namedtuple("ItemResult", ["state", "error"])

_STATES = {
    value: name.removeprefix("TAPLINE_ITEM_STATE_").lower().replace("_", "-")
    for value, name in ffi.typeof("enum tapline_item_state").elements.items()
}

# Why a change has no error of its own.
_CANCELED = {
    "not-run": "not carried out, because an earlier change failed",
    "undone": "rolled back, because another change failed",
}

# An item of a batch begins with its verb and form, its object, and its length.
_ITEM = struct.Struct("=3I")


def _constant(group, name):
    try:
        return getattr(lib, f"TAPLINE_{group}_{name.upper()}")
    except AttributeError:
        what = group.removeprefix("NETLINK_").lower()
        raise ValueError(f"there is no {what} {name!r}") from None


def _kind(name):
    return _constant("NETLINK_OBJECT", name)


def _verb(name):
    return _constant("NETLINK_VERB", "del" if name == "delete" else name)


class NetlinkList(list):
    """The objects that ``Netlink.list`` returns."""

    #: Whether objects were added or deleted while the kernel made the list, in each of four attempts. Then objects may be
    #: missing or listed twice.
    interrupted = False


def _lines(raw):
    """The objects of a list, which is freed."""
    data, length = ffi.new("const uint8_t **"), ffi.new("size_t *")
    try:
        call(lib.tapline_list_bytes, raw, data, length)
        lines = ffi.buffer(data[0], length[0])[:] if length[0] else b""
        interrupted = lib.tapline_list_is_interrupted(raw)
    finally:
        call(lib.tapline_list_free, raw)
    found = NetlinkList(json.loads(line) for line in lines.splitlines())
    found.interrupted = interrupted
    return found


class FakeKernel(Handle):
    """A kernel in memory, for tests: ``Netlink(fake=FakeKernel())``."""

    def __init__(self):
        super().__init__(opened("tapline_fake_kernel", lib.tapline_fake_kernel_new))

    def _close(self, raw):
        call(lib.tapline_fake_kernel_free, raw)


class Netlink(Handle):
    """The network configuration of a namespace: by default that of the calling thread.

    ``kind`` is ``"link"``, ``"addr"``, ``"route"``, ``"neigh"``, ``"fdb"``, ``"vlan"``, ``"rule"`` or ``"nexthop"``.
    An interface is its index or its name: ``dev="eth0"``. Objects that are returned have indices: see ``index``. The
    fields are those of docs/guide/netlink-json.md. Changes require CAP_NET_ADMIN.
    """

    _form = lib.TAPLINE_NETLINK_FORM_JSON

    def __init__(self, netns=None, fake=None):
        given = Options("tapline_netlink_options", {"netns": netns})
        if fake is not None:
            # For the library null is the real kernel.
            if not fake._raw:
                raise ValueError("the fake kernel is closed")
            given.raw.fake = fake._raw
        super().__init__(opened("tapline_netlink", lib.tapline_netlink_open, given.raw))

    def index(self, name):
        """The index of the interface with this name."""
        return self.get("link", name=name)["index"]

    def add(self, kind, /, **fields):
        """Creates an object, which must not exist."""
        self._change("add", kind, fields)

    def replace(self, kind, /, **fields):
        """Creates an object, or replaces the existing one."""
        self._change("replace", kind, fields)

    def set(self, kind, /, **fields):
        """Changes the given fields of an existing object."""
        self._change("set", kind, fields)

    def append(self, kind, /, **fields):
        """Creates an object next to others with the same key."""
        self._change("append", kind, fields)

    def delete(self, kind, /, **fields):
        """Deletes the object that the fields identify."""
        self._change("delete", kind, fields)

    def create(self, kind, /, **fields):
        """Creates an object and returns it with the values that the kernel chose."""
        return self._query(lib.tapline_netlink_create, kind, fields)[0]

    def get(self, kind, /, **fields):
        """Reads the object that the fields identify."""
        return self._query(lib.tapline_netlink_get, kind, fields)[0]

    def list(self, kind, /, **fields):
        """The objects in which each of the fields has this value: a ``NetlinkList``."""
        return self._query(lib.tapline_netlink_list, kind, fields)

    def run(self, changes, on_error="continue"):
        """Carries out many changes in few system calls, and returns an ``ItemResult`` for each, in their order.

        A change is a tuple of a verb, which is the name of a method above, a kind and the fields:
        ``("add", "addr", {"dev": "eth0", "local": "192.0.2.1", "prefixlen": 24})``. If one fails, ``on_error="continue"``
        carries out the others, ``"stop"`` none after it, and ``"undo"`` rolls back those before it.
        """
        items = bytearray()
        for verb, kind, fields in changes:
            data = json.dumps(fields).encode()
            # The form is in the number of the verb: 256 times.
            items += _ITEM.pack(_verb(verb) + 256 * self._form, _kind(kind), len(data)) + data
        data, mode = ffi.from_buffer("uint8_t[]", items), _constant("ON_ERROR", on_error)
        raw = opened("tapline_batch", lib.tapline_netlink_run, self._raw, data, len(items), mode)
        try:
            count = lib.tapline_batch_count(raw)
            if lib.tapline_batch_is_done(raw):
                return [ItemResult("done", None)] * count
            return [_item_result(raw, item) for item in range(count)]
        finally:
            call(lib.tapline_batch_free, raw)

    def lookup(self, **query):
        """The route of a packet: ``lookup(to="192.0.2.1")``. Equals ``ip route get``."""
        data = json.dumps(query).encode()
        raw = opened("tapline_list", lib.tapline_netlink_lookup, self._raw, self._form, data, len(data))
        return _lines(raw)[0]

    def watch(self, kind, /, **fields):
        """Watches objects: first those that exist, and then every change, without a gap."""
        return Watch(opened("tapline_watch", *self._request(lib.tapline_watch_open, kind, fields)))

    def _request(self, function, kind, fields):
        data = json.dumps(fields).encode()
        return function, self._raw, _kind(kind), self._form, data, len(data)

    def _query(self, function, kind, fields):
        return _lines(opened("tapline_list", *self._request(function, kind, fields)))

    def _change(self, verb, kind, fields):
        data = json.dumps(fields).encode()
        verb, kind = _verb(verb), _kind(kind)
        call(lib.tapline_netlink_change, self._raw, verb, kind, self._form, data, len(data))

    def _close(self, raw):
        call(lib.tapline_netlink_close, raw)


class Watch(Pollable):
    """A watch. Iterating gives the events."""

    _fd_of = lib.tapline_watch_fd

    _ENDED = object()

    def next(self, timeout=None):
        """Waits for events, at most ``timeout`` seconds, and returns those that are available. None after ``stop``."""

        def attempt():
            raw = ffi.new("tapline_list **")
            if not call(lib.tapline_watch_next, self._raw, 0, raw):
                return self._ENDED
            return [_event(line) for line in _lines(raw[0])] or None

        found = self._until_ready(timeout, attempt)
        return None if found is self._ENDED else found or []

    def stop(self):
        """Ends the watch. Any thread."""
        call(lib.tapline_watch_stop, self._raw)

    def __iter__(self):
        while (events := self.next()) is not None:
            yield from events

    def _close(self, raw):
        call(lib.tapline_watch_close, raw)


def _item_result(batch, item):
    state, error = ffi.new("tapline_item_state *"), ffi.new("tapline_error **")
    call(lib.tapline_batch_result, batch, item, state, error)
    name = _STATES[state[0]]
    if error[0]:
        return ItemResult(name, error_of(error[0], lib.tapline_error_status(error[0])))
    return ItemResult(name, Error("CANCELED", _CANCELED[name]) if name in _CANCELED else None)


def _event(line):
    return NetlinkEvent(line["event"], line.get("object", line.get("after")), line.get("before"))
