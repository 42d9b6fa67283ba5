"""Forecasts: paths rated again in Python's fractions, quantiles by sorting, and the same bytes from
other compilers and other optimisation.

forecast_runner.c is built here, together with engine/advice, against the build's library for the rest.
TB_SEED moves the random paths.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
LIBRARIES = os.environ.get("TB_LIBRARIES", "").split()
PARTS = ("start", "fit", "single", "clean", "laws", "outlook", "forecast", "forecast_json", "random", "rate", "spread")
VARIANTS = (("gcc", "-O2"), ("gcc", "-O0"), ("gcc", "-O3", "-march=native"), ("clang", "-O0"),
            ("clang", "-O3", "-march=native"))
PATHS, FORECASTS = 2000, 12
GB, MILLION = 10**9, 10**6


def build(folder, number, compiler, *flags):
    out = folder / f"runner{number}"
    libraries = subprocess.run(["pkg-config", "--libs", "sqlite3", "jansson", "libsodium", "libxxhash",
                                "gsl"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run([compiler, *flags, "-std=gnu11", "-D_GNU_SOURCE", "-ffp-contract=off",
                    f"-I{SOURCE}/include", f"-I{SOURCE}/engine", "-o", out,
                    SOURCE / "tests/oracle/forecast_runner.c",
                    *(SOURCE / f"engine/advice/{part}.c" for part in PARTS),
                    BUILD / "libtollbook.a", *libraries, *LIBRARIES, "-lm", "-lpthread"], check=True)
    return out


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True,
                          text=True).stdout


def half_up(value):
    """To whole cents, ties away from zero; values here are not negative."""
    return int(value * 100 + Fraction(1, 2))


def tiers(used, units, limit, low, high):
    """units that follow `used` on an axis whose price changes at limit."""
    below = max(0, min(used + units, limit) - used)
    return below * low + (units - below) * high


def shared(units, weights):
    """Cut at the floors of running sums."""
    whole, at, parts = sum(weights), 0, []
    for weight in weights:
        parts.append(units * (at + weight) // whole - units * at // whole)
        at += weight
    return parts


def rate(premium, volume_eu, volume_na, override, requests):
    """Each argument: what comes to part 0 and to part 1. As forecast_runner.c's month has it."""
    full, cut = zip(*(shared(units, (300, 100)) for units in premium))
    cut = (cut[0] + 123456789012, cut[1])
    prices = Fraction(1, 100 * GB), Fraction(2, 100 * GB)
    lines = [half_up(sum((f + c * Fraction(80, 100)) * p for f, c, p in zip(full, cut, prices)))]
    first = 77777777777 + volume_eu[0] + volume_na[0]
    second = volume_eu[1] + volume_na[1]
    lines.append(half_up(
        tiers(0, first, 1000 * GB, Fraction(5, 1000 * GB), Fraction(3, 1000 * GB)) +
        tiers(first, second, 1000 * GB, Fraction(6, 1000 * GB), Fraction(2, 1000 * GB))))
    lines.append(half_up(55555555555 * Fraction(4, 10**12) + sum(override) * Fraction(5, 10**12)))
    for k, weights in enumerate(zip(*(shared(units, (300, 100)) for units in requests))):
        total = 400000 + 2 * k + sum(weights)
        lines.append(half_up(tiers(0, total, 3 * MILLION, Fraction(65, 100 * MILLION),
                                   Fraction(35, 100 * MILLION))))
    net = max(2000, sum(lines) + 2 * 950 - 3)
    return net, net + half_up(Fraction(net, 100) * Fraction(19, 100))


def check_paths(program, seed):
    rows = [line.split() for line in run(program, "paths", PATHS, seed).splitlines()]
    wrong, nets = 0, []
    for row in rows[:-1]:
        *units, net, gross = map(int, row)
        nets.append(net)
        expected = rate(*zip(units[:5], units[5:]))
        if (net, gross) != expected:
            wrong += 1
            print(f"seed {seed}: {row}: expected {expected}")
            if wrong > 5:
                break
    nets.sort()
    mean = (2 * sum(nets) + len(nets)) // (2 * len(nets))
    quantiles = [nets[(p * len(nets) + 99) // 100 - 1] for p in (5, 50, 95)]
    if ["spread", *map(str, [mean, *quantiles])] != rows[-1]:
        wrong += 1
        print(f"seed {seed}: {rows[-1]}: expected {mean} {quantiles}")
    return wrong + (len(nets) != PATHS) + (min(nets) == max(nets))


def main():
    if not (BUILD / "libtollbook.a").exists():
        print("skipped: there is no library in", BUILD)
        sys.exit(77)
    seed = random_seed()
    with tempfile.TemporaryDirectory(prefix="tollbook-forecast-") as folder:
        programs = [(variant, build(Path(folder), i, *variant))
                    for i, variant in enumerate(VARIANTS) if shutil.which(variant[0])]
        wrong = sum(check_paths(programs[0][1], seed + i) for i in range(3))
        answers = {variant: run(program, "json", FORECASTS) for variant, program in programs}
    first = answers[VARIANTS[0]]
    for variant, answer in answers.items():
        if answer != first:
            wrong += 1
            print(f"{' '.join(variant)} gives other forecasts than {' '.join(VARIANTS[0])}")
    print(f"seed {seed}: {3 * PATHS} paths, {len(answers)} builds, {wrong} wrong")
    sys.exit(wrong > 0)


main()
