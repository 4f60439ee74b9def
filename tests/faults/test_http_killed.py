"""What HTTP has answered outlives a node that is killed."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from running_node import RunningNode, WaitFor

ENOUGH = 200

pytestmark = pytest.mark.timeout(120)


def start(folder: Path, wait_for: WaitFor) -> RunningNode:
    arguments = ["--data", str(folder / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
    return RunningNode(folder, arguments, {}, wait_for).wait_ready()


class Sender(threading.Thread):
    """Sends until the node is gone, and keeps what was answered."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._url = f"{url}/api/v1/topics/t/messages"
        self._name = name
        self.answered: dict[str, dict[str, Any]] = {}

    def run(self) -> None:
        with httpx.Client() as client:
            for at in range(1_000_000):
                body = f"{self._name} {at}"
                try:
                    answer = client.post(self._url, json={"body": body, "delay_ms": 1 if at % 10 == 9 else None})
                except httpx.TransportError:
                    return
                self.answered[body] = answer.json()["results"][0]


def test_what_was_answered_is_there_after_a_kill(tmp_path: Path, wait_for: WaitFor) -> None:
    node = start(tmp_path, wait_for)
    senders = [Sender(node.url, f"sender{at}") for at in range(4)]
    for sender in senders:
        sender.start()
    wait_for(lambda: sum(len(sender.answered) for sender in senders) >= ENOUGH, 60)
    node.process.kill()
    node.process.wait()
    for sender in senders:
        sender.join()
    answered = {body for sender in senders for body in sender.answered}
    again = start(tmp_path, wait_for)
    try:
        wait_for(lambda: answered <= bodies(again.url), 30)
    finally:
        again.clean_up()
        node.clean_up()


def bodies(url: str) -> set[str]:
    """All that is in the topic."""
    found: set[str] = set()
    params: dict[str, str] = {"limit": "1000"}
    while True:
        answer = httpx.get(f"{url}/api/v1/topics/t/messages", params=params).json()
        found |= {each["body"] for each in answer["items"]}
        if answer["cursor"] is None:
            return found
        params["cursor"] = answer["cursor"]
