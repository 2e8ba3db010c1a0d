"""How fast the studio answers: from a click to the first answer, and a step of a lesson.

python benchmarks/studio.py            clicks, on each example
python benchmarks/studio.py --load     50 participants at once, 20 episodes each
"""

import argparse
import asyncio
import csv
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import psutil

ROOT = Path(__file__).parents[1]
EXAMPLES = ("driving", "taxi", "frozen_lake", "classroom", "warehouse")
CLICKS, PEOPLE, EPISODES, STEPS = 40, 50, 20, 10
PAUSE = 0.25  # seconds between two steps of a participant, on average: faster than people are


def begun(*arguments, cwd):
    """A server, and the link that it announces."""
    command = [sys.executable, "-m", "teachirl", *map(str, arguments), "--port", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=cwd, env=env)
    for line in process.stdout:
        link = re.search(r"http://\S+", line)
        if link:
            return process, link[0]
    raise SystemExit("the server did not start")


def told(name, values, unit="ms"):
    p50, p95 = np.percentile(1000 * np.array(values), [50, 95])
    print(f"{name:14}{len(values):8}{p50:10.0f}{p95:10.0f}  {unit}", flush=True)


def print_load():
    average, count = os.getloadavg()[0], os.cpu_count()
    print(f"load average of the machine: {average:.1f} on {count} processors")


async def first_and_exact(client, name, choice):
    """Seconds from a click to the first bounds, and to exact ones."""
    began, first = time.perf_counter(), None
    query = {"choice": json.dumps(choice)}
    async with client.stream("GET", f"/api/answer/{name}", params=query) as response:
        async for line in response.aiter_lines():
            event = json.loads(line.removeprefix("data: ")) if line else {}
            if event.get("event") == "bounds":
                first = first or time.perf_counter() - began
                if event["exact"]:
                    return first, time.perf_counter() - began
    raise SystemExit(f"{name}: no answer")


async def clicks(link):
    async with httpx.AsyncClient(base_url=link, timeout=120) as client:
        page = (await client.get("/")).text
        client.headers["X-Token"] = re.search(r'name="token" content="([^"]+)"', page)[1]
        print(f"{'example':14}{'clicks':>8}{'p50':>10}{'p95':>10}")
        for name in EXAMPLES:
            problem = (await client.get(f"/api/problem/{name}")).json()
            free = [each["name"] for each in problem["features"] if each["kind"] == "sale"]
            rng, taught, firsts, exacts = np.random.default_rng(0), set(), [], []
            for warm in itertools.chain([True] * 5, [False] * CLICKS):
                taught ^= {free[int(rng.integers(len(free)))]}
                times = await first_and_exact(client, name, {"taught": sorted(taught)})
                if not warm:
                    firsts.append(times[0])
                    exacts.append(times[1])
            told(name, firsts)
            told("  until exact", exacts)
        print(
            f"load average of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        )


class Line:
    """A connection that stays open: what httpx would take itself is no part of a step."""

    def __init__(self, link):
        self.host, self.path = re.fullmatch(r"http://([^/]+)(/.*)", link).groups()

    async def ask(self, method, name, body=b""):
        if not hasattr(self, "reader"):
            host, port = self.host.split(":")
            self.reader, self.writer = await asyncio.open_connection(host, int(port))
        head = (
            f"{method} {self.path}{name} HTTP/1.1\r\nHost: {self.host}\r\nX-Token: participant\r\n"
        )
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(re.search(r"content-length: (\d+)", answer)[1])
        text = await self.reader.readexactly(length)
        if " 200 " not in answer.splitlines()[0]:
            raise SystemExit(f"{name}: {text.decode()}")
        return json.loads(text)


async def participant(link, steps):
    """One participant, from the first page to the last; how many episodes were acted."""
    line, rng, done = Line(link), np.random.default_rng(), 0
    now = await line.ask("GET", "now")
    while now["stage"] != "end":
        body, kind = {"at": now["at"]}, "next"
        if now["stage"] == "act":
            kind, action = "act", now["actions"][int(rng.integers(len(now["actions"])))]
            body |= {"action": action, "took": 1}
            await asyncio.sleep(2 * PAUSE * rng.random())
        text = json.dumps(body).encode()
        began = time.perf_counter()
        before, now = now, await line.ask("POST", kind, text)
        if kind == "act":
            steps.append(time.perf_counter() - began)
            done += now["at"][1:3] != before["at"][1:3] or now["stage"] == "end"
    line.writer.close()
    return done


async def load(links):
    steps = []
    done = await asyncio.gather(*(participant(link, steps) for link in links))
    return done, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.load:
            process, link = begun("studio", cwd=folder)
            try:
                asyncio.run(clicks(link))
            finally:
                process.terminate()
                process.wait()
            return
        study = f"participants = {PEOPLE}\nepisodes = {EPISODES}\nsteps = {STEPS}\nfeatures = 0\n"
        Path(folder, "study.toml").write_text(study, encoding="utf-8")
        problem = ROOT / "examples" / "frozen_lake.toml"
        process, _ = begun("lesson", problem, "--study", "study.toml", cwd=folder)
        try:
            text = Path(folder, "lesson", "links.csv").read_text(encoding="utf-8")
            links = [row["link"] for row in csv.DictReader(text.splitlines())]
            before = sum(psutil.Process(process.pid).cpu_times()[:2])
            done, steps = asyncio.run(load(links))
            spent = sum(psutil.Process(process.pid).cpu_times()[:2]) - before
        finally:
            process.kill()  # as hard as it gets: nothing that was acknowledged may be lost
            process.wait()
        command = [sys.executable, "-m", "teachirl", "lesson", "export", "lesson"]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run(command, cwd=folder, check=True, env=env, stdout=subprocess.DEVNULL)
        trials = Path(folder, "lesson", "trials.csv").read_text(encoding="utf-8").splitlines()[1:]
        print(f"{PEOPLE} people, {sum(done)} episodes acted, {len(trials)} in the file")
        print(f"{'':14}{'steps':>8}{'p50':>10}{'p95':>10}")
        told("a step", steps)
        print(f"the server's processor time a step: {1000 * spent / len(steps):.2f} ms")
        print(
            f"load average of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        )


if __name__ == "__main__":
    main()
