"""Single models to judge forecasts against, with the intervals that their textbooks give them: for the
sum of the next days their p5, p50 and p95. Written from the textbooks (Hyndman and Athanasopoulos,
"Forecasting: principles and practice"), not from the engine.
"""
import math

Z = 1.6449  # of a normal distribution, 5 % and 95 %


def spread(middle, deviation):
    return max(0, middle - Z * deviation), max(0, middle), max(0, middle + Z * deviation)


def seasonal_naive(days, ahead):
    """The last week again. An error of k weeks is that of k steps of a week."""
    steps = [b - a for a, b in zip(days, days[7:])]
    sigma = math.sqrt(sum(e * e for e in steps) / len(steps))
    middle, variance = 0, 0.0
    for weekday in range(min(7, ahead)):
        weeks = (ahead - weekday + 6) // 7
        middle += weeks * days[len(days) - 7 + weekday]
        variance += sigma * sigma * weeks * (weeks + 1) * (2 * weeks + 1) / 6
    return spread(middle, math.sqrt(variance))


def smooth(days, alpha, beta, gamma, phi):
    """Holt-Winters, additive, damped: the sum of squares, and where it ends."""
    level, slope = sum(days[:14]) / 14, (sum(days[7:14]) - sum(days[:7])) / 49
    season = [(days[i] + days[i + 7]) / 2 - level for i in range(7)]
    total = 0.0
    for t, y in enumerate(days):
        slope *= phi
        error = y - level - slope - season[t % 7]
        level += slope + alpha * error
        slope += beta * error
        season[t % 7] += gamma * error
        if t >= 14:
            total += error * error
    return total, level, slope, season


def damped_ets(days, ahead):
    """ETS(A,Ad,A) by least squares of one step, over a grid; the interval of its class 1."""
    grid = [(a, a * b, (1 - a) * g, p) for a in (0.02, 0.1, 0.25, 0.5, 0.9) for b in (0, 0.05, 0.2)
            for g in (0.02, 0.15) for p in ((0.9, 0.98) if b else (0.9,))]
    best = min(grid, key=lambda words: smooth(days, *words)[0])
    total, level, slope, season = smooth(days, *best)
    alpha, beta, gamma, phi = best
    sigma = math.sqrt(total / max(1, len(days) - 14 - 6))
    middle, pull, moved, damp, gain = 0.0, [], 0.0, 0.0, 0.0
    for h in range(1, ahead + 1):
        damp += phi ** h
        middle += level + slope * damp + season[(len(days) + h - 1) % 7]
    for h in range(ahead):  # what an error moves the sum of the h days after it by
        pull.append(1 + moved)
        gain += beta * phi ** h * phi if h else beta * phi
        moved += alpha + gain - beta * phi + (gamma if (h + 1) % 7 == 0 else 0)
    return spread(middle, sigma * math.sqrt(sum(p * p for p in pull)))


def solve(a, b):
    """Gauss with pivots; a and b are changed."""
    n = len(b)
    for i in range(n):
        k = max(range(i, n), key=lambda r: abs(a[r][i]))
        if abs(a[k][i]) < 1e-12:
            return None
        a[i], a[k], b[i], b[k] = a[k], a[i], b[k], b[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            if f:
                b[r] -= f * b[i]
                for c in range(i, n):
                    a[r][c] -= f * a[i][c]
    for i in reversed(range(n)):
        b[i] = (b[i] - sum(a[i][c] * b[c] for c in range(i + 1, n))) / a[i][i]
    return b


def regression(days, ahead):
    """Level, trend and weekdays, with Huber's weights. Weekday dummies and the trend are orthogonal
    enough to be fitted in turn: weekday means about the line, then the line."""
    n = len(days)
    weights, season, line = [1.0] * n, [0.0] * 7, (0.0, 0.0)
    sigma = 0.0
    for _ in range(6):
        for _ in range(3):
            w = s = x = xx = y = xy = 0.0
            for t in range(n):
                v, k = days[t] - season[t % 7], weights[t]
                w += k
                x += k * t
                xx += k * t * t
                y += k * v
                xy += k * t * v
            slope = (w * xy - x * y) / (w * xx - x * x)
            line = ((y - slope * x) / w, slope)
            for i in range(7):
                mass = sum(weights[i::7])
                season[i] = sum(weights[t] * (days[t] - line[0] - line[1] * t)
                                for t in range(i, n, 7)) / mass
        rest = [days[t] - line[0] - line[1] * t - season[t % 7] for t in range(n)]
        sigma = 1.4826 * sorted(map(abs, rest))[n // 2]
        if sigma <= 0:
            break
        weights = [min(1.0, 1.345 * sigma / abs(r)) if r else 1.0 for r in rest]
    sigma = math.sqrt(sum(r * r for r in rest) / max(1, n - 8))
    middle = sum(line[0] + line[1] * t + season[t % 7] for t in range(n, n + ahead))
    off = n + (ahead - 1) / 2 - (n - 1) / 2
    variance = ahead + ahead * ahead * (1 / n + 12 * off * off / n ** 3)
    return spread(middle, sigma * math.sqrt(variance))


PEERS = {"seasonal naive": seasonal_naive, "damped ETS": damped_ets, "regression": regression}


def pinball(quantiles, value):
    """The mean over p5, p50 and p95."""
    return sum(max(p * (value - q), (p - 1) * (value - q))
               for p, q in zip((0.05, 0.5, 0.95), quantiles)) / 3
