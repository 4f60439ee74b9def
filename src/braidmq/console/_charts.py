"""Figures that charts draw in the browser; small pictures are drawn here, in `_pictures`."""

from collections.abc import Mapping
from typing import Any

from litestar import Response

from braidmq.core.samples import SamplesView


def chart(
    view: SamplesView,
    labels: Mapping[str, str],
    *,
    now: Mapping[str, float] | None = None,
    missing: float | None = None,
) -> Response[Any]:
    """What a chart draws: the figures that `labels` names, in that order, and how they are now. At a moment at which
    one of them has no sample it is `missing`: None is a gap in its line."""
    known = {series.name: dict(series.points) for series in view.series}
    if now:
        for name, value in now.items():
            known.setdefault(name, {})[view.until_ms] = value
    times = sorted({at_ms for name in labels for at_ms in known.get(name, {})})
    series = [
        {"name": name, "label": label, "values": [known.get(name, {}).get(at_ms, missing) for at_ms in times]}
        for name, label in labels.items()
    ]
    content = {"times": [at_ms / 1000 for at_ms in times], "series": series}
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})
