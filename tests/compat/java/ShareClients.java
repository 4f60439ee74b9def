import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.errors.InvalidRecordStateException;

/**
 * Kafka's share consumer: SCENARIO BOOTSTRAP TOPIC GROUP. The scenarios are the methods below; `hold` and `read` are for
 * tests that kill somebody in between.
 */
public class ShareClients {
    private static final long LIMIT_MS = 40_000;
    private static String bootstrap, topic, group;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[1];
        topic = arguments[2];
        group = arguments[3];
        switch (arguments[0]) {
            case "implicit" -> implicit();
            case "explicit" -> explicit();
            case "lock" -> lock();
            case "exhausted" -> exhausted();
            case "compressed" -> compressed();
            case "transactions" -> transactions();
            case "clash" -> clash();
            case "administration" -> administration();
            case "write" -> write(Integer.parseInt(arguments[4]), "none");
            case "hold" -> hold(Integer.parseInt(arguments[4]));
            case "read" -> read(Integer.parseInt(arguments[4]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Two members share one partition: each message goes to one of them, and both get some. */
    private static void implicit() throws Exception {
        prepare(Map.of());
        write(200, "none");
        TreeSet<Integer> seen = new TreeSet<>();
        int[] counts = new int[2];
        try (KafkaShareConsumer<String, String> first = consumer("implicit", 10);
                KafkaShareConsumer<String, String> second = consumer("implicit", 10)) {
            until(() -> {
                counts[0] += take(first, seen);
                counts[1] += take(second, seen);
                return seen.size() == 200;
            });
            committed(first);
            committed(second);
        }
        check(counts[0] + counts[1] == 200, "delivered " + counts[0] + " and " + counts[1]);
        check(counts[0] > 0 && counts[1] > 0, "one member got all: " + counts[0] + " and " + counts[1]);
        try (KafkaShareConsumer<String, String> third = consumer("implicit", 10)) {
            check(quiet(third), "what was acknowledged by polling on, or by committing, comes again");
        }
        System.out.println("ok");
    }

    private static int take(KafkaShareConsumer<String, String> consumer, Collection<Integer> seen) {
        int count = 0;
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
            check(seen.add(Integer.parseInt(record.value())), record.value() + " was delivered to two");
            check(record.deliveryCount().equals(Optional.of((short) 1)), "count " + record.deliveryCount());
            count++;
        }
        return count;
    }

    /** Accepted messages are done, released ones come again with count 2, rejected ones are dead letters. */
    private static void explicit() throws Exception {
        prepare(Map.of());
        write(9, "none");
        List<String> again = new ArrayList<>();
        try (KafkaShareConsumer<String, String> consumer = consumer("explicit", 100)) {
            Map<String, ConsumerRecord<String, String>> first = new HashMap<>();
            until(() -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    first.put(record.value(), record);
                    int number = Integer.parseInt(record.value());
                    consumer.acknowledge(record, AcknowledgeType.forId((byte) (1 + number % 3)));
                }
                committed(consumer);
                return first.size() == 9 || again.size() > 0;
            });
            until(() -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    again.add(record.value() + ":" + record.deliveryCount().get());
                    consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                }
                committed(consumer);
                return again.size() == 3;
            });
            check(quiet(consumer), "more came");
        }
        check(new TreeSet<>(again).equals(new TreeSet<>(List.of("1:2", "4:2", "7:2"))), "again came " + again);
        check(deadLetters(3).equals(new TreeSet<>(Set.of("2", "5", "8"))), "other dead letters");
        System.out.println("ok");
    }

    /** Who does not acknowledge in time loses its messages to another, and hears of it when it acknowledges. */
    private static void lock() throws Exception {
        prepare(Map.of("share.record.lock.duration.ms", "1000"));
        write(3, "none");
        try (KafkaShareConsumer<String, String> slow = consumer("explicit", 100);
                KafkaShareConsumer<String, String> quick = consumer("explicit", 100)) {
            List<ConsumerRecord<String, String>> kept = new ArrayList<>();
            until(() -> {
                slow.poll(Duration.ofMillis(500)).forEach(kept::add);
                return kept.size() >= 3;
            });
            TreeSet<String> taken = new TreeSet<>();
            until(() -> {
                for (ConsumerRecord<String, String> record : quick.poll(Duration.ofMillis(500))) {
                    taken.add(record.value() + ":" + record.deliveryCount().get());
                    quick.acknowledge(record);
                }
                committed(quick);
                return taken.size() == 3;
            });
            check(taken.equals(new TreeSet<>(Set.of("0:2", "1:2", "2:2"))), "taken over: " + taken);
            kept.forEach(slow::acknowledge);
            Map<TopicIdPartition, Optional<KafkaException>> fates = slow.commitSync();
            check(fates.size() == 1, "fates " + fates);
            fates.forEach((place, fate) -> check(fate.orElse(null) instanceof InvalidRecordStateException, "fate " + fate));
        }
        System.out.println("ok");
    }

    /** What is released again and again is a dead letter after the last delivery that the group allows. */
    private static void exhausted() throws Exception {
        prepare(Map.of("share.delivery.count.limit", "3"));
        write(1, "none");
        List<String> seen = new ArrayList<>();
        try (KafkaShareConsumer<String, String> consumer = consumer("explicit", 100)) {
            until(() -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    seen.add(record.value() + ":" + record.deliveryCount().get());
                    consumer.acknowledge(record, AcknowledgeType.RELEASE);
                }
                committed(consumer);
                return seen.size() >= 3;
            });
            check(quiet(consumer), "a fourth delivery");
        }
        check(seen.equals(List.of("0:1", "0:2", "0:3")), "deliveries " + seen);
        check(deadLetters(1).equals(new TreeSet<>(Set.of("0"))), "not among the dead letters");
        System.out.println("ok");
    }

    /** Messages in batches of every codec, some of a batch at a time. */
    private static void compressed() throws Exception {
        prepare(Map.of());
        String[] codecs = {"none", "gzip", "snappy", "lz4", "zstd"};
        for (String codec : codecs) {
            write(100, codec);
        }
        int[] count = new int[1];
        TreeSet<Long> offsets = new TreeSet<>();
        try (KafkaShareConsumer<String, String> consumer = consumer("explicit", 7)) {
            until(() -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    check(record.value().equals("" + record.offset() % 100), record.value() + " at " + record.offset());
                    check(offsets.add(record.offset()), record.offset() + " twice");
                    consumer.acknowledge(record);
                    count[0]++;
                }
                return count[0] == 500;
            });
            committed(consumer);
        }
        System.out.println("ok");
    }

    /** With share.isolation.level read_committed, aborted messages are not delivered. */
    private static void transactions() throws Exception {
        prepare(Map.of("share.isolation.level", "read_committed"));
        Properties settings = producerSettings("none");
        settings.put("transactional.id", topic);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            producer.initTransactions();
            for (String value : List.of("committed", "aborted", "also committed")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, value)).get();
                if (value.equals("aborted")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        List<String> seen = new ArrayList<>();
        try (KafkaShareConsumer<String, String> consumer = consumer("implicit", 100)) {
            until(() -> {
                consumer.poll(Duration.ofMillis(500)).forEach(record -> seen.add(record.value()));
                return seen.size() >= 2;
            });
            check(quiet(consumer), "more came");
        }
        check(seen.equals(List.of("committed", "also committed")), "seen " + seen);
        System.out.println("ok");
    }

    /** A name belongs to a share group, or to another one. */
    private static void clash() throws Exception {
        prepare(Map.of());
        write(1, "none");
        try (KafkaShareConsumer<String, String> consumer = consumer("implicit", 100)) {
            until(() -> consumer.poll(Duration.ofMillis(500)).count() == 1);
            try (KafkaConsumer<String, String> classic = new KafkaConsumer<>(consumerSettings(group))) {
                classic.subscribe(List.of(topic));
                expect(InconsistentGroupProtocolException.class, () -> classic.poll(Duration.ofSeconds(20)));
            }
            Properties modern = consumerSettings(group);
            modern.put("group.protocol", "consumer");
            try (KafkaConsumer<String, String> assigned = new KafkaConsumer<>(modern)) {
                assigned.subscribe(List.of(topic));
                expect(GroupIdNotFoundException.class, () -> until(() -> assigned.poll(Duration.ofMillis(500)).count() > 0));
            }
        }
        try (KafkaConsumer<String, String> classic = new KafkaConsumer<>(consumerSettings(group + "-classic"))) {
            classic.subscribe(List.of(topic));
            until(() -> classic.poll(Duration.ofMillis(500)).count() > 0);
            Properties settings = consumerSettings(group + "-classic");
            settings.remove("auto.offset.reset");
            settings.remove("enable.auto.commit");
            try (KafkaShareConsumer<String, String> share = new KafkaShareConsumer<>(settings)) {
                share.subscribe(List.of(topic));
                expect(GroupIdNotFoundException.class, () -> until(() -> share.poll(Duration.ofMillis(500)).count() > 0));
            }
        }
        System.out.println("ok");
    }

    private static void administration() throws Exception {
        prepare(Map.of());
        write(5, "none");
        try (Admin admin = admin()) {
            try (KafkaShareConsumer<String, String> consumer = consumer("implicit", 100)) {
                until(() -> consumer.poll(Duration.ofMillis(500)).count() == 5);
                committed(consumer);
                ShareGroupDescription described = admin.describeShareGroups(List.of(group)).all().get().get(group);
                check(described.members().size() == 1, "members " + described);
                check(described.members().iterator().next().assignment().topicPartitions()
                        .equals(Set.of(new TopicPartition(topic, 0))), "assignment " + described);
                expect(GroupNotEmptyException.class, () -> admin.deleteShareGroups(List.of(group)).all().get());
            }
            check(admin.listGroups(ListGroupsOptions.forShareGroups()).all().get().stream()
                    .anyMatch(each -> each.groupId().equals(group)), "the group is not listed");
            until(() -> offsets(admin).contains("5"));
            admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(topic, 0), 3L)).all().get();
            check(offsets(admin).contains("3"), "altered " + offsets(admin));
            try (KafkaShareConsumer<String, String> consumer = consumer("implicit", 100)) {
                TreeSet<String> seen = new TreeSet<>();
                until(() -> {
                    consumer.poll(Duration.ofMillis(500)).forEach(record -> seen.add(record.value()));
                    return seen.size() >= 2;
                });
                check(seen.equals(new TreeSet<>(Set.of("3", "4"))), "after the change came " + seen);
            }
            admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
            admin.deleteShareGroups(List.of(group)).all().get();
            check(admin.listGroups(ListGroupsOptions.forShareGroups()).all().get().stream()
                    .noneMatch(each -> each.groupId().equals(group)), "the group is still listed");
        }
        System.out.println("ok");
    }

    private static String offsets(Admin admin) {
        try {
            return admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                    .all().get().get(group).toString().replace(topic, "");
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    /** Takes so many messages, says so, and never says anything of them. */
    private static void hold(int count) throws Exception {
        prepare(Map.of());
        int[] seen = new int[1];
        KafkaShareConsumer<String, String> consumer = consumer("explicit", count);
        until(() -> {
            seen[0] += consumer.poll(Duration.ofMillis(500)).count();
            return seen[0] >= count;
        });
        System.out.println("holding");
        Thread.sleep(600_000);
    }

    /** Takes so many messages, each of them once, and shows them with their counts. */
    private static void read(int count) throws Exception {
        prepare(Map.of());
        Map<String, Short> seen = new HashMap<>();
        try (KafkaShareConsumer<String, String> consumer = consumer("explicit", 100)) {
            until(() -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    seen.put(record.value(), record.deliveryCount().get());
                    consumer.acknowledge(record);
                }
                committed(consumer);
                return seen.size() >= count;
            });
        }
        seen.forEach((value, times) -> System.out.println(value + ":" + times));
    }

    // What they share.

    private static void prepare(Map<String, String> more) throws Exception {
        Map<String, String> settings = new HashMap<>(more);
        settings.put("share.auto.offset.reset", "earliest");
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) ->
                changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        try (Admin admin = admin()) {
            admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
            for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
                String wanted = settings.get(entry.name());
                check(wanted == null || wanted.equals(entry.value()), entry.name() + " is " + entry.value());
            }
            if (!admin.listTopics().names().get().contains(topic)) {
                admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            }
        }
    }

    private static void write(int count, String codec) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(producerSettings(codec))) {
            for (int at = 0; at < count; at++) {
                producer.send(new ProducerRecord<>(topic, 0, "key", "" + at));
            }
            producer.flush();
        }
    }

    private static TreeSet<String> deadLetters(int count) {
        TreeSet<String> seen = new TreeSet<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consumerSettings(group + "-dead"))) {
            consumer.subscribe(List.of("%DLQ%" + group));
            until(() -> {
                consumer.poll(Duration.ofMillis(500)).forEach(record -> seen.add(record.value()));
                return seen.size() >= count;
            });
        }
        return seen;
    }

    private static boolean quiet(KafkaShareConsumer<String, String> consumer) {
        return consumer.poll(Duration.ofMillis(1500)).isEmpty();
    }

    private static void committed(KafkaShareConsumer<String, String> consumer) {
        consumer.commitSync().forEach((place, fate) -> check(fate.isEmpty(), place + ": " + fate));
    }

    private static KafkaShareConsumer<String, String> consumer(String mode, int records) {
        Properties settings = consumerSettings(group);
        settings.remove("auto.offset.reset");
        settings.remove("enable.auto.commit");
        settings.put("share.acknowledgement.mode", mode);
        settings.put("max.poll.records", records);
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    private static Properties consumerSettings(String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", name);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        return settings;
    }

    private static Properties producerSettings(String codec) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "50");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        return settings;
    }

    private static Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    private interface Attempt {
        void run() throws Exception;
    }

    private static void expect(Class<? extends Exception> kind, Attempt attempt) throws Exception {
        try {
            attempt.run();
        } catch (ExecutionException error) {
            check(kind.isInstance(error.getCause()), "instead of " + kind + ": " + error.getCause());
            return;
        } catch (KafkaException error) {
            check(kind.isInstance(error) || kind.isInstance(error.getCause()), "instead of " + kind + ": " + error);
            return;
        }
        throw new IllegalStateException(kind + " was expected");
    }

    private static void until(BooleanSupplier condition) {
        long limit = System.currentTimeMillis() + LIMIT_MS;
        while (!condition.getAsBoolean()) {
            check(System.currentTimeMillis() < limit, "it took too long");
        }
    }

    private static void check(boolean holds, String message) {
        if (!holds) {
            throw new IllegalStateException(message);
        }
    }
}
