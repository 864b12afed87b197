"""The C library: how it is loaded and called, and how options and accounts cross."""

import collections
import contextlib
import math
import os
import pathlib
import select
import threading
import time

from ._abi import ffi


def _load():
    beside = pathlib.Path(__file__).with_name("libtapline.so")
    return ffi.dlopen(os.environ.get("TAPLINE_LIBRARY") or (str(beside) if beside.exists() else "libtapline.so.0"))


lib = _load()

UNKNOWN = 2**64 - 1
NO_QUEUE = 2**32 - 1


class Error(Exception):
    """What failed, on what, why, and what to do about it."""

    def __init__(self, status, message, hint="", kernel_text="", attribute="", os_error=0):
        super().__init__(f"{message} ({hint})" if hint else message)
        #: Name of the status: ``"NOT_FOUND"``, ``"PRIVILEGE"`` …
        self.status = status
        #: What failed, on what, and why.
        self.message = message
        #: What to do about it; empty if nothing is known.
        self.hint = hint
        #: The kernel's own text; empty without one.
        self.kernel_text = kernel_text
        #: Path of the netlink attribute that the kernel rejected; empty without one.
        self.attribute = attribute
        #: As in ``errno``; 0 without one.
        self.os_error = os_error
        #: The final account of a capture that could not wait for packets any more; otherwise None.
        self.account = None

    def __reduce__(self):
        """For pickle, which would call the class with the text alone: pools of processes pass errors on."""
        words = self.status, self.message, self.hint, self.kernel_text, self.attribute, self.os_error
        return type(self), words, {"account": self.account}


_STATUS = {
    value: name.removeprefix("TAPLINE_STATUS_") for value, name in ffi.typeof("enum tapline_status").elements.items()
}


def c_string(value):
    """A C string, which ends at its first zero byte: there can be none before."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{value!r} contains a zero byte")
    return ffi.new("char[]", encoded)


def text(raw):
    """A string of the library; empty if there is none."""
    return ffi.string(raw).decode() if raw else ""


def error_of(raw, status):
    """Takes an error of the library."""
    error = Error(
        _STATUS.get(status, str(status)),
        text(lib.tapline_error_message(raw)),
        text(lib.tapline_error_hint(raw)),
        text(lib.tapline_error_kernel_text(raw)),
        text(lib.tapline_error_attribute(raw)),
        lib.tapline_error_os_error(raw),
    )
    lib.tapline_error_free(raw)
    return error


def call(function, *arguments):
    """Calls a function of the library. Returns whether it did not report END."""
    error = ffi.new("tapline_error **")
    status = function(*arguments, error)
    if status < 0:
        raise error_of(error[0], status)
    return status != lib.TAPLINE_STATUS_END


# The enumerations of option fields, by struct or for all.
_ENUMS = {
    ("tapline_capture_options", "direction"): "CAPTURE_DIRECTION",
    ("tapline_count_options", "direction"): "COUNT_DIRECTION",
    "backend": "BACKEND",
    "by": "COUNT_BY",
    "delivery": "DELIVERY",
    "family": "FAMILY",
    "format": "FORMAT",
    "kind": "GENERATOR_KIND",
    "layer": "COUNT_LAYER",
    "long_frames": "LONG_FRAMES",
    "mode": "CAPTURE_MODE",
    "path": "SEND_PATH",
    "rate_unit": "RATE",
    "xdp_mode": "XDP_MODE",
}


def _number(struct, name, value):
    if not isinstance(value, str):
        number = int(value)
        if number != value:
            raise ValueError(f"{name}: {value!r} is not a whole number")
        return number
    enum = _ENUMS.get((struct, name)) or _ENUMS.get(name)
    if enum is None:
        raise TypeError(f"{name} is a number")
    constant = f"TAPLINE_{enum}_{value.upper().replace('-', '_')}"
    try:
        return getattr(lib, constant)
    except AttributeError:
        raise ValueError(f"{name}: unknown value {value!r}") from None


class Options:
    """An option struct. Its options are the fields of the C struct.

    A time is also an option in seconds: without ``_ns``, or with ``_time`` in its place. A value of an enumeration is also a string: ``"immediate"``.
    """

    def __init__(self, struct, given):
        self.raw = ffi.new(f"{struct} *")
        self.raw.size = ffi.sizeof(struct)
        # What the struct points to.
        self._kept = []
        fields = dict(ffi.typeof(struct).fields)
        # An array has its length: another one would have the library read behind its end.
        hidden = {"size", *(_length_of(name) for name, field in fields.items() if field.type.kind == "pointer")}
        for name, value in given.items():
            if value is None:
                continue
            time = f"{name.removesuffix('_time')}_ns"
            if name not in fields and time in fields:
                name, value = time, _nanoseconds(name, value)
            if name not in fields or name in hidden:
                raise TypeError(f"{struct} has no option {name!r}")
            kind = fields[name].type
            if kind.kind != "pointer":
                setattr(self.raw, name, _number(struct, name, value))
            elif kind.item.kind == "pointer":
                if isinstance(value, (str, os.PathLike)):
                    value = [value]
                self.array(name, kind, [self.string(one) for one in value])
            elif kind.item.cname == "char":
                setattr(self.raw, name, self.string(value))
            elif kind.item.cname in ("uint8_t", "unsigned char"):
                setattr(self.raw, name, self.keep(ffi.new("uint8_t[]", _hardware_address(value))))
            else:
                self.array(name, kind, value)

    def keep(self, value):
        """Keeps a value as long as the options."""
        self._kept.append(value)
        return value

    def string(self, value):
        """A C string."""
        return self.keep(c_string(value))

    def array(self, name, kind, values):
        """Sets an array and its length, ``interfaces`` and ``interface_count``."""
        values = list(values)
        setattr(self.raw, name, self.keep(ffi.new(ffi.getctype(kind.item, "[]"), values)))
        setattr(self.raw, _length_of(name), len(values))


def _length_of(name):
    """The field with the length of an array: ``interface_count`` for ``interfaces``."""
    stem = name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")
    return f"{stem}_count"


def _nanoseconds(name, seconds):
    if not (math.isfinite(seconds) and 0 <= seconds < 2**33):
        raise ValueError(f"{name}: {seconds} is not a number of seconds")
    nanoseconds = round(seconds * 1e9)
    if seconds and not nanoseconds:
        # For the library 0 is the default.
        raise ValueError(f"{name}: {seconds} is less than a nanosecond")
    return nanoseconds


def _hardware_address(value):
    address = bytes.fromhex(value.replace(":", " ")) if isinstance(value, str) else bytes(value)
    if len(address) != 6:
        raise ValueError(f"{value!r} is not a hardware address")
    return address


def _fields(struct):
    return [name for name, _ in ffi.typeof(struct).fields if name not in ("size", "reserved")]


def record(name, struct):
    """A named tuple with the fields of a struct. The package has it under this name, where pickle finds it."""
    return collections.namedtuple(name, _fields(struct), module="tapline")


def read(kind, raw):
    """The struct as a named tuple. A number that is not known is None."""
    values = (getattr(raw, name) for name in kind._fields)
    return kind(*(text(v) if isinstance(v, ffi.CData) else None if v == UNKNOWN else v for v in values))


def account(kind, struct, function, *arguments):
    """Calls a function that writes an account. None at END."""
    raw = ffi.new(f"{struct} *")
    raw.size = ffi.sizeof(struct)
    return read(kind, raw) if call(function, *arguments, raw) else None


class Handle:
    """Owns a handle of the library. A context manager: at its end the handle is closed."""

    _raw = ffi.NULL

    def __init__(self, raw):
        self._raw = raw

    def _close(self, raw):
        raise NotImplementedError

    def _end(self, function):
        """Calls ``function``, which closes the handle. It stays open only if another thread is in a call with it."""
        if not self._raw:
            # The library's functions do nothing then, and have no account.
            raise Error("INVALID_HANDLE", f"the {type(self).__name__} is closed")
        raw, self._raw = self._raw, ffi.NULL
        try:
            return function(raw)
        except Error as error:
            if error.status == "IN_USE":
                self._raw = raw
            raise

    def close(self):
        """Closes it. Further calls change nothing."""
        if self._raw:
            self._end(self._close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def opened(kind, function, *arguments):
    """Calls a function that opens a handle of this type."""
    raw = ffi.new(f"{kind} **")
    call(function, *arguments, raw)
    return raw[0]


#: Seconds of a single wait: poll(2) takes milliseconds of 31 bits.
_LONGEST_POLL = 3600


class Pollable(Handle):
    """A handle with a descriptor. Python's own waits for it, so that signals are handled."""

    _fd_of = None

    def __init__(self, raw):
        super().__init__(raw)
        # The library does not see threads that wait here for the descriptor.
        self._waiting = threading.Lock()

    @contextlib.contextmanager
    def _alone(self):
        """While this is entered, other threads can neither wait nor close the handle."""
        if not self._waiting.acquire(blocking=False):
            raise Error("IN_USE", f"another thread waits for this {type(self).__name__}")
        try:
            yield
        finally:
            self._waiting.release()

    def _end(self, function):
        with self._alone():
            return super()._end(function)

    def fileno(self):
        """The descriptor, for ``select`` and event loops. It belongs to the object."""
        fd = ffi.new(ffi.typeof(self._fd_of).args[1])
        call(self._fd_of, self._raw, fd)
        return fd[0]

    def _until_ready(self, timeout, attempt):
        """Calls ``attempt``, which returns None if there is nothing yet, until it returns something or the time is over."""
        with self._alone():
            deadline = None if timeout is None else time.monotonic() + timeout
            poll = select.poll()
            poll.register(self.fileno(), select.POLLIN)
            while (found := attempt()) is None:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                poll.poll(None if left is None else math.ceil(min(left, _LONGEST_POLL) * 1e3))
            return found
