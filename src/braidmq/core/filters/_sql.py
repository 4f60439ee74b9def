"""SQL expressions over properties, such as `region = 'EU' AND amount BETWEEN 10 AND 99`. Hot path: `matches`.

    or          := and (OR and)*
    and         := equality (AND equality)*
    equality    := comparison (= comparison | <> comparison | IS [NOT] NULL)*
    comparison  := unary ( (> | >= | < | <=) unary
                         | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) text
                         | [NOT] BETWEEN unary AND unary
                         | [NOT] IN ( text, ... ) )*
    unary       := (+ | - | NOT) unary | TRUE | FALSE | NULL | number | text | property | ( or )

An expression is parsed once, to functions that call each other; each takes a message's headers and gives true, false
or null, which is a third truth: a property that a message has not is null, and so is what follows from it, unless the
rest decides alone. Only a message for which the whole is true is chosen.

Not obvious, and as users of this dialect know it: NOT binds closer than `=`, so `NOT a = 1` asks whether (NOT a) is 1;
a property that stands alone as a condition is false, whatever its text; two properties that are both missing are
equal; a text compares to a number as a number, and by `<` and `>` only so.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from braidmq.core.filters._sql_tokens import Kind, Token, refusal, tokens
from braidmq.core.filters._sql_values import (
    INT_MAX,
    LONG_MAX,
    Long,
    Unanswerable,
    Value,
    order,
    order_texts_as_numbers,
)
from braidmq.model import KEYS_HEADER, SHARDING_KEY_HEADER
from braidmq.model.errors import InvalidFilter
from braidmq.records import Record

EXPRESSION_BYTES_MAX: Final = 4096
OPERATORS_MAX: Final = 200
DEPTH_MAX: Final = 50
"""How many parentheses, NOTs and signs may stand in one another."""

Headers = Mapping[str, bytes | None]
Evaluate = Callable[[Headers], Value]

_MISSING: Final = object()


class SqlFilter(NamedTuple):
    """Messages for which the expression is true."""

    expression: str
    condition: Evaluate
    asks_for_keys: bool

    def matches(self, record: Record) -> bool:
        headers = dict(record.headers)
        if self.asks_for_keys and record.key is not None:
            _add_keys(headers, record.key)
        try:
            return self.condition(headers) is True
        except Unanswerable:
            return False


def sql_filter(expression: str) -> SqlFilter:
    """The messages that the expression is true for. Raises InvalidFilter, which says where it cannot be read."""
    size_bytes = len(expression.encode(errors="replace"))
    if size_bytes > EXPRESSION_BYTES_MAX:
        raise InvalidFilter(f"a filter expression has at most {EXPRESSION_BYTES_MAX} bytes, this one has {size_bytes}")
    parser = _Parser(expression)
    condition = parser.whole()
    return SqlFilter(expression, condition, KEYS_HEADER in parser.names)


def _add_keys(headers: dict[str, bytes | None], key: bytes) -> None:
    """A producer that only set the record key meant it as the message's key, unless it spreads messages by it."""
    if KEYS_HEADER not in headers and SHARDING_KEY_HEADER not in headers:
        headers[KEYS_HEADER] = key


class _Term(NamedTuple):
    """A part of an expression, and what may be done with it."""

    evaluate: Evaluate
    at: int
    constant: object = _MISSING
    """Its value, for what is written out."""
    is_condition: bool = False
    is_property: bool = False

    @property
    def is_constant(self) -> bool:
        return self.constant is not _MISSING

    @property
    def is_number(self) -> bool:
        return isinstance(self.constant, int | float) and not isinstance(self.constant, bool)


class _Parser:
    """Reads one expression, from left to right."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = list(tokens(expression))
        self._next = 0
        self._operators = 0
        self._depth = 0
        self.names: set[str] = set()
        """The properties that are asked for."""

    def whole(self) -> Evaluate:
        condition = self._condition(self._or())
        if self._token.kind is not Kind.END:
            raise self._refusal(self._token.at, "the expression could end here, and this does not go on with it")
        return condition

    # The grammar, a method for each of its lines.

    def _or(self) -> _Term:
        return self._joined("OR", self._and, _any_of)

    def _and(self) -> _Term:
        return self._joined("AND", self._equality, _all_of)

    def _joined(self, word: str, part: Callable[[], _Term], join: Callable[[tuple[Evaluate, ...]], Evaluate]) -> _Term:
        first = part()
        if not self._sees(word):
            return first
        conditions = [self._condition(first)]
        while self._takes(word):
            self._count()
            conditions.append(self._condition(part()))
        return _Term(join(tuple(conditions)), first.at, is_condition=True)

    def _equality(self) -> _Term:
        left = self._comparison()
        while True:
            if self._takes("="):
                left = self._equal(left, self._comparison())
            elif self._takes("<>"):
                left = _negation(self._equal(left, self._comparison()))
            elif self._takes("IS"):
                negated = self._takes("NOT")
                self._expect("NULL")
                left = _Term(_equality(left.evaluate, _constantly(None)), left.at, is_condition=True)
                left = _negation(left) if negated else left
            else:
                return left
            self._count()

    def _comparison(self) -> _Term:
        left = self._unary()
        while (condition := self._comparison_of(left)) is not None:
            self._count()
            left = _Term(condition, left.at, is_condition=True)
        return left

    def _comparison_of(self, left: _Term) -> Evaluate | None:
        """The condition that goes on from this term, if one does."""
        for sign, holds in _ORDERS.items():
            if self._takes(sign):
                return self._ordered(left, holds, self._unary())
        negated = self._sees("NOT")
        word = self._tokens[self._next + 1] if negated else self._token
        if word.kind is not Kind.WORD or word.text not in ("BETWEEN", "IN", *_SEARCHES):
            return None
        self._next += 2 if negated else 1
        if word.text == "BETWEEN":
            return self._between(left, negated)
        if word.text == "IN":
            return self._in(left, negated)
        return _search(left.evaluate, _SEARCHES[word.text], self._text(), negated)

    def _unary(self) -> _Term:
        token = self._token
        if self._depth >= DEPTH_MAX:
            raise self._refusal(token.at, f"more than {DEPTH_MAX} parentheses, signs and NOTs stand in one another")
        self._depth += 1
        try:
            return self._signed(token)
        finally:
            self._depth -= 1

    def _signed(self, token: Token) -> _Term:
        if self._takes("+"):
            return self._unary()
        if self._takes("-"):
            self._count()
            return _Term(_minus(self._unary().evaluate), token.at)
        if self._takes("NOT"):
            self._count()
            return _negation(_Term(self._condition(self._unary()), token.at))
        if self._takes("("):
            inner = self._or()
            self._expect(")")
            return inner
        return self._literal(token)

    def _literal(self, token: Token) -> _Term:
        self._next += 1
        match token:
            case Token(Kind.NAME, name):
                self.names.add(name)
                return _Term(_property(name), token.at, is_property=True)
            case Token(Kind.TEXT, text):
                return _Term(_constantly(text), token.at, text)
            case Token(Kind.WHOLE | Kind.REAL):
                number = self._number(token)
                return _Term(_constantly(number), token.at, number)
            case Token(Kind.WORD, "TRUE" | "FALSE" | "NULL" as word):
                value = _WORDS[word]
                return _Term(_constantly(value), token.at, value, is_condition=True)
        raise self._refusal(token.at, "a property, a number, a text or a parenthesis is missing here")

    # What may be said.

    def _condition(self, term: _Term) -> Evaluate:
        if term.is_condition:
            return term.evaluate
        if term.is_property:
            return _alone(term.evaluate)
        raise self._refusal(term.at, "this value is no condition")

    def _equal(self, left: _Term, right: _Term) -> _Term:
        for term in (left, right):
            if term.constant is None:
                raise self._refusal(term.at, "nothing equals NULL; ask with IS NULL or IS NOT NULL")
        if left.is_constant and left.is_condition and right.is_constant and not right.is_condition:
            raise self._refusal(left.at, "TRUE and FALSE do not compare to this value")
        return _Term(_equality(left.evaluate, right.evaluate), left.at, is_condition=True)

    def _ordered(self, left: _Term, holds: Callable[[int], bool], right: _Term) -> Evaluate:
        for term in (left, right):
            if term.is_condition or (term.is_constant and not term.is_number):
                raise self._refusal(term.at, "only numbers and properties have an order")
        return _ordering(left.evaluate, holds, right.evaluate)

    def _between(self, left: _Term, negated: bool) -> Evaluate:
        low = self._unary()
        self._expect("AND")
        high = self._unary()
        if negated:
            return _any_of((self._ordered(left, _ORDERS["<"], low), self._ordered(left, _ORDERS[">"], high)))
        condition = _all_of((self._ordered(left, _ORDERS[">="], low), self._ordered(left, _ORDERS["<="], high)))
        if low.is_constant and high.is_constant and order(high.constant, low.constant) < 0:  # type: ignore[arg-type]
            raise self._refusal(low.at, "nothing lies between these: the first is larger than the second")
        return condition

    def _in(self, left: _Term, negated: bool) -> Evaluate:
        if not left.is_property:
            raise self._refusal(left.at, "only a property can be IN a list")
        self._expect("(")
        texts = [self._text()]
        while self._takes(","):
            texts.append(self._text())
        self._expect(")")
        return _membership(left.evaluate, frozenset(texts), negated)

    def _text(self) -> str:
        token = self._token
        if token.kind is not Kind.TEXT:
            raise self._refusal(token.at, "a text in single quotes is missing here")
        self._next += 1
        return token.text

    def _number(self, token: Token) -> int | float:
        if token.kind is Kind.WHOLE:
            number = int(token.text.rstrip("lL"))
            if number > LONG_MAX:
                raise self._refusal(token.at, f"whole numbers end at {LONG_MAX}")
            return number if number <= INT_MAX else Long(number)
        real = float(token.text)
        if real == float("inf"):
            raise self._refusal(token.at, "this number is too large")
        return real

    # Words.

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _sees(self, text: str) -> bool:
        token = self._token
        return token.text == text and token.kind in (Kind.WORD, Kind.SIGN)

    def _takes(self, text: str) -> bool:
        if not self._sees(text):
            return False
        self._next += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self._refusal(self._token.at, f"{text} is missing here")

    def _count(self) -> None:
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            raise self._refusal(self._token.at, f"an expression has at most {OPERATORS_MAX} operators")

    def _refusal(self, at: int, what: str) -> InvalidFilter:
        return refusal(self._expression, at, what)


# What an expression is made of. Each function gives the one that runs for every message.


def _constantly(value: Value) -> Evaluate:
    return lambda _: value


def _property(name: str) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        value = headers.get(name)
        if value is None:
            return "" if name in headers else None
        return str(value, "utf-8", "replace")

    return evaluate


def _alone(value: Evaluate) -> Evaluate:
    """A property as a condition: it is a text, and no text is true."""
    return lambda headers: None if value(headers) is None else False


def _minus(value: Evaluate) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        number = value(headers)
        return None if number is None or isinstance(number, bool | str) else -number

    return evaluate


def _negation(term: _Term) -> _Term:
    condition = term.evaluate

    def evaluate(headers: Headers) -> Value:
        truth = condition(headers)
        return None if truth is None else not truth

    return _Term(evaluate, term.at, is_condition=True)


def _any_of(conditions: tuple[Evaluate, ...]) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        answer: Value = False
        for condition in conditions:
            truth = condition(headers)
            if truth is True:
                return True
            if truth is None:
                answer = None
        return answer

    return evaluate


def _all_of(conditions: tuple[Evaluate, ...]) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        answer: Value = True
        for condition in conditions:
            truth = condition(headers)
            if truth is False:
                return False
            if truth is None:
                answer = None
        return answer

    return evaluate


def _equality(left: Evaluate, right: Evaluate) -> Evaluate:
    """A missing value on the left is unknown, one on the right is different; both missing are equal."""

    def evaluate(headers: Headers) -> Value:
        one, other = left(headers), right(headers)
        if one is None:
            return True if other is None else None
        return other is not None and order(one, other) == 0

    return evaluate


def _ordering(left: Evaluate, holds: Callable[[int], bool], right: Evaluate) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        one = left(headers)
        if one is None:
            return None
        other = right(headers)
        if other is None:
            return None
        if isinstance(one, str) and isinstance(other, str):
            return holds(order_texts_as_numbers(one, other))
        return holds(order(one, other))

    return evaluate


def _search(value: Evaluate, finds: Callable[[str, str], bool], sought: str, negated: bool) -> Evaluate:
    """Nothing contains an empty text, and nothing fails to."""
    if not sought:
        return _constantly(False)

    def evaluate(headers: Headers) -> Value:
        text = value(headers)
        return isinstance(text, str) and finds(text, sought) is not negated

    return evaluate


def _membership(value: Evaluate, texts: frozenset[str], negated: bool) -> Evaluate:
    def evaluate(headers: Headers) -> Value:
        text = value(headers)
        return None if text is None else (text in texts) is not negated

    return evaluate


_WORDS: Final[Mapping[str, bool | None]] = {"TRUE": True, "FALSE": False, "NULL": None}
_SEARCHES: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "CONTAINS": str.__contains__,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}
_ORDERS: Final[Mapping[str, Callable[[int], bool]]] = {
    ">": lambda answer: answer > 0,
    ">=": lambda answer: answer >= 0,
    "<": lambda answer: answer < 0,
    "<=": lambda answer: answer <= 0,
}
