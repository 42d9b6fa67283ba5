"""A network between a client and a server over HTTP, which fails as it is told.

A fault gets one whole answer and returns what the client gets instead: bytes, and whether the connection ends behind them. It
returns None where the answer is nothing for it, and waits for the next one. LOSE_REQUEST needs no answer: the server never
sees the request. A direction that is cut ends each connection with which it is used: "there" before the server has the
request, "back" before the client has its answer. A silent one keeps the connection and holds back what it carries until the
cut is mended, as a network does that drops packets.
"""
import socket
import struct
import threading

HEAD = struct.Struct("<8s5q32s")  # of a piece
LOSE_REQUEST = "the request is lost"


class Message:
    """One request or answer: its head, with the empty line, and its body without chunks."""

    def __init__(self, head, body, chunked=False):
        self.head, self.body, self.chunked = head, body, chunked

    @property
    def first(self):
        return self.head.split(b"\r\n", 1)[0]

    def wire(self, body=None):
        """Its bytes with this body. One that is shorter or longer than announced ends where the connection does."""
        body = self.body if body is None else body
        if self.chunked:
            return self.head + (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
        return self.head + body

    def pieces(self):
        """The pieces of the stream in it, each as its bytes; none where it is another answer."""
        found, at = [], 0
        while len(self.body) >= at + HEAD.size and self.body.startswith(b"tbpiece1", at):
            end = at + HEAD.size + HEAD.unpack_from(self.body, at)[5]
            found.append(self.body[at:end])
            at = end
        return found if at == len(self.body) else []


class Reader:
    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def more(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise ConnectionError("ended")
        self.buffer += data

    def until(self, mark):
        while (at := self.buffer.find(mark)) < 0:
            self.more()
        return self.take(at + len(mark))

    def take(self, length):
        while len(self.buffer) < length:
            self.more()
        taken, self.buffer = self.buffer[:length], self.buffer[length:]
        return taken

    def message(self, answers=None):
        """The next one whole. answers: the request that it answers."""
        head = self.until(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:-2])
        status = head.split(b" ", 2)[1]
        if answers and (answers.head.startswith(b"HEAD") or status in (b"204", b"304")):
            return Message(head, b"")
        if fields.get(b"transfer-encoding", b"").strip() != b"chunked":
            return Message(head, self.take(int(fields.get(b"content-length", 0))))
        body = b""
        while length := int(self.until(b"\r\n"), 16):
            body += self.take(length)
            self.take(2)
        self.take(2)
        return Message(head, body, True)


class Network:
    """To the server at this port of 127.0.0.1; `to` may be set anew when that starts again."""

    def __init__(self, port):
        self.to = port
        self.faults = []        # for the next answers, one after another
        self.only = b""         # faults are for requests that begin so
        self.passed = []        # first lines of requests that came
        self.cut, self.silent = set(), False
        self.changed = threading.Condition()
        self.ends = set()       # open sockets
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    # --- what a test asks of it ---

    def fail(self, *faults, only=b"GET /replica/pieces"):
        with self.changed:
            self.faults, self.only = list(faults), only

    def failed(self):
        """Whether each fault has happened."""
        with self.changed:
            return not self.faults

    def break_off(self, *directions, silent=False):
        with self.changed:
            self.cut, self.silent = set(directions or ("there", "back")), silent
            ends = () if silent else tuple(self.ends)
        for end in ends:
            hang_up(end)

    def mend(self):
        with self.changed:
            self.cut = set()
            self.changed.notify_all()

    def answers(self):
        """Whether somebody listens there."""
        try:
            socket.create_connection(("127.0.0.1", self.to)).close()
            return True
        except OSError:
            return False

    def close(self):
        self.fail()
        self.mend()
        self.socket.close()
        for end in tuple(self.ends):
            hang_up(end)

    # --- its own ---

    def accept(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def passes(self, direction):
        """Whether it carries something; waits where it is silent."""
        with self.changed:
            while direction in self.cut and self.silent:
                self.changed.wait()
            return direction not in self.cut

    def next_fault(self, request):
        with self.changed:
            fits = self.faults and request.first.startswith(self.only)
            return self.faults[0] if fits else None

    def happened(self, fault):
        with self.changed:
            if fault in self.faults:
                self.faults.remove(fault)

    def exchange(self, near, far):
        """False: the connection is over."""
        request = near.message()
        self.passed.append(request.first)
        if not self.passes("there"):
            return False
        if self.next_fault(request) == LOSE_REQUEST:
            self.happened(LOSE_REQUEST)
            return False
        far.sock.sendall(request.wire())
        answer = far.message(request)
        if not self.passes("back"):
            return False
        fault = self.next_fault(request)
        instead = fault(answer) if callable(fault) else None
        if instead:
            self.happened(fault)
        data, over = instead or (answer.wire(), False)
        near.sock.sendall(data)
        return not over

    def serve(self, near):
        far = None
        with self.changed:
            self.ends.add(near)
        try:
            far = socket.create_connection(("127.0.0.1", self.to))
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                self.ends.add(far)
            ends = Reader(near), Reader(far)
            while self.exchange(*ends):
                pass
        except OSError:
            pass
        for end in (near, far):
            if end:
                self.ends.discard(end)
                hang_up(end)
                end.close()


def hang_up(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Faults:
    """What may happen to one answer, by a test's dice."""

    def __init__(self, rng):
        self.rng = rng
        self.before = None  # an answer of before, to be answered again

    def damage(self, answer):
        """A byte of the body is another one."""
        if not answer.body:
            return None
        at = self.rng.randrange(len(answer.body))
        return answer.wire(changed(self.rng, answer.body, at)), False

    def damage_anywhere(self, answer):
        """A byte of the head or the body is; what is announced may be too much."""
        if not answer.body:
            return None
        whole = answer.wire()
        return changed(self.rng, whole, self.rng.randrange(len(whole))), True

    def shuffle(self, answer):
        pieces = answer.pieces()
        if len(pieces) < 2:
            return None
        order = pieces[:]
        while order == pieces:
            self.rng.shuffle(order)
        return answer.wire(b"".join(order)), False

    def double(self, answer):
        """Some piece comes twice, in turn or later."""
        pieces = answer.pieces()
        if not pieces or not answer.chunked:
            return None
        which = self.rng.randrange(len(pieces))
        pieces.insert(self.rng.randrange(which + 1, len(pieces) + 1), pieces[which])
        return answer.wire(b"".join(pieces)), False

    def withhold(self, answer):
        """Some piece is missing."""
        pieces = answer.pieces()
        if not pieces or not answer.chunked:
            return None
        del pieces[self.rng.randrange(len(pieces))]
        return answer.wire(b"".join(pieces)), False

    def withhold_all(self, answer):
        return (answer.wire(b""), False) if answer.pieces() and answer.chunked else None

    def cut(self, answer):
        """The connection ends in the middle of the answer."""
        if not answer.body:
            return None
        whole = answer.wire()
        return whole[:self.rng.randrange(len(whole))], True

    def shorten(self, answer):
        """A whole answer with an end that came too early."""
        if not answer.body or not answer.chunked:
            return None
        return answer.wire(answer.body[:self.rng.randrange(len(answer.body))]), False

    def lose(self, answer):
        return b"", True

    def old(self, answer):
        """The answer of before comes once more, in place of this one."""
        before, self.before = self.before, answer if answer.pieces() else self.before
        return (before.wire(), False) if before and answer.pieces() else None

    def foreign(self, answer):
        """Somebody else's page."""
        page = b"<html>Sign in</html>"
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page), True


def changed(rng, data, at):
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1:]
