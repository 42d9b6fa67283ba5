"""What forecasts promise, on series of many kinds (forecast_series.py): p5 to p95 holds nine outcomes of
ten, and the loss is less than that of single models (forecast_peers.py).

TB_SEED moves the series. TB_LONG=1 takes 300 of each kind instead of a few, from a random seed, and
holds the promise kind by kind; a few are held to it as a whole.
    test_forecast_kinds.py [KIND ...]      TB_COUNT series of each
"""
import os
import random
import subprocess
import sys
from pathlib import Path

from forecast_peers import PEERS, pinball
from forecast_series import KINDS, series

RUNNER = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
LONG = os.environ.get("TB_LONG") == "1"
COUNT = int(os.environ.get("TB_COUNT") or (300 if LONG else 12))
SEED = int(os.environ.get("TB_SEED") or (random.randrange(10**9) if LONG else 1))
PATHS = 1000
DAYS_USED = 182  # of history
OWN = "tollbook"
# No history of 60 days shows a season of a year: it is judged, and not held to 80 %.
UNKNOWABLE = {"annual"}
COVERAGE_ALL, COVERAGE_KIND, LOSS = (85, 95), 80, 0.95
COVERAGE_FEW = (82, 97)  # of a few series


class Score:
    def __init__(self):
        self.n = self.hits = 0
        self.loss = 0.0

    def add(self, quantiles, value, scale):
        self.n += 1
        self.hits += quantiles[0] <= value <= quantiles[2]
        self.loss += 100 * pinball(quantiles, value) / scale

    def coverage(self):
        return 100 * self.hits / self.n

    def mean(self):
        return self.loss / self.n


def forecasts(cases):
    """p5, p50 and p95 of the sum of the days that came, for (first, known, came) each."""
    text = "".join(f"{first} {len(known)} {len(came)} {' '.join(map(str, known))}\n"
                   for first, known, came in cases)
    out = subprocess.run([RUNNER / "tests/oracle/forecast_runner", "series", str(PATHS), "1"],
                         input=text, check=True, capture_output=True, text=True).stdout
    return [tuple(map(int, line.split())) for line in out.splitlines()]


def judge(kind, totals):
    """The scores of a kind by model; losses in percent of what such a span comes to."""
    cases = [series(kind, SEED + i) for i in range(COUNT)]
    scores = {name: Score() for name in (OWN, *PEERS)}
    for (_, known, came), own in zip(cases, forecasts(cases), strict=True):
        outcome = sum(came)
        scale = (sum(known) + outcome) / (len(known) + len(came)) * len(came)
        peers = {name: peer(known[-DAYS_USED:], len(came)) for name, peer in PEERS.items()}
        for name, quantiles in {OWN: own, **peers}.items():
            for score in (scores[name], totals[name]):
                score.add(quantiles, outcome, scale)
    return scores


def show(name, scores):
    print(f"{name:14}" + "".join(f"{s.coverage():9.1f} {s.mean():7.3f}" for s in scores.values()),
          flush=True)


def complaints(by_kind, totals):
    low, high = COVERAGE_ALL if LONG else COVERAGE_FEW
    if not low <= totals[OWN].coverage() <= high:
        yield f"coverage {totals[OWN].coverage():.1f} % is not {low} to {high} %"
    for kind, scores in by_kind.items():
        if LONG and kind not in UNKNOWABLE and scores[OWN].coverage() < COVERAGE_KIND:
            yield f"{kind}: coverage {scores[OWN].coverage():.1f} % is below {COVERAGE_KIND} %"
    best = min(PEERS, key=lambda name: totals[name].mean())
    if totals[OWN].mean() > LOSS * totals[best].mean():
        yield (f"loss {totals[OWN].mean():.3f} is more than {LOSS} of the {totals[best].mean():.3f} "
               f"of {best}")


def main():
    totals = {name: Score() for name in (OWN, *PEERS)}
    kinds = sys.argv[1:] or list(KINDS)
    print(f"{COUNT} series a kind, seed {SEED}; coverage of p5 to p95 in percent, and pinball loss of\n"
          "p5, p50 and p95 in percent of a usual span of that length\n")
    print(f"{'':14}" + "".join(f"{name:>17}" for name in totals))
    by_kind = {}
    for kind in kinds:
        by_kind[kind] = judge(kind, totals)
        show(kind, by_kind[kind])
    show("all", totals)
    wrong = list(complaints(by_kind, totals))
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


main()
