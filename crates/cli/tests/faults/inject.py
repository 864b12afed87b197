#!/usr/bin/python3
"""Runs a program whose reads and writes are short, or whose clock steps:

    inject.py short|clock SEED LOG PROGRAM [ARGUMENT...]

ptrace(2) changes the lengths that system calls are given, and the times that they return. To see the clock being read, the
vDSO is hidden from the program, which then asks the kernel. Threads are traced, other processes are not. What was changed
is in LOG, one line for each call. For x86-64.
"""
import ctypes
import os
import random
import signal
import struct
import sys

TRACEME, CONT_SYSCALL, GETREGS, SETREGS, SETOPTIONS, SYSCALL_INFO = 0, 24, 12, 13, 0x4200, 0x420E
OPTIONS = 1 | 8 | 16 | (1 << 20)  # TRACESYSGOOD, TRACECLONE, TRACEEXEC, EXITKILL
EVENT_EXEC = 4
ENTRY, EXIT = 1, 2
RDX, RSP = 12, 19  # In user_regs_struct.
AT_SYSINFO_EHDR, AT_IGNORE = 33, 1

READS, WRITES = {0: "read", 17: "pread64"}, {1: "write", 18: "pwrite64"}
CLOCK_GETTIME, SIGALTSTACK = 228, 131

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread, address=0, data=0):
    return libc.ptrace(request, thread, address, data)


def registers(thread):
    regs = (ctypes.c_ulonglong * 27)()
    return regs if ptrace(GETREGS, thread, 0, ctypes.addressof(regs)) == 0 else None


def hide_vdso(process):
    regs = registers(process)
    with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
        at = regs[RSP]
        word = lambda: struct.unpack("Q", (memory.seek(at), memory.read(8))[1])[0]
        at += 8 * (word() + 2)  # The number of arguments, they, and a zero.
        while word():
            at += 8
        at += 8
        while word():
            if word() == AT_SYSINFO_EHDR:
                memory.seek(at)
                memory.write(struct.pack("Q", AT_IGNORE))
            at += 16


class Injector:
    def __init__(self, mode, seed, log):
        self.mode, self.random, self.log = mode, random.Random(seed), open(log, "w")
        self.stacks, self.reads_of_clock, self.lengths, self.clocks = 0, 0, {}, set()
        # The clock steps once: at one of its first readings.
        self.step_at = self.random.randrange(1, 12)
        self.step_s = self.random.choice([-1, 1]) * self.random.choice([1, 60, 3600, 10 * 365 * 86400])

    def may_be_short(self, thread, call, descriptor):
        try:
            target = os.readlink(f"/proc/{thread}/fd/{descriptor}")
        except OSError:
            return None
        # A part of a setting is another setting. Other descriptors give and take whole records.
        special = ("/dev/",) if call in READS else ("/dev/", "/proc/", "/sys/")
        is_stream = target.startswith(("/", "pipe:")) and not target.startswith(special)
        return target if is_stream else None

    def entry(self, thread, call, arguments):
        # Rust's runtime ends with a stack for signals.
        if call == SIGALTSTACK:
            self.stacks += 1
        if self.stacks < 2:
            return
        if self.mode == "clock":
            if call == CLOCK_GETTIME and arguments[0] == 0:
                self.clocks.add((thread, arguments[1]))
            return
        if call not in READS and call not in WRITES:
            return
        length = arguments[2]
        if length < 2 or self.random.random() < 0.3:
            return
        target = self.may_be_short(thread, call, arguments[0])
        regs = target and registers(thread)
        if regs:
            self.lengths[thread] = regs[RDX]
            regs[RDX] = self.random.randrange(1, length)
            ptrace(SETREGS, thread, 0, ctypes.addressof(regs))
            name = READS.get(call) or WRITES[call]
            self.log.write(f"{thread} {name}({arguments[0]}<{target}>, {length}) short: {regs[RDX]} (INJECTED)\n")

    def exit(self, thread):
        length = self.lengths.pop(thread, None)
        if length is not None:
            # The program relies on it: calls keep their arguments.
            regs = registers(thread)
            if regs:
                regs[RDX] = length
                ptrace(SETREGS, thread, 0, ctypes.addressof(regs))
        for reading in [one for one in self.clocks if one[0] == thread]:
            self.clocks.remove(reading)
            self.reads_of_clock += 1
            if self.reads_of_clock >= self.step_at:
                with open(f"/proc/{thread}/mem", "r+b", buffering=0) as memory:
                    memory.seek(reading[1])
                    (seconds,) = struct.unpack("q", memory.read(8))
                    memory.seek(reading[1])
                    memory.write(struct.pack("q", max(seconds + self.step_s, 0)))
                self.log.write(f"{thread} clock_gettime() later by {self.step_s} s (INJECTED)\n")


def stopped(injector, thread, status, known):
    """Handles a stop of a thread; returns the signal that it gets."""
    number, event = os.WSTOPSIG(status), status >> 16
    if event == EVENT_EXEC and injector.mode == "clock":
        hide_vdso(thread)
    if event:
        return 0
    if number == signal.SIGTRAP | 0x80:
        info = ctypes.create_string_buffer(88)
        ptrace(SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
        if info.raw[0] == ENTRY:
            call, *arguments = struct.unpack_from("7Q", info.raw, 24)
            injector.entry(thread, call, arguments)
        elif info.raw[0] == EXIT:
            injector.exit(thread)
        return 0
    if thread not in known:
        # A new thread stops first.
        known.add(thread)
        return 0
    return number


def main():
    mode, seed, log, *command = sys.argv[1:]
    injector = Injector(mode, int(seed), log)
    process = os.fork()
    if process == 0:
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execvp(command[0], command)
    os.waitpid(process, 0)
    ptrace(SETOPTIONS, process, 0, OPTIONS)
    known, result = {process}, 1
    ptrace(CONT_SYSCALL, process)
    while True:
        try:
            thread, status = os.waitpid(-1, 0x40000000)  # __WALL
        except ChildProcessError:
            break
        if os.WIFSTOPPED(status):
            ptrace(CONT_SYSCALL, thread, 0, stopped(injector, thread, status, known))
        elif thread == process:
            result = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    sys.exit(result)


main()
