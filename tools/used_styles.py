"""Leaves out of a style sheet what no page can show: rules for classes that nothing names, and variables that nothing
reads.

A word counts as a class wherever it stands, so that a class may be put together by a template, a script or a page; one
that ends with a dash stands for all classes that begin with it (`alert-{{ tone }}`). What is in doubt stays.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z_][\w-]*-(?=\$?{)|[A-Za-z_](?:[\w-]*\w)?")
_CLASS: Final = re.compile(r"\.((?:\\.|[\w-])+)")
_CHOICE: Final = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
_STRING: Final = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^"')]*\)"""
_TOKEN: Final = re.compile(rf"/\*.*?\*/|{_STRING}|[{{}};]", re.DOTALL)
_NAME: Final = re.compile(r"--[\w-]+")
_READ: Final = re.compile(r"var\(\s*(--[\w-]+)")
_VARIABLE: Final = re.compile(rf"(?<=[{{;])\s*(--[\w-]+)\s*:(?:{_STRING}|[^;{{}}\"'])*(?:;|(?=}}))")
_AROUND_RULES: Final = ("@media", "@supports", "@layer", "@container")


def words_of(text: str) -> set[str]:
    """All that could be the name of a class, or begin one."""
    return set(_WORD.findall(text))


def classes_of(styles: str) -> set[str]:
    """The classes that a style sheet has rules for."""
    found: set[str] = set()
    for opening, block in _parts(styles):
        if opening.startswith(_AROUND_RULES):
            found |= classes_of(block)
        elif not opening.startswith("@"):
            found.update(_CLASS.findall(opening))
    return found


def named(classes: Collection[str], words: Collection[str]) -> set[str]:
    """Those of the classes that the words name."""
    begun = tuple(word for word in words if word.endswith("-"))
    return {name for name in classes if name in words or name.startswith(begun)}


def without_unused_rules(styles: str, used: Collection[str]) -> str:
    """The style sheet without rules that need a class which is not used."""
    kept: list[str] = []
    for opening, block in _parts(styles):
        if opening.startswith(_AROUND_RULES):
            inside = without_unused_rules(block, used)
            kept.append(f"{opening}{{{inside}}}" if inside else "")
        elif opening.startswith("@") and block:
            kept.append(f"{opening}{{{block}}}")
        elif block:
            selectors = [each for each in _split(opening) if _needed(each).issubset(used)]
            kept.append(f"{','.join(selectors)}{{{block}}}" if selectors else "")
        else:
            kept.append(opening)
    return "".join(kept)


def variables_of(text: str) -> set[str]:
    """The variables that a style sheet or script names."""
    return set(_NAME.findall(text))


def without_unread_variables(styles: str, others: Collection[str]) -> str:
    """The style sheet without variables that it does not read itself, and that are none of the others."""
    read = {*others, *_READ.findall(styles)}
    shorter = _VARIABLE.sub(lambda found: found[0] if found[1] in read else "", styles)
    return shorter if shorter == styles else without_unread_variables(shorter, others)


def _needed(selector: str) -> set[str]:
    """The classes without which it matches nothing."""
    return set(_CLASS.findall(_CHOICE.sub("", selector)))


def _split(selectors: str) -> Iterator[str]:
    """At the commas that are in no brackets."""
    depth, begin = 0, 0
    for at, sign in enumerate(selectors):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            yield selectors[begin:at]
            begin = at + 1
    yield selectors[begin:]


def _parts(styles: str) -> Iterator[tuple[str, str]]:
    """What stands before each block, and what is in it; statements and comments have none."""
    depth, begin, inside = 0, 0, 0
    for token in _TOKEN.finditer(styles):
        sign = token[0]
        if sign == "{":
            depth += 1
            inside = token.end() if depth == 1 else inside
        elif sign == "}":
            depth -= 1
            if depth == 0:
                yield styles[begin : inside - 1], styles[inside : token.start()]
                begin = token.end()
        elif depth == 0 and (sign == ";" or sign.startswith("/*")):
            yield styles[begin : token.end()], ""
            begin = token.end()
