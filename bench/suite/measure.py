# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measuring side by side: contenders take turns within every round, so that a busy moment of the machine hits all alike.

A ratio is made of pairs, one of each round in which both took part; its median is told, and the quartiles around it.
"""
import os
import random
import statistics
import time
from typing import Callable, NamedTuple, Optional

LEAST_ROUNDS = 3


class Failed(Exception):
    """A contender did not do what it was started for."""


class Thing(NamedTuple):
    """Something to be measured: `run` is timed, unless it returns a number, which then counts instead. `before` runs
    untimed. `every`: takes part in every so manieth round, for those that are slow."""

    run: Callable
    before: Optional[Callable] = None
    every: int = 1


class Ratio(NamedTuple):
    median: float
    low: float
    high: float


class Series(dict):
    """Values by round."""

    def median(self):
        return statistics.median(self.values())

    def p99(self):
        """The 99th percentile; with fewer than 100 values, the largest."""
        ordered = sorted(self.values())
        return ordered[max(0, -(-99 * len(ordered) // 100) - 1)]

    def minus(self, other):
        """What is left of each value when the other's of the same round is taken off."""
        return Series({number: value - other[number] for number, value in self.items() if number in other})


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def ratio(series, beside):
    """The one in units of the other, round by round; None when they never met, or the other is nothing."""
    values = [value / beside[number] for number, value in series.items() if beside.get(number, 0) > 0]
    return Ratio(statistics.median(values), *quartiles(values)) if values else None


def once(thing):
    if thing.before:
        thing.before()
    start = time.perf_counter()
    value = thing.run()
    return (time.perf_counter() - start) * 1000 if value is None else value


def interleave(things, rounds, seconds=None, order=None, is_warm=False):
    """Up to so many rounds, or as many as fit into the seconds but never fewer than three. Every thing is done once before,
    so that caches are warm and everybody is shown to work, unless they are. Returns the series of those that always worked, and why the
    others did not, both by name."""
    order = order or random.Random()
    series, failures = {name: Series() for name in things}, {}

    def take_turn(name, keep):
        try:
            value = once(things[name])
        except (Failed, OSError) as error:
            failures[name] = str(error)
            del series[name]
            return
        if keep is not None:
            series[name][keep] = value

    for name in things if not is_warm else ():
        take_turn(name, None)
    end = time.perf_counter() + seconds if seconds else float("inf")
    for number in range(rounds):
        if number >= LEAST_ROUNDS and time.perf_counter() > end:
            break
        names = [name for name in series if number % things[name].every == 0]
        for name in order.sample(names, len(names)):
            take_turn(name, number)
    return series, failures


def every_for(milliseconds, fast, most=10):
    """How often somebody who takes that long takes part: those faster than `fast` always, others so that they do not take
    the whole time."""
    return max(1, min(most, round(milliseconds / fast)))


SILENT = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
          (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]


def run(argv):
    """Starts the program and waits for it, with as little around it as Python can do."""
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=SILENT)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise Failed(f"{os.path.basename(argv[0])} ended with {'status' if status > 0 else 'signal'} {abs(status)}")
