"""Compiles the .pyx files of src, each beside its source. Called by ./braid, and when a wheel is built.

Everything works without what is compiled here, more slowly: see docs/decisions/native-parts.md.
"""

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"


def main() -> int:
    if (why := missing()) is not None:
        print(f"braid: {why}", file=sys.stderr)
        return 1
    build()
    return 0


def missing() -> str | None:
    """What is not here that compiling needs, and where it comes from."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None and shutil.which("cc") is None:
        return "there is no C compiler (on Debian: apt install gcc)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are not here (on Debian: apt install python3-dev)"
    return None


def build() -> list[Path]:
    """The compiled modules, each beside its source."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    sources = sorted(SOURCE.rglob("*.pyx"))
    with tempfile.TemporaryDirectory() as scratch:
        extensions = cythonize(
            [Extension(module_name(source), [str(source)], extra_compile_args=["-O2", "-g0"]) for source in sources],
            build_dir=scratch,
            include_path=[str(SOURCE)],
            compiler_directives={"language_level": "3", "show_performance_hints": False},
            quiet=True,
        )
        command = build_ext(Distribution({"ext_modules": extensions, "package_dir": {"": str(SOURCE)}}))
        command.inplace = True
        command.build_temp = scratch
        command.parallel = len(sources)
        command.verbose = 0
        command.finalize_options()
        command.run()
    return [Path(command.get_ext_fullpath(each.name)) for each in extensions]


def module_name(source: Path) -> str:
    return ".".join(source.relative_to(SOURCE).with_suffix("").parts)


if __name__ == "__main__":
    sys.exit(main())
