"""The codec's own errors. What cannot be read is `MalformedRequest` or `MalformedResponse`, of the model."""

from typing import ClassVar

from braidmq.model.errors import BraidError, MalformedRequest


class UnsupportedVersion(MalformedRequest):
    """The codec does not know this API, or not in this version. It holds what is needed to answer all the same."""

    code: ClassVar[str] = "unsupported_version"

    def __init__(self, message: str | None = None, *, api_key: int, api_version: int, correlation_id: int = -1) -> None:
        super().__init__(message)
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


class Unencodable(BraidError):
    """A message holds a value that its version cannot carry."""

    code: ClassVar[str] = "unencodable"
