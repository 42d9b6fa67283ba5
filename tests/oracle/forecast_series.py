"""Made-up daily usage of many kinds, each with parameters drawn anew for each series, for judging
forecasts. random.random() alone is used: its sequence is the one that Python promises to keep.

A kind is a function of a Dice and a number of days that gives so many days around 1, not negative;
series() puts it on a level, cuts it into what is known and what came, and says when it was.
"""
import math
import random

FIRST_MONTH = 636  # 2023-01, counted in months from 1970
STARTS = (0, 5, 10, 15, 20)  # days of the month that are over where a forecast begins


class Dice:
    def __init__(self, seed):
        self.random = random.Random(seed).random

    def between(self, low, high):
        return low + (high - low) * self.random()

    def scale(self, low, high):
        return math.exp(self.between(math.log(low), math.log(high)))

    def whole(self, low, high):
        return low + int(self.random() * (high - low + 1))

    def chance(self, share):
        return self.random() < share

    def normal(self):
        return math.sqrt(-2 * math.log(1 - self.random())) * math.cos(2 * math.pi * self.random())


def week(d, most=0.3):
    depth = d.between(0, most)
    shape = [d.normal() for _ in range(7)]
    mean = sum(shape) / 7
    return [1 + max(-0.9, depth * (s - mean) / 1.5) for s in shape]


def noisy(d, days, low=0.03, high=0.15, most=0.3):
    """Each day with a weekly season and noise in proportion."""
    season, sd = week(d, most), d.scale(low, high)
    return [max(0, v * season[t % 7] * (1 + sd * d.normal())) for t, v in enumerate(days)]


def weekly(d, n, dates):
    return noisy(d, [1] * n, 0.02, 0.2, 0.6)


def trend(d, n, dates):
    """A straight line whose ends differ by up to a factor of four."""
    end = d.scale(0.25, 4)
    return noisy(d, [1 + (end - 1) * t / n for t in range(n)])


def growth(d, n, dates):
    """Exponential, -1 % to 2.5 % a day."""
    rate = d.between(-0.01, 0.025)
    return noisy(d, [math.exp(rate * (t - n)) for t in range(n)], 0.02, 0.12)


def walk(d, n, dates):
    """A random walk, of the level or of its logarithm."""
    sd, logs, v, days = d.scale(0.01, 0.06), d.chance(0.5), 1.0, []
    for _ in range(n):
        v = v * math.exp(sd * d.normal()) if logs else max(0.02, v + sd * d.normal())
        days.append(v)
    return noisy(d, days, 0.003, 0.05)


def lasting(d, n, dates):
    """AR(1) about a level, 0.8 to 0.95."""
    keep, sd, v, days = d.between(0.8, 0.95), d.scale(0.03, 0.12), 0.0, []
    v = sd * d.normal() / math.sqrt(1 - keep * keep)
    for _ in range(n):
        v = keep * v + sd * d.normal()
        days.append(max(0.0, 1 + v))
    return noisy(d, days, 0.003, 0.03, 0.2)


def step(d, n, dates):
    """A level that changed once, 5 to 120 days before what is forecast."""
    at, factor = n - 31 - d.whole(5, 120), d.scale(1.3, 4) ** (1 if d.chance(0.5) else -1)
    return noisy(d, [1 if t < at else factor for t in range(n)])


def bursts(d, n, dates):
    """Days many times the usual, of a Pareto distribution."""
    share, tail, size = d.scale(0.02, 0.2), d.between(1.3, 3), d.scale(0.5, 3)
    days = noisy(d, [1] * n, 0.03, 0.3)
    return [v + (size * (1 - d.random()) ** (-1 / tail) if d.chance(share) else 0) for v in days]


def pareto(d, n, dates):
    """Every day of a Pareto distribution."""
    tail = d.between(1.5, 3.5)
    return [(1 - d.random()) ** (-1 / tail) for _ in range(n)]


def holidays(d, n, dates):
    """Runs of days far below, or above, the usual, every few weeks."""
    every, low = d.between(10, 45), d.between(0.2, 0.75) if d.chance(0.7) else d.between(1.4, 2.5)
    days, left = [], 0
    for _ in range(n):
        if left == 0 and d.chance(1 / every):
            left = d.whole(1, 5)
        days.append(low if left else 1)
        left -= left > 0
    return noisy(d, days, 0.02, 0.12)


def zeros(d, n, dates):
    """Many days without any usage."""
    share, sd = d.between(0.2, 0.8), d.between(0.1, 1)
    return [0 if d.chance(share) else math.exp(sd * d.normal()) for _ in range(n)]


def annual(d, n, dates):
    """A season of a year, somewhere in it."""
    depth, phase = d.between(0.15, 0.5), d.between(0, 365)
    return noisy(d, [1 + depth * math.sin(2 * math.pi * (t + phase) / 365) for t in range(n)])


def billing_runs(d, n, dates):
    """More on one to four days of each month."""
    runs, factor = {d.whole(1, 28) for _ in range(d.whole(1, 4))}, d.scale(1.6, 6)
    return noisy(d, [factor if day in runs else 1 for day in dates], 0.03, 0.12)


def ramp(d, n, dates):
    """A new zone: nothing, then a rise to its level."""
    at, slope = n - 31 - d.whole(60, 90), d.between(5, 25)
    days = [0 if t < at else 1 / (1 + math.exp(-(t - at - 2 * slope) / slope)) for t in range(n)]
    return noisy(d, days)


def workdays(d, n, dates):
    """Little at weekends."""
    first, low = d.whole(0, 6), d.between(0, 0.2)
    return noisy(d, [low if (t + first) % 7 > 4 else 1 for t in range(n)], 0.03, 0.2, 0.1)


def restless(d, n, dates):
    """Noise in the logarithm that lasts a few days."""
    keep, sd, v, days = d.between(0.2, 0.7), d.between(0.1, 0.5), 0.0, []
    for _ in range(n):
        v = keep * v + sd * d.normal()
        days.append(math.exp(v))
    return days


def campaigns(d, n, dates):
    """Two levels, each for some days."""
    stay, high, on, days = (d.between(3, 25), d.between(3, 25)), d.scale(1.3, 4), 0, []
    for _ in range(n):
        on ^= d.chance(1 / stay[on])
        days.append(high if on else 1)
    return noisy(d, days, 0.02, 0.12, 0.2)


def mixed(d, n, dates):
    """Growth, a walk, a step that may be, noise and a spike now and then."""
    rate, sd, v, days = d.between(-0.004, 0.008), d.scale(0.002, 0.03), 0.0, []
    at, factor = d.whole(0, 2 * n), d.scale(0.5, 2)
    for t in range(n):
        v += rate + sd * d.normal()
        days.append(math.exp(v) * (factor if t >= at else 1) * (3 if d.chance(0.01) else 1))
    return noisy(d, days)


KINDS = {f.__name__: f for f in (weekly, trend, growth, walk, lasting, step, bursts, pareto, holidays,
                                 zeros, annual, billing_runs, ramp, workdays, restless, campaigns,
                                 mixed)}


def month_days(month):
    """First day since 1970 and length of a month."""
    def first(m):
        y, mm = 1970 + m // 12, m % 12 + 1
        y, mm = (y - 1, mm + 12) if mm <= 2 else (y, mm)
        return 365 * y + y // 4 - y // 100 + y // 400 + (153 * (mm - 3) + 2) // 5 - 719469 + 1
    return first(month), first(month + 1) - first(month)


def series(kind, seed, least=60, most=240):
    """(day the forecast begins, days known, days that came): whole units."""
    d = Dice(f"{kind} {seed}")
    first, length = month_days(FIRST_MONTH + d.whole(0, 35))
    start = STARTS[d.whole(0, 4)]
    known, ahead = d.whole(least, most), length - start
    n, level = known + 31, d.scale(1e8, 1e13)
    begin, dates, day, month = first + start - known, [], 0, FIRST_MONTH - 12
    while len(dates) < n:
        month_first, month_length = month_days(month)
        for k in range(month_length):
            if begin <= month_first + k < begin + n:
                dates.append(k + 1)
        month += 1
    days = [int(level * v) for v in KINDS[kind](d, n, dates)]
    return first + start, days[:known], days[known:known + ahead]
