"""The second phase of a transactional message. Producers do not wait for its answer; tools may."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._deferred import half_id_of_numbers
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.headers import EndTransactionRequestHeader, TransactionEnd


@answers(RequestCode.END_TRANSACTION, action=Action.PUBLISH, resource=ResourceKind.TOPIC)
async def end_transaction(call: Call[EndTransactionRequestHeader]) -> Answer:
    """Who does not know yet is asked again later."""
    header = call.header
    if header.commit_or_rollback is not TransactionEnd.UNKNOWN:
        half_id = half_id_of_numbers(header.tran_state_table_offset, header.commit_log_offset)
        await call.services.halves.end(
            half_id.hex,
            commit=header.commit_or_rollback is TransactionEnd.COMMIT,
            group=header.producer_group,
            asked=header.from_transaction_check,
        )
    return Answer()
