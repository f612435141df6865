#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The TOML reader against python's tomllib: the same documents accepted, the same values, the same order. Prints TAP.

    toml_differential.py TOOL [SEED [DOCUMENTS]]

TOOL is the program toml_dump, or the build directory that has it in tests/unit. Besides the documents written down here,
DOCUMENTS random ones are compared; both the number and the seed are fixed unless given, so that a failure stays a failure.

Where the two may differ (everything else is a fault of one of them):
  - integers beyond 64 bits: python has them, TOML 1.0 only promises 64 bits and wants an error for the rest;
  - nesting deeper than 64 levels: ours refuses with a limit, python takes it until its stack is full.
"""
import datetime
import json
import math
import os
import random
import re
import subprocess
import sys
import tomllib

MAX_DEPTH = 64
SEED, DOCUMENTS, BATCH = 20240229, 40000, 1000

# ---- documents written down

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../assets/toml")


def byte_of(match):
    return {"¶": "\n", "¬": "\r"}.get(match[0]) or bytes([int(match[1], 16)]).decode("ascii", "surrogateescape")


def asset(name):
    """The documents of a file, which says itself how it is written."""
    with open(os.path.join(ASSETS, name), encoding="utf-8", newline="\n") as file:
        lines = [line.removesuffix("\n") for line in file]
    documents = [line for line in lines if line and not line.startswith("## ")]
    return [re.sub("¶|¬|‹(..)›", byte_of, text).encode("utf-8", "surrogateescape") for text in documents]


GOOD_VALUES, BAD_VALUES, GOOD, BAD = map(asset, ("values-valid.txt", "values-invalid.txt", "valid.txt", "invalid.txt"))

# Too long to be written out.
GOOD_LARGE = [
    b"", b"a=" + b"[" * 64 + b"]" * 64, b"a=" + b"{a=" * 63 + b"1" + b"}" * 63, b".".join([b"a"] * 64) + b"=1",
    b"[" + b".".join([b"a"] * 63) + b"]\nb=1\n", b"a=0." + b"1" * 5000, b"a=1e" + b"9" * 500, b"a=\"" + b"x" * 70000 + b"\"",
    b"".join(b"k%d=%d\n" % (i, i) for i in range(3000)), b"".join(b"[t%d.s]\nk=1\n" % i for i in range(1000)),
    b"[[a]]\n" * 2000, b"a=[" + b"1," * 5000 + b"]", b"".join(b"a.k%d=1\n" % i for i in range(2000)),
    b"a={" + b",".join(b"k%d=1" % (i * 7919 % 1000) for i in range(1000)) + b"}", b"x" * 5000 + b"=1",
    b"#" + b"c" * 70000, b"a=1" + b" " * 70000 + b"\n" * 1000 + b"b=1",
]
BAD_LARGE = [
    b"a=" + b"[" * 60, b"a=" + b"[" * 60 + b"]" * 59, b"a=" + b"{a=" * 60, b"a=\"" + b"x" * 70000, b"a='''" + b"x\n" * 30000,
    b"".join(b"k%d=1\n" % i for i in range(3000)) + b"k1500=2\n", b"a=" + b"9" * 4000, b"a=0x" + b"f" * 4000,
    b"a={" + b",".join(b"k%d=1" % i for i in range(1000)) + b",k77=2}",
]
TOO_DEEP = [
    b"a=" + b"[" * 65 + b"]" * 65, b"a=" + b"[" * 300 + b"]" * 300, b"a=" + b"{a=" * 64 + b"1" + b"}" * 64,
    b".".join([b"a"] * 65) + b"=1", b"[" + b".".join([b"a"] * 65) + b"]", b"[" + b".".join([b"a"] * 64) + b"]\nb=1\n",
    b"[[" + b".".join([b"a"] * 64) + b"]]", b"[a.a.a]\nb=" + b"[" * 62 + b"]" * 62, b"a=" + b"[" * 100000 + b"]" * 100000,
]


def written_documents():
    """(group, expected, document); expected is "ok", "bad" or "limit"."""
    for value in GOOD_VALUES:
        yield "value", "ok", b"v = " + value + b"\n"
        yield "in array", "ok", b"v = [" + value + b" , " + value + b"]"
        yield "in table", "ok", b"v = {a = " + value + b", b.c = " + value + b" }\r\n"
    for value in BAD_VALUES:
        yield "value", "bad", b"v = " + value + b"\n"
        yield "in array", "bad", b"v = [ " + value + b" ]"
        yield "in table", "bad", b"v = { a = " + value + b" }\r\n"
    for expected, documents in (("ok", GOOD + GOOD_LARGE), ("bad", BAD + BAD_LARGE), ("limit", TOO_DEEP)):
        for document in documents:
            yield "document", expected, document


# ---- documents: random ones

# What mutations put in.
FRAGMENTS = [
    b"\n", b"\r\n", b"\r", b" ", b"\t", b"=", b".", b",", b"[", b"]", b"[[", b"]]", b"{", b"}", b"#", b"\"", b"'",
    b"\"\"\"", b"'''", b"\\", b"\\\n", b"\\u00e9", b"\\U0010ffff", b"\\ud800", b"_", b"-", b"+", b":", b"0", b"1", b"9",
    b"0x", b"0o7", b"0b1", b"e", b"E5", b"inf", b"nan", b"true", b"false", b"T", b"Z", b"+01:00", b"1979-05-27", b"07:32:00",
    b".5", b"a", b"b", b"\xc3\xa9", b"\xff", b"\x00", b"\x7f", b"\xef\xbb\xbf", b"{}", b"[]", b"a=1\n", b"[a]\n", b"[[a]]\n",
    b"a.b=1\n",
]


class Maker:
    """Documents that are mostly valid. Few names, so that they meet each other again and again."""

    def __init__(self, rng):
        self.rng = rng

    def blank(self):
        return self.rng.choice(("", "", "", " ", "\t", "  "))

    def newline(self):
        return self.rng.choice(("\n", "\n", "\n", "\r\n", " # c\n", "\n\n"))

    def name(self):
        return self.rng.choice(("a", "b", "c", "d", "\"a\"", "'b'", "\"\\u0061\"", "1", "x-y"))

    def key(self):
        dot = self.blank() + "." + self.blank()
        return dot.join(self.name() for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3))))

    def digits(self, alphabet="0123456789"):
        text = self.rng.choice(alphabet)
        for _ in range(self.rng.randrange(self.rng.choice((2, 6, 20)))):
            text += self.rng.choice(("", "", "", "_")) + self.rng.choice(alphabet)
        return text

    def number(self):
        rng = self.rng
        if rng.random() < 0.3:
            prefix, alphabet = rng.choice((("0x", "0123456789abcdefABCDEF"), ("0o", "01234567"), ("0b", "01")))
            return prefix + self.digits(alphabet)
        text = rng.choice(("", "", "+", "-")) + rng.choice(("0", self.digits("123456789"), self.digits()))
        text += rng.choice(("", "", "." + self.digits()))
        exponent = rng.choice("eE") + rng.choice(("", "+", "-")) + self.digits()[:rng.randrange(1, 5)]
        return text + rng.choice(("", "", exponent))

    def datetime(self):
        rng = self.rng
        year, day = rng.choice((0, 1, 1900, 2000, 2023, 2024, 9999)), rng.choice((0, 1, 28, 29, 30, 31, 32))
        date = f"{year:04}-{rng.randrange(0, 14):02}-{day:02}"
        time = f"{rng.choice((0, 7, 23, 24)):02}:{rng.choice((0, 59, 60)):02}:{rng.choice((0, 59, 60)):02}"
        time += rng.choice(("", ".5", ".1234567", "."))
        offset = rng.choice(("", "", "Z", "z", "+01:30", "-23:59", "+24:00", "-00:00"))
        return rng.choice((date, time, date + rng.choice("Tt ") + time + offset))

    def string(self):
        rng = self.rng
        quote = rng.choice(("\"", "'", "\"\"\"", "'''"))
        pieces = ["x", " ", "\t", "é", "漢", "😀", "#", "=", "]", "}"]
        if len(quote) == 3:
            pieces += ["\n", "\r\n", quote[0], quote[0] * 2]
        if quote[0] == "\"":
            pieces += ["\\n", "\\\\", "\\\"", "\\u00e9", "\\U0001F600", "\\t", "\\u0000"]
            pieces += ["\\\n  ", "\\ \r\n\n"] if len(quote) == 3 else []
        else:
            pieces += ["\\"]
        return quote + "".join(rng.choice(pieces) for _ in range(rng.randrange(6))) + quote

    def array(self, depth):
        def space():
            return self.rng.choice(("", "", " ", "\n", "\r\n", " # c\n"))
        items = [space() + self.value(depth + 1) + space() for _ in range(self.rng.randrange(4))]
        return "[" + ",".join(items) + (self.rng.choice(("", ",")) if items else "") + space() + "]"

    def table(self, depth):
        pairs = [self.blank() + self.pair(depth + 1) + self.blank() for _ in range(self.rng.randrange(4))]
        return "{" + ",".join(pairs) + "}"

    def value(self, depth=0):
        words = self.rng.choice(("true", "false", "inf", "-nan", "+inf", "{}", "[]"))
        kinds = [self.number, self.number, self.string, self.string, self.datetime, lambda: words]
        if depth < 4:
            kinds += [lambda: self.array(depth), lambda: self.table(depth)]
        return self.rng.choice(kinds)()

    def safe_value(self):
        """Valid for certain, for documents whose structure is what matters."""
        return self.rng.choice(("1", "'x'", "{}", "[]", "{a.b = 1}", "[{}]", "[{a = 1}]", "{b = {}}"))

    def pair(self, depth=0, safe=False):
        return self.key() + self.blank() + "=" + self.blank() + (self.safe_value() if safe else self.value(depth))

    def statement(self, safe):
        kind = self.rng.random()
        if kind < 0.25:
            text = "[" + self.blank() + self.key() + self.blank() + "]"
        elif kind < 0.45:
            text = "[[" + self.blank() + self.key() + self.blank() + "]]"
        else:
            text = self.pair(safe=safe)
        return self.blank() + text + self.blank() + self.newline()

    def document(self):
        safe = self.rng.random() < 0.6
        return "".join(self.statement(safe) for _ in range(self.rng.randrange(1, 9 if safe else 5))).encode()


def mutate(rng, document):
    data = bytearray(document)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at] = rng.choice(FRAGMENTS)
        elif kind == 1:
            del data[at:at + rng.choice((1, 1, 2, 5))]
        elif kind == 2:
            data[at:at + 1] = rng.choice(FRAGMENTS)
        elif kind == 3 and at < len(data):
            data[at] = rng.choice((data[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
        elif kind == 4:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other:other + rng.randrange(1, 20)]
        else:
            lines = bytes(data).splitlines(keepends=True)
            rng.shuffle(lines)
            data = bytearray(b"".join(lines))
    return bytes(data)


def random_documents(rng, count):
    maker = Maker(rng)
    seeds = GOOD + BAD + [b"v = " + value + b"\n" for value in GOOD_VALUES]
    for number in range(count):
        kind = number % 4
        if kind == 0:
            yield maker.document()
        elif kind == 1:
            yield mutate(rng, maker.document())
        elif kind == 2:
            yield mutate(rng, rng.choice(seeds))
        else:
            yield rng.choice(seeds) + rng.choice((b"", b"\n")) + rng.choice(seeds)


# ---- comparing

DATETIME = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d))?[Tt ]?(?:(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?"
                      r"(?:([Zz])|([+-])(\d\d):(\d\d))?")


def datetime_parts(text):
    """What the text of a date or time says, to the microsecond that python keeps."""
    year, month, day, hour, minute, second, fraction, zulu, sign, off_hour, off_minute = DATETIME.fullmatch(text).groups()
    date = (int(year), int(month), int(day)) if year else None
    time = (int(hour), int(minute), int(second), int(((fraction or "") + "000000")[:6])) if hour else None
    offset = 0 if zulu else None
    if sign:
        offset = (int(off_hour) * 60 + int(off_minute)) * (-1 if sign == "-" else 1)
    return date, time, offset


def python_datetime_parts(value):
    date = (value.year, value.month, value.day) if isinstance(value, datetime.date) else None
    time = None if type(value) is datetime.date else (value.hour, value.minute, value.second, value.microsecond)
    offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
    return date, time, None if offset is None else offset // datetime.timedelta(minutes=1)


def datetime_kind(value):
    if isinstance(value, datetime.datetime):
        return "datetime-local" if value.tzinfo is None else "datetime"
    return "date-local" if isinstance(value, datetime.date) else "time-local"


def same_scalar(ours, value):
    kind, text = ours["type"], ours["value"]
    if isinstance(value, bool):
        return (kind, text) == ("bool", "true" if value else "false")
    if isinstance(value, int):
        return (kind, text) == ("integer", str(value))
    if isinstance(value, float):
        return kind == "float" and (text == "nan" if math.isnan(value) else repr(float(text)) == repr(value))
    if isinstance(value, str):
        return (kind, text) == ("string", value)
    return kind == datetime_kind(value) and datetime_parts(text) == python_datetime_parts(value)


def difference(ours, value, path="document"):
    """Where the two differ first, or None."""
    if isinstance(value, dict):
        if not isinstance(ours, dict) or list(ours) != list(value):
            return f"{path}: keys {list(ours)} against {list(value)}"
        pairs = [(f"{path}.{key}", ours[key], value[key]) for key in value]
    elif isinstance(value, list):
        if not isinstance(ours, list) or len(ours) != len(value):
            return f"{path}: {ours!r} against {value!r}"
        pairs = [(f"{path}[{i}]", ours[i], item) for i, item in enumerate(value)]
    else:
        return None if same_scalar(ours, value) else f"{path}: {ours!r} against {value!r}"
    return next(filter(None, (difference(mine, other, name) for name, mine, other in pairs)), None)


def children(value):
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def depth_of(value):
    return max((1 + depth_of(child) for child in children(value)), default=0)


def has_wide_integer(value):
    return (type(value) is int and not -2**63 <= value < 2**63) or any(map(has_wide_integer, children(value)))


def python_verdict(document):
    """What python makes of it, with the exceptions above: ("ok", value), ("bad", None) or ("limit", None)."""
    try:
        value = tomllib.loads(document.decode())
    except ValueError:  # TOMLDecodeError and UnicodeDecodeError are
        return "bad", None
    except RecursionError:
        return "limit", None
    if has_wide_integer(value):
        return "bad", None
    return ("limit", None) if depth_of(value) > MAX_DEPTH else ("ok", value)


def position_fault(message, document):
    """Errors name a place that exists: at most one past the end of its line."""
    match = re.match(r"doc:(\d+):(\d+): \S", message)
    if not match:
        return f"no position: {message}"
    lines = document.split(b"\n")
    line, column = int(match[1]), int(match[2])
    if not (1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1):
        return f"no such place: {message}"
    return None


def compare(document, answer):
    """The fault of one answer of toml_dump, or None."""
    verdict, _, rest = answer.partition(" ")
    expected, value = python_verdict(document)
    if verdict != expected and not (verdict == "limit" and expected == "bad" and len(document) > MAX_DEPTH):
        return f"python says {expected}, we say {answer[:300]}"
    if verdict == "ok":
        return difference(json.loads(rest), value)
    return position_fault(rest, document)


def ask(tool, documents):
    """What toml_dump says to each document."""
    sent = b"".join(b"%d\n%s" % (len(document), document) for document in documents)
    run = subprocess.run([tool, "--batch"], input=sent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    answers = run.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if run.returncode != 0 or len(answers) != len(documents):
        blame = documents[len(answers)] if len(answers) < len(documents) else b""
        sys.exit(f"toml_dump ended with status {run.returncode} at {blame!r}\n{run.stderr.decode(errors='replace')}")
    return answers


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def test(self, name, faults):
        self.count += 1
        self.failed += bool(faults)
        print(("not ok" if faults else "ok"), self.count, "-", name.replace("#", "\\x23"))
        for fault in faults[:10]:
            print("# " + fault.replace("\n", "\n# "))


def shown(document):
    text = repr(document)
    return text if len(text) < 200 else f"{text[:150]} ... {len(document)} bytes"


def check_written(tap, tool):
    cases = list(written_documents())
    answers = ask(tool, [document for _, _, document in cases])
    for (group, expected, document), answer in zip(cases, answers):
        faults = [] if answer.split(" ")[0] == expected else [f"expected {expected}, found {answer[:300]}"]
        fault = compare(document, answer)
        tap.test(f"{group} {shown(document)[1:]}", faults + ([fault] if fault else []))


def check_random(tap, tool, seed, count):
    rng = random.Random(seed)
    documents = list(random_documents(rng, count))
    answers = ask(tool, documents)
    print(f"# of {count} random documents {sum(a.startswith('ok ') for a in answers)} are valid")
    for start in range(0, count, BATCH):
        pairs = zip(documents[start:start + BATCH], answers[start:start + BATCH])
        faults = [f"{document!r}: {fault}" for document, answer in pairs if (fault := compare(document, answer))]
        tap.test(f"random documents {start} to {min(start + BATCH, count) - 1} of seed {seed}", faults)


def main(argv):
    if len(argv) < 2:
        sys.exit(__doc__)
    tool = os.path.join(argv[1], "tests/unit/toml_dump") if os.path.isdir(argv[1]) else argv[1]
    tap = Tap()
    check_written(tap, tool)
    check_random(tap, tool, int(argv[2]) if len(argv) > 2 else SEED, int(argv[3]) if len(argv) > 3 else DOCUMENTS)
    print(f"1..{tap.count}", flush=True)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
