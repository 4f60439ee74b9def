import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;

/**
 * Writes and reads what every client of the matrix writes and reads:
 * write BOOTSTRAP TOPIC NAME COUNT TEXT, or read BOOTSTRAP GROUP COUNT TOPIC…
 */
public class KafkaMatrix {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            write(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]), arguments[5]);
        } else {
            for (int at = 4; at < arguments.length; at++) {
                read(arguments[1], arguments[2] + at, Integer.parseInt(arguments[3]), arguments[at]);
            }
        }
    }

    private static void write(String bootstrap, String topic, String name, int count, String text) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int at = 0; at < count; at++) {
                String key = at % 2 == 0 ? "shard" : "key" + at % 4;
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, key, name + " " + at + " " + text);
                record.headers().add("TAGS", bytes("tag" + at % 3)).add("KEYS", bytes("key" + at % 4 + " second"))
                        .add("number", bytes(String.valueOf(at))).add("odd", bytes(text));
                if (at % 2 == 0) {
                    record.headers().add("__SHARDINGKEY", bytes("shard"));
                }
                producer.send(record).get();
            }
            producer.send(new ProducerRecord<>(topic, "only-key", "plain")).get();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void read(String bootstrap, String group, int count, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        long deadline = System.currentTimeMillis() + 60_000;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            for (int seen = 0; seen < count && System.currentTimeMillis() < deadline; ) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(line(each));
                    seen++;
                }
            }
        }
    }

    private static String line(ConsumerRecord<String, String> record) {
        StringBuilder headers = new StringBuilder();
        for (Header each : record.headers()) {
            headers.append(headers.length() == 0 ? "" : ",").append(quoted(each.key())).append(':')
                    .append(quoted(new String(each.value(), StandardCharsets.ISO_8859_1)));
        }
        return "{\"topic\":" + quoted(record.topic()) + ",\"key\":" + quoted(record.key()) + ",\"body\":"
                + quoted(record.value()) + ",\"latin1 headers\":{" + headers + "},\"timestamp\":" + record.timestamp()
                + ",\"partition\":" + record.partition() + ",\"offset\":" + record.offset() + "}";
    }

    private static String quoted(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            boolean plain = each >= ' ' && each <= '~' && each != '"' && each != '\\';
            out.append(plain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        return out.append('"').toString();
    }
}
