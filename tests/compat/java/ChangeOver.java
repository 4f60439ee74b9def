import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/**
 * The members of a group are changed over, one by one, to the protocol in which the broker assigns to them, and back:
 * BOOTSTRAP TOPIC ASSIGNOR static|dynamic. No record is lost, and none is read twice.
 */
public class ChangeOver {
    private static final int PARTITIONS = 6, MEMBERS = 3, RECORDS = 200;
    private static final long LIMIT_MS = 60_000;
    private static String bootstrap, topic, assignor;
    private static boolean isStatic;
    private static int written;
    private static final Map<String, Integer> read = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        assignor = arguments[2];
        isStatic = arguments[3].equals("static");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
            Member[] members = new Member[MEMBERS];
            for (int place = 0; place < MEMBERS; place++)
                members[place] = new Member(place, "classic");
            work(members);
            check(admin, GroupType.CLASSIC, 0);
            for (int place = 0; place < MEMBERS; place++) {
                members[place] = members[place].replaced("consumer");
                work(members);
                check(admin, GroupType.CONSUMER, place + 1);
            }
            for (int place = 0; place < MEMBERS; place++) {
                members[place] = members[place].replaced("classic");
                work(members);
                check(admin, place + 1 < MEMBERS ? GroupType.CONSUMER : GroupType.CLASSIC, MEMBERS - 1 - place);
            }
            for (Member member : members)
                member.end();
        }
        System.out.println("ok");
    }

    /** All partitions are in somebody's hands, two for each; what is written then is read. */
    private static void work(Member[] members) throws Exception {
        until("the group does not come to rest", () -> {
            Set<Integer> all = new HashSet<>();
            for (Member member : members) {
                check(member.failure == null, String.valueOf(member.failure));
                if (member.assigned.size() != PARTITIONS / MEMBERS || !all.addAll(member.assigned))
                    return false;
            }
            return all.size() == PARTITIONS;
        });
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int until = written + RECORDS; written < until; written++)
                producer.send(new ProducerRecord<>(topic, written % PARTITIONS, null, String.valueOf(written)));
        }
        until("not everything is read", () -> read.size() >= written);
        Map<String, Integer> twice = new TreeMap<>(read);
        twice.values().removeIf(count -> count == 1);
        check(twice.isEmpty(), "read again: " + twice);
    }

    private static void check(Admin admin, GroupType type, int upgraded) throws Exception {
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(topic)).all().get().get(topic);
        check(found.type() == type, "the group is " + found.type() + ", not " + type);
        check(found.members().size() == MEMBERS, found.members().toString());
        if (type == GroupType.CONSUMER) {
            long said = found.members().stream().map(MemberDescription::upgraded).filter(each -> each.orElse(false)).count();
            check(said == upgraded, said + " members are said to be upgraded, not " + upgraded);
        }
    }

    /** A consumer in a thread of its own, until it is replaced. */
    private static class Member implements Runnable, ConsumerRebalanceListener {
        final Set<Integer> assigned = ConcurrentHashMap.newKeySet();
        private final int place;
        private final KafkaConsumer<String, String> consumer;
        private final Thread thread = new Thread(this);
        private volatile boolean isEnding;
        private volatile Exception failure;

        Member(int place, String protocol) {
            this.place = place;
            Properties settings = new Properties();
            settings.put("bootstrap.servers", bootstrap);
            settings.put("group.id", topic);
            settings.put("group.protocol", protocol);
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
            settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
            if (isStatic)
                settings.put("group.instance.id", "instance-" + place);
            if (protocol.equals("classic")) {
                settings.put("heartbeat.interval.ms", "200");
                settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
            }
            consumer = new KafkaConsumer<>(settings);
            thread.setDaemon(true);
            thread.start();
        }

        Member replaced(String protocol) throws Exception {
            end();
            return new Member(place, protocol);
        }

        void end() throws Exception {
            isEnding = true;
            thread.join(LIMIT_MS);
            check(!thread.isAlive(), "a consumer does not end");
            check(failure == null, String.valueOf(failure));
        }

        @Override
        public void run() {
            try {
                consumer.subscribe(List.of(topic), this);
                while (!isEnding) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50)))
                        read.merge(record.value(), 1, Integer::sum);
                    try {
                        consumer.commitSync();
                    } catch (RebalanceInProgressException error) {
                        // What goes is committed when it goes, and the rest after the next poll.
                    }
                }
                consumer.close();
            } catch (Exception error) {
                failure = error;
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(each -> assigned.add(each.partition()));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            consumer.commitSync();
            partitions.forEach(each -> assigned.remove(each.partition()));
        }
    }

    private static void until(String what, BooleanSupplier condition) throws Exception {
        for (long deadline = System.currentTimeMillis() + LIMIT_MS; !condition.getAsBoolean(); Thread.sleep(20))
            check(System.currentTimeMillis() < deadline, what);
    }

    private static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }
}
