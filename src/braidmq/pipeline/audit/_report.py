"""What an audit says: as values, as JSON, and as a text for people, all under one signature."""

import hashlib
from datetime import datetime
from pathlib import Path

import msgspec

from braidmq.pipeline.tables import sync_folder


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it must be."""

    kind: str
    """file_missing, file_damaged; hole, covered_twice, gap_unexplained; row_missing, row_twice, row_unexpected;
    differs_from_log, missing_from_archive, gone_unarchived; topic_remade."""
    detail: str
    topic: str = ""
    partition: int = -1
    first: int = -1
    end: int = -1
    file: str = ""


class PartitionAudit(msgspec.Struct, frozen=True):
    """One partition, and how its offsets are accounted for: covered = rows + gaps + quarantined + expired."""

    topic: str
    partition: int
    first: int
    end: int
    covered: int
    rows: int
    gaps: dict[str, int]
    quarantined: int
    expired: int
    compared_with_log: int
    """How many rows were compared with what the log still has."""
    not_archived: int = 0
    """How many offsets the log has behind the archive's end."""


class Report(msgspec.Struct, frozen=True):
    """The whole audit. It is sound when nothing was found."""

    path: str
    table_id: str
    version: int
    time: datetime
    files: int
    size_bytes: int
    partitions: list[PartitionAudit]
    findings: list[Finding]
    digest: str = ""

    @property
    def sound(self) -> bool:
        return not self.findings

    @property
    def not_archived(self) -> int:
        """How many offsets the log has, in all, that are still to be archived."""
        return sum(each.not_archived for each in self.partitions)

    def signed(self) -> "Report":
        """With the SHA-256 of all the rest."""
        plain = msgspec.structs.replace(self, digest="")
        return msgspec.structs.replace(self, digest=hashlib.sha256(msgspec.json.encode(plain)).hexdigest())

    @property
    def genuine(self) -> bool:
        """Whether the signature is that of the content."""
        return self.signed().digest == self.digest

    def json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def text(self) -> str:
        """For people."""
        verdict = "SOUND: every offset is accounted for" if self.sound else f"NOT SOUND: {len(self.findings)} findings"
        if self.not_archived:
            verdict += f"; not archived yet: {self.not_archived:,}"
        lines = [
            f"Audit of {self.path}, version {self.version} of the table, {self.time:%Y-%m-%d %H:%M:%S} UTC",
            f"{verdict}. {self.files:,} files, {self.size_bytes:,} bytes",
            "",
        ]
        for each in self.partitions:
            gaps = ", ".join(f"{number:,} {cause}" for cause, number in sorted(each.gaps.items())) or "none"
            offsets = f"offsets {each.first:,} to {each.end - 1:,}" if each.end > each.first else "no offsets"
            lines.append(
                f"  {each.topic}-{each.partition}: {offsets}; {each.rows:,} rows, "
                f"gaps: {gaps}; {each.quarantined:,} quarantined, {each.expired:,} expired; "
                f"{each.compared_with_log:,} compared with the log, {each.not_archived:,} not archived yet"
            )
        for finding in self.findings:
            where = (
                f"{finding.topic}-{finding.partition} {finding.first} to {finding.end - 1}: "
                if finding.partition >= 0
                else ""
            )
            lines.append(f"  ! {finding.kind}: {where}{finding.detail}")
        return "\n".join([*lines, "", f"sha256 {self.digest}", ""])

    def save(self, folder: Path) -> Path:
        """Writes the JSON and the text beside each other; gives the path of the JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.time:%Y%m%dT%H%M%SZ}-{self.version}"
        target = folder / f"{name}.json"
        target.write_bytes(self.json())
        (folder / f"{name}.txt").write_text(self.text())
        sync_folder(folder)
        return target


def read_report(path: Path) -> Report:
    return msgspec.json.decode(path.read_bytes(), type=Report)
