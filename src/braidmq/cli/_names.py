"""Names of topics and groups as arguments, with what a shell offers for them.

A shell must not wait, nor be told of errors: a node that does not answer within a moment has no names to offer.
"""

from typing import Annotated, Any, Final

import typer

from braidmq.model import BraidError

_WAIT_S: Final = 1.0
_OFFERED_MAX: Final = 200


def topic_names(context: typer.Context, incomplete: str) -> list[str]:
    """What the node's topics are called."""
    return _offered(context, "topics", incomplete)


def group_names(context: typer.Context, incomplete: str) -> list[str]:
    """What the node's groups are called."""
    return _offered(context, "groups", incomplete)


def context_names(incomplete: str) -> list[str]:
    """What the contexts are called."""
    from braidmq.cli._contexts import read_contexts

    try:
        return [name for name in read_contexts().contexts if name.startswith(incomplete)]
    except BraidError:
        return []


def _offered(context: typer.Context, noun: str, incomplete: str) -> list[str]:
    from braidmq.cli._api import Api, path_of
    from braidmq.cli._contexts import resolve

    given: dict[str, Any] = context.params
    try:
        chosen = resolve(given.get("url") or "", given.get("context") or "", given.get("instance") or "")
        with Api(chosen.url, timeout_s=_WAIT_S) as api:
            answer = api.get(path_of(noun), search=incomplete, page_size=_OFFERED_MAX, instance=chosen.instance)
    except BraidError:
        return []
    return [item["name"] for item in answer["items"] if item["name"].startswith(incomplete)]


TopicName = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=topic_names)]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=group_names)]
OfTopic = Annotated[
    str | None, typer.Option("--topic", metavar="TOPIC", help="Only of this topic.", autocompletion=topic_names)
]
OfTopics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="Only in this topic; repeatable.", autocompletion=topic_names),
]
OfGroup = Annotated[
    str | None, typer.Option("--group", metavar="GROUP", help="Only of this group.", autocompletion=group_names)
]
