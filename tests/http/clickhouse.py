"""Private ClickHouse servers for the tests: Debian's package, loopback ports of their own, a folder of
their own, ended by their process. They have little to do each and are many at once, so they keep few threads and give no
memory back, which would have to be touched anew for the next statement: together a third of their processor time."""
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from harness import PATIENCE
from script import held_port

PROGRAM = shutil.which("clickhouse-server")

CONFIG = """<yandex><logger><level>error</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
<listen_host>127.0.0.1</listen_host><max_connections>64</max_connections><max_concurrent_queries>50</max_concurrent_queries>
<mark_cache_size>16777216</mark_cache_size><path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
<user_files_path>{folder}/data/files/</user_files_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><timezone>{zone}</timezone></yandex>"""
USERS = """<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage>
<background_pool_size>2</background_pool_size><max_compress_block_size>65536</max_compress_block_size>
<max_read_buffer_size>65536</max_read_buffer_size></default></profiles><users><default>
<password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows>
<read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas></yandex>"""
ENVIRONMENT = {**os.environ, "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:2"}


class ClickHouse:
    def __init__(self, zone="America/New_York"):
        """zone: the server's own, which no answer may depend on."""
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-clickhouse-")
        self.path = Path(self.folder.name)
        self.port, tcp, inter = (held_port() for _ in range(3))
        (self.path / "tmp").mkdir()
        (self.path / "data/files").mkdir(parents=True)
        (self.path / "config.xml").write_text(CONFIG.format(folder=self.path, http=self.port, tcp=tcp,
                                                            inter=inter, zone=zone))
        (self.path / "users.xml").write_text(USERS)
        self.start()

    def launch(self):
        self.process = subprocess.Popen([PROGRAM, f"--config-file={self.path}/config.xml"], cwd=self.path,
                                        env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        self.launch()
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask("SELECT 1")
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise AssertionError("ClickHouse did not start") from None
                time.sleep(0.02)

    def ask(self, sql):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", sql.encode(), PATIENCE) as answer:
            return answer.read().decode().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.folder.cleanup()
