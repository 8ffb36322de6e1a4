"""Draw a lesson report: for the terminal, as SVG, and as an HTML page.

Neither file loads anything from elsewhere; the page's content security policy forbids it.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from hebbgraph.cli.terminal import without_controls
from hebbgraph.records.lesson_report import LessonPoint, LessonReport, MeanChange

__all__ = ["as_html", "as_svg", "as_text"]

_BAR = 40
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 320, 56, 24, 48
_RIGHT = 120
_COLOURS = ("#1f5fa8", "#b4531d")

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Lessons of an index</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{{font:15px/1.5 sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}}
pre{{white-space:pre-wrap}}svg{{max-width:100%;height:auto}}
td,th{{padding:.1rem .6rem;text-align:left}}
</style></head><body><h1>Did learning help here?</h1>
{plot}<pre>{summary}</pre>
{moved}</body></html>
"""


def as_text(report: LessonReport) -> str:
    """Return the summary of a report, and bars of recall by lessons.

    Examples
    --------
    >>> points = (LessonPoint(lessons=0, recall=0.5, mrr=0.25),
    ...           LessonPoint(lessons=8, recall=1.0, mrr=0.5))
    >>> print(as_text(LessonReport(verdict="too_few", points=points)).splitlines()[-1])
          8  1.000  0.500  ████████████████████████████████████████
    """
    lines = [str(report)]
    if report.points:
        lines += ["", f"lessons  {f'R@{report.k}':<5}  MRR    R@{report.k} of the later questions"]
        lines += [
            f"{point.lessons:>7}  {point.recall:.3f}  {point.mrr:.3f}  "
            f"{'█' * round(_BAR * point.recall)}"
            for point in report.points
        ]
    return "\n".join(lines)


def as_svg(report: LessonReport) -> str:
    """Return curves of recall and MRR by lessons, with the intervals of their change."""
    curves: tuple[tuple[str, Callable[[LessonPoint], tuple[float, MeanChange]]], ...] = (
        (f"R@{report.k}", lambda point: (point.recall, point.recall_change)),
        ("MRR", lambda point: (point.mrr, point.mrr_change)),
    )
    most = max((point.lessons for point in report.points), default=0) or 1

    def across(lessons: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * lessons / most

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(max(value, 0.0), 1.0)

    shapes = [
        f'<line x1="{_LEFT}" x2="{across(most):.1f}" y1="{up(at):.1f}" y2="{up(at):.1f}" '
        f'stroke="#ccc"/><text x="{_LEFT - 8}" y="{up(at) + 4:.1f}" text-anchor="end">{at:g}</text>'
        for at in (0, 0.25, 0.5, 0.75, 1)
    ]
    shapes += [
        f'<text x="{across(point.lessons):.1f}" y="{up(0) + 18:.1f}" text-anchor="middle">'
        f"{point.lessons}</text>"
        for point in report.points
    ]
    for number, (name, figure) in enumerate(curves):
        colour = _COLOURS[number]
        before = figure(report.points[0])[0] if report.points else 0.0
        line = []
        for point in report.points:
            value, change = figure(point)
            x = across(point.lessons) + 3 * number  # intervals side by side
            line.append(f"{x:.1f},{up(value):.1f}")
            shapes.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{up(before + change.low):.1f}" '
                f'y2="{up(before + change.high):.1f}" stroke="{colour}" stroke-width="2" '
                f'stroke-opacity=".4"/>'
                f'<circle cx="{x:.1f}" cy="{up(value):.1f}" r="3" fill="{colour}"/>'
            )
        shapes.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{colour}"/>')
        shapes.append(
            f'<text x="{across(most) + 16:.1f}" y="{_TOP + 20 + 20 * number}" fill="{colour}">'
            f"{name}</text>"
        )
    verdict = escape(str(report).partition("\n")[0])
    caption = "lessons learned before the later questions; bars are 95 % intervals of the change"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" font-family="sans-serif" font-size="12">'
        f'<title>{verdict}</title><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_LEFT}" y="14" font-weight="bold">{verdict}</text>'
        f"{''.join(shapes)}"
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{caption}</text></svg>\n'
    )


def as_html(report: LessonReport) -> str:
    """Return a page with the curves, the summary, and the questions that moved most."""
    rows = "".join(
        f"<tr><td>{_rank(moved.before)}</td><td>{_rank(moved.after)}</td>"
        f"<td>{escape(without_controls(moved.question))}</td></tr>"
        for moved in report.moved
    )
    table = (
        "<h2>Where it shows most</h2><table><tr><th>before</th><th>after</th><th>question</th></tr>"
        f"{rows}</table><p>Ranks of the first chunk that was cited.</p>"
    )
    return _PAGE.format(
        plot=as_svg(report) if report.points else "",
        summary=escape(str(report)),
        moved=table if rows else "",
    )


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
