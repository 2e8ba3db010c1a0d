"""Whether a page can be read without colours: by luminance, as WCAG 2 defines contrast."""

import re

TEXT, GRAPHICS = 4.5, 3.0
DRAWN = """
() => [...document.querySelectorAll('svg[role=img]')].map((svg) => {
  const paints = (e) => [getComputedStyle(e).fill, getComputedStyle(e).stroke];
  const cells = [...svg.querySelectorAll('.surface')];
  const marks = [...svg.querySelectorAll('path, circle, line, polyline, rect, text')].filter((e) =>
    !e.matches('.surface, .below, .guide, defs *') && e.getAttribute('visibility') !== 'hidden');
  return {
    label: svg.getAttribute('aria-label'),
    surfaces: [...new Set(cells.map((e) => paints(e)[0]))],
    borders: [...new Set(cells.map((e) => paints(e)[1]))],
    marks: marks.map((e) => ({ tag: e.tagName, small: e.matches('.small'), paints: paints(e) })),
  };
})
"""
WHITE = "rgb(255, 255, 255)"


def luminance(colour):
    """The relative luminance of ``rgb(…)``: all that a greyscale picture has of it."""
    channels = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def stands_out(page):
    """Everything that is drawn stands out from all that it may lie on; how many things there are.

    Something stands out if one of its paints does: a ring is seen by its line.
    """
    pictures, count = page.evaluate(DRAWN), 0
    for picture in pictures:
        grounds = [WHITE, *picture["surfaces"]]
        for border in picture["borders"]:
            assert contrast(border, WHITE) >= GRAPHICS, (picture["label"], border)
        for mark in picture["marks"]:
            text = mark["tag"] == "text"
            # Small texts are beside what is drawn, and others on it.
            on = [WHITE] if mark["small"] else grounds
            paints = [each for each in mark["paints"] if each.startswith("rgb")][: 1 if text else 2]
            if not paints:  # a hatching, whose lines are as dark as others
                continue
            found = max(min(contrast(paint, each) for each in on) for paint in paints)
            assert found >= (TEXT if text else GRAPHICS), (picture["label"], mark, found)
            count += 1
    return count
