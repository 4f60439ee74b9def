"""How far members were given partitions, of which they have not said yet that they are done."""

from braidmq.protocols.rocketmq._commits import GIVEN_MAX, Commits


def test_it_is_never_less_than_what_is_committed() -> None:
    commits = Commits()
    assert commits.given("g", 1, 4) == 4
    commits.gave("g", 1, 9)
    assert [commits.given("g", 1, committed) for committed in (4, 9, 12)] == [9, 9, 12]
    commits.gave("g", 1, 6)
    assert commits.given("g", 1, 4) == 6, "the group was set back"
    assert commits.given("h", 1, 4) == 4


def test_it_is_remembered_of_so_many_partitions_only() -> None:
    commits = Commits()
    for number in range(GIVEN_MAX + 1):
        commits.gave("g", number, 9)
    assert [commits.given("g", number, 4) for number in (0, 1, GIVEN_MAX)] == [4, 9, 9]
