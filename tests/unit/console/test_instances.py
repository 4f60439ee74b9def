"""The chosen instance stays on every address that a page leads to, and on nothing else."""

import pytest

from braidmq.console._instances import command_within, keep_instance, within


@pytest.mark.parametrize(
    ("address", "there"),
    [
        ("/console", "/console?instance=retail"),
        ("/console/topics/a", "/console/topics/a?instance=retail"),
        ("/console/topics?sort=name", "/console/topics?sort=name&instance=retail"),
        ("/console/topics?instance=default", "/console/topics?instance=default"),
    ],
)
def test_an_address_keeps_the_instance_unless_it_names_one(address: str, there: str) -> None:
    assert within(address, "retail") == there
    assert within(address, "default") == address


def test_a_name_cannot_break_out_of_an_address() -> None:
    assert within("/console", 'a&b="c') == "/console?instance=a%26b%3D%22c"


@pytest.mark.parametrize(
    "attribute", ["href", "action", "hx-get", "hx-post", "data-chart", "data-tail", "data-favourite"]
)
def test_every_kind_of_address_in_a_page_keeps_it(attribute: str) -> None:
    page = f'<a {attribute}="/console/topics?page=2&amp;sort=name">x</a>'
    assert keep_instance(page, "retail") == page.replace("sort=name", "sort=name&amp;instance=retail")
    assert keep_instance(page, "default") == page


@pytest.mark.parametrize(
    "page",
    [
        '<script src="/console/static/console.js"></script>',
        '<use href="/console/static/vendor/icons.svg#plus"></use>',
        '<a href="/console/preferences?theme=dark">x</a>',
        '<form method="post" action="/console/logout">',
        '<a href="/metrics">x</a><a href="/consoles">x</a>',
        '<td title="/console/topics">/console/topics</td>',
        "<pre>&lt;a href=&#34;/console/topics&#34;&gt;</pre>",
        '<a href="/console/topics?instance=default">x</a>',
    ],
)
def test_what_belongs_to_no_instance_stays_as_it_is(page: str) -> None:
    assert keep_instance(page, "retail") == page


def test_a_form_that_asks_brings_the_instance_as_a_field() -> None:
    kept = keep_instance('<form action="/console/messages" method="get"><input name="id"></form>', 'a"b')
    assert '<input type="hidden" name="instance" value="a&quot;b"><input name="id">' in kept


def test_commands_are_for_the_instance_where_that_means_something() -> None:
    assert command_within("braid topic create a", "retail") == "braid topic create a --instance retail"
    assert command_within("braid topic create a", "two words") == "braid topic create a --instance 'two words'"
    assert command_within("braid topic create a", "default") == "braid topic create a"
    assert command_within("braid alarm list", "retail") == "braid alarm list"
