# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results as a picture: bars, ours in another colour, each with its number. SVG by hand; readable on dark and light."""
import math
from html import escape
from typing import NamedTuple

from .report import number, row_name

WIDTH, LABEL_END, BAR_START, BAR_END = 760, 246, 256, 690
LINE, BAR, PANEL_HEAD, PANEL_GAP, MARGIN = 22, 14, 40, 18, 16
START_UP = ("bwrap", "bwrap-mounts", "airlock-warm", "airlock-direct", "airlock", "airlock-bwrap", "crun", "firejail", "codex",
            "runsc", "srt")
RATE = ("bwrap", "airlock-direct", "airlock", "airlock-bwrap", "crun", "firejail", "codex", "runsc", "srt")
SIZES = (100, 10_000, 100_000)
GROWTH = {"after the command": "one of {}", "depth": "a command after {}", "project": "10 changes in {}", "home": "home: {}"}

# Plain colours, and not variables, for not everything that shows SVG knows those.
STYLE = """\
.paper { fill: #ffffff; stroke: #d1d9e0 }
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 14px }
.faint { fill: #59636e; font-size: 11px }
.label { text-anchor: end }
.ours { fill: #0969da }
.other { fill: #9aa4af }
.one { stroke: #59636e; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; stroke: #3d444d }
  text { fill: #e6edf3 }
  .faint { fill: #9198a1 }
  .ours { fill: #4493f8 }
  .other { fill: #656c76 }
  .one { stroke: #9198a1 }
}
"""


class Bar(NamedTuple):
    label: str
    value: float
    text: str
    is_ours: bool


class Panel(NamedTuple):
    title: str
    told: str  # what the numbers mean
    bars: list
    is_log: bool
    mark: float = 0.0  # a line at this value


def start_up_panel(results):
    bars = []
    for key in START_UP:
        value = results.value("start-up", "", key)
        if value:
            bars.append(Bar(row_name(results, key), value, f"{number(value)} ×", key.startswith("airlock")))
    return Panel("Start-up", "of /bin/true in a new sandbox, × bwrap; logarithmic, shorter is better",
                 sorted(bars, key=lambda bar: bar.value), True, 1.0)


def rate_panel(results):
    bars = []
    for key in RATE:
        value = results.value("rate", "8", key, "median")
        if value:
            bars.append(Bar(row_name(results, key), value, number(value, "median"), key.startswith("airlock")))
    return Panel("Sandboxes per second", "8 workers; longer is better", sorted(bars, key=lambda bar: -bar.value), False)


def cycle_panel(results):
    bars = []
    for files in SIZES:
        for key, name in (("airlock", "airlock, captured and applied"), ("git status", "git status, names only"),
                          ("find -newer", "find -newer, names only")):
            value = results.value("cycle", f"{files}/10", key, "median")
            if value:
                bars.append(Bar(f"{name}, {files:,}", value, f"{number(value, 'median')} ms", key == "airlock"))
    return Panel("Knowing what changed", "10 files written in a project of 100, 10,000 and 100,000; logarithmic, shorter is better",
                 bars, True)


def growth_panel(results):
    """Each beside the smallest of its kind."""
    bars = []
    for measure in results.data["measures"]:
        if measure["section"] == "growth" and measure.get("ratio"):
            label = GROWTH[measure["column"]].format(measure["contender"])
            bars.append(Bar(label, measure["ratio"], f"{number(measure['ratio'])} ×", measure["contender"] != measure["beside"]))
    return Panel("Growth", "time beside the smallest of its kind; the line is no growth", bars, False, 1.0)


def length(panel, value):
    """From 0 to 1. A logarithmic scale begins at half the smallest value."""
    largest = max(bar.value for bar in panel.bars)
    if not panel.is_log:
        return value / largest
    least = min([bar.value for bar in panel.bars] + ([panel.mark] if panel.mark else [])) / 2
    return math.log(value / least) / math.log(largest / least)


def draw_panel(panel, top):
    yield f'<text class="title" x="{MARGIN}" y="{top + 16}">{escape(panel.title)}</text>'
    yield f'<text class="faint" x="{BAR_START}" y="{top + 16}">{escape(panel.told)}</text>'
    for row, bar in enumerate(panel.bars):
        y = top + PANEL_HEAD - 12 + row * LINE
        width = max(1.0, length(panel, bar.value) * (BAR_END - BAR_START))
        kind = "ours" if bar.is_ours else "other"
        yield f'<text class="label" x="{LABEL_END}" y="{y + 11}">{escape(bar.label)}</text>'
        yield f'<rect class="{kind}" x="{BAR_START}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        yield f'<text x="{BAR_START + width + 6:.1f}" y="{y + 11}">{escape(bar.text)}</text>'
    if panel.mark:
        x = BAR_START + length(panel, panel.mark) * (BAR_END - BAR_START)
        yield f'<line class="one" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 24}" y2="{top + 28 + len(panel.bars) * LINE}"/>'


def draw(results):
    """The whole picture, as text."""
    panels = [panel for panel in (start_up_panel(results), rate_panel(results), cycle_panel(results), growth_panel(results)) if panel.bars]
    body, top = [], MARGIN
    for panel in panels:
        body.extend(draw_panel(panel, top))
        top += PANEL_HEAD + len(panel.bars) * LINE + PANEL_GAP - 12
    data = results.data
    about = f"Linux {'.'.join(data['machine']['kernel'].split('.')[:2])}, {data['machine']['cpus']} cores, {data['date'][:10]}" \
        + (", a quick run" if data["quick"] else "")
    body.append(f'<text class="faint" x="{MARGIN}" y="{top + 8}">{escape(about)}</text>')
    height = top + 8 + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>airlock beside other sandboxes</title>",
        f"<style>\n{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>', *body, "</svg>", ""])
