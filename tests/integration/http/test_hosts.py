"""A page from elsewhere that makes its name point to this machine learns nothing."""

import httpx


async def test_who_asks_by_another_name_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.get("/topics", headers={"host": "evil.example:8400"})
    assert (answer.status_code, answer.json()["code"]) == (421, "misdirected_request")
    assert (await api.get("/topics", headers={"host": "localhost:8400"})).status_code == 200
