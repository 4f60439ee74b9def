"""Instances: tenants that see nothing of each other."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.model import DEFAULT_INSTANCE, Instance
from braidmq.model.errors import InstanceInUse, UnknownInstance
from braidmq.model.saying import say
from braidmq.store import Catalog


class InstanceView(msgspec.Struct, frozen=True, kw_only=True):
    """An instance, and how much is in it."""

    name: Annotated[str, Meta(examples=["default"])]
    description: str
    topics: int
    groups: Annotated[int, Meta(description="Those that were made; groups that only commit belong to `default`.")]


class InstancesDesk:
    """All instances."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def page(self, ask: PageAsk) -> Page[InstanceView]:
        """Raises InvalidRequest."""
        return page_of(
            self._catalog.instances(),
            ask,
            text=lambda instance: f"{instance.name} {instance.description}",
            sorts=_SORTS,
            view=self._views,
        )

    def describe(self, name: str) -> InstanceView:
        """Raises UnknownInstance."""
        instance = self._catalog.instance(name)
        if instance is None:
            raise UnknownInstance(say("there is no instance {name}", name=repr(name)))
        return self._views([instance])[0]

    async def create(self, name: str, *, description: str = "") -> InstanceView:
        """Raises InvalidName, AlreadyExists."""
        await self._catalog.create_instance(Instance(name=name, description=description))
        return self.describe(name)

    async def delete(self, name: str, *, dry_run: bool = False) -> InstanceView:
        """With its groups and subscriptions; as it was before. Raises UnknownInstance, InstanceInUse."""
        view = self.describe(name)
        if name == DEFAULT_INSTANCE:
            raise InstanceInUse(say("the instance {name} always exists", name=repr(name)))
        if view.topics:
            raise InstanceInUse(say("the instance {name} holds {topics} topics", name=repr(name), topics=view.topics))
        if not dry_run:
            await self._catalog.delete_instance(name)
        return view

    def _views(self, instances: Sequence[Instance]) -> list[InstanceView]:
        topics = [topic.instance for topic in self._catalog.topics()]
        groups = [group.instance for group in self._catalog.groups()]
        return [
            InstanceView(
                name=each.name,
                description=each.description,
                topics=topics.count(each.name),
                groups=groups.count(each.name),
            )
            for each in instances
        ]


_SORTS: Final[Sorts[Instance]] = {"name": lambda instance: instance.name}
