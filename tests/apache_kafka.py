"""An Apache Kafka of one node, by coordinates from Maven: what serves both it and us is judged by both."""

import base64
import os
import signal
import socket
import subprocess
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from running_node import WaitFor

START_LIMIT_S = 90.0
STOP_LIMIT_S = 20.0
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class ApacheKafka:
    """A broker of its own process, in a new folder."""

    def __init__(self, folder: Path, classpath: str, wait_for: WaitFor) -> None:
        port, controller = _free_ports()
        self.bootstrap = f"127.0.0.1:{port}"
        self._log = folder / "log"
        settings = folder / "server.properties"
        settings.write_text(SETTINGS.format(port=port, controller=controller, logs=folder / "logs"))
        java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", classpath]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
        format_it = [*java, "kafka.tools.StorageTool", "format", "-t", _cluster_id(), "-c", str(settings)]
        subprocess.run(format_it, env=environment, check=True, capture_output=True, timeout=START_LIMIT_S)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*java, "kafka.Kafka", str(settings)], env=environment, stdout=log, stderr=log
            )
        try:
            wait_for(lambda: self._is_serving() or self._process.poll() is not None, START_LIMIT_S)
            assert self._process.poll() is None, self._log.read_text()[-5000:]
        except BaseException:  # who starts it has nothing yet to stop it by
            self.stop()
            raise

    def _is_serving(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def stop(self) -> None:
        self._process.send_signal(signal.SIGKILL)  # nobody needs what is in it
        self._process.wait(STOP_LIMIT_S)


def _cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
