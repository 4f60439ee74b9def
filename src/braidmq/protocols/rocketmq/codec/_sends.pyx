"""Plain sends, many at once: from the bytes of a connection to records, and from offsets to answers. Hot path.

A plain send is what RocketMQ's own producers send most: one message that goes to its queue at once, or the first half
of a transaction, with a JSON header of the second version. What becomes of it here is what `decode_request`,
`read_header` and `make_message` make of the same bytes (for a half, with what `_deferred.py` adds to its properties and
`core/delivery` to the record), and its answer is what `encode_command` writes. Whatever is not quite as expected is left
to them: reading stops in front of it, before anything has happened. Among sends stand the words of producers on halves that they sent
before, to which nobody expects an answer: they are read in the same go.

One idea: nothing is made of a message but its record. The header is looked through where it lies, and only what the
record needs is copied.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy

from braidmq.records._varints cimport varint_bytes, write_varint

from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    GROUP_HEADER,
    HALF_HEADER,
    HTTP_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
)
from braidmq.model.names import RETRY_TOPIC_PREFIX
from braidmq.protocols.rocketmq.codec._frames import HEADER_BYTES_MAX, ONEWAY_FLAG
from braidmq.protocols.rocketmq.codec.codes import RequestCode
from braidmq.protocols.rocketmq.codec.headers import TransactionEnd
from braidmq.protocols.rocketmq.codec.mapping import FRESH, FRESH_KIND
from braidmq.protocols.rocketmq.codec.messages import (
    BORN_HOST_IPV6,
    COMPRESSED,
    STORE_HOST_IPV6,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
)

cdef enum:
    PROPERTIES_MAX = 32
    TEXT_BYTES_MAX = 4096  # of properties; longer ones are rare
    ANSWER_BYTES = 320  # enough for an answer, but for the texts in it
    OWN_FIXED_BYTES = 21

cdef int64_t INT_MIN = -(1 << 31)
cdef int64_t INT_MAX = (1 << 31) - 1
cdef int64_t LONG_MAX = (1 << 63) - 1
cdef int64_t BORN_MAX = 1 << 60
cdef int64_t SPECIAL_BITS = COMPRESSED | BORN_HOST_IPV6 | STORE_HOST_IPV6
cdef int64_t SEND = RequestCode.SEND_MESSAGE_V2
cdef int64_t END = RequestCode.END_TRANSACTION
cdef int64_t ONEWAY = ONEWAY_FLAG
cdef int64_t COMMIT = TransactionEnd.COMMIT
cdef int64_t ROLLBACK = TransactionEnd.ROLLBACK
cdef Py_ssize_t HEADER_MAX = HEADER_BYTES_MAX
cdef unsigned char OWN_KIND = FRESH_KIND
cdef bytes OWN = ROCKETMQ_HEADER.encode()
cdef bytes ATTEMPT = ATTEMPT_HEADER.encode()
cdef bytes HTTP = HTTP_HEADER.encode()
cdef bytes ID = ID_HEADER.encode()
cdef bytes KEYS = KEYS_HEADER.encode()
cdef bytes SHARDING_KEY = SHARDING_KEY_HEADER.encode()
cdef bytes RETRY_PREFIX = RETRY_TOPIC_PREFIX.encode()
cdef bytes BORN = BORN_HEADER.encode()
cdef bytes HALF = HALF_HEADER.encode()
cdef bytes GROUP = GROUP_HEADER.encode()
cdef bytes REAL_TOPIC = b"REAL_TOPIC"
cdef bytes REAL_QUEUE = b"REAL_QID"
cdef bytes IMMUNITY = b"CHECK_IMMUNITY_TIME_IN_SECONDS"
cdef int64_t HALF_KEPT_BITS = ~TRANSACTION_MASK
cdef int64_t HALF_BITS = TRANSACTION_COMMIT
cdef tuple SPECIAL = (b"DELAY\x01", b"TIMER_DEL", b"REPLY_TO_CLIENT")  # not mere properties

if FRESH.size != OWN_FIXED_BYTES:
    raise ImportError("the header of what only RocketMQ has is written here as well, and must be changed in both places")


cdef struct Text:
    Py_ssize_t begin
    Py_ssize_t end


cdef struct Property:
    Text name
    Text value


cdef class Sends:
    """Messages of one connection for one queue, in the order in which they came."""

    cdef readonly bint are_halves
    cdef readonly list groups  # of halves: who is asked, one for each message
    cdef readonly str topic
    cdef readonly int queue_id
    cdef readonly list contents  # their records, but for their places in a batch
    cdef readonly list times
    cdef readonly bint has_sharding_key  # at least one of them
    cdef readonly Py_ssize_t body_bytes_max  # the size of the largest body
    cdef readonly Py_ssize_t frame_bytes  # what the requests took up, all together
    cdef bytes data
    cdef bytes topic_bytes
    cdef list opaques
    cdef list ids
    cdef list places

    def __len__(self):
        return len(self.contents)

    def opaque(self, Py_ssize_t nth):
        """The number of a request."""
        return self.opaques[nth]

    def frames(self):
        """The requests as they came, without their lengths: for the general way."""
        return [self.data[begin:end] for begin, end in self.places]

    def alone(self):
        """Each of the messages for itself."""
        found = []
        for nth in range(len(self.contents)):
            one = group(self.data, self.topic_bytes, self.queue_id, self.are_halves)
            one.has_sharding_key, one.body_bytes_max = self.has_sharding_key, self.body_bytes_max
            one.add(self.contents[nth], self.times[nth], self.opaques[nth], self.ids[nth], self.places[nth])
            found.append(one)
        return found

    def message_id(self, Py_ssize_t nth):
        return self.ids[nth].decode("ascii")

    cdef add(self, bytes content, time, opaque, bytes unique_id, tuple place):
        self.contents.append(content)
        self.times.append(time)
        self.opaques.append(opaque)
        self.ids.append(unique_id)
        self.places.append(place)
        self.frame_bytes += place[1] - place[0]

    def answers(self, int version, bytes region, bytes id_begin, int64_t place, int64_t offset):
        """What the producer is told, frame behind frame: the messages lie from this offset on, and from this place on
        in the node. `id_begin` is what offset ids begin with."""
        return self.write_answers(version, region, id_begin, place, offset, None)

    def half_answers(self, int version, bytes region, bytes id_begin, list numbers):
        """The same for halves, which are known by two numbers each, in the place of offset and place."""
        if len(numbers) != len(self.contents):
            raise ValueError("each half has its numbers")
        return self.write_answers(version, region, id_begin, 0, 0, numbers)

    cdef bytes write_answers(
        self, int version, bytes region, bytes id_begin, int64_t place, int64_t offset, list numbers
    ):
        cdef Py_ssize_t nth, count = len(self.contents), room = 0, used = 0, head
        cdef bytes unique_id
        cdef unsigned char *at
        for unique_id in self.ids:
            room += ANSWER_BYTES + PyBytes_GET_SIZE(unique_id)
        room += count * (PyBytes_GET_SIZE(region) + PyBytes_GET_SIZE(id_begin))
        cdef bytes answers = PyBytes_FromStringAndSize(NULL, room)
        cdef char *text = PyBytes_AS_STRING(answers)
        for nth in range(count):
            if numbers is not None:
                offset, place = numbers[nth]
                offset, place = offset - nth, place - nth
            unique_id = self.ids[nth]
            head = snprintf(
                text + used + 8,
                room - used - 8,
                b'{"code":0,"opaque":%d,"flag":1,"language":"JAVA","version":%d,"serializeTypeCurrentRPC":"JSON",'
                b'"extFields":{"msgId":"%s%016llX","queueId":"%d","queueOffset":"%lld","transactionId":"%s",'
                b'"MSG_REGION":"%s","TRACE_ON":"true"}}',
                <int> self.opaques[nth],
                version,
                PyBytes_AS_STRING(id_begin),
                <long long> (place + nth),
                self.queue_id,
                <long long> (offset + nth),
                PyBytes_AS_STRING(unique_id),
                PyBytes_AS_STRING(region),
            )
            if head < 0 or head >= room - used - 8:
                raise RuntimeError("an answer is longer than was thought")
            at = <unsigned char *> text + used
            write32(at, <uint32_t> (head + 4))
            write32(at + 4, <uint32_t> head)
            used += head + 8
        return answers[:used]


cdef Sends group(bytes data, bytes topic, int queue_id, bint are_halves):
    cdef Sends made = Sends.__new__(Sends)
    made.are_halves, made.groups = are_halves, []
    made.data, made.topic_bytes, made.topic, made.queue_id = data, topic, topic.decode("ascii"), queue_id
    made.contents, made.times, made.opaques, made.ids, made.places = [], [], [], [], []
    return made


def read_sends(bytes data, Py_ssize_t position, Py_ssize_t frame_bytes_max, int64_t store_ms, bytes ip, int port):
    """The plain sends that begin at this position, by queue, the words on halves between them, and where the first
    frame begins that is neither, or not whole.

    A word is the two numbers of the half, whether it is to be committed, the producer's group, whether it was asked,
    and where its frame begins and ends. `store_ms` is the time of storing, `ip` and `port` are where messages were born.
    """
    cdef Reader reader = Reader.__new__(Reader)
    cdef Py_ssize_t frame_bytes, begin, end
    cdef list groups = [], words = []
    cdef Sends found
    cdef bytes content
    reader.whole, reader.data = data, data
    reader.store_ms, reader.ip, reader.port = store_ms, ip, port
    while position + 8 <= len(data):
        frame_bytes = reader.word(position)
        begin, end = position + 4, position + 4 + frame_bytes
        if not 4 <= frame_bytes <= frame_bytes_max or end > len(data):
            break
        reader.at, reader.end = begin + 4, begin + 4 + reader.word(begin)
        if reader.end - reader.at > HEADER_MAX or reader.end > end or not reader.read_header():
            break
        if reader.code == END:
            words.append(reader.said(begin, end))
            position = end
            continue
        content = reader.content(reader.end, end)
        found = reader.group_of(groups)
        found.add(content, reader.born_ms, reader.opaque, reader.slice(reader.text_of(reader.id_at)), (begin, end))
        if found.are_halves:
            found.groups.append(reader.slice(reader.text_of(reader.group_at)).decode())
        found.has_sharding_key |= reader.sharding_key_at >= 0
        found.body_bytes_max = max(found.body_bytes_max, end - reader.end)
        position = end
    return position, groups, words


cdef class Reader:
    """Looks through one header after the other. What a method does not understand it answers with False or None."""

    cdef bytes whole
    cdef const unsigned char[::1] data
    cdef Py_ssize_t at, end
    cdef int64_t code, store_ms, opaque, queue_id, sys_flag, flag, born_ms
    cdef int64_t first, second
    cdef bint is_commit, is_asked
    cdef int port
    cdef bytes ip
    cdef Text topic, written
    cdef bint is_escaped, is_wide, is_text_wide
    cdef unsigned int seen
    cdef unsigned char text[TEXT_BYTES_MAX]  # the properties
    cdef Py_ssize_t text_bytes
    cdef Property properties[PROPERTIES_MAX]
    cdef int count, id_at, keys_at, sharding_key_at, half_at, group_at
    cdef bint is_odd_half

    cdef uint32_t word(self, Py_ssize_t at) except? 0:
        return (
            <uint32_t> self.data[at] << 24
            | <uint32_t> self.data[at + 1] << 16
            | <uint32_t> self.data[at + 2] << 8
            | self.data[at + 3]
        )

    # JSON.

    cdef bint read_header(self) except -1:
        """The header from `at` to `end`, whose first field is the code. A word below 1 << 24 in front of it said that
        it is JSON."""
        cdef Text name, value
        cdef int64_t number, flag = 0
        self.seen = 0
        self.opaque = self.code = 0
        if not self.take(b"{"):
            return False
        while True:
            if not self.read_name(&name):
                return False
            if self.says(name, b"extFields"):
                if not self.once(0) or not (self.read_fields() if self.code == SEND else self.read_word()):
                    return False
            elif self.at < self.end and self.data[self.at] == 34:
                if not self.read_string(&value) or self.is_escaped or self.is_wide or self.is_number(name):
                    return False
            elif not self.read_number(&number):
                return False
            elif self.says(name, b"code"):
                if not self.once(1) or (number != SEND and number != END):
                    return False
                self.code = number
            elif self.says(name, b"flag"):
                if not self.once(2):
                    return False
                flag = number
            elif self.says(name, b"opaque"):
                if not self.once(3):
                    return False
                self.opaque = number
            elif self.says(name, b"version"):
                if not self.once(4):
                    return False
            elif not self.says(name, b"language") or not self.once(5):
                return False
            if self.take(b"}"):
                break
            if not self.take(b","):
                return False
        return self.seen & 1 and self.at == self.end and flag == (0 if self.code == SEND else ONEWAY)

    cdef bint is_number(self, Text name) except -1:
        """Whether a text under this name would be in the wrong place."""
        return (
            self.says(name, b"code") or self.says(name, b"flag") or self.says(name, b"opaque")
            or self.says(name, b"version")
        )

    cdef bint read_fields(self) except -1:
        """The fields of the send: all of them texts, each at most once, and none that changes what the send means."""
        cdef Text name, value
        cdef int64_t number
        cdef unsigned char letter
        if not self.take(b"{"):
            return False
        while True:
            if not self.read_name(&name) or not self.read_string(&value):
                return False
            letter = self.data[name.begin] if name.end - name.begin == 1 else 0
            if letter == 105:  # i
                if not self.once(14):
                    return False
                if not self.read_properties(value):
                    return False
            elif self.is_escaped or self.is_wide:
                return False
            elif letter == 97 or letter == 99 or letter == 110:  # a, c, n: texts that nobody needs here
                if not self.once(6 if letter == 97 else 7 if letter == 99 else 15):
                    return False
            elif letter == 98:  # b
                if not self.once(8) or value.begin == value.end:
                    return False
                self.topic = value
            elif letter == 107 or letter == 109:  # k, m
                if not self.once(16 if letter == 107 else 17) or not (
                    self.says(value, b"false") or letter == 107 and self.says(value, b"true")
                ):
                    return False
            elif letter == 103:  # g
                if not self.once(9) or not self.number_in(value, &self.born_ms) or not 0 <= self.born_ms <= BORN_MAX:
                    return False
            elif letter == 100 or 101 <= letter <= 104 or letter == 106 or letter == 108:  # d, e, f, h, j, l
                if not self.number_in(value, &number) or not INT_MIN <= number <= INT_MAX:
                    return False
                if not self.note_number(letter, number):
                    return False
            elif name.begin == name.end or not self.is_unknown(name):
                return False
            if self.take(b"}"):
                break
            if not self.take(b","):
                return False
        # All that a send must have, and properties besides.
        return self.seen & 0x7FC0 == 0x7FC0 and self.queue_id >= 0 and not self.is_retry()

    cdef bint read_word(self) except -1:
        """The fields of a word on a half: all of them texts, each at most once."""
        cdef Text name, value
        cdef int64_t number
        if self.code != END or not self.take(b"{"):
            return False
        self.is_asked = False
        while True:
            if not self.read_name(&name) or not self.read_string(&value) or self.is_escaped or self.is_wide:
                return False
            if self.says(name, b"producerGroup"):
                if not self.once(6):
                    return False
                self.topic = value
            elif self.says(name, b"tranStateTableOffset"):
                if not self.once(7) or not self.number_in(value, &self.first) or self.first < 0:
                    return False
            elif self.says(name, b"commitLogOffset"):
                if not self.once(8) or not self.long_number_in(value, &self.second):
                    return False
            elif self.says(name, b"commitOrRollback"):
                if not self.once(9) or not self.number_in(value, &number) or (number != COMMIT and number != ROLLBACK):
                    return False
                self.is_commit = number == COMMIT
            elif self.says(name, b"msgId"):
                if not self.once(10):
                    return False
            elif self.says(name, b"fromTransactionCheck"):
                self.is_asked = self.says(value, b"true")
                if not self.once(11) or not (self.is_asked or self.says(value, b"false")):
                    return False
            elif name.begin == name.end or not self.is_unknown(name):
                return False
            if self.take(b"}"):
                break
            if not self.take(b","):
                return False
        return self.seen & 0x7C0 == 0x7C0  # all that such a word must have

    cdef tuple said(self, Py_ssize_t begin, Py_ssize_t end):
        group = self.whole[self.topic.begin : self.topic.end].decode("ascii")
        return self.first, self.second, self.is_commit, group, self.is_asked, begin, end

    cdef bint note_number(self, unsigned char letter, int64_t number) except -1:
        if letter == 100:  # d
            return self.once(10)
        if letter == 101:  # e
            self.queue_id = number
            return self.once(11)
        if letter == 102:  # f
            self.sys_flag = number
            return self.once(12) and not number & SPECIAL_BITS
        if letter == 104:  # h
            self.flag = number
            return self.once(13)
        if letter == 106:  # j
            return self.once(18) and number == 0
        return self.once(19)

    cdef bint is_unknown(self, Text name) except -1:
        """Whether a field means nothing to anybody: those that clients since 5.0 add mean something."""
        return not (
            self.says(name, b"ns") or self.says(name, b"nsd") or self.says(name, b"oway") or self.says(name, b"lo")
        )

    cdef bint is_retry(self) except -1:
        cdef Py_ssize_t size = len(RETRY_PREFIX)
        return self.topic.end - self.topic.begin >= size and (
            memcmp(&self.data[self.topic.begin], PyBytes_AS_STRING(RETRY_PREFIX), size) == 0
        )

    cdef bint once(self, int bit) noexcept:
        """False for what comes a second time."""
        cdef unsigned int mask = 1 << bit
        if self.seen & mask:
            return False
        self.seen |= mask
        return True

    cdef bint take(self, const char *byte) except -1:
        if self.at < self.end and self.data[self.at] == <unsigned char> byte[0]:
            self.at += 1
            return True
        return False

    cdef bint says(self, Text text, const char *word) except -1:
        cdef Py_ssize_t at
        for at in range(text.begin, text.end):
            if word[at - text.begin] == 0 or self.data[at] != <unsigned char> word[at - text.begin]:
                return False
        return word[text.end - text.begin] == 0

    cdef bint read_name(self, Text *name) except -1:
        return self.read_string(name) and not self.is_escaped and not self.is_wide and self.take(b":")

    cdef bint read_string(self, Text *text) except -1:
        cdef unsigned char byte
        self.is_escaped = self.is_wide = False
        if not self.take(b'"'):
            return False
        text.begin = self.at
        while self.at < self.end:
            byte = self.data[self.at]
            if byte == 34:
                text.end = self.at
                self.at += 1
                return True
            if byte < 32:
                return False
            if byte == 92:
                self.is_escaped = True
                self.at += 1
            elif byte >= 128:
                self.is_wide = True
            self.at += 1
        return False

    cdef bint read_number(self, int64_t *number) except -1:
        """A whole number of 32 bits."""
        cdef Text digits
        digits.begin = self.at
        while self.at < self.end and (48 <= self.data[self.at] <= 57 or self.data[self.at] == 45):
            self.at += 1
        digits.end = self.at
        return self.number_in(digits, number) and INT_MIN <= number[0] <= INT_MAX

    cdef bint number_in(self, Text text, int64_t *number) except -1:
        """A whole number in its usual form, of at most 18 digits."""
        cdef bint is_negative = text.begin < text.end and self.data[text.begin] == 45
        cdef Py_ssize_t at = text.begin + is_negative
        cdef Py_ssize_t digits = text.end - at
        number[0] = 0
        if not 1 <= digits <= 18 or (self.data[at] == 48 and (digits > 1 or is_negative)):
            return False
        while at < text.end:
            if not 48 <= self.data[at] <= 57:
                return False
            number[0] = number[0] * 10 + (self.data[at] - 48)
            at += 1
        if is_negative:
            number[0] = -number[0]
        return True

    cdef bint long_number_in(self, Text text, int64_t *number) except -1:
        """One of up to 63 bits, which may have a digit more."""
        cdef Text front
        if text.end - text.begin < 19:
            return self.number_in(text, number) and number[0] >= 0
        front.begin, front.end = text.begin, text.end - 1
        if text.end - text.begin > 19 or not self.number_in(front, number) or not 48 <= self.data[front.end] <= 57:
            return False
        if number[0] < 0 or number[0] > (LONG_MAX - (self.data[front.end] - 48)) // 10:
            return False
        number[0] = number[0] * 10 + (self.data[front.end] - 48)
        return True

    # Properties.

    cdef bint read_properties(self, Text value) except -1:
        """The text, its escapes undone, and what is where in it."""
        cdef bint is_wide = self.is_wide
        if not self.unescape(value):
            return False
        if is_wide or self.is_text_wide:
            try:
                self.text[: self.text_bytes].decode("utf-8")
            except UnicodeDecodeError:
                return False
        self.is_text_wide = is_wide or self.is_text_wide
        for word in SPECIAL:
            if self.has(word):
                return False
        return self.split_properties()

    cdef bint unescape(self, Text value) except -1:
        cdef Py_ssize_t at = value.begin, used = 0
        cdef unsigned char byte
        cdef int point
        self.is_text_wide = False
        while at < value.end:
            if used + 3 > TEXT_BYTES_MAX:
                return False
            byte = self.data[at]
            at += 1
            if byte == 92:
                if at >= value.end:
                    return False
                byte = self.data[at]
                at += 1
                if byte == 117:  # u
                    point = self.four_digits(at, value.end)
                    at += 4
                    if point < 0 or 0xD800 <= point <= 0xDFFF:
                        return False
                    if point >= 0x80:
                        self.is_text_wide = True
                        if point >= 0x800:
                            self.text[used] = <unsigned char> (0xE0 | point >> 12)
                            self.text[used + 1] = <unsigned char> (0x80 | point >> 6 & 0x3F)
                            used += 2
                        else:
                            self.text[used] = <unsigned char> (0xC0 | point >> 6)
                            used += 1
                        point = 0x80 | point & 0x3F
                    byte = <unsigned char> point
                elif byte == 98:  # b
                    byte = 8
                elif byte == 102:  # f
                    byte = 12
                elif byte == 110:  # n
                    byte = 10
                elif byte == 114:  # r
                    byte = 13
                elif byte == 116:  # t
                    byte = 9
                elif byte != 34 and byte != 47 and byte != 92:
                    return False
            self.text[used] = byte
            used += 1
        self.text_bytes = used
        return True

    cdef int four_digits(self, Py_ssize_t at, Py_ssize_t end) except -2:
        """-1 for what is no number."""
        cdef int value = 0, digit
        cdef Py_ssize_t nth
        if at + 4 > end:
            return -1
        for nth in range(at, at + 4):
            digit = self.data[nth]
            if 48 <= digit <= 57:
                digit -= 48
            elif 97 <= digit <= 102:
                digit -= 87
            elif 65 <= digit <= 70:
                digit -= 55
            else:
                return -1
            value = value * 16 + digit
        return value

    cdef bint has(self, bytes word) noexcept:
        cdef Py_ssize_t size = PyBytes_GET_SIZE(word), at
        cdef char *wanted = PyBytes_AS_STRING(word)
        for at in range(self.text_bytes - size + 1):
            if self.text[at] == <unsigned char> wanted[0] and memcmp(&self.text[at], wanted, size) == 0:
                return True
        return False

    cdef bint split_properties(self) except -1:
        """`name \\x01 value \\x02`, repeated; the last separator may be missing."""
        cdef Py_ssize_t at, begin = 0
        cdef bint in_value = False
        cdef Property *one
        self.count, self.id_at, self.keys_at, self.sharding_key_at = 0, -1, -1, -1
        self.half_at, self.group_at, self.is_odd_half = -1, -1, False
        for at in range(self.text_bytes + 1):
            if at < self.text_bytes and self.text[at] > 2:
                continue
            if at == self.text_bytes and not in_value:
                return begin == at and self.count > 0 and self.is_understood()
            if at < self.text_bytes and self.text[at] == 0:
                continue
            if at < self.text_bytes and (self.text[at] == 2) != in_value:
                return False
            if self.count == PROPERTIES_MAX:
                return False
            one = &self.properties[self.count]
            if in_value:
                one.value.begin, one.value.end = begin, at
                if not self.know(one):
                    return False
                self.count += 1
            else:
                one.name.begin, one.name.end = begin, at
            in_value = not in_value
            begin = at + 1
        return self.is_understood()

    cdef bint know(self, Property *one) noexcept:
        """False for names that are empty, ours, or there already."""
        cdef Text name = one.name
        cdef int nth
        if name.begin == name.end:
            return False
        if self.is_text(name, OWN) or self.is_text(name, ATTEMPT) or self.is_text(name, HTTP):
            return False
        for nth in range(self.count):
            if self.is_same(self.properties[nth].name, name):
                return False
        if self.is_text(name, ID):
            self.id_at = self.count
        elif self.is_text(name, KEYS):
            self.keys_at = self.count
        elif self.is_text(name, SHARDING_KEY):
            self.sharding_key_at = self.count
        elif self.is_text(name, HALF):
            self.half_at = self.count
        elif self.is_text(name, GROUP):
            self.group_at = self.count
        elif (
            self.is_text(name, REAL_TOPIC)
            or self.is_text(name, REAL_QUEUE)
            or self.is_text(name, IMMUNITY)
            or self.is_text(name, BORN)
        ):
            self.is_odd_half = True
        return True

    cdef bint is_understood(self) noexcept:
        """Whether there is an id that JSON takes as it is; and of a half, all that one usually has."""
        cdef Py_ssize_t at
        cdef unsigned char byte
        if self.id_at < 0:
            return False
        if self.half_at >= 0 and (
            self.is_odd_half or self.group_at < 0 or not self.is_text(self.text_of(self.half_at), b"true")
        ):
            return False
        if self.half_at < 0 and self.has(b"TRAN_MSG\x01"):
            return False  # the end of another property's name
        cdef Text value = self.properties[self.id_at].value
        for at in range(value.begin, value.end):
            byte = self.text[at]
            if not (48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122):
                return False
        return value.begin < value.end

    cdef bint is_text(self, Text text, bytes word) noexcept:
        return text.end - text.begin == PyBytes_GET_SIZE(word) and (
            memcmp(&self.text[text.begin], PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word)) == 0
        )

    cdef bint is_same(self, Text one, Text other) noexcept:
        return one.end - one.begin == other.end - other.begin and (
            memcmp(&self.text[one.begin], &self.text[other.begin], one.end - one.begin) == 0
        )

    cdef Text text_of(self, int nth) noexcept:
        return self.properties[nth].value

    cdef bytes slice(self, Text text):
        return PyBytes_FromStringAndSize(<char *> &self.text[text.begin], text.end - text.begin)

    # The record.

    cdef bytes key(self):
        """The sharding key, or else the first of the keys."""
        cdef Text keys
        cdef Py_ssize_t at
        if self.sharding_key_at >= 0:
            keys = self.text_of(self.sharding_key_at)
            if keys.begin < keys.end:
                return self.slice(keys)
        if self.keys_at < 0:
            return None
        keys = self.text_of(self.keys_at)
        if self.is_text_wide:
            words = self.slice(keys).decode().split(maxsplit=1)
            return words[0].encode() if words else None
        while keys.begin < keys.end and is_space(self.text[keys.begin]):
            keys.begin += 1
        for at in range(keys.begin, keys.end):
            if is_space(self.text[at]):
                keys.end = at
                break
        return self.slice(keys) if keys.begin < keys.end else None

    cdef bytes content(self, Py_ssize_t body_at, Py_ssize_t body_end):
        """The record of a message with this body, but for its place in a batch."""
        cdef bytes key = self.key(), made
        cdef bint is_half = self.half_at >= 0
        cdef bytes topic = self.whole[self.topic.begin : self.topic.end] if is_half else b""
        cdef bytes queue_id = b"%d" % self.queue_id if is_half else b""
        cdef bytes born = b"%d" % self.born_ms if is_half else b""
        cdef Py_ssize_t body_bytes = body_end - body_at, key_bytes = -1 if key is None else PyBytes_GET_SIZE(key)
        cdef Py_ssize_t own_bytes = OWN_FIXED_BYTES + PyBytes_GET_SIZE(self.ip)
        cdef Py_ssize_t size = varint_bytes(key_bytes) + max(key_bytes, 0) + varint_bytes(body_bytes) + body_bytes
        cdef int headers = self.count + (4 if is_half else 1), nth
        cdef unsigned char *at
        size += varint_bytes(headers)
        for nth in range(self.count):
            size += sized(self.properties[nth].name) + sized(self.properties[nth].value)
        size += measured(OWN) + varint_bytes(own_bytes) + own_bytes
        if is_half:
            size += measured(REAL_TOPIC) + measured(topic) + measured(REAL_QUEUE) + measured(queue_id)
            size += measured(BORN) + measured(born)
        made = PyBytes_FromStringAndSize(NULL, size)
        at = write_varint(<unsigned char *> PyBytes_AS_STRING(made), key_bytes)
        if key_bytes > 0:
            at = write_bytes(at, PyBytes_AS_STRING(key), key_bytes)
        at = write_varint(at, body_bytes)
        at = write_bytes(at, PyBytes_AS_STRING(self.whole) + body_at, body_bytes)
        at = write_varint(at, headers)
        for nth in range(self.count):
            at = self.write_text(at, self.properties[nth].name)
            at = self.write_text(at, self.properties[nth].value)
        if is_half:
            at = write_word(write_word(at, REAL_TOPIC), topic)
            at = write_word(write_word(at, REAL_QUEUE), queue_id)
        at = self.write_own(write_varint(write_word(at, OWN), own_bytes), is_half)
        if is_half:
            at = write_word(write_word(at, BORN), born)
        if at != <unsigned char *> PyBytes_AS_STRING(made) + size:
            raise RuntimeError("a record was measured wrongly")
        return made

    cdef unsigned char *write_text(self, unsigned char *at, Text text) noexcept:
        at = write_varint(at, text.end - text.begin)
        return write_bytes(at, <const char *> &self.text[text.begin], text.end - text.begin)

    cdef unsigned char *write_own(self, unsigned char *at, bint is_half) noexcept:
        """What `mapping.own_header` writes."""
        at[0] = OWN_KIND
        write32(at + 1, <uint32_t> self.flag)
        write32(at + 5, <uint32_t> (self.sys_flag & HALF_KEPT_BITS | HALF_BITS if is_half else self.sys_flag))
        write32(at + 9, <uint32_t> (self.store_ms >> 32))
        write32(at + 13, <uint32_t> self.store_ms)
        write32(at + 17, <uint32_t> self.port)
        return write_bytes(at + OWN_FIXED_BYTES, PyBytes_AS_STRING(self.ip), PyBytes_GET_SIZE(self.ip))

    cdef Sends group_of(self, list groups):
        """The messages that came before for the same queue."""
        cdef Sends each
        cdef Py_ssize_t size = self.topic.end - self.topic.begin
        for each in groups:
            if each.are_halves != (self.half_at >= 0):
                continue
            if each.queue_id == self.queue_id and PyBytes_GET_SIZE(each.topic_bytes) == size and (
                memcmp(PyBytes_AS_STRING(each.topic_bytes), &self.data[self.topic.begin], size) == 0
            ):
                return each
        each = group(
            self.whole, self.whole[self.topic.begin : self.topic.end], <int> self.queue_id, self.half_at >= 0
        )
        groups.append(each)
        return each


cdef inline Py_ssize_t sized(Text text) noexcept:
    return varint_bytes(text.end - text.begin) + text.end - text.begin


cdef inline Py_ssize_t measured(bytes word) noexcept:
    return varint_bytes(PyBytes_GET_SIZE(word)) + PyBytes_GET_SIZE(word)


cdef inline unsigned char *write_word(unsigned char *at, bytes word) noexcept:
    at = write_varint(at, PyBytes_GET_SIZE(word))
    return write_bytes(at, PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))


cdef inline unsigned char *write_bytes(unsigned char *at, const char *data, Py_ssize_t size) noexcept:
    memcpy(at, data, size)
    return at + size


cdef inline void write32(unsigned char *at, uint32_t value) noexcept:
    at[0] = <unsigned char> (value >> 24)
    at[1] = <unsigned char> (value >> 16)
    at[2] = <unsigned char> (value >> 8)
    at[3] = <unsigned char> value


cdef inline bint is_space(unsigned char byte) noexcept:
    """What `str.split` splits at, among the first 128 characters."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31
