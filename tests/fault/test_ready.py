"""A server is ready where a write would work: the disk under its database fills up and has room again. GET /readyz names the
file, the cause and the remedy, writes nothing, and `tollbook status` says the same."""
import json
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

from faults import Service, folder, in_own_mounts, lines, make, mount_small, require, run, seed, verify

ROOM = 64 << 20


def ask(port, path, body=None, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)


def sizes(place):
    return {file.name: file.stat().st_size for file in place.iterdir()}


def inside(path):
    small = path / "small"
    mount_small(small, str(ROOM))
    rng = seed()
    db, ballast = make(small / "t.db"), small / "ballast"
    key, operator = (run("key", "create", "--db", db, "--account", account, "--role", role).stdout.decode().strip()
                     for account, role in ((1, "Ingest"), (0, "Operator")))
    server = Service(db, path)

    def post():
        return ask(server.port, "/ingest/logs", lines(rng, 4000), AccessKey=key)

    def is_ready():
        require(ask(server.port, "/readyz") == (200, {"status": "ready"}), "ready", ask(server.port, "/readyz"))

    def is_not_ready(text):
        status, answer = ask(server.port, "/readyz")
        require(status == 503 and answer["ErrorKey"] == "server.disk_full", "not ready", status, answer)
        require(text in answer["Message"] and answer["Message"].startswith("t.db: "), "not ready:", answer["Message"])
        done = run("status", "--server", f"http://127.0.0.1:{server.port}", "--key", operator, "--json", "--backup-hours", 0,
                   "--verify-hours", 0, "--min-free-mb", 0, expect=(1,))
        require(json.loads(done.stdout)["problems"] == [{"problem": "server", "text": "The server is not ready: " + answer["Message"]}],
                "status says", done.stdout)

    try:
        is_ready()
        ballast.write_bytes(bytes(ROOM - sum(sizes(small).values()) - (12 << 20)))
        before = sizes(small)
        is_not_ready("are free on its disk, and a write may need 16384. Make room.")
        require(before == sizes(small), "it has written", before, sizes(small))
        ballast.unlink()
        is_ready()
        with open(ballast, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        taken = 0
        while (answer := post())[0] == 200:
            taken += 1
        require(answer[0] == 503 and answer[1]["ErrorKey"] == "server.disk_full", "a full disk", answer)
        is_not_ready("0 KiB are free on its disk")
        ballast.unlink()
        is_not_ready("is full, and writes are refused. Make room")  # there is room, but the last write was refused
        require(post()[0] == 200, "a write that works")
        is_ready()
    finally:
        server.end(signal.SIGTERM)
    require(server.process.returncode == 0, "it ends with", server.process.returncode)
    verify(db)
    print(f"full after {taken} batches, and ready again")


if sys.argv[1:2] == ["inside"]:
    inside(Path(sys.argv[2]))
    sys.exit(0)

with folder() as name:
    said = in_own_mounts(__file__, Path(name))
if not said:
    print("skipped: this machine lets nobody mount")
    sys.exit(77)
print(said)
