"""check.py JOB …: what the tests of the Python package run on test hosts."""

import gc
import json
import os
import pickle
import struct
import subprocess
import sys
import threading
import unittest.mock

import tapline


def fails(status, text, function, *arguments, **options):
    """The call fails with this status and text."""
    try:
        function(*arguments, **options)
    except tapline.Error as error:
        assert error.status == status and text in str(error), (error.status, str(error))
    else:
        raise AssertionError(f"no {status}")


def raises(kind, function, *arguments, **options):
    """The call raises an exception of this kind."""
    try:
        function(*arguments, **options)
    except kind:
        pass
    else:
        raise AssertionError(f"no {kind}")


def capture(interface, packets, path):
    """Captures packets to a file, and prints them."""
    options = {"filter": "udp", "delivery": "immediate", "max_time": 20, "max_packets": int(packets)}
    running = tapline.Capture([interface], snaplen=2000, measure_delays=True, **options)
    assert running.interface().name == interface and running.interface().link_type == 1
    raises(IndexError, running.interface, 1)
    raises(ValueError, running.next_batch, timeout=float("nan"))
    assert len(running.next_batch(timeout=0)) == 0
    writer = tapline.Writer(path, interfaces=[running.interface()])
    udp, kept = tapline.Filter("udp"), None
    fails("SYNTAX", "prot", running.set_filter, "udp prot 53")
    running.set_filter()
    running.set_filter("udp")
    print("ready", flush=True)
    for batch in running:
        writer.write(batch)
        assert all(udp.run(batch))
        # As numpy reads it: a row for each packet, and the fields by their offsets.
        records, size = memoryview(batch.records), tapline.PACKET_DTYPE["itemsize"]
        place = dict(zip(tapline.PACKET_DTYPE["names"], tapline.PACKET_DTYPE["offsets"]))
        heads = batch.heads(32)
        assert len(records) == size * len(batch) and len(heads) == 32 * len(batch)
        for index, packet in enumerate(batch):
            assert packet.data == bytes(packet.view) and len(packet) == packet.captured_len
            assert heads[32 * index : 32 * index + 32] == packet.data[:32]
            (length,) = struct.unpack_from("I", records, index * size + place["len"])
            assert length == packet.len and packet.direction == "in" and packet.time_ns > 0
            print(packet.len, packet.data.hex())
        kept = batch[-1]
    raises(ValueError, lambda: kept.data)
    assert running.interface_stats().delivered == running.stats().delivered == int(packets)
    raises(IndexError, running.interface_stats, 1)
    delays = running.delays()
    assert delays.packets == int(packets) and 0 <= delays.min_ns <= delays.p50_ns <= delays.max_ns, delays
    account = running.finish()
    print(f"{account.received} received, {account.delivered} delivered, {account.filtered} filtered")
    print(f"{writer.finish()} written")
    fails("INVALID_HANDLE", "", running.stats)


def read(path, expression):
    """Counts the packets of a file that match: by the filter of the reader, and by a compiled one."""
    with tapline.Reader(path, filter=expression) as reader:
        matching = sum(len(batch) for batch in reader)
    compiled, all_of_them = tapline.Filter(expression), 0
    with tapline.Reader(path) as reader:
        for batch in reader:
            all_of_them += sum(keep > 0 for keep in compiled.run(batch))
            assert [compiled.matches(bytes(packet)) for packet in batch] == [keep > 0 for keep in compiled.run(batch)]
    assert matching == all_of_them and compiled.classic()
    print(matching)


def views(path):
    """A view ends with its batch, unless something uses its memory: then the batch cannot end."""
    reader = tapline.Reader(path)
    batch = reader.next_batch()
    copies = [bytes(packet) for packet in batch]
    for part in (slice(0, 3), slice(None, None, -1), slice(len(batch), None)):
        assert [bytes(packet) for packet in batch[part]] == copies[part]
    view = batch[0].view
    assert view.readonly and bytes(view) == batch[0].data
    # It uses the memory as an array of numpy does.
    user = pickle.PickleBuffer(view)
    raises(BufferError, reader.next_batch)
    raises(BufferError, reader.close)
    assert bytes(view) == batch[0].data
    user.release()
    # A slice of it uses the same memory.
    part = view[14:]
    raises(BufferError, reader.next_batch)
    raises(BufferError, reader.close)
    assert bytes(part) == batch[0].data[14:]
    del part
    assert reader.next_batch() is None
    raises(ValueError, view.tobytes)
    raises(ValueError, lambda: batch[0].data)
    reader.close()


def part(path, to):
    """Writes every third packet of a file, with its time and its lengths."""
    with tapline.Reader(path) as reader:
        writer = tapline.Writer(to, interfaces=[reader.interface()])
        every, long = tapline.Filter(), tapline.Filter("greater 200")
        for batch in reader:
            chosen = [packet for index, packet in enumerate(batch) if index % 3 == 0]
            assert list(every.run(chosen)) == list(every.run(batch))[::3]
            # By the length on the wire, which a frame of bytes does not have.
            assert [keep > 0 for keep in long.run(chosen)] == [packet.len >= 200 for packet in chosen]
            assert all(packet.len > packet.captured_len for packet in chosen)
            writer.write(chosen)
            kept = chosen[0]
        raises(ValueError, writer.write, [kept])
        print(writer.finish(), "written")


def copy(path, to):
    """Copies a file. Its interfaces are known in the order in which they appear."""
    with tapline.Reader(path) as reader:
        writer, known = tapline.Writer(to, interfaces=[reader.interface()]), 1
        for batch in reader:
            while True:
                try:
                    interface = reader.interface(known)
                except IndexError:
                    break
                assert writer.add_interface(interface) == known
                known += 1
            writer.write(batch)
        print(writer.finish(), "written")


def count(interface, packets):
    """Counts packets until there are as many, with room for the groups of one port."""
    options = {"interval": 0.01, "by": "dst-port", "max_groups": 1, "netns": f"/proc/{os.getpid()}/ns/net"}
    with tapline.Count(interface, classes={"udp": "udp", "all": ""}, **options) as counter:
        print("ready", flush=True)
        for interval in counter:
            assert interval and interval.span_ns > 0 and [one.name for one in interval.classes] == ["udp", "all"]
            if counter.totals()[1].packets >= int(packets):
                break
        udp, every = counter.totals()
        groups = counter.groups(0)
        print(udp.packets, udp.bytes, every.packets, every.bytes)
        print(groups[0].key, groups[0].packets, len(groups), groups.other)
        counter.stop()
        # The interval that had begun, and then the end.
        assert len(list(counter)) <= 1
    with tapline.Count(interface, interval=3600) as counter:
        assert counter.next(timeout=0) == counter.next(timeout=0.001) == (0, [])
        assert not counter.next(timeout=0)
        raises(IndexError, counter.groups)


def ping(address):
    """Pings a host three times, and prints the account."""
    options = {"tos": 0x20, "family": "ipv4", "netns": f"/proc/{os.getpid()}/ns/net"}
    with tapline.Ping(address, count=3, interval=0.01, **options) as run:
        kinds = [event.kind for event in run]
        assert kinds.count("sent") == 3 and kinds.count("received") == 3, kinds
        target = run.target(0)
        raises(IndexError, run.target, 1)
        assert run.name(0) is None
        raises(IndexError, run.name, 1)
        account = run.finish()
    with tapline.Ping(["localhost", "127.0.0.9"], count=1, family="ipv4") as run:
        assert run.name(0) == "localhost" and run.name(1) is None
    assert target.address == address and 0 < target.rtt_min_ns <= target.rtt_max_ns
    print(account.sent, account.received, account.lost)
    fails("INVALID_ARGUMENT", "wrong address family", tapline.Ping, address, family="ipv6")
    fails("INVALID_ARGUMENT", "source", tapline.Ping, address, source="here")
    # No interface has it.
    fails("SYSTEM", "source address", tapline.Ping, address, source="192.0.2.7")


def send(interface, packets):
    """Sends frames: one alone, the others from a queue."""
    frame = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(46)
    with tapline.Sender(interface) as sender, tapline.Queue() as queue:
        sender.inject(frame)
        for _ in range(int(packets) - 1):
            queue.push(frame)
        assert sender.transmit(queue)
        account = sender.finish()
    print(account.submitted, account.accepted, account.failed)


class Interrupted:
    """The library, with lists that may be incomplete."""

    def __getattr__(self, name):
        return (lambda _: True) if name == "tapline_list_is_interrupted" else getattr(tapline._library.lib, name)


def batches(network):
    """Carries out changes together. One of them fails, and the mode decides about the others."""
    bridge = {"linkinfo": {"info_kind": "bridge"}}
    changes = [
        ("add", "link", {"name": "bb0", **bridge}),
        ("add", "addr", {"dev": "bb0", "local": "192.0.2.9", "prefixlen": 24}),
        ("set", "link", {"name": "nowhere", "up": True}),
        ("set", "link", {"name": "bb0", "up": True}),
    ]
    for mode, states, is_left in (
        ("undo", ["undone", "undone", "failed", "not-run"], False),
        ("stop", ["done", "done", "failed", "not-run"], True),
        ("continue", ["failed", "failed", "failed", "done"], True),
    ):
        results = network.run(iter(changes), on_error=mode)
        assert [result.state for result in results] == states, (mode, results)
        assert [result.error is None for result in results] == [state == "done" for state in states]
        assert results[2].error.status == "NOT_FOUND" and "nowhere" in results[2].error.message
        assert results[3].error is None or results[3].error.status == "CANCELED"
        shown = subprocess.run(["ip", "-oneline", "link", "show", "type", "bridge"], capture_output=True, check=True)
        assert (b"bb0" in shown.stdout) == is_left, (mode, shown.stdout)
    assert [result.state for result in network.run([("delete", "link", {"name": "bb0"})])] == ["done"]
    assert network.run([]) == []
    raises(ValueError, network.run, changes, on_error="retry")
    raises(ValueError, network.run, [("create", "link", {"name": "bb0"})])


def netlink():
    """Configures links and routes, and watches."""
    network = tapline.Netlink()
    watch = network.watch("link")
    assert {event.kind for event in watch.next(timeout=5)} == {"added"}
    created = network.create("link", name="br7", linkinfo={"info_kind": "bridge"}, mtu=1400)
    assert network.index("br7") == created["index"]
    fails("EXISTS", "br7", network.add, "link", name="br7", linkinfo={"info_kind": "bridge"})
    network.set("link", name="br7", up=True)
    network.add("addr", dev=created["index"], local="192.0.2.1", prefixlen=24)
    network.add("route", dst="198.51.100.0/24", dev=created["index"])
    assert network.get("link", name="br7")["mtu"] == 1400
    assert network.lookup(to="198.51.100.7")["dev"] == created["index"]
    network.delete("route", dst="198.51.100.0/24")
    assert not network.list("route", dst="198.51.100.0/24")
    for event in watch:
        if event.kind == "added" and event.object["name"] == "br7":
            break
    # A wait may be longer than poll(2) takes.
    watch.next(timeout=0)
    other = network.watch("link")
    for forever in float("inf"), 2.0**40:
        assert other._until_ready(forever, iter([None, "found"]).__next__) == "found"
    # Another thread may stop it while this one waits.
    stopper = threading.Timer(0, watch.stop)
    stopper.start()
    assert watch.next(timeout=20) is None and list(watch) == []
    stopper.join()
    fails("NOT_FOUND", "nowhere", network.get, "link", name="nowhere")
    # A C string would end in the middle.
    raises(ValueError, tapline.Netlink, netns="blue\0x")
    raises(ValueError, tapline.Filter, "udp\0 port 53")
    raises(ValueError, tapline.Sender, "lo\0x")
    raises(ValueError, tapline.examine, "lo\0x")
    fails("INVALID_ARGUMENT", "ifalias contains a zero byte", network.set, "link", name="br7", alias="a\0b")
    subprocess.run(["ip", "-json", "-details", "link", "show", "br7"], check=True)

    batches(network)
    fake = tapline.Netlink(fake=tapline.FakeKernel())
    fake.add("link", name="eth7", linkinfo={"info_kind": "dummy"})
    assert [link["name"] for link in fake.list("link")] == ["eth7"]
    assert not fake.list("link").interrupted
    # Changes that interrupt four lists of the kernel cannot be arranged.
    with unittest.mock.patch.object(tapline._netlink, "lib", Interrupted()):
        assert [link["name"] for link in fake.list("link")] == ["eth7"] and fake.list("link").interrupted


def ending_while_in_use():
    """Neither ``finish`` nor ``close`` gives up a handle that another thread uses."""
    sender, queue, frame = tapline.Sender("lo", rate=1, rate_unit="packets"), tapline.Queue(), bytes(60)
    for _ in range(100):
        queue.push(frame)

    def transmit():
        # The other thread tries to be in a call, too.
        while True:
            try:
                return sender.transmit(queue)
            except tapline.Error as error:
                assert error.status == "IN_USE"

    sending = threading.Thread(target=transmit)
    sending.start()
    while True:
        try:
            sender.inject(frame)
        except tapline.Error as error:
            assert error.status == "IN_USE"
            break
    fails("IN_USE", "another thread", sender.finish)
    fails("IN_USE", "another thread", sender.close)
    sender.stop()
    sending.join()
    assert sender.finish().submitted > 0
    fails("INVALID_HANDLE", "closed", sender.finish)
    sender.close()


def ending_while_waiting():
    """What another thread waits for can neither be closed nor waited for: its descriptor would never become readable."""
    running = tapline.Capture("lo", filter="ether proto 0x88b5")
    outcome = []

    def wait():
        # The other thread tries to wait, too.
        while True:
            try:
                return outcome.append(running.next_batch())
            except tapline.Error as error:
                assert error.status == "IN_USE"

    waiting = threading.Thread(target=wait)
    waiting.start()
    while True:
        try:
            running.next_batch(timeout=0)
        except tapline.Error as error:
            assert error.status == "IN_USE"
            break
    fails("IN_USE", "another thread", running.close)
    fails("IN_USE", "another thread", running.finish)
    assert running.stats().delivered == 0
    running.stop()
    waiting.join()
    assert outcome == [None]
    running.close()


def failed_capture():
    """A capture that cannot wait for packets any more has an account nevertheless."""
    running = tapline.Capture("lo")
    # It waits on this descriptor, which now is one of a file.
    with open("/dev/null", "rb") as file:
        os.dup2(file.fileno(), running.fileno())
    assert running.next_batch(timeout=0) is None
    try:
        running.finish()
    except tapline.Error as error:
        assert error.status == "SYSTEM" and error.account.delivered == 0 and error.account.duration_ns > 0
    else:
        raise AssertionError("no error")
    running = tapline.Capture("lo")
    assert running.finish().duration_ns > 0
    try:
        running.finish()
    except tapline.Error as error:
        assert error.status == "INVALID_HANDLE" and error.account is None
    else:
        raise AssertionError("no error")


def ending_a_pipe():
    """Packets of a pipe are read when they arrive. Another thread may stop the reader while this one waits."""
    output, pipe = os.pipe()
    header = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    os.write(pipe, header + struct.pack("=4I", 0, 0, 60, 60) + bytes(60))
    with tapline.Reader(f"/dev/fd/{output}") as reader:
        assert len(reader.next_batch()) == 1
        stopper = threading.Timer(0, reader.stop)
        stopper.start()
        assert reader.next_batch() is None
        stopper.join()
    os.close(output)
    os.close(pipe)


def misuse():
    """Wrong use is an exception, and never a crash."""
    fails("NOT_FOUND", "nowhere0", tapline.Capture, "nowhere0")
    fails("SYNTAX", "prot", tapline.Filter, "prot 80")
    fails("INVALID_ARGUMENT", "", tapline.Capture, [])
    fails("INVALID_ARGUMENT", "rate_unit", tapline.Sender, "lo", rate=10)
    fails("INVALID_ARGUMENT", "mode to DROP", tapline.Capture, "lo", drop_others=True)
    fails("INVALID_ARGUMENT", "delivery_bytes", tapline.Capture, "lo", delivery="immediate", delivery_bytes=9)
    fails("NOT_FOUND", "/nowhere", tapline.Reader, "/nowhere")
    raises(TypeError, tapline.Capture, "lo", colour="red")
    raises(TypeError, tapline.Capture, "lo", size=3)
    raises(TypeError, tapline.Capture, "lo", interface_count=1000)
    raises(TypeError, tapline.Count, "lo", classes={"all": ""}, class_count=1000)
    raises(TypeError, tapline.Ping, "127.0.0.1", target_count=1000)
    raises(TypeError, tapline.Capture, "lo", snaplen="long")
    raises(ValueError, tapline.Capture, "lo", delivery="never")
    raises(ValueError, tapline.Capture, "lo", max_time=-1)
    # Less than a nanosecond, and a part of a packet, would be 0: the default.
    raises(ValueError, tapline.Capture, "lo", max_time=1e-10)
    raises(ValueError, tapline.Capture, "lo", max_packets=0.5)
    raises(ValueError, tapline.Netlink().list, "no-such-kind")
    closed = tapline.Filter("udp")
    closed.close()
    closed.close()
    fails("INVALID_HANDLE", "", closed.matches, b"")
    assert list(tapline.Filter("udp").run([])) == []
    assert not tapline.Filter("udp").matches(b"") and tapline.Filter().matches(b"x")
    # Nothing arrives: the time limit ends the wait.
    with tapline.Capture("lo", max_time=0.2) as running:
        assert list(running) == []
        account = running.finish()
        assert account.delivered == 0 and pickle.loads(pickle.dumps(account)) == account
    with tapline.Capture("lo") as running:
        # Another thread may stop it while this one waits.
        stopper = threading.Timer(0, running.stop)
        stopper.start()
        assert running.next_batch() is None
        stopper.join()
    closed = tapline.FakeKernel()
    closed.close()
    raises(ValueError, tapline.Netlink, fake=closed)
    ending_while_in_use()
    ending_while_waiting()
    ending_a_pipe()
    failed_capture()
    for _ in range(1000):
        tapline.Filter("udp")
    gc.collect()
    assert tapline.version().count(".") == 2
    findings = tapline.examine("lo")
    assert all(finding.id and finding.severity in ("info", "warning", "severe") for finding in findings), findings
    assert pickle.loads(pickle.dumps(findings)) == findings
    # As a pool of processes passes it on.
    try:
        tapline.Filter("prot 80")
    except tapline.Error as error:
        passed = pickle.loads(pickle.dumps(error))
        assert str(passed) == str(error) and vars(passed) == vars(error)
    else:
        raise AssertionError("no error")
    json.dumps(tapline.CaptureStats._fields)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
