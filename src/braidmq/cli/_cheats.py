"""The examples of `braid cheat`, by noun. Words in capitals are to be replaced; all others work as they stand.

Each example is executed by a test, in this order, against a node with the topic orders and the group billing.
"""

from typing import Final

Example = tuple[str, str]
"""What for, and the command."""

CHEATS: Final[dict[str, tuple[Example, ...]]] = {
    "context": (
        ("give a node a name", "braid context add local http://127.0.0.1:8400"),
        ("use it from now on", "braid context select local"),
        ("see them all", "braid context list"),
        ("see what counts now", "braid context show"),
        ("forget it", "braid context remove local --yes"),
    ),
    "topic": (
        ("the largest first", "braid topic list --sort -size"),
        ("make one that keeps a day", "braid topic create invoices --partitions 4 --set retention.ms=86400000"),
        ("look at it closely", "braid topic show invoices"),
        ("every setting as it counts", "braid topic settings invoices"),
        ("more partitions", "braid topic alter invoices --partitions 8"),
        ("see what emptying would do", "braid topic empty invoices --dry-run"),
        ("only names, for a script", "braid topic list -o csv | cut -d, -f1"),
        ("delete it without a question", "braid topic delete invoices --yes"),
    ),
    "group": (
        ("who is most behind", "braid group list --sort -lag"),
        ("make one that gives up after three attempts", "braid group create audit --attempts 3"),
        ("its offsets and members", "braid group show billing"),
        ("who is in it now", "braid group members billing"),
        ("let it rest", "braid group pause billing"),
        ("let it go on", "braid group resume billing"),
        ("other steps between attempts", "braid group alter audit --set 'retry.steps=10s 1m'"),
        ("delete it", "braid group delete audit --yes"),
    ),
    "offset": (
        ("how far is it", "braid offset show billing"),
        ("see what a reset would do", "braid offset reset billing --to earliest --topic orders --dry-run"),
        ("go back two hours", "braid offset reset billing --to 2h --topic orders --yes"),
        ("ten messages back", "braid offset reset billing --to -10 --topic orders --yes"),
        ("one partition to an offset", "braid offset reset billing --to 1 --topic orders --partition 0 --yes"),
        ("pass over all that waits", "braid offset skip billing --topic orders --yes"),
        ("where another group is", "braid offset clone billing --from shipping --yes"),
    ),
    "produce": (
        ("one message", "braid produce orders --body hello"),
        ("each line is one", "printf 'first\\nsecond\\n' | braid produce orders"),
        ("with keys before a colon", "printf 'order-1:paid\\norder-2:paid\\n' | braid produce orders -K :"),
        ("a hundred of a kind", """braid produce orders -n 100 -b '{"n": {{count}}, "amount": {{random 1 500}}}'"""),
        (
            "with tag, key and header",
            "braid produce orders -b '{{uuid}}' --tag paid -k 'order-{{count}}' -H region=north",
        ),
        ("in ten seconds", "braid produce orders -b later --delay 10s --show"),
    ),
    "consume": (
        ("all that is there", "braid consume orders --from earliest --exit-at-end"),
        ("the last three of each partition", "braid consume orders --from -3 -e"),
        ("since an hour", "braid consume orders --from 1h -e"),
        ("the next two that come, or came", "braid consume orders --from earliest -n 2"),
        ("in a form of your own", r"braid consume orders --from earliest -e -f '%t %p %o %k %v %h %T\n'"),
        ("as JSON, one in a line", "braid consume orders --from earliest -e -J"),
        ("only some", "braid consume orders --from earliest -e --tag 'paid || refunded'"),
        ("as a member of a group", "braid consume orders --group billing -e -n 5"),
    ),
    "message": (
        ("by its key, in all topics", "braid message find --key KEY"),
        ("by its id", "braid message find --id ID"),
        ("of a topic and a time", "braid message find --topic orders --from 1h --limit 5"),
        ("one by its place", "braid message show orders 0 0"),
        ("send one for later", "braid message send orders 'pay soon' --delay 1h"),
        ("send one in a transaction", "braid message send orders 'pay' --transaction payers"),
        ("once more, to one group", "braid message resend orders 0 0 --group billing"),
    ),
    "trace": (
        ("the life of a message", "braid trace ID --topic orders"),
        ("of all with a key", "braid trace --topic orders --key KEY"),
    ),
    "dlq": (
        ("what went wrong", "braid dlq list --group shipping"),
        ("see what a replay would do", "braid dlq replay --group shipping --dry-run"),
        ("one of them, to its group", "braid dlq replay --group shipping --place 0:0 --yes"),
        ("keep a copy", "braid dlq export --group shipping --format csv --file dead.csv"),
        ("forget them", "braid dlq delete --group shipping --yes"),
    ),
    "timer": (
        ("what waits", "braid timer list --topic orders"),
        ("what waits for an operator", "braid timer list --parked"),
        ("cancel one", "braid timer cancel TIMER --yes"),
    ),
    "tx": (
        ("what is undecided", "braid tx list --state prepared"),
        ("what waits for an operator", "braid tx list --parked"),
        ("decide", "braid tx commit HALF --yes"),
    ),
    "subscription": (
        ("only paid orders", "braid subscription save billing orders --tag paid"),
        ("see them", "braid subscription list --group billing"),
        ("take it back", "braid subscription delete billing orders --yes"),
    ),
    "instance": (
        ("a tenant of its own", "braid instance create retail --description 'Shops and tills'"),
        ("a topic in it", "braid topic create tills --instance retail"),
        ("see them", "braid instance list"),
        ("empty it", "braid topic delete tills --instance retail --yes"),
        ("delete it", "braid instance delete retail --yes"),
    ),
    "node": (
        ("which nodes there are, and where they listen", "braid node list"),
        ("everything at a glance", "braid node overview"),
    ),
    "sample": (
        ("which figures there are", "braid sample list --topic orders"),
        ("one of them over the last hour", "braid sample show messages_in --topic orders --step 5m"),
    ),
    "connection": (("who is there", "braid connection list"),),
    "alarm": (
        ("what is wrong now", "braid alarm list --state firing"),
        ("what counts as wrong", "braid alarm rules"),
        ("tell when billing is behind", "braid alarm add late --kind lag --threshold 1000 --for 1m --scope billing"),
        ("nobody shall be told for a while", "braid alarm silence 'disk is being replaced' --for 2h --rule late"),
        ("what is silenced", "braid alarm silences"),
        ("take the rule away", "braid alarm remove late --yes"),
    ),
    "inspect": (
        ("look now", "braid inspect run"),
        ("those before", "braid inspect list"),
        ("the latest, for a script", "braid inspect show -o json"),
    ),
    "setting": (
        ("what is not as by default", "braid setting list --changed"),
        ("one of them", "braid setting get trace.events"),
        ("change it on all nodes", "braid setting set trace.events off"),
        ("take it back", "braid setting unset trace.events --yes"),
    ),
    "audit": (("who changed what in the last hour", "braid audit --from 1h"),),
    "bench": (
        ("how fast it keeps messages", "braid bench produce --messages 1000"),
        ("the same by Kafka", "braid bench produce --protocol kafka --messages 1000"),
        ("how fast it gives them out", "braid bench consume --messages 1000 -o json"),
        ("how long a message takes", "braid bench latency --messages 50"),
    ),
    "top": (("one look, for a script", "braid top -o json --count 1"),),
    "demo": (
        ("see what it makes", "braid demo --dry-run"),
        ("fill the node once", "braid demo --minutes 0"),
        ("take it away again", "braid demo --clean --yes"),
    ),
    "support-bundle": (("for people who help", "braid support-bundle --file bundle.zip"),),
    "completion": (("for bash", "braid completion bash"),),
}
