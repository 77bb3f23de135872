"""How the judging server does with many assessors at once: times, leases, failures.

    python -m benchmarks.judging --runs 8 --topics 60
    python -m benchmarks.judging --runs 60 --topics 50 --assessors 100 --seconds 30 --live 2
    python -m benchmarks.judging --servers 2 --database postgresql:///empty

Every server runs in a process of its own on this machine; every assessor judges, waits for as long as a quick
person thinks, and judges again. Assessors are shared out to the servers, and `--live` pages of organizers are
open meanwhile, each on another server. Printed is the time that the server took for judge-and-next, and how
long the disk took meanwhile to flush a page: a judgment waits for some flushes, and when one takes long, all
wait.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import re
import socket
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx2
import numpy as np

from sounding.judge.app import serve
from sounding.judge.auth import Visitor, begin_session
from sounding.judge.project import Project, create_project, open_project
from sounding.judge.records import Role, Submission
from sounding.judge.settings import Settings, parse_scale
from sounding.judge.web import TOKEN, Context

POOL = 300  # documents that can come up for a topic
WORDS = 120  # of a document
PAGE = 4096  # bytes
BETWEEN_FLUSHES = 0.05  # seconds

LIVE = "live"  # instead of a topic: an organizer who looks at the live page
Person = tuple[str, str, str]  # cookie, token, topic


@dataclass
class Outcome:
    times: list[float] = field(default_factory=list)  # milliseconds of the server for judge-and-next
    codes: Counter[int] = field(default_factory=Counter)
    held: Counter[tuple[str, str]] = field(default_factory=Counter)  # documents at hand now
    beyond: int = 0  # documents that came to more people than judge them
    judged: int = 0
    begun: float = 0.0  # processor time that the server had taken when the first one asked
    flushes: list[float] = field(default_factory=list)  # milliseconds of the disk for a page
    pushed: int = 0  # states that the live pages received


def make_files(folder: Path, runs: int, topics: int, depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(3000)]
    with (folder / "corpus.jsonl").open("w") as corpus:
        for topic in range(topics):
            for doc in range(POOL):
                text = " ".join(rng.choice(words, WORDS))
                corpus.write(f'{{"id": "t{topic}d{doc}", "text": "{text}"}}\n')
    entries = [
        f"<top>\n<num> Number: {one}\n<title> word{one} word{one + 1}\n</top>\n" for one in range(topics)
    ]
    (folder / "topics.txt").write_text("".join(entries))
    common = rng.normal(size=(topics, POOL))
    for run in range(runs):
        scores = common + rng.normal(scale=0.6 + run / runs, size=common.shape)
        best = np.argsort(-scores, axis=1)[:, :depth]
        lines = [
            f"{topic} Q0 t{topic}d{doc} {rank} {depth - rank} run{run}\n"
            for topic in range(topics)
            for rank, doc in enumerate(best[topic].tolist(), 1)
        ]
        (folder / f"run{run}.txt").write_text("".join(lines))


def make(folder: Path, given: argparse.Namespace) -> list[Person]:
    """A project, and (cookie, token, topic) of every assessor."""
    make_files(folder, given.runs, given.topics, given.depth, given.seed)
    settings = Settings(
        scale=parse_scale("0=not relevant,1=relevant"), overlap=given.overlap, depth=given.depth
    )
    people = []
    with create_project(
        folder / "project", corpus=[str(folder / "corpus.jsonl")], topics=str(folder / "topics.txt"),
        runs=[str(folder / f"run{run}.txt") for run in range(given.runs)], settings=settings,
        database=given.database,
    ) as project:  # fmt: skip
        for number in range(given.assessors):
            topic = str(number % given.topics)
            cookie, token, pseudonym = _cookie_of(project, f"assessor {number}", "assessor")
            project.store.assign(topic, pseudonym)
            people.append((cookie, token, topic))
        for number in range(given.live):
            people.append((_cookie_of(project, f"organizer {number}", "organizer")[0], "", LIVE))
        judge_beforehand(project, given)
    return people


def _cookie_of(project: Project, name: str, role: Role) -> tuple[str, str, str]:
    """Return cookie, token and pseudonym of a new person who has signed in."""
    user = project.store.add_user(name, role)
    secret = begin_session(project.store, user, "127.0.0.1", "benchmark")
    cookie = Context(project=project, door=None, live=None).cookie  # type: ignore[arg-type]
    return f"{cookie}={secret}", Visitor(secret=secret, user=user, known=True).token, user.pseudonym


def judge_beforehand(project: Project, given: argparse.Namespace) -> None:
    """So many judgments, evenly over the topics, with the model fitted to them."""
    share = -(-given.before // given.topics)
    for topic in range(given.topics if given.before else 0):
        leases = project.engine.next("before", str(topic), share)
        project.store.judge_all(
            Submission(
                assessor="before", topic=str(topic), doc=lease.doc, grade=place % 3 == 0, key=uuid4().hex
            )
            for place, lease in enumerate(leases)
        )
    project.store.release("before")
    while project.engine.refit_if_due():
        pass


def run_server(folder: str, port: int) -> None:
    with open_project(folder) as project:
        serve(project, "127.0.0.1", port)


async def assess(
    client: httpx2.AsyncClient,
    person: Person,
    given: argparse.Namespace,
    outcome: Outcome,
    end: float,
) -> None:
    cookie, token, topic = person
    headers = {"Cookie": cookie, TOKEN: token}
    rng = random.Random(cookie)
    await asyncio.sleep(rng.uniform(0, given.think))
    answer = await client.get("/api/next", params={"topic": topic}, headers=headers)
    outcome.codes[answer.status_code] += 1
    documents = [one["doc"] for one in answer.json()["documents"]]
    hold(outcome, topic, documents, given.overlap)
    while documents and time.monotonic() < end:
        await asyncio.sleep(rng.uniform(0.5, 1.5) * given.think)
        content = {
            "topic": topic, "doc": documents[0], "grade": int(rng.random() < 0.3), "key": uuid4().hex,
            "active": 5, "have": documents,
        }  # fmt: skip
        answer = await client.post("/api/judge", json=content, headers=headers)
        outcome.codes[answer.status_code] += 1
        if answer.status_code != 200:
            continue
        found = re.search(r"dur=([\d.]+)", answer.headers["server-timing"])
        outcome.times.append(float(found.group(1)) if found else float("nan"))
        outcome.judged += 1
        after = [one["doc"] for one in answer.json()["documents"]]
        hold(outcome, topic, [doc for doc in after if doc not in documents], given.overlap)
        documents = after


def hold(outcome: Outcome, topic: str, documents: list[str], overlap: int) -> None:
    """Count documents that come to somebody; each may come to so many people in all."""
    for doc in documents:
        outcome.held[topic, doc] += 1
        outcome.beyond += outcome.held[topic, doc] > overlap


async def watch(client: httpx2.AsyncClient, cookie: str, outcome: Outcome) -> None:
    """Look at the live page until the end."""
    async with client.stream("GET", "/api/live/stream", headers={"Cookie": cookie}, timeout=None) as answer:
        outcome.codes[answer.status_code] += 1
        async for line in answer.aiter_lines():
            outcome.pushed += line.startswith("data:")


async def flush(path: Path, outcome: Outcome) -> None:
    """Flush a page to the disk that the project is on, again and again.

    The page stays where it is: a file written anew each time gives its old block back, and a disk that is
    told of it (`discard`) may let everybody wait for a tenth of a second: the probe made what it found.
    """

    def once(page: int) -> float:
        begun = time.perf_counter()
        os.lseek(page, 0, os.SEEK_SET)
        os.write(page, os.urandom(PAGE))
        os.fsync(page)
        return 1000 * (time.perf_counter() - begun)

    page = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        outcome.flushes.append(await asyncio.to_thread(once, page))
        await asyncio.sleep(BETWEEN_FLUSHES)


def cpu_seconds(process: int) -> float:
    """Processor time of a process so far, which says the same on a busy machine; NaN: not known here."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(
    ports: list[int], servers: list[int], folder: Path, people: list[Person], given: argparse.Namespace
) -> Outcome:
    outcome = Outcome()
    limits = httpx2.Limits(max_connections=given.assessors + given.live)
    async with AsyncExitStack() as opened:
        clients = [
            await opened.enter_async_context(
                httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=60)
            )
            for port in ports
        ]
        for client in clients:
            for _ in range(600):
                try:
                    await client.get("/sign-in")
                    break
                except httpx2.ConnectError:
                    await asyncio.sleep(0.1)
            await client.get("/api/next", params={"topic": people[0][2]}, headers={"Cookie": people[0][0]})
        outcome.begun = sum(map(cpu_seconds, servers))
        beside = [asyncio.create_task(flush(folder / "page", outcome))]
        assessors = [person for person in people if person[2] != LIVE]
        for number, (cookie, _, _) in enumerate(person for person in people if person[2] == LIVE):
            beside.append(asyncio.create_task(watch(clients[number % len(clients)], cookie, outcome)))
        end = time.monotonic() + given.seconds
        await asyncio.gather(
            *(
                assess(clients[number % len(clients)], person, given, outcome, end)
                for number, person in enumerate(assessors)
            )
        )
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    return outcome


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--topics", type=int, default=60)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--assessors", type=int, default=100)
    parser.add_argument("--overlap", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds before the next grade")
    parser.add_argument("--before", type=int, default=0, help="judgments that are there already")
    parser.add_argument("--database", help="address of an empty PostgreSQL database")
    parser.add_argument("--servers", type=int, default=1, help="servers on the same database")
    parser.add_argument("--live", type=int, default=0, help="live pages that are open")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        people = make(Path(name), given)
        os.sync()  # or the disk would write all this while the assessors judge
        ports = [free_port() for _ in range(given.servers)]
        spawned = multiprocessing.get_context("spawn")
        servers = [spawned.Process(target=run_server, args=(f"{name}/project", port)) for port in ports]
        for server in servers:
            server.start()
        processes = [server.pid or 0 for server in servers]
        try:
            outcome = asyncio.run(load(ports, processes, Path(name), people, given))
            spent = sum(map(cpu_seconds, processes)) - outcome.begun
        finally:
            for server in servers:
                server.terminate()
                server.join()
        with open_project(Path(name) / "project") as project:
            standing = project.store.standing()
            acknowledged = sum(one.assessor != "before" for one in standing) == outcome.judged
    times = np.array(outcome.times)
    middle, late = np.percentile(times, [50, 99])
    failed = sum(count for code, count in outcome.codes.items() if code >= 500)
    print(
        f"{given.runs} runs x {given.topics} topics, {given.assessors} assessors, {given.think:g} s to think,"
        f" servers: {given.servers}, live pages: {given.live}; load of the machine {os.getloadavg()[0]:.1f}"
    )
    if given.live:
        print(f"states of the live page    {outcome.pushed}")
    print(f"judged                     {outcome.judged:,} ({outcome.judged / given.seconds:.0f} a second)")
    print(f"judge-and-next, p50 / p99  {middle:.1f} / {late:.1f} ms, most {times.max():.1f}")
    p50, p99 = np.percentile(outcome.flushes, [50, 99])
    print(f"flush of a page, p50 / p99 {p50:.1f} / {p99:.1f} ms, most {max(outcome.flushes):.1f}")
    print(f"processor time a judgment  {1000 * spent / max(1, outcome.judged):.1f} ms")
    print(f"answers                    {dict(sorted(outcome.codes.items()))}")
    print(f"5xx                        {failed}")
    print(f"leases beyond overlap      {outcome.beyond}")
    print(f"acknowledged = recorded    {acknowledged}")


if __name__ == "__main__":
    main()
