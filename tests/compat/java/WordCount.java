import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Kafka Streams' word count, exactly once: BOOTSTRAP PREFIX FOLDER. Counts, is stopped and started again in the middle on an
 * empty state folder (so the state comes back from its changelog), and must end with exact counts.
 */
public class WordCount {
    static final int LINES = 300;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], prefix = arguments[1];
        String lines = prefix + "-lines", counts = prefix + "-counts";
        try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(Arrays.asList(new NewTopic(lines, 2, (short) 1), new NewTopic(counts, 2, (short) 1))).all().get();
        }
        send(bootstrap, lines, 0, LINES / 2);
        KafkaStreams first = start(bootstrap, prefix, lines, counts, arguments[2] + "/first");
        await(bootstrap, counts, LINES / 2);
        first.close(Duration.ofSeconds(30));
        send(bootstrap, lines, LINES / 2, LINES);
        KafkaStreams second = start(bootstrap, prefix, lines, counts, arguments[2] + "/second");
        Map<String, Long> found = await(bootstrap, counts, LINES);
        second.close(Duration.ofSeconds(30));
        TreeMap<String, Long> expected = new TreeMap<>();
        expected.put("braid", (long) LINES);
        for (int number = 0; number < LINES; number++) expected.merge("word" + number % 7, 1L, Long::sum);
        if (!expected.equals(new TreeMap<>(found))) throw new IllegalStateException(found + " instead of " + expected);
        System.out.println("ok");
    }

    static KafkaStreams start(String bootstrap, String prefix, String lines, String counts, String folder) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(lines)
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word)
                .count()
                .toStream()
                .to(counts, Produced.with(Serdes.String(), Serdes.Long()));
        Properties settings = new Properties();
        settings.put("application.id", prefix);
        settings.put("bootstrap.servers", bootstrap);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        settings.put("commit.interval.ms", "100");
        settings.put("state.dir", folder);
        settings.put("replication.factor", "1");
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            System.exit(3);
            return null;
        });
        streams.start();
        return streams;
    }

    static void send(String bootstrap, String topic, int from, int to) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = from; number < to; number++) {
                producer.send(new ProducerRecord<>(topic, "k" + number, "braid word" + number % 7));
            }
        }
    }

    /** The latest counts, once the common word has been counted this often. */
    static Map<String, Long> await(String bootstrap, String topic, long enough) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", topic + "-" + System.nanoTime());
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        Map<String, Long> counts = new HashMap<>();
        long words = enough * 2;
        long deadline = System.currentTimeMillis() + 90_000;
        try (KafkaConsumer<String, Long> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new LongDeserializer())) {
            consumer.subscribe(Collections.singletonList(topic));
            while (counts.values().stream().mapToLong(Long::longValue).sum() < words) {
                if (System.currentTimeMillis() > deadline) throw new IllegalStateException("only " + counts);
                for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(200))) counts.put(record.key(), record.value());
            }
        }
        return counts;
    }
}
