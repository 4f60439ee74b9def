import com.alibaba.fastjson.JSON;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeMap;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.compression.CompressorFactory;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageId;
import org.apache.rocketmq.remoting.CommandCustomHeader;
import org.apache.rocketmq.remoting.protocol.LanguageCode;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.ResponseCode;

/** Reads what it is given with RocketMQ's own classes and writes it again: one line in, one line out. */
public class RocketMQClasses {
    private static final String PROTOCOL = "org.apache.rocketmq.remoting.protocol.";
    private static final List<String> PLACES = List.of(
        PROTOCOL + "header.", PROTOCOL + "header.namesrv.", PROTOCOL + "body.", PROTOCOL + "heartbeat.",
        PROTOCOL + "route.", PROTOCOL + "admin.", PROTOCOL + "subscription.", PROTOCOL, PROTOCOL + "body.AclInfo$",
        "org.apache.rocketmq.common.", "org.apache.rocketmq.common.message.");

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(answer(line.split(" ", -1))).append('\n');
        }
        System.out.print(out);
    }

    private static String answer(String[] words) {
        try {
            switch (words[0]) {
                case "numbers":
                    return numbers();
                case "frame":
                    return hex(frame(words[1]).encode());
                case "header":
                    return header(words[1], frame(words[2]));
                case "body":
                    return hex(RemotingSerializable.encode(RemotingSerializable.decode(bytes(words[2]), find(words[1]))));
                case "list":
                    return hex(RemotingSerializable.encode(RemotingSerializable.decodeList(bytes(words[2]), find(words[1]))));
                case "message":
                    return message(bytes(words[1]));
                case "batch":
                    return hex(MessageDecoder.encodeMessages(MessageDecoder.decodeMessages(ByteBuffer.wrap(bytes(words[1])))));
                case "offset-id":
                    MessageId id = MessageDecoder.decodeMessageId(words[1]);
                    return text(id.getAddress()) + " " + id.getOffset() + " "
                        + MessageDecoder.createMessageId(id.getAddress(), id.getOffset());
                case "new-unique-id":
                    String unique = MessageClientIDSetter.createUniqID();
                    return unique + " " + MessageClientIDSetter.getPidFromID(unique) + " "
                        + hex(MessageClientIDSetter.getIPFromID(unique)) + " " + System.currentTimeMillis();
                case "unique-id":
                    return MessageClientIDSetter.getPidFromID(words[1]) + " " + hex(MessageClientIDSetter.getIPFromID(words[1]))
                        + " " + MessageClientIDSetter.getNearlyTimeFromID(words[1]).getTime();
                case "compress":
                    return hex(CompressorFactory.getCompressor(CompressionType.of(words[1])).compress(bytes(words[2]), 5));
                default:
                    return "unknown question";
            }
        } catch (Throwable error) {
            return "refused " + error.toString().replace('\n', ' ');
        }
    }

    private static RemotingCommand frame(String digits) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(bytes(digits));
        buffer.getInt();
        return RemotingCommand.decode(buffer.slice());
    }

    private static String header(String name, RemotingCommand read) throws Exception {
        Class<? extends CommandCustomHeader> kind = find(name).asSubclass(CommandCustomHeader.class);
        RemotingCommand written = RemotingCommand.createRequestCommand(read.getCode(), read.decodeCommandCustomHeader(kind));
        written.setOpaque(read.getOpaque());
        written.setSerializeTypeCurrentRPC(read.getSerializeTypeCurrentRPC());
        written.setBody(read.getBody());
        io.netty.buffer.ByteBuf out = io.netty.buffer.Unpooled.buffer();
        written.fastEncodeHeader(out);
        byte[] head = new byte[out.readableBytes()];
        out.readBytes(head);
        return hex(head) + (read.getBody() == null ? "" : hex(read.getBody()));
    }

    private static String message(byte[] data) throws Exception {
        MessageExt message = MessageDecoder.decode(ByteBuffer.wrap(data), true, false, false, false, true);
        TreeMap<String, String> properties = new TreeMap<>(message.getProperties());
        byte[] body = message.getBody() == null ? new byte[0] : message.getBody();
        message.setBody(body);
        TreeMap<String, Object> found = new TreeMap<>();
        found.put("topic", message.getTopic());
        found.put("body", hex(body));
        found.put("properties", properties);
        found.put("queue_id", message.getQueueId());
        found.put("queue_offset", message.getQueueOffset());
        found.put("physical_offset", message.getCommitLogOffset());
        found.put("flag", message.getFlag());
        found.put("sys_flag", message.getSysFlag());
        found.put("born_ms", message.getBornTimestamp());
        found.put("born_host", text(message.getBornHost()));
        found.put("store_ms", message.getStoreTimestamp());
        found.put("store_host", text(message.getStoreHost()));
        found.put("reconsume_times", message.getReconsumeTimes());
        found.put("prepared_offset", message.getPreparedTransactionOffset());
        found.put("offset_id", message.getMsgId());
        // Its own writer knows only topics of up to 127 bytes.
        boolean writable = message.getTopic().getBytes(StandardCharsets.UTF_8).length <= 127;
        return hex(JSON.toJSONBytes(found)) + " " + (writable ? hex(MessageDecoder.encode(message, false)) : "");
    }

    private static String numbers() throws Exception {
        StringBuilder out = new StringBuilder();
        for (Class<?> kind : List.of(RequestCode.class, ResponseCode.class)) {
            for (Field field : kind.getFields()) {
                out.append(kind.getSimpleName()).append('.').append(field.getName()).append('=').append(field.get(null)).append(' ');
            }
        }
        for (LanguageCode language : LanguageCode.values()) {
            out.append("Language.").append(language).append('=').append(language.getCode()).append(' ');
        }
        return out.toString().trim();
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String place : PLACES) {
            try {
                return Class.forName(place + name);
            } catch (ClassNotFoundException notHere) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static String text(SocketAddress address) {
        InetSocketAddress host = (InetSocketAddress) address;
        return hex(host.getAddress().getAddress()) + ":" + host.getPort();
    }

    private static byte[] bytes(String digits) {
        byte[] data = new byte[digits.length() / 2];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return data;
    }

    private static String hex(ByteBuffer buffer) {
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        return hex(data);
    }

    private static String hex(byte[] data) {
        StringBuilder digits = new StringBuilder();
        for (byte each : data) {
            digits.append(String.format("%02x", each));
        }
        return digits.toString();
    }
}
