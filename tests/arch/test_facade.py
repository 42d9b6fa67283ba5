"""The faces stay thin: what server/ knows of money are the operations' names alone, and code in
server/api reaches HTTP.

A file of server/api reaches HTTP where it includes a header of server/http, itself or through
headers of its own folder.
"""
import re
from house import SOURCE, c_files, code_only, name, verdict

TERMS = ("correction", "watermark", "proration", "residual")
NO_HTTP_MAX = 1200  # lines of server/api that reach no HTTP


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)


def reaches_http(path, seen=()):
    for included in includes(path):
        if included.startswith("http/"):
            return True
        own = SOURCE / "server" / included
        if included.startswith("api/") and own not in seen and own.exists():
            if reaches_http(own, (*seen, own)):
                return True
    return False


found = []
for file in c_files("server"):
    for number, line in enumerate(code_only(file.read_text()).splitlines(), 1):
        found += [f"{name(file)}:{number}: \"{term}\" is a word of billing; say it in engine/ops"
                  for term in TERMS if term in line.lower()]
bare = {name(f): len(f.read_text().splitlines()) for f in c_files("server/api")
        if not reaches_http(f)}
if sum(bare.values()) > NO_HTTP_MAX:
    found.append(f"server/api has {sum(bare.values())} lines that reach no HTTP, at most"
                 f" {NO_HTTP_MAX}: {bare}")
verdict(found, f"{sum(bare.values())} lines of server/api reach no HTTP")
