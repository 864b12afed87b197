"""The other end of rpcap, written from the description of the protocol in libpcap's rpcap-protocol.h.

client HOST PORT IF COUNT FILE WAY [PASSWORD]   captures COUNT packets into a pcap file and prints the statistics
stranger HOST PORT                              is refused at once, and prints how
server SCRIPT                                   serves one client as SCRIPT says; prints its port, and what it was asked for
"""

import json
import select
import socket
import struct
import sys

ERROR, LIST, OPEN, START, FILTER, CLOSE, PACKET, AUTH, STATS, END, SAMPLING = range(1, 12)
REPLY = 0x80


def exactly(connection, length):
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def receive(connection):
    version, kind, value, length = struct.unpack("!BBHI", exactly(connection, 8))
    assert version == 0, version
    return kind, value, exactly(connection, length)


def message(kind, payload=b"", value=0):
    return struct.pack("!BBHI", 0, kind, value, len(payload)) + payload


def ask(connection, kind, payload=b""):
    connection.sendall(message(kind, payload))
    answer, value, payload = receive(connection)
    if answer == ERROR:
        raise SystemExit(f"error {value}: {payload.decode()}")
    assert answer == kind | REPLY, answer
    return value, payload


def statistics(connection):
    names = ["ifrecv", "ifdrop", "krnldrop", "svrcapt"]
    return dict(zip(names, struct.unpack("!IIII", ask(connection, STATS)[1])))


def packet(payload):
    seconds, micros, caplen, length, number = struct.unpack("!IIIII", payload[:20])
    assert len(payload) == 20 + caplen, (len(payload), caplen)
    return number, struct.pack("<IIII", seconds, micros, caplen, length) + payload[20:]


def wanted():
    """A filter for the frames of the tests, EtherType 0x88b5, and for UDP over IPv4."""
    program = [
        (0x28, 0, 0, 12),
        (0x15, 3, 0, 0x88B5),
        (0x15, 0, 3, 0x0800),
        (0x30, 0, 0, 23),
        (0x15, 0, 1, 17),
        (0x06, 0, 0, 0x40000),
        (0x06, 0, 0, 0),
    ]
    instructions = [struct.pack("!HBBI", *one) for one in program]
    return struct.pack("!HHI", 1, 0, len(program)) + b"".join(instructions)


def client(host, port, interface, count, path, way, password=None):
    count = int(count)
    control = socket.create_connection((host, int(port)))
    secret = (password or "").encode()
    user = b"somebody" if password else b""
    head = struct.pack("!HHHH", 1 if password else 0, 0, len(user), len(secret))
    _, versions = ask(control, AUTH, head + user + secret)
    least, most, _, order = struct.unpack("=BBHI", versions)
    assert (least, most, order) == (0, 0, 0xA1B2C3D4)
    interfaces, listed = ask(control, LIST)
    names = []
    for _ in range(interfaces):
        name, description, _, addresses, _ = struct.unpack("!HHIHH", listed[:12])
        names.append(listed[12 : 12 + name].decode())
        listed = listed[12 + name + description + addresses * 512 :]
    assert not listed
    link_type = struct.unpack("!ii", ask(control, OPEN, interface.encode())[1])[0]
    flags, receiver, number = {"tcp": 0, "stalled": 0, "active": 4, "udp": 2}[way], None, 0
    if way in ("active", "udp"):
        kind = socket.SOCK_DGRAM if way == "udp" else socket.SOCK_STREAM
        receiver = socket.socket(socket.AF_INET, kind)
        receiver.bind((control.getsockname()[0], 0))
        number = receiver.getsockname()[1]
        if way == "active":
            receiver.listen(1)
    start = struct.pack("!IIHH", 262144, 100, flags | 1, number) + wanted()
    _, started = ask(control, START, start)
    bytes_of_buffer, port_of_server, _ = struct.unpack("!IHH", started)
    assert bytes_of_buffer > 0
    if way == "active":
        data = receiver.accept()[0]
    elif way == "udp":
        data = receiver
    else:
        data = socket.create_connection((host, port_of_server))
    print(json.dumps({"event": "start", "link_type": link_type, "interfaces": names}), flush=True)
    if way == "stalled":
        while statistics(control)["ifrecv"] < count:
            pass
        stats = statistics(control)
        count = stats["ifrecv"] - stats["krnldrop"]
    numbers = []
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type))
        while len(numbers) < count:
            if way == "udp":
                datagram = data.recv(65535)
                assert datagram[:2] == b"\0\x07" and len(datagram) >= 28
                payload = datagram[8:]
            else:
                kind, _, payload = receive(data)
                assert kind == PACKET, kind
            number, record = packet(payload)
            numbers.append(number)
            file.write(record)
    assert numbers == list(range(1, count + 1))
    stats = statistics(control)
    ask(control, END)
    if way != "udp":
        try:
            receive(data)
            raise SystemExit("a packet behind the end")
        except EOFError:
            pass
    after = statistics(control)
    control.sendall(message(CLOSE))
    assert control.recv(1) == b""
    print(json.dumps({"event": "end", "stats": stats, "after": after}), flush=True)


def stranger(host, port):
    control = socket.create_connection((host, int(port)))
    # More than the server reads: closing with unread bytes would reset the connection.
    control.sendall(100 * message(AUTH, bytes(8)))
    closed = select.poll()
    closed.register(control, select.POLLRDHUP)
    closed.poll()
    kind, code, text = receive(control)
    assert kind == ERROR, kind
    assert control.recv(1) == b""
    print(json.dumps({"event": "refused", "code": code, "text": text.decode()}), flush=True)


def frame(number):
    return bytes([2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 0x88, 0xB5]) + struct.pack("!I", number) * 20


def record(number, length=None, claimed=None):
    data = frame(number)
    length = len(data) if length is None else length
    head = struct.pack("!IIIII", 1700000000 + number, 123456, length, 1500, number)
    made = message(PACKET, head + data)
    if claimed is not None:
        made = made[:4] + struct.pack("!I", claimed) + made[8:]
    return made


# What a server sends instead of the data of a good one.
DATA = {
    "ok": [record(1), record(2), record(3)],
    "old": [record(1), record(2), record(3)],
    "contradiction": [record(1), record(2, length=500)],
    "oversize": [record(1), record(2, claimed=0x7FFFFFFF)],
    "garbage": [record(1), b"\xff" * 64],
    "cut": [record(1), record(2)[:40]],
    "failed": [record(1)],
    "lossy": [record(1), record(4), record(2)[:30], record(7)],
}


def server(script):
    listener = socket.create_server(("127.0.0.1", 0))
    print(json.dumps({"event": "start", "port": listener.getsockname()[1]}), flush=True)
    control = listener.accept()[0]
    data = None
    if script == "hasty":
        # The request stays unread, so that the connection is reset.
        control.recv(1, socket.MSG_PEEK)
        control.sendall(message(ERROR, b"no strangers", 10))
        return
    while True:
        try:
            kind, _, payload = receive(control)
        except EOFError:
            return
        said = {"event": "request", "kind": kind, "payload": payload.hex()}
        print(json.dumps(said), flush=True)
        if kind == CLOSE:
            return
        if kind == AUTH:
            if script == "mute":
                control.close()
                return
            if script == "huge":
                control.sendall(struct.pack("!BBHI", 0, AUTH | REPLY, 0, 0xFFFFFFFF))
                continue
            if script == "newer":
                control.sendall(message(AUTH | REPLY, bytes([1, 2, 0, 0]) + b"\xa1\xb2\xc3\xd4"))
                continue
            if script == "denied":
                control.sendall(message(ERROR, b"bad \x1b[31mpassword", 18))
                continue
            versions = b"" if script == "old" else bytes([0, 3, 0, 0]) + b"\xa1\xb2\xc3\xd4"
            control.sendall(message(AUTH | REPLY, versions))
        elif kind == OPEN:
            number = 99999 if script == "strange" else 1
            control.sendall(message(OPEN | REPLY, struct.pack("!ii", number, 0)))
        elif kind == START:
            flags, port = struct.unpack("!HH", payload[8:12])
            if flags & 2:
                control.sendall(message(START | REPLY, struct.pack("!IHH", 65536, 0, 0)))
                data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                data.connect(("127.0.0.1", port))
            else:
                second = socket.create_server(("127.0.0.1", 0))
                number = second.getsockname()[1]
                control.sendall(message(START | REPLY, struct.pack("!IHH", 65536, number, 0)))
                data = second.accept()[0]
            for piece in DATA[script]:
                data.send(piece)
            if script in ("cut", "failed"):
                data.close()
            if script == "failed":
                control.sendall(message(ERROR, b"the interface is gone", 9))
        elif kind == STATS:
            counts = (12, 2, 3, 7) if script == "lossy" else (8, 2, 5, 3)
            control.sendall(message(STATS | REPLY, struct.pack("!IIII", *counts)))
        elif kind == END:
            data.close()
            control.sendall(message(END | REPLY))


if __name__ == "__main__":
    {"client": client, "stranger": stranger, "server": server}[sys.argv[1]](*sys.argv[2:])
