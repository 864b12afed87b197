"""Makes the module `tapline._abi` of `tapline.h`: what cffi has to know about the library."""

import os
import pathlib
import re

import cffi

HERE = pathlib.Path(__file__).resolve().parent
HEADER = pathlib.Path(os.environ.get("TAPLINE_HEADER", HERE.parent / "include" / "tapline.h"))


def declarations(header):
    """The declarations of the header, as a compiler of C11 sees them. cffi has no preprocessor."""
    kept, lines = [], []
    header = re.sub("//.*", "", header)
    for line in re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL).splitlines():
        line = line.strip()
        if line.startswith("#if"):
            # The header asks for C++, for C23, and whether it has been included.
            kept.append(line.startswith("#ifndef"))
        elif line == "#else":
            kept[-1] = not kept[-1]
        elif line == "#endif":
            kept.pop()
        elif all(kept) and line and not line.startswith("#include"):
            number = re.fullmatch(r"#define \w+ \d+", line)
            if number or not line.startswith("#"):
                lines.append(line)
    return "\n".join(lines)


ffi = cffi.FFI()
ffi.cdef(declarations(HEADER.read_text()))
ffi.set_source("tapline._abi", None)
