"""Regular expressions that clients send. RE2 finds every match in time that grows with the text, whatever the
expression; what would need more (backward references, looking around) is not part of its language."""

from collections.abc import Iterable

from braidmq.model.errors import InvalidExpression

_MEMORY_BYTES_MAX = 1 << 20
_LENGTH_MAX = 4096


class Pattern:
    """A regular expression for whole names. Raises InvalidExpression."""

    def __init__(self, text: str) -> None:
        if len(text) > _LENGTH_MAX:
            raise InvalidExpression(f"a regular expression of {len(text)} characters; {_LENGTH_MAX} are taken")
        import re2  # takes 2.5 MB, and few groups subscribe by patterns

        options = re2.Options()
        options.max_mem = _MEMORY_BYTES_MAX
        options.log_errors = False
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            raise InvalidExpression(f"the regular expression {text!r} cannot be read: {_said(error)}") from error

    def matches(self, name: str) -> bool:
        """Whether the name matches from its beginning to its end."""
        return self._compiled.fullmatch(name) is not None

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Those of the names that match."""
        return frozenset(filter(self.matches, names))


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else b""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
