#!/usr/bin/env python3
"""A second opinion on exact decimals: Python's decimal with 240 digits, text compared with text.

Values are random ones of all lengths and scales, and those where carries and limits lie: 0, 1, powers
of ten and of two with their neighbours, 10^18 units, prices of 15 digits after the point, ties,
negatives. Every operation is asked of random pairs of them; the text reader gets good and damaged
texts.

    decimal_oracle.py --runner build/tests/oracle/decimal_runner [--count N] [--seed N]

The seed is printed and also taken from TB_SEED. Exit status 0: no difference.
"""
import argparse
import random
import re
import subprocess
import sys
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, setcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

setcontext(Context(prec=240, Emin=-9999, Emax=9999))
MANTISSA_MAX = 2 ** 127 - 1
SCALE_MAX = 36
LIMIT = [Decimal(MANTISSA_MAX).scaleb(-scale) for scale in range(SCALE_MAX + 1)]
UNIT = [Decimal(1).scaleb(-scale) for scale in range(SCALE_MAX + 1)]
MODES = {"u": ROUND_HALF_UP, "e": ROUND_HALF_EVEN}
BATCH = 50000

EDGES = sorted({0, 1, 2, 5, 9, MANTISSA_MAX, MANTISSA_MAX - 1, 10 ** 18 - 1, 10 ** 18, 10 ** 18 + 1}
               | {10 ** k + d for k in range(39) for d in (-1, 0, 1) if 10 ** k + d <= MANTISSA_MAX}
               | {2 ** k + d for k in (31, 32, 63, 64, 126) for d in (-1, 0, 1)}
               | {5 * 10 ** k + d for k in range(38) for d in (-1, 0, 1)})


def shown(mantissa, scale):
    """The text of mantissa / 10^scale with all digits of its scale."""
    sign = "-" if mantissa < 0 else ""
    digits = str(abs(mantissa)).rjust(scale + 1, "0")
    return sign + (digits[:-scale] + "." + digits[-scale:] if scale else digits)


def any_mantissa(rng):
    kind = rng.random()
    if kind < 0.3:
        size = rng.choice(EDGES)
    elif kind < 0.6:
        size = rng.getrandbits(rng.randrange(1, 65))
    elif kind < 0.8:
        size = rng.getrandbits(rng.randrange(1, 128))
    else:  # a price of up to 15 digits after the point and its multiples
        size = rng.randrange(1, 171) * 10 ** rng.randrange(18) + rng.randrange(2)
    return -size if rng.random() < 0.4 else size


def any_scale(rng):
    return rng.choice((0, 0, 2, 9, 15, 18, 24, rng.randrange(SCALE_MAX + 1)))


def make_pool(rng, size=2000):
    """(text, value, scale) of so many values."""
    pool = []
    for _ in range(size):
        mantissa, scale = any_mantissa(rng), any_scale(rng)
        text = shown(mantissa, scale)
        pool.append((text, Decimal(text), scale))
    return pool


def outcome(value, scale):
    """What the engine prints for a result of that scale."""
    if scale > SCALE_MAX or abs(value) > LIMIT[scale]:
        return "!"
    return format(value if value else abs(value), "f")


def sums(rng, pool, count):
    for (ta, a, sa), (tb, b, sb) in zip(rng.choices(pool, k=count), rng.choices(pool, k=count)):
        scale = max(sa, sb)
        fits = abs(a) <= LIMIT[scale] and abs(b) <= LIMIT[scale]
        if rng.random() < 0.5:
            yield f"+ {ta} {tb}", outcome(a + b, scale) if fits else "!"
        else:
            yield f"- {ta} {tb}", outcome(a - b, scale) if fits else "!"


def products(rng, pool, count):
    for (ta, a, sa), (tb, b, sb) in zip(rng.choices(pool, k=count), rng.choices(pool, k=count)):
        yield f"* {ta} {tb}", outcome(a * b, sa + sb)


def comparisons(rng, pool, count):
    for (ta, a, _), (tb, b, _) in zip(rng.choices(pool, k=count), rng.choices(pool, k=count)):
        yield f"c {ta} {tb}", "0" if a == b else "1" if a > b else "-1"


def shifts(rng, pool, count):
    for text, value, scale in rng.choices(pool, k=count):
        places = rng.choice((6, 9, -6, -9, rng.randrange(-80, 81)))
        result, wanted = value.scaleb(-places), max(scale + places, 0)
        if wanted > SCALE_MAX and result == result.quantize(UNIT[SCALE_MAX]):
            wanted = SCALE_MAX
        if wanted > SCALE_MAX or abs(result) > LIMIT[0]:
            yield f"> {text} {places}", "!"
        else:
            yield f"> {text} {places}", outcome(result.quantize(UNIT[wanted]), wanted)


def roundings(rng, pool, count):
    for text, value, _ in rng.choices(pool, k=count):
        scale, mode = any_scale(rng), rng.choice("ue")
        yield f"r {text} {scale} {mode}", outcome(value.quantize(UNIT[scale], MODES[mode]), scale)


def quotients(rng, pool, count):
    seconds = (2678400, 2592000, 2419200, 2505600)
    for text, value, _ in rng.choices(pool, k=count):
        scale, mode = any_scale(rng), rng.choice("ue")
        if rng.random() < 0.5:
            den = rng.choice(seconds)
            num = rng.randrange(den + 1)
        else:
            num, den = any_mantissa(rng), abs(any_mantissa(rng)) or 1
        result = (value * num / den).quantize(UNIT[scale], MODES[mode])
        yield f"d {text} {num} {den} {scale} {mode}", outcome(result, scale)


GOOD = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
WRONG = ("NaN", "inf", "-inf", "Infinity", "1e5", "+1", "1E-2", ".5", "5.", "-", "-.", "00", "01",
         "1_000", "0x10", "1,5", "--1", "1.2.3", "1.-2", "\u0661", "sNaN", "0.0e0", "$1", "1f")


def readings(rng, pool, count):
    for text, _, _ in rng.choices(pool, k=count):
        kind = rng.random()
        if kind < 0.1:
            text = rng.choice(WRONG)
        elif kind < 0.3:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice("0123456789.-+eE_x") + text[at:]
        elif kind < 0.4:
            text += str(rng.getrandbits(rng.randrange(1, 40)))
        most = rng.choice((0, 2, 15, 36))
        yield f"p {text} {most}", read(text, most)


def read(text, most):
    """The value's text, or None: refused somewhere (where is the unit tests' business)."""
    if not GOOD.fullmatch(text):
        return None
    scale = len(text.partition(".")[2])
    if scale > most or abs(Decimal(text)) > LIMIT[scale]:
        return None
    return outcome(Decimal(text), scale)


KINDS = (sums, sums, products, comparisons, shifts, roundings, quotients, quotients, readings, products)


def ask(runner, questions):
    done = subprocess.run([runner], input=("\n".join(questions) + "\n").encode(),
                          capture_output=True, check=True)
    return done.stdout.decode().split("\n")[:-1]


def same(answer, expected):
    """A refused text names its place behind the mark."""
    if expected is None:
        return answer[0] == "!" and answer[1:].isdigit() and int(answer[1:]) >= 1
    return answer == expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=1_000_000 if LONG else 300_000)
    parser.add_argument("--seed", type=int, help="else TB_SEED, or always the same")
    args = parser.parse_args()
    rng = random.Random(random_seed(args.seed))
    asked = refused = different = 0
    while asked < args.count:
        size = min(BATCH, args.count - asked)
        pool = make_pool(rng)
        cases = [case for kind in KINDS for case in kind(rng, pool, -(-size // len(KINDS)))]
        answers = ask(args.runner, [question for question, _ in cases])
        if len(answers) != len(cases):
            sys.exit(f"asked {len(cases)} questions, got {len(answers)} answers")
        for (question, expected), answer in zip(cases, answers):
            if answer != expected and not same(answer, expected):
                different += 1
                if different <= 20:
                    print(f"{question}: engine {answer}, twin {expected}")
        asked += len(cases)
        refused += sum(answer[0] == "!" for answer in answers)
    print(f"{asked} cases, {refused} of them refusals, {different} differences")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
