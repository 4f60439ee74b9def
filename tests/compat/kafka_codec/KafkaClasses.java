// Kafka's own classes as an oracle: reads a message from every line, and answers with the bytes that they write for it.
//
//   request 0 9 00ff...          ->  0 00ff...   (bytes left over, and the message written again)
//   response 0 9 00ff...         ->  refused     (the classes would not read it)
//   response 0 9 00ff...         ->  unwritable  (read, but its unknown tags are kept, and cannot be written in order)
//   RequestHeader 2 00ff...      ->  the same for messages that belong to no API

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class KafkaClasses {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(rewritten(line.split(" ", -1)));
        }
    }

    static String rewritten(String[] words) throws Exception {
        Message message = newMessage(words);
        short version = Short.parseShort(words[words.length - 2]);
        ByteBuffer input = ByteBuffer.wrap(HexFormat.of().parseHex(words[words.length - 1]));
        try {
            message.read(new ByteBufferAccessor(input), version);
        } catch (RuntimeException error) {
            return "refused";
        }
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(output), cache, version);
            return input.remaining() + " " + HexFormat.of().formatHex(output.array());
        } catch (RuntimeException error) {
            return "unwritable";
        }
    }

    static Message newMessage(String[] words) throws Exception {
        switch (words[0]) {
            case "request":
                return ApiMessageType.fromApiKey(Short.parseShort(words[1])).newRequest();
            case "response":
                return ApiMessageType.fromApiKey(Short.parseShort(words[1])).newResponse();
            default:
                String suffix = words[0].endsWith("Header") ? "Data" : "";
                Class<?> kind = Class.forName("org.apache.kafka.common.message." + words[0] + suffix);
                return (Message) kind.getDeclaredConstructor().newInstance();
        }
    }
}
