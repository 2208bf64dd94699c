#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the tracks of a file for the Perfetto UI as SVG, where that is not at hand: rows as the UI lays them out, slices,
instants (diamonds) and flows. picture.py FILE OUT.svg [--from NS --to NS] [--leave-out WORD...]"""
import argparse
import html

import perfetto_file
from perfetto_file import BEGIN, END

LABEL, WIDTH, ROW, INDENT = 250, 1150, 17, 14
COLOURS = {"launch": "#3d5a80", "cta": "#5c7c9c", "warp": "#4f9d69", "wait": "#d8d8d8", "phase": "#c9853f", "async": "#8e5ea2"}


def rows_of(tracks, leave_out):
    """Tracks in the order of the UI, each with its depth; without those of these names, and what is below them."""
    below = {}
    for track, (_, parent) in tracks.items():
        below.setdefault(parent, []).append(track)
    rows = []

    def add(parent, depth):
        for track in below.get(parent, ()):
            if not any(tracks[track][0].startswith(word) for word in leave_out):
                rows.append((track, depth))
                add(track, depth + 1)
    add(0, 0)
    return rows


def draw(tracks, events, begin, end, leave_out=()):
    rows = rows_of(tracks, leave_out)
    top = {track: ROW * (k + 1) for k, (track, _) in enumerate(rows)}
    out = []

    def x(time):
        return LABEL + (min(max(time, begin), end) - begin) * WIDTH / (end - begin)

    def text(at, y, words, size=11, colour="#222", anchor="start"):
        out.append(f'<text x="{at:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">'
                   f"{html.escape(words)}</text>")
    for k, (track, depth) in enumerate(rows):
        if k % 2:
            out.append(f'<rect x="0" y="{top[track]}" width="{LABEL + WIDTH}" height="{ROW}" fill="#f4f4f4"/>')
        text(4 + depth * INDENT, top[track] + 12, tracks[track][0])
    for k in range(11):
        at = begin + (end - begin) * k // 10
        out.append(f'<line x1="{x(at):.1f}" y1="{ROW}" x2="{x(at):.1f}" y2="{ROW * (len(rows) + 1)}" stroke="#ddd"/>')
        text(x(at), 12, str(at), 10, "#666", "middle")
    flows, slices, marks = {}, {}, []
    for track, now, e in events:
        if track not in top:
            continue
        for name in ("flow_ids", "terminating_flow_ids"):
            if name in e and begin <= now <= end:
                flows.setdefault(e[name], []).append((now, track))
        if e["type"] == BEGIN:
            slices.setdefault(track, []).append((now, e))
        elif e["type"] == END:
            since, opened = slices[track].pop()
            if now < begin or since > end:
                continue
            wide, inset = x(now) - x(since), 2 + len(slices[track])
            out.append(f'<rect x="{x(since):.1f}" y="{top[track] + inset}" width="{max(wide, 1):.1f}" '
                       f'height="{ROW - 2 * inset}" fill="{COLOURS.get(opened["categories"], "#888")}">'
                       f"<title>{html.escape(opened['name'])}</title></rect>")
            letters = int(wide / 6)
            if letters > 3 and opened["categories"] != "wait":
                text(x(since) + 2, top[track] + 12, opened["name"][:letters], 10, "#fff")
        elif begin <= now <= end:
            marks.append((x(now), top[track] + ROW / 2, e["name"]))
    for points in flows.values():
        points = sorted(set(points))
        for (a, one), (b, other) in zip(points, points[1:]):
            if one != other:
                y, z = top[one] + ROW / 2, top[other] + ROW / 2
                out.append(f'<path d="M{x(a):.1f},{y} C{x(a) + 25:.1f},{y} {x(b) - 25:.1f},{z} {x(b):.1f},{z}" fill="none" '
                           'stroke="#b00" stroke-width="0.7" opacity="0.6"/>')
    for at, y, name in marks:
        out.append(f'<path d="M{at:.1f},{y - 3.5} l3,3.5 l-3,3.5 l-3,-3.5 z" fill="#333"><title>{html.escape(name)}</title>'
                   "</path>")
    high = ROW * (len(rows) + 1)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABEL + WIDTH + 10} {high + 4}" '
            f'width="{LABEL + WIDTH + 10}" height="{high + 4}" font-family="sans-serif">'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(out) + "\n</svg>\n")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file")
    options.add_argument("out")
    options.add_argument("--from", type=int, default=0, dest="begin")
    options.add_argument("--to", type=int, default=0)
    options.add_argument("--leave-out", nargs="*", default=[])
    chosen = options.parse_args()
    tracks, events = perfetto_file.read(chosen.file)
    last = max((now for _, now, _ in events), default=1)
    with open(chosen.out, "w", encoding="utf-8") as f:
        f.write(draw(tracks, events, chosen.begin, chosen.to or max(last, 1), chosen.leave_out))


if __name__ == "__main__":
    main()
