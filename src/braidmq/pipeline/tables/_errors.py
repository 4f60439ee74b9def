"""What can go wrong with a table. Each of these stops the writer; none of them leaves half a commit."""

from braidmq.model import BraidError


class TableError(BraidError):
    """The table cannot be used so."""

    code = "table_error"


class NewerTable(TableError):
    """The table was written by a newer version."""

    code = "newer_table"


class UnlikeTable(TableError):
    """The table has another schema."""

    code = "unlike_table"


class Fenced(TableError):
    """Another writer has taken the table over."""

    code = "fenced"


class CoverageBroken(TableError):
    """The batch does not continue what the table has."""

    code = "coverage_broken"


class FileDamaged(TableError):
    """A file was read back, and is not what was written."""

    code = "file_damaged"


class FilesGone(TableError):
    """Files that were to be replaced are no longer part of the table."""

    code = "files_gone"


class BusyTable(TableError):
    """Other writers committed first each time. Try again."""

    code = "busy_table"
    retriable = True
