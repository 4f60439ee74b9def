import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;

/**
 * What Java clients since 0.11 can do besides: BOOTSTRAP TOPIC. Creates a topic, sends records with headers in
 * transactions, one committed and one aborted, with a consumer's offsets in them, and reads committed records only.
 */
public class ModernClient {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1];
        createTopic(bootstrap, topic);
        Properties settings = OldStrings.of("serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", topic + "-transactions");
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        producer.initTransactions();
        TopicPartition first = new TopicPartition(topic, 0);
        transaction(producer, topic, "aborted", first, 5, false);
        transaction(producer, topic, "committed", first, 7, true);
        KafkaProducer<String, String> second = new KafkaProducer<>(settings);
        second.initTransactions();
        try {
            transaction(producer, topic, "fenced", first, 9, true);
            throw new IllegalStateException("the first producer was not fenced");
        } catch (org.apache.kafka.common.KafkaException fenced) {
            // what a zombie gets, under the name that its version has for it
        } catch (ExecutionException fenced) {
            check(fenced.getCause() instanceof org.apache.kafka.common.errors.ApiException, "fenced by " + fenced.getCause());
        }
        transaction(second, topic, "again", first, 8, true);
        second.close();

        settings = OldStrings.of("deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", topic + "-group");
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        OffsetAndMetadata committed = committed(consumer, first);
        check(committed != null && committed.offset() == 8, "offset in the transaction: " + committed);
        consumer.assign(Collections.singletonList(first));
        consumer.seekToBeginning(Collections.singletonList(first));
        List<String> seen = new ArrayList<>();
        long deadline = System.currentTimeMillis() + 30000;
        while (seen.size() < 6 && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                check("TAGS".equals(record.headers().lastHeader("TAGS").key()), "no header");
                seen.add(record.value());
            }
        }
        check(seen.toString().equals("[committed 0, committed 1, committed 2, again 0, again 1, again 2]"), "read " + seen);
        consumer.close();
        System.out.println("ok");
    }

    static void createTopic(String bootstrap, String topic) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        AdminClient admin = AdminClient.create(settings);
        admin.createTopics(Collections.singleton(new NewTopic(topic, 2, (short) 1))).all().get();
        try {
            admin.createTopics(Collections.singleton(new NewTopic(topic, 2, (short) 1))).all().get();
            throw new IllegalStateException("the topic was made twice");
        } catch (ExecutionException expected) {
            check(expected.getCause() instanceof TopicExistsException, "wrong error: " + expected.getCause());
        }
        check(admin.listTopics().names().get().contains(topic), "not listed");
        check(admin.describeCluster().clusterId().get() != null, "no cluster id");
        admin.close();
    }

    static void transaction(
            KafkaProducer<String, String> producer, String topic, String word, TopicPartition partition, long offset, boolean commit)
            throws Exception {
        producer.beginTransaction();
        for (int number = 0; number < 3; number++) {
            ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, "k", word + " " + number);
            record.headers().add("TAGS", word.getBytes(StandardCharsets.UTF_8));
            producer.send(record).get();
        }
        sendOffsets(producer, Collections.singletonMap(partition, new OffsetAndMetadata(offset)), topic + "-group");
        if (commit) producer.commitTransaction();
        else producer.abortTransaction();
    }

    /** The form with a group's name went in 4.0, the one with its metadata came in 2.5. */
    static void sendOffsets(KafkaProducer<String, String> producer, Map<TopicPartition, OffsetAndMetadata> offsets, String group)
            throws Exception {
        try {
            try {
                KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, String.class).invoke(producer, offsets, group);
            } catch (NoSuchMethodException newer) {
                Class<?> metadata = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
                KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, metadata)
                        .invoke(producer, offsets, metadata.getConstructor(String.class).newInstance(group));
            }
        } catch (java.lang.reflect.InvocationTargetException refused) {
            throw (Exception) refused.getCause();
        }
    }

    @SuppressWarnings("unchecked")
    static OffsetAndMetadata committed(KafkaConsumer<String, String> consumer, TopicPartition partition) throws Exception {
        try {
            return (OffsetAndMetadata) KafkaConsumer.class.getMethod("committed", TopicPartition.class).invoke(consumer, partition);
        } catch (NoSuchMethodException newer) {
            Object all = KafkaConsumer.class.getMethod("committed", java.util.Set.class)
                    .invoke(consumer, Collections.singleton(partition));
            return ((Map<TopicPartition, OffsetAndMetadata>) all).get(partition);
        }
    }

    @SuppressWarnings("unchecked")
    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            return (ConsumerRecords<String, String>) KafkaConsumer.class.getMethod("poll", java.time.Duration.class)
                    .invoke(consumer, java.time.Duration.ofMillis(500));
        } catch (NoSuchMethodException old) {
            return (ConsumerRecords<String, String>) KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 500L);
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    static class OldStrings {
        static Properties of(String kind, String name) {
            Properties settings = new Properties();
            settings.put("key." + kind, name);
            settings.put("value." + kind, name);
            return settings;
        }
    }
}
