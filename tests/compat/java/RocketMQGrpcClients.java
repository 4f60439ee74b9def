import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/**
 * RocketMQ's own Java client over gRPC tries everything it can do, and prints what came of it as JSON.
 * HOST:PORT PREFIX tls|plain. Trials run side by side, because most of each is waiting.
 */
public final class RocketMQGrpcClients {
    static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    static final long LIMIT_MS = 45_000;
    static String address;
    static String prefix;
    static boolean tls;

    interface Trial {
        Map<String, Object> run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        prefix = arguments[1];
        tls = arguments[2].equals("tls");
        Map<String, Trial> trials = new LinkedHashMap<>();
        trials.put("normal", RocketMQGrpcClients::normal);
        trials.put("fifo", RocketMQGrpcClients::fifo);
        trials.put("delay", RocketMQGrpcClients::delay);
        trials.put("transaction", RocketMQGrpcClients::transaction);
        trials.put("pushed", RocketMQGrpcClients::pushed);
        trials.put("dead", RocketMQGrpcClients::dead);
        trials.put("filters", RocketMQGrpcClients::filters);
        trials.put("invisible", RocketMQGrpcClients::invisible);
        trials.put("priority", RocketMQGrpcClients::priority);
        Map<String, Object> found = Collections.synchronizedMap(new LinkedHashMap<>());
        List<Thread> threads = new ArrayList<>();
        trials.forEach((name, trial) -> threads.add(new Thread(() -> found.put(name, tried(trial)))));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("FOUND " + json(found));
        System.exit(0);
    }

    static Map<String, Object> tried(Trial trial) {
        try {
            return trial.run();
        } catch (Throwable error) {
            java.io.StringWriter text = new java.io.StringWriter();
            error.printStackTrace(new java.io.PrintWriter(text));
            return facts("error", text.toString());
        }
    }

    static Map<String, Object> normal() throws Exception {
        String topic = prefix + "-normal";
        try (Producer sender = producer(topic, null); SimpleConsumer reader = simple("normal-readers", topic, null)) {
            List<Object> sent = new ArrayList<>();
            for (int number = 0; number < 10; number++) {
                MessageBuilder made = message(topic, "n" + number).setTag("paid").setKeys("order-1");
                made.addProperty("colour", "r\u00f6t").addProperty("size", "xl");
                sent.add(sender.send(made.build()).getMessageId().toString());
            }
            sent.add(sender.send(message(topic, "x".repeat(2_000_000)).build()).getMessageId().toString());
            List<Object> taken = new ArrayList<>();
            for (MessageView each : take(reader, 11, LIMIT_MS)) {
                Map<String, Object> seen = seen(each);
                String body = (String) seen.get("body");
                seen.put("body", body.substring(0, Math.min(10, body.length())));
                taken.add(seen);
            }
            return facts("sent", sent, "taken", taken);
        }
    }

    static Map<String, Object> fifo() throws Exception {
        String topic = prefix + "-fifo";
        try (Producer sender = producer(topic, null); SimpleConsumer reader = simple("fifo-readers", topic, null)) {
            for (int number = 0; number < 20; number++) {
                sender.send(message(topic, "" + number).setMessageGroup("g" + number % 2).build());
            }
            List<Object> taken = all(take(reader, 20, LIMIT_MS));
            String refused = refusal(() -> sender.send(message(topic, "no group").build()));
            return facts("taken", taken, "refused", refused);
        }
    }

    static Map<String, Object> delay() throws Exception {
        String topic = prefix + "-delay";
        try (Producer sender = producer(topic, null); SimpleConsumer reader = simple("delay-readers", topic, null)) {
            long due = System.currentTimeMillis() + 4000;
            SendReceipt later = sender.send(message(topic, "later").setDeliveryTimestamp(due).build());
            SendReceipt never = sender.send(message(topic, "never").setDeliveryTimestamp(due).build());
            String recalled = sender.recallMessage(topic, never.getRecallHandle()).getMessageId().toString();
            List<Object> taken = all(take(reader, 1, LIMIT_MS));
            taken.addAll(all(take(reader, 1, 2000)));
            String tooLate = refusal(() -> sender.recallMessage(topic, later.getRecallHandle()));
            List<String> ids = List.of(never.getMessageId().toString(), recalled);
            return facts("due", due / 1000.0, "taken", taken, "recalled", ids, "too_late", tooLate);
        }
    }

    static Map<String, Object> transaction() throws Exception {
        String topic = prefix + "-transaction";
        Collection<String> asked = Collections.synchronizedSet(new TreeSet<>());
        TransactionChecker checker = half -> {
            asked.add(text(half));
            return text(half).equals("orphan yes") ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
        };
        try (Producer sender = producer(topic, checker);
                SimpleConsumer reader = simple("transaction-readers", topic, null)) {
            for (String body : List.of("yes", "no", "orphan yes", "orphan no")) {
                Transaction begun = sender.beginTransaction();
                sender.send(message(topic, body).build(), begun);
                if (body.equals("yes")) {
                    begun.commit();
                } else if (body.equals("no")) {
                    begun.rollback();
                }
            }
            List<Object> taken = all(take(reader, 2, LIMIT_MS));
            until(() -> asked.size() == 2);
            taken.addAll(all(take(reader, 1, 2000)));
            return facts("asked", asked, "taken", taken);
        }
    }

    static Map<String, Object> pushed() throws Exception {
        String topic = prefix + "-push";
        List<Object> taken = new CopyOnWriteArrayList<>();
        MessageListener work = given -> {
            taken.add(seen(given));
            boolean fails = text(given).equals("p3") && given.getDeliveryAttempt() == 1;
            return fails ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        };
        try (Producer sender = producer(topic, null); PushConsumer reader = push("push-readers", topic, work)) {
            for (int number = 0; number < 10; number++) {
                sender.send(message(topic, "p" + number).build());
            }
            until(() -> taken.size() >= 11);
        }
        return facts("taken", taken);
    }

    static Map<String, Object> dead() throws Exception {
        String topic = prefix + "-dead";
        List<Object> attempts = new CopyOnWriteArrayList<>();
        MessageListener work = given -> {
            attempts.add(given.getDeliveryAttempt());
            return ConsumeResult.FAILURE;
        };
        try (Producer sender = producer(topic, null); PushConsumer reader = push("dead-readers", topic, work);
                SimpleConsumer letters = simple("undertakers", "%DLQ%" + prefix + "-dead-readers", null)) {
            String sent = sender.send(message(topic, "poison").build()).getMessageId().toString();
            return facts("sent", sent, "attempts", attempts, "letters", all(take(letters, 1, LIMIT_MS)));
        }
    }

    static Map<String, Object> filters() throws Exception {
        String topic = prefix + "-filters";
        FilterExpression tagged = new FilterExpression("a || b", FilterExpressionType.TAG);
        FilterExpression chosen = new FilterExpression("price > 10 AND TAGS = 'b'", FilterExpressionType.SQL92);
        try (Producer sender = producer(topic, null); SimpleConsumer tags = simple("tags", topic, tagged);
                SimpleConsumer sql = simple("sql", topic, chosen)) {
            for (String each : List.of("a5", "b5", "b50", "c50")) {
                MessageBuilder made = message(topic, each).setTag(each.substring(0, 1));
                sender.send(made.addProperty("price", each.substring(1)).build());
            }
            return facts("tagged", bodies(tags, 3), "chosen", bodies(sql, 1));
        }
    }

    static Map<String, Object> invisible() throws Exception {
        String topic = prefix + "-invisible";
        try (Producer sender = producer(topic, null);
                SimpleConsumer reader = simple("invisible-readers", topic, null)) {
            sender.send(message(topic, "again").build());
            MessageView given = one(reader);
            long began = System.currentTimeMillis();
            reader.changeInvisibleDuration(given, Duration.ofSeconds(3));
            MessageView again = one(reader);
            double waited = (System.currentTimeMillis() - began) / 1000.0;
            String refused = refusal(() -> reader.ack(given));
            reader.ack(again);
            List<Integer> attempts = List.of(given.getDeliveryAttempt(), again.getDeliveryAttempt());
            return facts("changed", true, "waited", waited, "attempts", attempts, "refused", refused);
        }
    }

    static Map<String, Object> priority() throws Exception {
        String topic = prefix + "-priority";
        try (Producer sender = producer(topic, null);
                SimpleConsumer reader = simple("priority-readers", topic, null)) {
            for (int priority : new int[] {1, 3, 2, 3}) {
                sender.send(message(topic, "u" + priority).setPriority(priority).build());
            }
            List<Object> taken = new ArrayList<>();
            while (taken.size() < 4) {
                MessageView given = one(reader);
                reader.ack(given);
                taken.add(List.of(text(given), given.getPriority().orElseThrow()));
            }
            return facts("taken", taken);
        }
    }

    // What the trials have in common.

    static ClientConfiguration configuration() {
        return ClientConfiguration.newBuilder().setEndpoints(address).enableSsl(tls)
                .setRequestTimeout(Duration.ofSeconds(10)).build();
    }

    static Producer producer(String topic, TransactionChecker checker) throws Exception {
        var made = PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topic);
        return (checker == null ? made : made.setTransactionChecker(checker)).build();
    }

    static SimpleConsumer simple(String group, String topic, FilterExpression wanted) throws Exception {
        return PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration())
                .setConsumerGroup(prefix + "-" + group).setAwaitDuration(Duration.ofSeconds(5))
                .setSubscriptionExpressions(Map.of(topic, wanted == null ? FilterExpression.SUB_ALL : wanted)).build();
    }

    static PushConsumer push(String group, String topic, MessageListener work) throws Exception {
        return PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration())
                .setConsumerGroup(prefix + "-" + group).setMessageListener(work)
                .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).build();
    }

    static MessageBuilder message(String topic, String body) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    static List<MessageView> take(SimpleConsumer reader, int count, long limitMs) throws Exception {
        List<MessageView> taken = new ArrayList<>();
        long deadline = System.currentTimeMillis() + limitMs;
        while (taken.size() < count && System.currentTimeMillis() < deadline) {
            for (MessageView each : reader.receive(16, Duration.ofSeconds(15))) {
                taken.add(each);
                reader.ack(each);
            }
        }
        return taken;
    }

    static MessageView one(SimpleConsumer reader) throws Exception {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (System.currentTimeMillis() < deadline) {
            List<MessageView> found = reader.receive(1, Duration.ofSeconds(60));
            if (!found.isEmpty()) {
                return found.get(0);
            }
        }
        throw new IllegalStateException("no message came");
    }

    static List<String> bodies(SimpleConsumer reader, int count) throws Exception {
        List<String> found = new ArrayList<>();
        take(reader, count, LIMIT_MS).forEach(each -> found.add(text(each)));
        take(reader, 1, 1000).forEach(each -> found.add(text(each)));
        Collections.sort(found);
        return found;
    }

    static void until(BooleanSupplier condition) throws Exception {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (!condition.getAsBoolean() && System.currentTimeMillis() < deadline) {
            Thread.sleep(20);
        }
    }

    interface Attempt {
        void run() throws Exception;
    }

    static String refusal(Attempt attempt) {
        try {
            attempt.run();
            return "";
        } catch (Exception error) {
            return error.toString();
        }
    }

    static String text(MessageView given) {
        return StandardCharsets.UTF_8.decode(given.getBody().duplicate()).toString();
    }

    static List<Object> all(List<MessageView> given) {
        List<Object> found = new ArrayList<>();
        given.forEach(each -> found.add(seen(each)));
        return found;
    }

    static Map<String, Object> seen(MessageView given) {
        return facts("body", text(given), "id", given.getMessageId().toString(), "tag", given.getTag().orElse(null),
                "keys", given.getKeys(), "group", given.getMessageGroup().orElse(null), "properties",
                given.getProperties(), "attempt", given.getDeliveryAttempt(), "corrupted", false, "at",
                System.currentTimeMillis() / 1000.0);
    }

    static Map<String, Object> facts(Object... pairs) {
        Map<String, Object> facts = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            facts.put((String) pairs[at], pairs[at + 1]);
        }
        return facts;
    }

    static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> pairs = new ArrayList<>();
            map.forEach((name, each) -> pairs.add(json(name) + ":" + json(each)));
            return "{" + String.join(",", pairs) + "}";
        }
        if (value instanceof Collection<?> list) {
            List<String> parts = new ArrayList<>();
            list.forEach(each -> parts.add(json(each)));
            return "[" + String.join(",", parts) + "]";
        }
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return String.valueOf(value);
        }
        StringBuilder text = new StringBuilder("\"");
        for (char each : value.toString().toCharArray()) {
            boolean plain = each >= 32 && each < 127 && each != '"' && each != '\\';
            text.append(plain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        return text.append('"').toString();
    }
}
