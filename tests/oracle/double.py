#!/usr/bin/env python3
"""A second opinion on doubles as text.

Python's repr is the shortest text that reads back to the same double, by an implementation of its
own; written without an exponent and without ".0" it is what the engine must print. Asked are the
values that answers hold (hit rates, means, percents), and those that break printers: random bits,
powers of two and their neighbours, ties, short decimals.

    double.py --runner build/tests/oracle/double_runner [--count 330000] [--seed N]

The seed is printed and also taken from TB_SEED. Exit status 0: no difference.
"""
import argparse
import math
import random
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def from_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def plain(value):
    """The twin: repr without exponent, point zero or negative zero."""
    if not math.isfinite(value) or value == 0:
        return "0"
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text[:-2] if text.endswith(".0") else text


def hit_rate(rng):
    requests = rng.randrange(1, 10 ** rng.randrange(1, 13) + 1)
    return 100.0 * (1.0 - rng.randrange(requests + 1) / requests)


def mean(rng):
    return rng.randrange(10 ** rng.randrange(1, 17)) / rng.randrange(1, 10 ** rng.randrange(1, 10))


def percent(rng):
    whole = rng.randrange(1, 10 ** rng.randrange(1, 16))
    return 100.0 * rng.randrange(whole + 1) / whole


def any_bits(rng):
    return from_bits(rng.getrandbits(64))


def common_bits(rng):
    """Random digits between 2^-15 and 2^54: the exact path and both its ends."""
    return from_bits(rng.randrange(1023 - 15, 1023 + 54) << 52 | rng.getrandbits(52))


def tie(rng):
    """Large halves, quarters, eighths: often halfway between two shortest texts."""
    return (1 << 52 | rng.getrandbits(52)) / 2.0 ** rng.randrange(1, 14)


def short(rng):
    return rng.randrange(10 ** 6) / 10 ** rng.randrange(8)


def integral(rng):
    return float(rng.getrandbits(rng.randrange(1, 129)))


def fixed_values():
    """Every power of two with its neighbours, and the edges of the format."""
    for exponent in range(-1074, 1024):
        bits = bits_of(2.0 ** exponent)
        yield from (from_bits(bits + step) for step in range(-3, 4) if bits + step >= 0)
    yield from (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, sys.float_info.max,
                100.0 * (1.0 - 166 / 2983), 4.699383e-05)


def ask(runner, values):
    lines = "".join(f"{bits_of(value):x}\n" for value in values)
    done = subprocess.run([runner], input=lines, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=330000)
    parser.add_argument("--seed", type=int, help="else TB_SEED, or always the same")
    args = parser.parse_args()
    rng = random.Random(random_seed(args.seed))
    kinds = (hit_rate, hit_rate, mean, percent, any_bits, common_bits, tie, short, integral)
    values = list(fixed_values())
    values += [kinds[i % len(kinds)](rng) for i in range(args.count)]
    answers = ask(args.runner, values)
    if len(answers) != len(values):
        sys.exit(f"asked {len(values)} values, got {len(answers)} answers")
    differences = [(value, answer) for value, answer in zip(values, answers)
                   if answer != plain(value)]
    for value, answer in differences[:20]:
        print(f"{value.hex()}: engine {answer}, twin {plain(value)}")
    print(f"{len(values)} values, {len(differences)} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
