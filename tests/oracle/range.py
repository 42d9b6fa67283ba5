#!/usr/bin/env python3
"""A second opinion on the date-range rules.

The twin below was written from the contract's text (section 1.4) with datetime, calendar and one
regular expression; it shares nothing with the engine but the sentences of its messages. Random
questions, thick around every edge the contract names, go to the engine's runner and to the twin:
code, field, message, first bucket and count must be the same in every answer.

    range.py --runner build/tests/oracle/range_runner [--count N] [--seed N]

The seed is printed and also taken from TB_SEED. Exit status 0: no difference.
"""
import argparse
import calendar
import random
import re
import subprocess
import sys
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEGIN = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)
DAY, HOUR, TICK = timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

TEXT = {
    "date": "The value is not a valid date; write YYYY-MM-DD, M-D-YYYY or M/D/YYYY in the years "
            "1 to 9999, with an optional time and zone.",
    "rfc": "The value is not a valid RFC 3339 time; write YYYY-MM-DDTHH:MM:SSZ in the years "
           "1 to 9999.",
    "hourly_age": "Cannot request hourly statistics older than 30 days. "
                  "Use daily granularity instead.",
    "daily_age": "Cannot request statistics older than 1 year.",
    "width": "Date range cannot exceed 40 days.",
    "latest_width": "Date range cannot exceed 1 day when loadLatest is set.",
    "latest_none": "Either dateFrom or dateTo is required when loadLatest is set.",
    "future": "dateFrom cannot be later than today.",
    "inverted": "dateTo cannot be earlier than dateFrom.",
}


# ---------------------------------------------------------------------------------- the twin

class Refused(Exception):
    def __init__(self, code, field, text):
        super().__init__(text)
        self.answer = f"error\t{code}\t{field}\t{TEXT[text]}"


CLIENT_DATE = re.compile(
    r"(?:(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"|(?P<m2>\d{1,2})(?P<sep>[-/])(?P<d2>\d{1,2})(?P=sep)(?P<y2>\d{4}))"
    r"(?:[Tt ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.(?P<f>\d{1,9}))?)?"
    r"(?P<z>[Zz]|[-+ ]\d\d(?::?\d\d)?)?)?", re.ASCII)
RFC_DATE = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)[Tt](?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)"
    r"(?:\.(?P<f>\d{1,9}))?(?P<z>[Zz]|[-+]\d\d:\d\d)", re.ASCII)


def zone_of(text):
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError("zone")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def parse(form, text):
    """The instant in UTC, or None."""
    match = form.fullmatch(text)
    if not match:
        return None
    g = match.groupdict()
    year, month, day = (g[k] or g.get(k + "2") for k in "ymd")
    micro = ((g["f"] or "") + "000000")[:6]
    try:
        local = datetime(int(year), int(month), int(day), int(g["H"] or 0), int(g["M"] or 0),
                         int(g["S"] or 0), int(micro), tzinfo=zone_of(g["z"]))
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def client_date(text, field):
    if not text:
        return None
    moment = parse(CLIENT_DATE, text)
    if moment is None:
        raise Refused("VALIDATION", field, "date")
    return moment


def minus(moment, delta):
    """Earlier by delta, but never before the calendar."""
    return moment - delta if moment - BEGIN >= delta else BEGIN


def same_day_last_month(moment):
    year, month = (moment.year, moment.month - 1) if moment.month > 1 else (moment.year - 1, 12)
    if year < 1:
        return BEGIN
    return moment.replace(year=year, month=month,
                          day=min(moment.day, calendar.monthrange(year, month)[1]))


def same_day_last_year(day):
    if day.year == 1:
        return date.min
    if (day.month, day.day) == (2, 29):
        return date(day.year - 1, 2, 28)
    return day.replace(year=day.year - 1)


def fill_in(begin, end, now, hourly, latest):
    if begin is None and end is None:
        if latest:
            raise Refused("DATE_RANGE", "dateFrom", "latest_none")
        end = now
    if begin is None:
        if latest:
            begin = minus(end, DAY)
        elif hourly:
            begin = minus(end, 30 * DAY)
        else:
            begin = same_day_last_month(end)
    elif end is None:
        end = now
        if latest and now - begin > DAY:
            end = begin + DAY
    return begin, end


def check(begin, end, now, hourly, exact, latest, statistics):
    if begin.date() > now.date():
        raise Refused("DATE_RANGE", "dateFrom", "future")
    if begin.date() > end.date() or (exact and begin > end):
        raise Refused("DATE_RANGE", "dateTo", "inverted")
    if not latest:
        if hourly and (now.date() - begin.date()).days > 30:
            raise Refused("DATE_RANGE", "dateFrom", "hourly_age")
        if not hourly and begin.date() < same_day_last_year(now.date()):
            raise Refused("DATE_RANGE", "dateFrom", "daily_age")
    if statistics and latest and end - begin > DAY:
        raise Refused("DATE_RANGE", "dateTo", "latest_width")
    if statistics and not latest and (end.date() - begin.date()).days > 40:
        raise Refused("DATE_RANGE", "dateTo", "width")


def hours_since_epoch(moment):
    return (moment - EPOCH) // HOUR


def day_number(moment):
    return moment.toordinal() - EPOCH_ORDINAL


def resolve(now, hourly, exact, latest, statistics, raw_from, raw_to):
    exact = exact and hourly and statistics
    latest = latest and statistics
    begin, end = client_date(raw_from, "dateFrom"), client_date(raw_to, "dateTo")
    begin, end = fill_in(begin, end, now, hourly, latest)
    check(begin, end, now, hourly, exact, latest, statistics)

    midnight = day_number(now) + 1  # the day whose start ends today
    if not exact:
        scale = 24 if hourly else 1
        first, stop = day_number(begin) * scale, min(day_number(end) + 1, midnight) * scale
    else:
        first, stop = hours_since_epoch(begin), hours_since_epoch(end)
        if begin == end or (end.minute, end.second, end.microsecond) != (0, 0, 0):
            stop += 1
        stop = min(stop, midnight * 24)
    return f"range\t{first}\t{stop - first}\t{int(hourly)}"


def micros(moment):
    return (moment - EPOCH) // TICK


def answer(question):
    kind = question[0]
    try:
        if kind == "Q":
            return resolve(*question[1:])
        moment = parse(RFC_DATE if kind == "R" else CLIENT_DATE, question[1])
        if moment is None:
            raise Refused("VALIDATION", "", "rfc" if kind == "R" else "date")
        stamp = moment.replace(microsecond=0, tzinfo=None).isoformat()
        return f"time\t{micros(moment)}\t{stamp}Z"
    except Refused as refused:
        return refused.answer


# ----------------------------------------------------------------------------- the questions

GARBAGE = ["0", "-1", "1751328000", "today", "2026-02-30", "2023-02-29", "0000-01-01", "2026-13-01",
           "2026-00-10", "2026-07-32", "2026-7-1", "2026/07/01", "7-1/2026", "13/1/2026", "T10:00",
           "2026-07-01T24:00", "2026-07-01T23:60", "2026-07-01T23:59:60Z", "2026-07-01Z", " ",
           "2026-07-01T10", "2026-07-01T10:00.5", "2026-07-01T10:00:00.", "2026-07-01T10:00+1",
           "2026-07-01T10:00+24:00", "2026-07-01T10:00+02:60", "2026-07-01T10:00:00.0123456789",
           "0001-01-01T00:00+00:01", "9999-12-31T23:59-00:01", "2026-07-01\n", "2026-07-01\0",
           "\xb2026-07-01", "2026-07-01T10:00  02:00", "2026-07-01T10:00 Z", "null", "undefined"]
ALPHABET = "0123456789-/:. TtZz+\t\0x\xff"
CLOCKS = [timedelta(0), TICK, HOUR - TICK, HOUR, HOUR + TICK, 12 * HOUR, 23 * HOUR,
          23 * HOUR + TICK, DAY - HOUR, DAY - timedelta(seconds=1), DAY - TICK]
GAPS = [0, 0, 0, 1, 2, 7, 27, 28, 29, 30, 31, 32, 39, 40, 41, 42, 59, 60, 61, 62, 334, 364, 365, 366,
        367, 368, 731]


def clock(rng):
    if rng.random() < 0.5:
        return rng.choice(CLOCKS)
    return timedelta(microseconds=rng.randrange(86_400_000_000))


def edge_day(rng):
    year = rng.choice([1970, 1999, 2000, 2023, 2024, 2025, 2026, 2027, 2028, 2099, 2100, 2101])
    if rng.random() < 0.02:
        year = rng.choice([1, 2, 4, 1600, 1900, 1969, 9998, 9999])
    month = rng.choice([1, 2, 2, 3, 3, 4, 5, 7, 8, 12, rng.randint(1, 12)])
    last = calendar.monthrange(year, month)[1]
    return date(year, month, min(last, rng.choice([1, 2, 15, 28, 29, 30, 31, rng.randint(1, 31)])))


def at(day, span):
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + span


def shift(moment, delta):
    """moment + delta, stopping at the calendar's ends."""
    try:
        return moment + delta
    except OverflowError:
        return BEGIN if delta < timedelta(0) else END


def near(rng, moment, sign):
    """A moment at one of the contract's distances from another, give or take a little."""
    roll = rng.random()
    if roll < 0.05:
        return at(edge_day(rng), clock(rng))
    if roll < 0.25:
        return shift(moment, rng.choice([-1, 0, 0, 1]) * rng.choice([TICK, HOUR, DAY, DAY + TICK]))
    days = rng.choice(GAPS) if rng.random() < 0.7 else rng.randint(0, 45)
    other = shift(moment, sign * days * DAY)
    return other if rng.random() < 0.3 else at(other.date(), clock(rng))


def write_zone(rng, moment):
    """moment in a zone's local time and that zone's text; UTC where the calendar has no room."""
    minutes = rng.choice([0, 60, 120, 330, 345, 1, 719, 840, 1439, rng.randrange(1440)])
    sign = rng.choice("+- ")
    form = rng.choice(["{:02}:{:02}", "{:02}{:02}", "{:02}"])
    if form == "{:02}":
        minutes -= minutes % 60
    offset = timedelta(minutes=minutes)
    local = shift(moment, -offset if sign == "-" else offset)
    if abs(local - moment) != offset:
        return moment, "Z"
    return local, sign + form.format(minutes // 60, minutes % 60)


def write_clock(rng, local):
    """The time part without its zone; what the form cannot say is lost, as it is for clients."""
    text = f"{local.hour:02}:{local.minute:02}"
    if local.second or local.microsecond or rng.random() < 0.6:
        text += f":{local.second:02}"
        if local.microsecond or rng.random() < 0.2:
            digits = f"{local.microsecond:06}" + f"{rng.randrange(1000):03}"
            text += "." + digits[:rng.randint(1, 9)]
    return text


def write(rng, moment):
    """One of the accepted texts for a moment (or for its day)."""
    zone = ""
    with_time = rng.random() < 0.7
    if with_time and rng.random() < 0.6:
        moment, zone = write_zone(rng, moment) if rng.random() < 0.7 else (moment, rng.choice("Zz"))
    year, month, day = f"{moment.year:04}", moment.month, moment.day
    roll = rng.random()
    if roll < 0.6:
        text = f"{year}-{month:02}-{day:02}"
    else:
        width = rng.choice(["{}", "{:02}"])
        sep = rng.choice("-/")
        text = width.format(month) + sep + width.format(day) + sep + year
    if with_time:
        text += rng.choice("TTt ") + write_clock(rng, moment) + zone
    return text


def damage(rng, text):
    """Takes out, puts in or changes up to three bytes; the result may still be a date."""
    letters = list(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.randint(0, len(letters))
        action = rng.choice("dic")
        if action == "i" or place == len(letters):
            letters.insert(place, rng.choice(ALPHABET))
        elif action == "d":
            del letters[place]
        else:
            letters[place] = rng.choice(ALPHABET)
    return "".join(letters)


def some_text(rng, moment):
    roll = rng.random()
    if roll < 0.02:
        return rng.choice(GARBAGE)
    text = write(rng, moment)
    return damage(rng, text) if roll < 0.08 else text


def range_question(rng):
    now = at(edge_day(rng), clock(rng))
    begin = near(rng, now, rng.choice([-1, -1, -1, 1]))
    end = near(rng, begin, rng.choice([1, 1, 1, 1, -1]))
    if rng.random() < 0.1:
        end = begin
    raw_from = None if rng.random() < 0.15 else some_text(rng, begin)
    raw_to = None if rng.random() < 0.25 else some_text(rng, end)
    if raw_from and rng.random() < 0.03:
        raw_to = raw_from
    if rng.random() < 0.02:
        raw_to = ""
    flags = (rng.random() < 0.6, rng.random() < 0.5, rng.random() < 0.25, rng.random() < 0.7)
    return ("Q", now, *flags, raw_from, raw_to)


def strict_text(rng, moment):
    text = moment.replace(tzinfo=None).isoformat(timespec="seconds")
    if rng.random() < 0.4:
        text += "." + f"{moment.microsecond:06}{rng.randrange(1000):03}"[:rng.randint(1, 9)]
    text += rng.choice(["Z", "z", "+00:00", "-00:00", "+05:30", "-23:59", "+23:59", "+24:00", ""])
    return text


def question(rng):
    roll = rng.random()
    if roll < 0.85:
        return range_question(rng)
    moment = at(edge_day(rng), clock(rng))
    if rng.random() < 0.1:
        moment = rng.choice([BEGIN, END])
    kind = "D" if roll < 0.93 else "R"
    text = write(rng, moment) if kind == "D" or rng.random() < 0.2 else strict_text(rng, moment)
    if rng.random() < 0.4:
        text = damage(rng, text)
    return (kind, text)


# ------------------------------------------------------------------------------ the comparison

def encode_text(text):
    return "-" if text is None else text.encode("latin-1").hex()


def encode(q):
    if q[0] != "Q":
        return f"{q[0]}\t{encode_text(q[1])}"
    flags = "".join("01"[bool(flag)] for flag in q[2:6])
    return f"Q\t{micros(q[1])}\t{flags}\t{encode_text(q[6])}\t{encode_text(q[7])}"


def label(text):
    """What kind of answer it is, to see that no kind is missing from the questions."""
    parts = text.split("\t")
    return parts[0] if parts[0] != "error" else f"{parts[1]} {parts[2]} {parts[3][:44]}"


def missing_kinds(seen):
    wanted = [label(f"error\tDATE_RANGE\t{field}\t{TEXT[key]}") for field, key in (
        ("dateFrom", "hourly_age"), ("dateFrom", "daily_age"), ("dateTo", "width"),
        ("dateTo", "latest_width"), ("dateFrom", "latest_none"), ("dateFrom", "future"),
        ("dateTo", "inverted"))]
    wanted += [label(f"error\tVALIDATION\t{field}\t{TEXT['date']}")
               for field in ("dateFrom", "dateTo", "")]
    wanted += [label(f"error\tVALIDATION\t\t{TEXT['rfc']}"), "range", "time"]
    return [kind for kind in wanted if not seen[kind]]


def main():
    options = argparse.ArgumentParser(description="Compares the date-range rules with a twin.")
    options.add_argument("--runner", required=True)
    options.add_argument("--count", type=int, default=120_000 if LONG else 40_000)
    options.add_argument("--seed", type=int)
    args = options.parse_args()
    seed = random_seed(args.seed)
    rng = random.Random(seed)
    questions = [question(rng) for _ in range(args.count)]
    lines = [encode(q) for q in questions]
    run = subprocess.run([args.runner], input="\n".join(lines) + "\n", text=True, check=True,
                         stdout=subprocess.PIPE)
    answers = run.stdout.splitlines()
    if len(answers) != len(questions):
        sys.exit(f"{len(answers)} answers to {len(questions)} questions")

    seen, differences = Counter(), 0
    for q, line, engine in zip(questions, lines, answers):
        twin = answer(q)
        seen[label(twin)] += 1
        if engine != twin:
            differences += 1
            if differences <= 10:
                print(f"DIFFERENT {q}\n  line   {line}\n  engine {engine}\n  twin   {twin}")
    for kind, times in sorted(seen.items()):
        print(f"{times:8} {kind}")
    print(f"{len(questions)} questions, {differences} differences")
    missing = missing_kinds(seen) if args.count >= 20_000 else []
    for kind in missing:
        print(f"no question was answered with: {kind}")
    return 1 if differences or missing else 0


if __name__ == "__main__":
    sys.exit(main())
