import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.zip.CRC32;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * One thing tried with RocketMQ's client, and the facts that came of it: one line of JSON. Nothing is judged here. Trials
 * run side by side, because most of their time is waiting; they begin one after the other, because beginning is work.
 */
final class RocketMQTrial {
    static final long LIMIT_MS = Long.getLong("limitMs", 75_000);
    private static final Object PRINTING = new Object();

    interface Body {
        void run(RocketMQTrial trial) throws Exception;
    }

    final String nameServer;
    final String instance;
    final String topic;
    final String group;
    final Map<String, Object> facts = Collections.synchronizedMap(new LinkedHashMap<>());
    private final List<Runnable> closing = Collections.synchronizedList(new ArrayList<>());

    private RocketMQTrial(String nameServer, String prefix, String name) {
        this.nameServer = nameServer;
        instance = prefix + "-" + name;
        topic = prefix + "-" + name;
        group = prefix + "-" + name + "-group";
    }

    /** NAMESRV PREFIX [NAME,NAME…]: runs the trials named, or all. */
    static void main(String[] arguments, Map<String, Body> trials) throws Exception {
        List<String> names = new ArrayList<>(trials.keySet());
        if (arguments.length > 2) {
            names.retainAll(java.util.Arrays.asList(arguments[2].split(",")));
        }
        List<Thread> threads = new ArrayList<>();
        for (String name : names) {
            RocketMQTrial trial = new RocketMQTrial(arguments[0], arguments[1], name);
            Thread thread = new Thread(() -> trial.run(name, trials.get(name)), name);
            thread.start();
            threads.add(thread);
            Thread.sleep(100);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private void run(String name, Body body) {
        facts.put("trial", name);
        long began = System.currentTimeMillis();
        try {
            body.run(this);
        } catch (Throwable error) {
            java.io.StringWriter text = new java.io.StringWriter();
            error.printStackTrace(new java.io.PrintWriter(text));
            facts.put("failure", text.toString());
        }
        facts.put("took_ms", System.currentTimeMillis() - began);
        List<Runnable> last = new ArrayList<>(closing);
        Collections.reverse(last);
        synchronized (PRINTING) {
            System.out.println(json(facts));
        }
        for (Runnable each : last) {
            try {
                each.run();
            } catch (RuntimeException ignored) {
                // the facts are out; a client that does not close hurts nobody
            }
        }
    }

    // ---- clients

    <C extends ClientConfig> C configured(C client, String suffix) {
        client.setNamesrvAddr(nameServer);
        client.setInstanceName(instance + suffix);
        client.setMqClientApiTimeout(20_000);
        client.setPollNameServerInterval(1000);
        client.setHeartbeatBrokerInterval(5000);
        client.setPersistConsumerOffsetInterval(1000);
        return client;
    }

    <P extends DefaultMQProducer> P started(P producer) throws MQClientException {
        producer.setSendMsgTimeout(20_000);
        producer.start();
        closing.add(producer::shutdown);
        return producer;
    }

    DefaultMQProducer producer() throws MQClientException {
        return started(configured(new DefaultMQProducer(group + "-producer"), ""));
    }

    /** A consumer that begins with the first message, not yet started. */
    DefaultMQPushConsumer push(String group, String suffix) {
        return tuned(configured(new DefaultMQPushConsumer(group), suffix));
    }

    DefaultMQPushConsumer tuned(DefaultMQPushConsumer consumer) {
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        return consumer;
    }

    void start(DefaultMQPushConsumer consumer) throws MQClientException {
        consumer.start();
        closing.add(consumer::shutdown);
    }

    /** Lets a consumer note what it gets, one message after the other, and acknowledge it. */
    List<Map<String, Object>> noting(DefaultMQPushConsumer consumer) {
        List<Map<String, Object>> seen = new ArrayList<>();
        consumer.registerMessageListener(
                (org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently) (messages, context) -> {
                    note(seen, messages);
                    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                });
        return seen;
    }

    /** Starts a consumer of a topic in a group of the trial's own, and gives the list that fills. */
    List<Map<String, Object>> consume(String topic, String expression) throws MQClientException {
        DefaultMQPushConsumer consumer = push(group, "");
        List<Map<String, Object>> seen = noting(consumer);
        consumer.subscribe(topic, expression);
        start(consumer);
        return seen;
    }

    DefaultLitePullConsumer litePull(String group, String suffix) throws MQClientException {
        DefaultLitePullConsumer consumer = configured(new DefaultLitePullConsumer(group), suffix);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.setPullThreadNums(2);
        return consumer;
    }

    void start(DefaultLitePullConsumer consumer) throws MQClientException {
        consumer.start();
        closing.add(consumer::shutdown);
    }

    // ---- messages

    Message message(String tag, String key, String body) {
        return new Message(topic, tag, key, body.getBytes(StandardCharsets.UTF_8));
    }

    static void note(List<Map<String, Object>> seen, Collection<MessageExt> messages) {
        synchronized (seen) {
            for (MessageExt each : messages) {
                seen.add(seen(each));
            }
            seen.notifyAll();
        }
    }

    static Map<String, Object> seen(MessageExt message) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("at", System.currentTimeMillis());
        facts.put("topic", message.getTopic());
        facts.put("tags", message.getTags());
        facts.put("keys", message.getKeys());
        facts.put("id", message.getMsgId());
        facts.put("offset_id",
                message instanceof MessageClientExt ? ((MessageClientExt) message).getOffsetMsgId() : message.getMsgId());
        facts.put("queue", message.getQueueId());
        facts.put("offset", message.getQueueOffset());
        facts.put("attempts", message.getReconsumeTimes());
        facts.put("born", message.getBornTimestamp());
        facts.put("stored", message.getStoreTimestamp());
        facts.put("born_host", message.getBornHostString());
        facts.put("store_host", String.valueOf(message.getStoreHost()));
        facts.put("flag", message.getFlag());
        facts.put("prepared", message.getPreparedTransactionOffset());
        facts.put("properties", new LinkedHashMap<>(message.getProperties()));
        byte[] body = message.getBody();
        facts.put("length", body.length);
        facts.put("crc", crc(body));
        if (body.length < 2000) {
            facts.put("body", new String(body, StandardCharsets.UTF_8));
        }
        return facts;
    }

    static long crc(byte[] body) {
        CRC32 crc = new CRC32();
        crc.update(body, 0, body.length);
        return crc.getValue();
    }

    static Map<String, Object> sent(SendResult result) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("status", result.getSendStatus().name());
        facts.put("id", result.getMsgId());
        facts.put("offset_id", result.getOffsetMsgId());
        facts.put("topic", result.getMessageQueue().getTopic());
        facts.put("broker", result.getMessageQueue().getBrokerName());
        facts.put("queue", result.getMessageQueue().getQueueId());
        facts.put("offset", result.getQueueOffset());
        facts.put("transaction", result.getTransactionId());
        facts.put("region", result.getRegionId());
        return facts;
    }

    /** What a call was refused with: its class, the server's number where there is one, and the text. */
    static Map<String, Object> refusal(Callable<?> call) {
        Map<String, Object> facts = new LinkedHashMap<>();
        try {
            facts.put("answer", String.valueOf(call.call()));
        } catch (MQBrokerException error) {
            facts.put("kind", "MQBrokerException");
            facts.put("code", error.getResponseCode());
            facts.put("text", error.getErrorMessage());
        } catch (Exception error) {
            facts.put("kind", error.getClass().getSimpleName());
            facts.put("code", error instanceof MQClientException ? ((MQClientException) error).getResponseCode() : null);
            facts.put("text", error.getMessage());
        }
        return facts;
    }

    // ---- waiting

    interface Condition {
        boolean holds() throws Exception;
    }

    static void until(String what, Condition condition) throws Exception {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (!condition.holds()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("waited in vain for " + what);
            }
            Thread.sleep(20);
        }
    }

    /** Waits until a list has so many entries; what is there when the time is over becomes a fact all the same. */
    List<Map<String, Object>> until(String fact, List<Map<String, Object>> seen, int count) throws Exception {
        try {
            until(count + " of " + fact, () -> {
                synchronized (seen) {
                    return seen.size() >= count;
                }
            });
        } finally {
            put(fact, seen);
        }
        return seen;
    }

    void put(String fact, List<Map<String, Object>> seen) {
        synchronized (seen) {
            facts.put(fact, new ArrayList<>(seen));
        }
    }

    /** How many queues of the topic a push consumer holds. */
    static int held(DefaultMQPushConsumer consumer, String topic) {
        int held = 0;
        for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet()) {
            held += queue.getTopic().equals(topic) ? 1 : 0;
        }
        return held;
    }

    // ---- JSON

    static String json(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                out.append(before);
                write(out, String.valueOf(each.getKey()));
                out.append(':');
                write(out, each.getValue());
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof Collection) {
            char before = '[';
            for (Object each : (Collection<?>) value) {
                out.append(before);
                write(out, each);
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else {
            out.append('"');
            for (char each : value.toString().toCharArray()) {
                if (each < ' ' || each > '~' || each == '"' || each == '\\') {
                    out.append(String.format("\\u%04x", (int) each));
                } else {
                    out.append(each);
                }
            }
            out.append('"');
        }
    }
}
