"""ClickHouse with the rows of the statistics workload, a peer of `run` beside this file.

A private server: configuration, data and log lie in one folder, its only port is on the loopback.
Rows are loaded once, as RowBinary through HTTP, and stay there for later runs with a stamp beside
them that says which table they were loaded into. The table is the plain one: a partition a month,
ordered by zone and hour, merged into one part each. Questions are asked with the server's default
settings, and again with those that suit many small questions at a time.
"""
import http.client
import os
import shutil
import subprocess
import time
from urllib.parse import quote

COUNTERS = [f"m{i}" for i in range(12)]
TABLE = ("CREATE TABLE hours (zone UInt32, hour UInt32, "
         + ", ".join(f"{m} Int64" for m in COUNTERS)
         + ") ENGINE = MergeTree() PARTITION BY intDiv(hour, 720) ORDER BY (zone, hour)")
SUITED = "&max_threads=1&use_uncompressed_cache=1"
NOTE = ("ClickHouse has the same hours and adds a day's up when asked; its charts for a zone were"
        " compared with tollbook's; suited: one thread a question, a cache of what was unpacked")
ROWS = 1000 * 400 * 24  # as hours.h has them

CONFIG = """<yandex>
  <logger><level>error</level><log>{at}/log</log><errorlog>{at}/errors</errorlog></logger>
  <http_port>{port}</http_port><listen_host>127.0.0.1</listen_host>
  <keep_alive_timeout>60</keep_alive_timeout><timezone>UTC</timezone>
  <mark_cache_size>1073741824</mark_cache_size>
  <uncompressed_cache_size>4294967296</uncompressed_cache_size>
  <path>{at}/data/</path><tmp_path>{at}/tmp/</tmp_path>
  <user_files_path>{at}/files/</user_files_path>
  <users_config>{at}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>
"""
USERS = """<yandex>
  <profiles><default></default></profiles>
  <quotas><default></default></quotas>
  <users><default>
    <password></password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota>
  </default></users>
</yandex>
"""


class Failed(Exception):
    pass


def program():
    """The server's path, or None. Debian has it where only root's PATH leads."""
    return shutil.which("clickhouse-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def ask(port, sql, body=None):
    """The answer to a statement; body: a file with what an INSERT takes in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600, blocksize=1 << 20)
    connection.request("POST", "/?query=" + quote(sql), body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status != 200:
        raise Failed(f"ClickHouse: {sql[:60]}: {text.strip()[:300]}")
    return text.strip()


def target(begin, end, hourly):
    """The path of a question for the hours from begin to before end; ZONE stands for the zone."""
    where = f"FROM hours WHERE zone = ZONE AND hour >= {begin} AND hour < {end}"
    if hourly:
        sql = f"SELECT toDateTime(hour * 3600) AS time, {','.join(COUNTERS)} {where} ORDER BY hour"
    else:
        sums = ",".join(f"sum({m})" for m in COUNTERS)
        sql = f"SELECT intDiv(hour, 24) AS day, {sums} {where} GROUP BY day ORDER BY day"
    return "/?query=" + quote(sql + " FORMAT JSON")


def start(at, port):
    """Starts the server with the data in a folder and waits until it answers."""
    for name, text in (("config.xml", CONFIG), ("users.xml", USERS)):
        (at / name).write_text(text.format(at=at, port=port))
    with open(at / "out", "w") as out:
        server = subprocess.Popen([program(), f"--config-file={at / 'config.xml'}"], cwd=at,
                                  stdout=out, stderr=subprocess.STDOUT)
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            ask(port, "SELECT 1")
            return server
        except OSError:
            time.sleep(0.05)
    server.kill()
    server.wait()
    raise Failed(f"ClickHouse does not start: see {at}/out and {at}/errors")


def load(port, rows):
    """rows: the program that writes them."""
    ask(port, TABLE)
    with subprocess.Popen([rows], stdout=subprocess.PIPE) as writer:
        ask(port, "INSERT INTO hours FORMAT RowBinary", writer.stdout)
    ask(port, "OPTIMIZE TABLE hours FINAL")
    have = ask(port, "SELECT count() FROM hours")
    if writer.returncode or have != str(ROWS):
        raise Failed(f"ClickHouse took {have} rows of {ROWS}")


def serve(at, port, rows):
    """Starts the server on that port, with the rows, in a folder of its own; its process."""
    stamp = at / "stamp"
    fresh = not stamp.exists() or stamp.read_text() != TABLE
    if fresh:
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir()
    server = start(at, port)
    try:
        if fresh:
            load(port, rows)
            stamp.write_text(TABLE)
    except (Failed, OSError):
        server.terminate()
        server.wait()
        raise
    return server
