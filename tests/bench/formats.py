"""The traffic of a pipe log in the other formats: the same requests, zones by their system hostname."""
import json
from datetime import datetime, timezone

NGINX = ('nginx:$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" '
         '"$http_user_agent" $host $upstream_cache_status $tollbook_region $request_id $tollbook_country')
OBJECTS = ('nginx:escape=json {"t":"$msec","h":"$host","s":$status,"b":$bytes_sent,"u":"$request_uri",'
           '"a":"$http_user_agent","r":"$http_referer","c":"$upstream_cache_status","e":"$tollbook_region"}')
FIELDS = ("date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
          "cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol "
          "cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type "
          "cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte "
          "x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end")
# What `ingest` is given for each.
OPTIONS = {
    "nginx": ["--format", NGINX],
    "nginx objects": ["--format", OBJECTS],
    "vcombined": ["--format", "vcombined", "--region", "DE"],
    "json": ["--format", "json", "--map", "host=h,time=t,status=s,bytes=b,cache=c,agent=a,url=u,region=e"],
    "caddy": ["--format", "json", "--map", "caddy", "--region", "DE"],
    "cloudflare": ["--format", "json", "--map", "cloudflare"],
    "cloudfront": ["--format", "cloudfront"],
}
SAME = {"json": "nginx objects"}  # one log, read in two ways
HEAD = {"cloudfront": f"#Version: 1.0\n#Fields: {FIELDS}\n"}


class Line:
    second = None

    def __init__(self, line):
        (self.cache, self.status, self.ms, self.bytes, zone, self.ip, self.referer, url, self.edge, self.agent,
         self.id, self.country) = line.rstrip("\n").split("|")
        self.path = "/" + "/".join(url.split("/")[3:])
        self.host = f"zone-{zone}.b-cdn.net"
        second = int(self.ms) // 1000
        if second != Line.second:
            at = datetime.fromtimestamp(second, timezone.utc)
            Line.second, Line.local = second, at.strftime("%d/%b/%Y:%H:%M:%S +0000")
            Line.day, Line.clock = at.strftime("%Y-%m-%d"), at.strftime("%H:%M:%S")


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def nginx(r):
    return (f'{r.ip} - - [{r.local}] "GET {r.path} HTTP/1.1" {r.status} {r.bytes} "{r.referer}" "{r.agent}" '
            f"{r.host} {r.cache} {r.edge} {r.id} {r.country}")


def objects(r):
    return (f'{{"t":"{r.ms[:-3]}.{r.ms[-3:]}","h":"{r.host}","s":{r.status},"b":{r.bytes},"u":"{r.path}",'
            f'"a":"{r.agent}","r":"{r.referer}","c":"{r.cache}","e":"{r.edge}"}}')


def vcombined(r):
    return (f'{r.host}:443 {r.ip} - - [{r.local}] "GET {r.path} HTTP/1.1" {r.status} {r.bytes} "{r.referer}" '
            f'"{r.agent}"')


def caddy(r):
    return compact({"level": "info", "ts": int(r.ms) / 1000, "logger": "http.log.access", "msg": "handled request",
                    "request": {"remote_ip": r.ip, "remote_port": "41342", "client_ip": r.ip, "proto": "HTTP/2.0",
                                "method": "GET", "host": r.host, "uri": r.path,
                                "headers": {"User-Agent": [r.agent], "Referer": [r.referer]}},
                    "bytes_read": 0, "user_id": "", "duration": 0.001, "size": int(r.bytes),
                    "status": int(r.status), "resp_headers": {"Server": ["Caddy"]}})


def cloudflare(r):
    return compact({"CacheCacheStatus": r.cache.lower(), "ClientCountry": r.country.lower(), "ClientIP": r.ip,
                    "ClientRequestHost": r.host, "ClientRequestMethod": "GET", "ClientRequestReferer": r.referer,
                    "ClientRequestScheme": "https", "ClientRequestURI": r.path, "ClientRequestUserAgent": r.agent,
                    "EdgeColoCode": r.edge, "EdgeResponseBytes": int(r.bytes), "EdgeResponseStatus": int(r.status),
                    "EdgeStartTimestamp": int(r.ms) * 1000000, "RayID": r.id[:16]})


def cloudfront(r):
    return "\t".join([r.day, r.clock, r.edge, r.bytes, r.ip, "GET", "d1.cloudfront.net", r.path, r.status, r.referer,
                      r.agent.replace(" ", "%20"), "-", "-", r.cache.capitalize(), r.id, r.host, "https", "120",
                      "0.001", "-", "TLSv1.3", "TLS_AES_128_GCM_SHA256", "Hit", "HTTP/2.0", "-", "-", "41342",
                      "0.001", "Hit", "text/html", r.bytes, "-", "-"])


WRITERS = {"nginx": nginx, "nginx objects": objects, "vcombined": vcombined, "caddy": caddy,
           "cloudflare": cloudflare, "cloudfront": cloudfront}


def write(name, pipe, path):
    line_of = WRITERS[name]
    with open(pipe) as lines, open(path, "w") as out:
        out.write(HEAD.get(name, ""))
        for line in lines:
            out.write(line_of(Line(line)) + "\n")
