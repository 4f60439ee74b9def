"""What tests of the console's pages share: the node's API, to fill it and to look behind the pages."""

from typing import Any

import httpx

from running_node import RunningNode


class Api:
    """Asks under /api/v1; what is refused fails the test."""

    def __init__(self, node: RunningNode) -> None:
        self.client = httpx.Client(base_url=f"{node.url}/api/v1", timeout=30)

    def get(self, path: str, **params: Any) -> Any:
        assert "?" not in path, "httpx drops it for the parameters"
        return self._done(self.client.get(path, params=params))

    def post(self, path: str, body: Any = None) -> Any:
        return self._done(self.client.post(path, json={} if body is None else body))

    def put(self, path: str, body: Any) -> Any:
        return self._done(self.client.put(path, json=body))

    def delete(self, path: str) -> Any:
        return self._done(self.client.delete(path))

    def close(self) -> None:
        self.client.close()

    def send(self, topic: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
        """Their results."""
        results: list[dict[str, Any]] = self.post(f"/topics/{topic}/messages", {"messages": messages})["results"]
        assert not [each for each in results if each["error"]]
        return results

    def bury(self, group: str, topic: str, count: int) -> None:
        """So many messages of the topic come to the group's dead letters."""
        left = count
        while left:
            ask = {"topic": topic, "wait_s": 20, "count_max": left}
            for message in self.post(f"/groups/{group}/receive", ask)["messages"]:
                self.post(f"/groups/{group}/bury", {"receipt": message["receipt"]})
                left -= 1

    @staticmethod
    def _done(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None
