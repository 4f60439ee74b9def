"""The search worker: answers one question after the other, until nobody asks any more."""

import sys

import msgspec

from braidmq.pipeline.archive._lookup import Lookup, Question
from braidmq.pipeline.archive._search import Answer, receive, send


def serve(path: str) -> None:
    encode = msgspec.msgpack.Encoder().encode
    try:
        lookup = Lookup(path)
    except Exception as error:
        # Whatever it is, the one who asked hears of it; the worker then ends.
        send(sys.stdout.buffer, encode(Answer(error=f"{type(error).__name__}: {error}")))
        return
    send(sys.stdout.buffer, encode(Answer()))
    while (block := receive(sys.stdin.buffer)) is not None:
        try:
            answer = Answer(rows=lookup.find(msgspec.msgpack.decode(block, type=Question)))
        except Exception as error:
            # As above; the next question may well be answered.
            answer = Answer(error=f"{type(error).__name__}: {error}")
        send(sys.stdout.buffer, encode(answer))


if __name__ == "__main__":
    serve(sys.argv[1])
