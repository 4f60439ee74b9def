"""How long pages of the API take where there is very much: 10,000 topics of 4 partitions and 5,000 groups.

    ./braid bench api             a table of figures; about a minute
    ./braid bench api --write     and put it into docs/benchmarks.md

One client asks a node in the same process over a real socket, one request after the other; the median counts. The look
at everything, by which lists are sorted, comes every ten seconds and gives way to others.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import httpx
import uvloop
from large_catalog import commit_all, fill_store
from report import Figure, Progress, print_figures, write_figures

from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)

TOPICS = 10_000
PARTITIONS = 4
GROUPS = 5_000
ASKED = 30
ANSWER_MS_MAX = 100.0

PAGES = {
    "topics by name": "/topics",
    "topics by lag": "/topics?sort=-lag",
    "topics by size, searched": "/topics?sort=-size&search=99",
    "a thousand topics on a page": "/topics?page_size=1000",
    "groups by name": "/groups",
    "groups by lag": "/groups?sort=-lag",
    "groups by members, searched": "/groups?sort=-members&search=42",
    "a thousand groups on a page": "/groups?page_size=1000",
    "the groups of a topic": "/topics/topic-00042/groups",
    "the overview": "/overview",
}


def settings_in(folder: Path) -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=Address("127.0.0.1", 0)),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        log=LogSettings(flush="interval"),
    )


async def median_ms(api: httpx.AsyncClient, path: str) -> tuple[float, float]:
    """The median, and the slowest."""
    took_ms = []
    for _ in range(ASKED):
        begun = time.perf_counter()
        (await api.get(path)).raise_for_status()
        took_ms.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took_ms), max(took_ms)


async def measure() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder, Progress("pages", len(PAGES)) as progress:
        settings = settings_in(Path(folder))
        await fill_store(settings, topics=TOPICS, partitions=PARTITIONS, groups=GROUPS)
        node = await Node.start(settings)
        await commit_all(node, GROUPS)
        async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1", timeout=30) as api:
            for what, path in PAGES.items():
                middle, worst = await median_ms(api, path)
                is_reached = middle < ANSWER_MS_MAX
                wanted = f"< {ANSWER_MS_MAX:.0f} ms"
                figures.append(Figure(what, f"{middle:.0f} ms", wanted, is_reached, f"slowest {worst:.0f} ms"))
                progress.step()
        await node.stop()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    figures = uvloop.run(measure())
    print_figures(figures)
    if arguments.write:
        write_figures("api", "Pages of the API", "./braid bench api --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
