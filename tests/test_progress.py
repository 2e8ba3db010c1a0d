import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

from teachirl.study.progress import Progress


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def work(clock, part, units, seconds_each):
    for _ in range(units):
        clock.now += seconds_each
        part.advance()


def test_nothing_is_known_before_the_first_unit(clock):
    with Progress(clock=clock) as progress:
        progress.part("fig5", total=10)
        clock.now += 60
        assert progress.seconds_left() is None


def test_the_pace_is_that_of_this_run(clock):
    progress = Progress(clock=clock)
    part = progress.part("fig5", total=400, done=380)
    clock.now += 1000  # what comes before the work counts for nobody
    with progress:
        work(clock, part, 5, seconds_each=2.0)
    assert part.done == 385
    assert progress.seconds_left() == 15 * 2.0


def test_the_time_left_goes_on_while_a_unit_does(clock):
    """It neither freezes nor promises the end of a unit that takes longer than all before."""
    with Progress(clock=clock) as progress:
        part = progress.part("fig5", total=6)
        work(clock, part, 2, seconds_each=10.0)
        assert progress.seconds_left() == 40.0
        clock.now += 4.0
        assert progress.seconds_left() == 36.0
        clock.now += 16.0
        assert progress.seconds_left() == 60.0  # three more that take 20 each, as this has


def test_bars_make_room(clock):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, no_color=True)
    with Progress(console, clock) as progress:
        part = progress.part("fig5", total=2)
        with progress.paused():
            file.write("FIRST\n")
        work(clock, part, 2, seconds_each=1.0)
    drawn = file.getvalue()
    assert drawn.index("0/2") < drawn.index("FIRST") < drawn.index("2/2")


def on_screen(drawn):
    """The lines that a terminal then shows."""
    lines, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", drawn):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            row, column = row + 1, 0
            lines += [""] * (row == len(lines))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif not piece.startswith("\x1b"):
            before = lines[row].ljust(column)
            lines[row] = before[:column] + piece + before[column + len(piece) :]
            column += len(piece)
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_printed_stays(clock, width):
    """Bars and tables that come and go take no line with them."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, no_color=True)
    with Progress(console, clock) as progress:
        parts = [progress.part(name, total=2) for name in ("plan", "second best", "sets")]
        for i, part in enumerate(parts):
            progress.show_table(("cost", "teach"), [(str(cost), "camera") for cost in range(9)])
            progress.bars.refresh()
            work(clock, part, 2, seconds_each=1.0)
            progress.bars.refresh()
            with progress.paused():
                file.write(f"section {i}\n" + "".join(f"line {i}.{j}\n" for j in range(i + 1)))
        progress.bars.refresh()
    wanted = []
    for i in range(3):
        wanted += [f"section {i}", *(f"line {i}.{j}" for j in range(i + 1))]
    shown = on_screen(file.getvalue())
    assert shown[: len(wanted)] == wanted and not any(shown[len(wanted) :])


def test_several_units_at_once(clock):
    with Progress(clock=clock) as progress:
        part = progress.part("fig5", total=10)
        clock.now += 8.0
        part.advance(4)
    assert progress.seconds_left() == 6 * 2.0


def test_a_part_not_begun_is_judged_by_its_weight(clock):
    with Progress(clock=clock) as progress:
        light = progress.part("light", total=10, weight=1.0)
        heavy = progress.part("heavy", total=4, weight=5.0)
        work(clock, light, 4, seconds_each=2.0)
        assert progress.seconds_left(light) == 6 * 2.0
        assert progress.seconds_left(heavy) == 4 * 10.0
        assert progress.seconds_left() == 52.0
        # Once it is begun, by what it takes.
        work(clock, heavy, 2, seconds_each=3.0)
        assert progress.seconds_left(heavy) == 2 * 3.0
        assert progress.seconds_left(light) == 6 * 2.0
        assert progress.seconds_left() == 18.0


def test_parts_and_all_are_shown_with_the_time_left(clock):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, no_color=True)
    with Progress(console, clock) as progress:
        figure = progress.part("fig5", total=400, done=120)
        progress.part("[bold]", total=100)
        work(clock, figure, 10, seconds_each=1.0)
    in_all, fig5, bold = file.getvalue().split("\x1b[2K")[-1].splitlines()[:3]
    assert in_all.startswith("in all") and "130/500" in in_all and "0:06:10 left" in in_all
    assert fig5.startswith("fig5") and "130/400" in fig5 and "0:04:30 left" in fig5
    assert bold.startswith("[bold]") and "0/100" in bold and "0:01:40 left" in bold
    assert file.getvalue().endswith("\x1b[?25h")  # the cursor is back


def test_names_do_not_steer_the_terminal(clock):
    file = io.StringIO()
    with Progress(Console(file=file, force_terminal=True, width=100), clock) as progress:
        progress.part("a\x1b[31m\u202eb", total=2)
    assert "a\ufffd[31m\ufffdb" in file.getvalue() and "\u202e" not in file.getvalue()


def test_one_part_needs_no_sum_and_no_time_left_when_done(clock):
    file = io.StringIO()
    with Progress(Console(file=file, force_terminal=True, width=100), clock) as progress:
        work(clock, progress.part("fig5", total=2, done=1), 1, seconds_each=1.0)
    last = file.getvalue().split("\x1b[2K")[-1]
    assert "2/2" in last and "left" not in last and "in all" not in file.getvalue()


def test_silent_where_stderr_is_no_terminal(capsys):
    with Progress.on_stderr() as progress:
        progress.part("fig5", total=2).advance()
        assert progress.bars is None
    assert capsys.readouterr() == ("", "")


SCRIPT = """
from teachirl.app.cli.screen import filtered
from teachirl.study.progress import Progress
with filtered(), Progress.on_stderr() as progress:
    progress.part("fig5", total=2).advance()
print("result")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", [True, False])
def test_shown_on_a_terminal(no_color):
    ours, theirs = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_color else {})
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        check=True,
        timeout=120,
    )
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    assert process.stdout == b"result\n"
    assert "fig5" in shown and "1/2" in shown
    assert ("\x1b[3" in shown) != no_color  # a colour


def test_a_limit_in_time_is_an_estimate_from_the_first(clock):
    progress = Progress(clock=clock)
    search = progress.part("sets of features", 1, within=20.0)
    assert progress.seconds_left() == 20.0
    clock.now += 15.0
    assert progress.seconds_left(search) == 5.0
    clock.now += 15.0
    assert progress.seconds_left(search) == 0.0
    search.advance()
    assert progress.seconds_left(search) == 0.0


def test_a_limit_in_time_caps_what_units_take(clock):
    progress = Progress(clock=clock)
    part = progress.part("plan", 10, within=20.0)
    clock.now += 4.0
    part.advance()
    assert progress.seconds_left(part) == 16.0  # and not 36


def test_a_table_above_the_bars_goes_with_them(clock):
    screen = io.StringIO()
    with Progress(Console(file=screen, force_terminal=True, width=60), clock) as progress:
        part = progress.part("sets", 2)
        assert progress.drawn
        progress.show_table(("cost", "teach"), [("8", "camera\x1b[2J")])
        part.advance()
        progress.bars.refresh()
        assert "camera" in screen.getvalue() and "\x1b[2J" not in screen.getvalue()
        part.advance()
        screen.truncate(0)
        progress.bars.refresh()
        assert "camera" not in screen.getvalue()
    assert not Progress().drawn
