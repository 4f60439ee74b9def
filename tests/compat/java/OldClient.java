import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * What every Java client since 0.10.0 can do: BOOTSTRAP TOPIC CODEC,CODEC... Produces with each codec, reads all of it back
 * in a group, commits, and checks that a second member of the group begins behind the commit.
 */
public class OldClient {
    static final int RECORDS = 500;

    public static void main(String[] arguments) throws Exception {
        String[] codecs = arguments[2].split(",");
        for (String codec : codecs) produce(arguments[0], arguments[1], codec);
        int expected = RECORDS * codecs.length;
        TreeMap<String, String> seen = consume(arguments[0], arguments[1], expected, true);
        check(seen.size() == expected, "read " + seen.size() + " of " + expected);
        for (String codec : codecs) {
            for (int number = 0; number < RECORDS; number++) {
                String key = codec + "-" + number;
                check(("value of " + key).equals(seen.get(key)), "wrong value for " + key + ": " + seen.get(key));
            }
        }
        produce(arguments[0], arguments[1], codecs[0]);
        TreeMap<String, String> rest = consume(arguments[0], arguments[1], RECORDS, false);
        check(rest.size() == RECORDS, "behind the commit are " + rest.size() + " records");
        System.out.println("ok " + expected);
    }

    static void produce(String bootstrap, String topic, String codec) throws Exception {
        Properties settings = strings("serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.put("compression.type", codec);
        settings.put("linger.ms", "20");
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        java.util.concurrent.Future<RecordMetadata> last = null;
        for (int number = 0; number < RECORDS; number++) {
            String key = codec + "-" + number;
            last = producer.send(new ProducerRecord<>(topic, key, "value of " + key));
        }
        check(last.get().offset() >= 0, "no offset");
        producer.close();
    }

    static TreeMap<String, String> consume(String bootstrap, String topic, int expected, boolean commit) throws Exception {
        Properties settings = strings("deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", topic + "-group");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(Collections.singletonList(topic));
        TreeMap<String, String> seen = new TreeMap<>();
        long deadline = System.currentTimeMillis() + 60000;
        while (seen.size() < expected && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<String, String> record : poll(consumer)) seen.put(record.key(), record.value());
        }
        if (commit) {
            consumer.commitSync();
            for (TopicPartition partition : consumer.assignment()) {
                check(consumer.position(partition) >= 0, "no position");
            }
        }
        consumer.close();
        return seen;
    }

    /** poll(long) went in 4.0, poll(Duration) came in 2.0. */
    @SuppressWarnings("unchecked")
    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            Method method = KafkaConsumer.class.getMethod("poll", java.time.Duration.class);
            return (ConsumerRecords<String, String>) method.invoke(consumer, java.time.Duration.ofMillis(500));
        } catch (NoSuchMethodException old) {
            Method method = KafkaConsumer.class.getMethod("poll", long.class);
            return (ConsumerRecords<String, String>) method.invoke(consumer, 500L);
        }
    }

    static Properties strings(String kind, String name) {
        Properties settings = new Properties();
        settings.put("key." + kind, name);
        settings.put("value." + kind, name);
        return settings;
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }
}
