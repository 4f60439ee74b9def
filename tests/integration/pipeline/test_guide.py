"""The job of the guide, as it stands there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline_support import Broker, values

pytestmark = pytest.mark.timeout(300)
GUIDE = Path(__file__).parents[3] / "docs" / "pipeline.md"


def test_the_guides_job_joins_two_topics_as_batch_and_as_stream(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    job: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(code, job)  # noqa: S102
    orders, payments, target = broker.topic(2), broker.topic(2), broker.topic()
    broker.send(orders, [json.dumps({"order": f"o{number}", "amount": number}) for number in range(10)], 1)
    broker.send(payments, [json.dumps({"order": f"o{number}", "paid": number}) for number in range(0, 10, 3)])
    batch = job["paid_orders"](
        job["read"](spark, broker.bootstrap, orders, stream=False),
        job["read"](spark, broker.bootstrap, payments, stream=False),
    )
    paid = ["o0", "o3", "o6", "o9"]
    assert sorted(row.order for row in batch.collect()) == paid
    job["run"](spark, broker.bootstrap, orders, payments, target, str(tmp_path)).awaitTermination()
    assert [json.loads(value)["order"] for value in values(broker.read(spark, target))] == paid
