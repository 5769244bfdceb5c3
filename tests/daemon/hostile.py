# SPDX-License-Identifier: GPL-2.0-or-later
"""Who asks the daemon what nobody should: `hostile.py PORT PID TOKEN SCENARIO`, ends with 0 where it was borne.

After each the daemon must answer /healthz, be the same process and hold as many descriptors as before."""
import os, random, re, select, socket, ssl, sys, threading, time

port, pid, token, scenario = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
bearer = f"Authorization: Bearer {token}\r\n"
LEAST = 3  # of the budget's CPU time, or of a busy machine's patience: times what it takes alone


def connect(timeout=60):
    return socket.create_connection(("127.0.0.1", port), timeout)


def read_all(s):
    got = b""
    try:
        while part := s.recv(65536):
            got += part
    except (ConnectionError, socket.timeout):
        pass
    return got


def ask(raw, timeout=60):
    """All that is answered to these bytes, until the connection is closed."""
    with connect(timeout) as s:
        try:
            s.sendall(raw)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused while it asked, or has been closed by then
        return read_all(s)


def get(path, *headers, method="GET", version="HTTP/1.0"):
    raw = f"{method} {path} {version}\r\n".encode("latin-1") + b"".join(h.encode("latin-1") + b"\r\n" for h in headers) + b"\r\n"
    return ask(raw)


def status(answer):
    m = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(m[1]) if m else 0


def well(seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if status(get("/healthz")) == 200:
                return True
        except OSError:
            pass
        time.sleep(0.5)
    return False


def descriptors():
    """Answers are kept, each in a file without a name: so many at most."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += "/memfd:" not in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return n


def memory():
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def cpu():
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def expect(what, ok):
    if not ok:
        print("not so:", what)
        expect.failed = True


expect.failed = False


# what one address may ask at once is 400, and 20 a second come back: scenarios of many questions rest before
def rested(questions):
    time.sleep(min(questions / 20, 21))


def slow():
    """A letter a second, from as many as are served at once, for longer than a request may take; then others are served."""
    all = [connect() for _ in range(200)]
    until, alive = time.monotonic() + 40, all
    text = "GET /healthz HTTP/1.1\r\nX: " + "a" * 1000
    for at in range(1000):
        left = []
        for s in alive:
            try:
                s.sendall(text[at].encode())
                if select.select([s], [], [], 0)[0] and not s.recv(100):
                    raise ConnectionError
                left.append(s)
            except OSError:
                s.close()
        alive = left
        if not alive or time.monotonic() > until:
            break
        time.sleep(1)
    expect(f"{len(alive)} of 200 slow ones are still there", not alive)
    for s in alive:
        s.close()


def silent():
    """Connections on which nothing is said, or half a line, or whose client has gone without a word."""
    all = [connect() for _ in range(200)]
    for s in all[::2]:
        s.sendall(b"GET /met")
    began = time.monotonic()
    ended = sum(s.recv(100) == b"" for s in all)
    expect(f"{ended} of 200 were ended within {time.monotonic() - began:.0f} s", ended == 200 and time.monotonic() - began < 50)


def bodies():
    """A body without end is not read to its end."""
    for head in ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
                 "PUT /profiles HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
                 "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
                 "GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"):
        before, sent = cpu(), 0
        with connect(20) as s:
            try:
                s.sendall(head.encode())
                until = time.monotonic() + 20
                while sent < 1 << 26 and time.monotonic() < until:
                    s.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
                    sent += 65536
            except OSError:
                pass
            answer = read_all(s) if sent < 1 << 26 else b""
        expect(f"{head[:14]}: {sent >> 20} MB were taken, in {cpu() - before:.3f} s of CPU time", sent < 1 << 24)
        expect(f"{head[:14]}: {answer[:60]}", status(answer) in (0, 405, 413))


def headers():
    """Long ones, many, and lines that are none: refused, and never an answer."""
    for raw in (b"GET /profiles HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000 + b"\r\n\r\n",
                b"GET /profiles HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % i for i in range(3000)) + b"\r\n",
                b"GET /profiles HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token.encode() + b"a" * 15000 + b"\r\n\r\n",
                b"GET /profiles?" + b"service=hot&" * 1300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                b"GET " + b"/" * 30000 + b" HTTP/1.1\r\n\r\n",
                b"A" * 100000):
        answer = ask(raw)
        expect(f"{raw[:30]}: {answer[:60]}", status(answer) in (0, 400, 401, 413, 414, 431))


def methods():
    for m in ("OPTIONS", "TRACE", "CONNECT", "PUT", "PATCH", "DELETE", "PROPFIND", "get", "GETT", "G\xcaT", "\x00GET", "*", "-"):
        answer = get("/profiles", bearer.strip(), method=m)
        expect(f"{m!r}: {answer[:60]}", status(answer) in (0, 400, 405) and b"XYZZY" not in answer)
    trace = get("/healthz", "X-Secret: XYZZY", method="TRACE")
    expect("TRACE tells what was sent", b"XYZZY" not in trace)
    for version in ("HTTP/0.9", "HTTP/1.9", "HTTP/2.0", "HTTP/9.9", "http/1.1", "GOPHER/1.0", ""):
        answer = get("/healthz", "Host: localhost", version=version)
        expect(f"{version!r}: {answer[:60]}", status(answer) in (0, 200, 400, 505))


def pipelined():
    """A hundred questions at once on one connection, each with its own answer, in order; then two of which one must not be read
    into the other."""
    rested(150)
    paths = ["/healthz", "/nothing", "/metrics", "/profiles"] * 25
    want = [200, 404, 200, 401] * 25
    raw = "".join(f"GET {p} HTTP/1.1\r\nHost: localhost\r\n" + (bearer if p == "/nothing" else "") + "\r\n" for p in paths)
    with connect() as s:
        s.sendall(raw.encode())
        got = b""
        while got.count(b"HTTP/1.1 ") < 100:
            part = s.recv(65536)
            if not part:
                break
            got += part
    statuses = [int(x) for x in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]
    n = next((i for i, x in enumerate(statuses) if x == 429), len(statuses))  # a wrong token costs 20
    expect(f"answers in order: {statuses[:12]}", n >= 8 and statuses[:n] == want[:n])
    for smuggled in ("Content-Length: 44\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 0\r\nContent-Length: 44\r\n",
                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Content-Length : 44\r\n", "Content-Length: +44\r\n",
                     "Content-Length: -1\r\n", "Content-Length: 0x2c\r\n", "Content-Length: 18446744073709551617\r\n"):
        answer = ask(f"POST /healthz HTTP/1.1\r\nHost: localhost\r\n{smuggled}\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        seen = re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)
        expect(f"{smuggled!r}: {seen}", set(seen) <= {b"400", b"405", b"413", b"429"})


def paths():
    """None of them leads to a file."""
    for p in ("/../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%252e%252e/etc/passwd", "/..%2f..%2fetc%2fpasswd",
              "/..%c0%af..%c0%afetc/passwd", "/..\\..\\etc\\passwd", "/profiles/../../etc/passwd", "/profile/%00/etc/passwd", "/profile%00",
              "/profile?service=%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/profile?service=../.answers", "/profile?service=/etc/passwd",
              "/profile?service=kept%00/../../../etc/passwd", "/profile?service=kept%2f20260101T000000Z-7.000001", "/profile?service=%",
              "/profile?service=%zz", "/profile?service=%ff%fe", "/profile?service", "/profile?=kept", "/profile?service=&service=kept",
              "http://127.0.0.1/etc/passwd", "file:///etc/passwd", "/metrics/../profiles", "/pprof?service=../../etc&from=-1h", "etc/passwd", "*", "?",
              "/%", "/%7", "/\x80\xff", "/profiles#/etc/passwd", "/PROFILES", "/profiles/", "/./profiles"):
        answer = get(p, bearer.strip(), "Host: localhost")
        expect(f"{p!r}: {answer[:80]}", b"root:" not in answer and status(answer) in (0, 200, 400, 404) and
               (status(answer) != 200 or p in ("/profile?service=kept%00/../../../etc/passwd", "/profile?=kept", "/profile%00", "/profiles#/etc/passwd")))


def times():
    """No moment that is none, and no time without end."""
    for i, v in enumerate(("NaN", "-inf", "1e99", "-" + "9" * 30, "-999999999d", "--1s", "0x10", "now+1h", "now-1y", "%00", "2026-13-01T00:00:00Z",
              "9999-12-31T23:59:60Z", "9" * 4000, "-18446744073709551616s", "2026-11-26T05:00:00", "';DROP TABLE x;--")):
        what = (f"from={v}", f"to={v}", f"from=-1h&to={v}")[i % 3]
        time.sleep(1)  # an answer costs as 20
        answer = get(f"/flow?service=kept&{what}", bearer.strip(), "Host: localhost")
        expect(f"{what[:40]}: {answer[:80]}", status(answer) in (400, 404, 429) or v in ("%00",))
    for what in ("&".join(["from=-1h"] * 2), "&".join(f"a{i}=1" for i in range(300)), "base_from=-1h", "service=kept&service=kept", "FROM=-1h"):
        time.sleep(1)
        answer = get(f"/flow?service=kept&{what}", bearer.strip(), "Host: localhost")
        expect(f"{what[:40]}: {answer[:80]}", status(answer) in (0, 400, 414, 431, 429))


def tokens():
    """No other token is taken, and who guesses has to wait."""
    rested(420)
    bad = ["", "Bearer", "Bearer ", "Bearer " + token[:-1], "Bearer " + token + "x", "Bearer  " + token, "bearer" + token, "Basic " + token,
           "Bearer " + token.swapcase(), "Bearer " + token[::-1], token]
    seen = [status(get("/profiles", f"Authorization: {b}")) for b in bad]
    expect(f"refused: {seen}", set(seen) <= {401, 429, 400} and 401 in seen)
    seen = [status(get("/profiles", "Authorization: Bearer guess%016d" % i)) for i in range(60)]
    expect(f"who guesses waits: {seen[-5:]}", seen.count(429) >= 35 and 200 not in seen)
    expect("also with the right one", status(get("/profiles", bearer.strip())) == 429)
    time.sleep(3)
    expect("for a moment", status(get("/profiles", bearer.strip())) == 200)


def noise():
    """Bytes by chance, whole and cut."""
    r = random.Random(7)
    base = f"GET /pprof?service=kept&from=-1h HTTP/1.1\r\nHost: localhost\r\n{bearer}Accept: */*\r\n\r\n".encode()
    for i in range(300):
        if i % 3 == 0:
            raw = bytes(r.randrange(256) for _ in range(r.randrange(1, 600)))
        else:
            raw = bytearray(base)
            for _ in range(r.randrange(1, 9)):
                raw[r.randrange(len(raw))] = r.randrange(256)
            raw = bytes(raw[:r.randrange(1, len(raw) + 1)] if i % 3 == 1 else raw)
        with connect(1) as s:
            try:
                s.sendall(raw)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # and it goes without a word
            except OSError:
                pass


def crowd():
    """500 clients with as much in their requests as is kept of one, none of which ends; what is held for them is bounded."""
    before, most, all = memory(), 0, []
    for i in range(500):
        s = connect()
        s.setblocking(False)
        try:
            s.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 15000)
        except OSError:
            pass
        all.append(s)
        if i % 20 == 0:
            most = max(most, memory())
    for _ in range(20):
        time.sleep(0.1)
        most = max(most, memory())
    for s in all:
        s.close()
    print(f"{before} KB before, {most} KB at most")
    expect(f"{most - before} KB for 500 clients", most - before < 8192)


def flood():
    """Four who ask without a pause for thirty seconds, new connections and old ones: what that takes of the CPU is bounded."""
    over, asked = threading.Event(), [0]

    def always(keep):
        while not over.is_set():
            try:
                with connect(5) as s:
                    for _ in range(50 if keep else 1):
                        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        asked[0] += 1
                        if over.is_set() or not s.recv(65536):
                            break
            except OSError:
                pass

    all = [threading.Thread(target=always, args=(i % 2,)) for i in range(4)]
    saved = 2 + 0.25 * 0.01 * os.cpu_count() * 30  # what may be saved, and what is earned meanwhile, of a budget of 1 %
    before = cpu()
    time.sleep(10)
    idle = (cpu() - before) / 10
    before, began = cpu(), time.monotonic()
    for t in all:
        t.start()
    time.sleep(30)
    took = time.monotonic() - began
    used = cpu() - before - idle * took  # it does all else meanwhile
    over.set()
    for t in all:
        t.join()
    print(f"{used:.2f} s of CPU time in {took:.0f} s, for {asked[0]} questions")
    expect(f"it takes {used:.2f} s of CPU time, of {saved:.2f} s", used < 1.6 * saved)  # what wakes it is not in that


def listening():
    """It listens on loopback alone, once."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{f}") for f in os.listdir(f"/proc/{pid}/fd") if os.path.islink(f"/proc/{pid}/fd/{f}")}
    found = set()  # the kernel tells a socket twice where others come and go while it lists them
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        with open(f"/proc/{pid}/net/{name}") as f:
            for line in f.readlines()[1:]:
                w = line.split()
                if f"socket:[{w[9]}]" in inodes and (w[3] == "0A" or not name.startswith("tcp")):
                    found.add((name, w[1], w[9]))
    expect(f"{found}", [f[:2] for f in found] == [("tcp", "0100007F:%04X" % port)])


before = descriptors()
globals()[scenario]()
expect("it is well", well())
for _ in range(60):
    if descriptors() <= before:
        break
    time.sleep(0.5)
expect(f"{descriptors()} descriptors, {before} before", descriptors() <= before)
sys.exit(expect.failed)
