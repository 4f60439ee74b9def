import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What Java clients of RocketMQ 4.9 and 5 have in common: NAMESRV PREFIX [NAME,NAME…]. */
public class RocketMQClients {
    static final String TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC";
    static final String ODD_TEXT = "na\u00efve \u4e2d\u6587 \ud83d\ude00 =;|\"\\ \t end";

    public static void main(String[] arguments) throws Exception {
        RocketMQTrial.main(arguments, trials());
    }

    static Map<String, RocketMQTrial.Body> trials() {
        Map<String, RocketMQTrial.Body> trials = new TreeMap<>();
        trials.put("sync", RocketMQClients::sync);
        trials.put("async", RocketMQClients::async);
        trials.put("oneway", RocketMQClients::oneway);
        trials.put("batch", RocketMQClients::batch);
        trials.put("ordered", RocketMQClients::ordered);
        trials.put("delay", RocketMQClients::delay);
        trials.put("transaction", RocketMQClients::transaction);
        trials.put("orphan", RocketMQClients::orphan);
        trials.put("broadcast", RocketMQClients::broadcast);
        trials.put("sharing", RocketMQClients::sharing);
        trials.put("lite-subscribe", RocketMQClients::liteSubscribe);
        trials.put("lite-assign", RocketMQClients::liteAssign);
        trials.put("pull", RocketMQClients::pull);
        trials.put("retry", RocketMQClients::retry);
        trials.put("tags", RocketMQClients::tags);
        trials.put("sql", RocketMQClients::sql);
        trials.put("request", RocketMQClients::request);
        trials.put("trace", RocketMQClients::trace);
        trials.put("query", RocketMQClients::query);
        trials.put("namespace", RocketMQClients::namespace);
        trials.put("vip", RocketMQClients::vip);
        trials.put("large", RocketMQClients::large);
        trials.put("refused", RocketMQClients::refused);
        return trials;
    }

    // ---- sending

    static void sync(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int at = 0; at < 12; at++) {
            Message message = trial.message("tag" + at % 3, "key" + at + " all", "body " + at);
            message.setFlag(at);
            message.putUserProperty("number", String.valueOf(at));
            message.putUserProperty("odd \u4e2d", ODD_TEXT);
            Map<String, Object> result = RocketMQTrial.sent(producer.send(message));
            result.put("body", "body " + at);
            sent.add(result);
        }
        trial.facts.put("sent", sent);
        trial.until("seen", trial.consume(trial.topic, "*"), sent.size());
    }

    static void async(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        List<Map<String, Object>> sent = Collections.synchronizedList(new ArrayList<>());
        List<String> failed = Collections.synchronizedList(new ArrayList<>());
        int count = 100;
        CountDownLatch answered = new CountDownLatch(count);
        for (int at = 0; at < count; at++) {
            producer.send(trial.message("a", "k", "body " + at), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    sent.add(RocketMQTrial.sent(result));
                    answered.countDown();
                }

                @Override
                public void onException(Throwable error) {
                    failed.add(String.valueOf(error));
                    answered.countDown();
                }
            });
        }
        answered.await(RocketMQTrial.LIMIT_MS, TimeUnit.MILLISECONDS);
        trial.facts.put("sent", sent);
        trial.facts.put("failed", failed);
        trial.until("seen", trial.consume(trial.topic, "*"), count);
    }

    static void oneway(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        for (int at = 0; at < 20; at++) {
            producer.sendOneway(trial.message("a", "k", "body " + at));
        }
        trial.until("seen", trial.consume(trial.topic, "*"), 20);
    }

    static void batch(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        List<Message> messages = new ArrayList<>();
        for (int at = 0; at < 20; at++) {
            Message message = trial.message("tag" + at % 2, "key" + at, "body " + at);
            message.putUserProperty("number", String.valueOf(at));
            messages.add(message);
        }
        trial.facts.put("sent", RocketMQTrial.sent(producer.send(messages)));
        trial.until("seen", trial.consume(trial.topic, "*"), 20);
    }

    static void large(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        StringBuilder text = new StringBuilder();
        while (text.length() < 1 << 20) {
            text.append("the same again, ").append(text.length()).append('\n');
        }
        byte[] compressible = text.toString().getBytes(StandardCharsets.UTF_8), random = new byte[3 << 20];
        new Random(7).nextBytes(random);
        trial.facts.put("crcs", Arrays.asList(RocketMQTrial.crc(compressible), RocketMQTrial.crc(random)));
        producer.send(new Message(trial.topic, compressible));
        producer.send(new Message(trial.topic, random));
        producer.setMaxMessageSize(16 << 20);
        byte[] tooLarge = new byte[5 << 20];
        new Random(8).nextBytes(tooLarge);
        trial.facts.put("refused", RocketMQTrial.refusal(() -> producer.send(new Message(trial.topic, tooLarge))));
        producer.send(new Message(trial.topic, "the end".getBytes(StandardCharsets.UTF_8)));
        trial.until("seen", trial.consume(trial.topic, "*"), 3);
    }

    static void refused(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        producer.setRetryTimesWhenSendFailed(0);
        Map<String, Object> refusals = new LinkedHashMap<>();
        MessageQueue queue = producer.send(trial.message("a", "k", "first")).getMessageQueue();
        MessageQueue none = new MessageQueue(queue.getTopic(), queue.getBrokerName(), 99);
        refusals.put("queue", RocketMQTrial.refusal(() -> producer.send(trial.message("a", "k", "x"), none)));
        MessageQueue system = new MessageQueue("RMQ_SYS_TRANS_HALF_TOPIC", queue.getBrokerName(), 0);
        Message half = new Message("RMQ_SYS_TRANS_HALF_TOPIC", "x".getBytes(StandardCharsets.UTF_8));
        refusals.put("system", RocketMQTrial.refusal(() -> producer.send(half, system)));
        DefaultMQPullConsumer consumer = trial.configured(new DefaultMQPullConsumer(trial.group), "");
        consumer.start();
        refusals.put("no topic", RocketMQTrial.refusal(
                () -> consumer.pull(new MessageQueue("no-such-topic", queue.getBrokerName(), 0), "*", 0, 1)));
        refusals.put("no id", RocketMQTrial.refusal(() -> producer.viewMessage(trial.topic, "7F00000100002B6700000000FFFFFFF7")));
        consumer.shutdown();
        trial.facts.put("refusals", refusals);
    }

    // ---- order, delay, transactions

    static void ordered(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        for (int at = 0; at < 60; at++) {
            int key = at % 3;
            producer.send(trial.message("a", "order" + key, "order" + key + " " + at / 3),
                    (queues, message, order) -> queues.get((Integer) order % queues.size()), key);
        }
        DefaultMQPushConsumer consumer = trial.push(trial.group, "");
        consumer.setSuspendCurrentQueueTimeMillis(300);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        consumer.subscribe(trial.topic, "*");
        List<Map<String, Object>> seen = new ArrayList<>();
        AtomicBoolean suspended = new AtomicBoolean();
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            RocketMQTrial.note(seen, messages);
            boolean fifth = new String(messages.get(0).getBody(), StandardCharsets.UTF_8).equals("order1 5");
            return fifth && suspended.compareAndSet(false, true)
                    ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT : ConsumeOrderlyStatus.SUCCESS;
        });
        trial.start(consumer);
        trial.until("seen", seen, 61);
    }

    static void delay(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        producer.send(trial.message("a", "k", "first"));
        List<Map<String, Object>> seen = trial.consume(trial.topic, "*");
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int level : new int[] {2, 1, 0}) {
            Message message = trial.message("a", "k", "level " + level);
            message.setDelayTimeLevel(level);
            Map<String, Object> result = RocketMQTrial.sent(producer.send(message));
            result.put("at", System.currentTimeMillis());
            sent.add(result);
        }
        trial.facts.put("sent", sent);
        trial.until("seen", seen, 4);
    }

    /** Ends a half message as its tag says; a tag "later-…" is unknown until the server asks. */
    private static final class ByTag implements TransactionListener {
        final List<Map<String, Object>> checks = new ArrayList<>();

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return state(message.getTags());
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            RocketMQTrial.note(checks, Collections.singletonList(message));
            synchronized (checks) {
                checks.get(checks.size() - 1).put("transaction", message.getTransactionId());
            }
            return state(message.getTags().replace("later-", ""));
        }

        private static LocalTransactionState state(String tag) {
            return tag.equals("commit") ? LocalTransactionState.COMMIT_MESSAGE
                    : tag.equals("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
        }
    }

    static void transaction(RocketMQTrial trial) throws Exception {
        TransactionMQProducer producer = trial.configured(new TransactionMQProducer(trial.group + "-producer"), "");
        ByTag listener = new ByTag();
        producer.setTransactionListener(listener);
        trial.started(producer);
        List<Map<String, Object>> sent = new ArrayList<>();
        for (String tag : new String[] {"rollback", "commit", "later-rollback", "later-commit"}) {
            Message message = trial.message(tag, "key " + tag, "body " + tag);
            message.putUserProperty("own", ODD_TEXT);
            TransactionSendResult result = producer.sendMessageInTransaction(message, "argument");
            Map<String, Object> facts = RocketMQTrial.sent(result);
            facts.put("state", result.getLocalTransactionState().name());
            sent.add(facts);
        }
        trial.facts.put("sent", sent);
        List<Map<String, Object>> seen = trial.consume(trial.topic, "*");
        trial.until("checks", listener.checks, 2);
        trial.until("seen", seen, 2);
    }

    /** A half message whose producer is gone is asked about at another one of its group. */
    static void orphan(RocketMQTrial trial) throws Exception {
        TransactionMQProducer first = trial.configured(new TransactionMQProducer(trial.group + "-producer"), "-first");
        ByTag listener = new ByTag();
        first.setTransactionListener(listener);
        trial.started(first);
        first.sendMessageInTransaction(trial.message("later-commit", "key", "orphan"), null);
        first.shutdown();
        TransactionMQProducer second = trial.configured(new TransactionMQProducer(trial.group + "-producer"), "-second");
        ByTag other = new ByTag();
        second.setTransactionListener(other);
        trial.started(second);
        // A producer tells of itself when it knows a broker, and it knows one when it has sent.
        second.send(new Message(trial.topic + "-other", "hello".getBytes(StandardCharsets.UTF_8)));
        List<Map<String, Object>> seen = trial.consume(trial.topic, "*");
        trial.until("checks", other.checks, 1);
        trial.until("seen", seen, 1);
        trial.put("checks of the dead", listener.checks);
    }

    // ---- consuming

    static void broadcast(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        for (int at = 0; at < 10; at++) {
            producer.send(trial.message("a", "k", "body " + at));
        }
        for (String member : new String[] {"one", "two"}) {
            DefaultMQPushConsumer consumer = trial.push(trial.group, "-" + member);
            broadcasting(consumer);
            List<Map<String, Object>> seen = trial.noting(consumer);
            consumer.subscribe(trial.topic, "*");
            trial.start(consumer);
            trial.until(member, seen, 10);
        }
    }

    /** The enumeration moved from one package to another between 4 and 5. */
    private static void broadcasting(DefaultMQPushConsumer consumer) throws Exception {
        Method get = DefaultMQPushConsumer.class.getMethod("getMessageModel");
        for (Object each : get.getReturnType().getEnumConstants()) {
            if (each.toString().equals("BROADCASTING")) {
                DefaultMQPushConsumer.class.getMethod("setMessageModel", get.getReturnType()).invoke(consumer, each);
            }
        }
    }

    static void sharing(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        producer.send(trial.message("a", "k", "first"));
        List<DefaultMQPushConsumer> members = new ArrayList<>();
        List<List<Map<String, Object>>> seen = new ArrayList<>();
        for (String member : new String[] {"-one", "-two"}) {
            DefaultMQPushConsumer consumer = trial.push(trial.group, member);
            seen.add(trial.noting(consumer));
            consumer.subscribe(trial.topic, "*");
            trial.start(consumer);
            members.add(consumer);
        }
        int queues = producer.fetchPublishMessageQueues(trial.topic).size();
        trial.facts.put("queues", queues);
        for (DefaultMQPushConsumer each : members) {
            RocketMQTrial.until("half of the queues", () -> RocketMQTrial.held(each, trial.topic) == queues / 2);
        }
        for (int at = 0; at < 40; at++) {
            producer.send(trial.message("a", "k", "shared " + at));
        }
        RocketMQTrial.until("all messages", () -> {
            Set<Object> all = new HashSet<>(bodies(seen.get(0)));
            all.addAll(bodies(seen.get(1)));
            return all.size() == 41;
        });
        trial.put("one", seen.get(0));
        trial.put("two", seen.get(1));
        members.get(0).shutdown();
        RocketMQTrial.until("all queues", () -> RocketMQTrial.held(members.get(1), trial.topic) == queues);
        List<Object> left = new ArrayList<>();
        for (int at = 0; at < 8; at++) {
            left.add("left " + at);
            producer.send(trial.message("a", "k", "left " + at));
        }
        RocketMQTrial.until("what came later", () -> bodies(seen.get(1)).containsAll(left));
        trial.put("survivor", seen.get(1));
    }

    private static List<Object> bodies(List<Map<String, Object>> seen) {
        List<Object> bodies = new ArrayList<>();
        synchronized (seen) {
            for (Map<String, Object> each : seen) {
                bodies.add(each.get("body"));
            }
        }
        return bodies;
    }

    static void liteSubscribe(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        for (int at = 0; at < 20; at++) {
            producer.send(trial.message(at % 2 == 0 ? "even" : "odd", "k", "body " + at));
        }
        DefaultLitePullConsumer first = trial.litePull(trial.group, "-first");
        first.subscribe(trial.topic, "even");
        trial.start(first);
        poll(trial, "first", first, 10);
        first.commitSync();
        first.shutdown();
        for (int at = 20; at < 30; at++) {
            producer.send(trial.message(at % 2 == 0 ? "even" : "odd", "k", "body " + at));
        }
        DefaultLitePullConsumer second = trial.litePull(trial.group, "-second");
        second.subscribe(trial.topic, "even");
        trial.start(second);
        poll(trial, "second", second, 5);
    }

    private static void poll(RocketMQTrial trial, String fact, DefaultLitePullConsumer consumer, int count)
            throws Exception {
        List<Map<String, Object>> seen = new ArrayList<>();
        try {
            RocketMQTrial.until(count + " of " + fact, () -> {
                RocketMQTrial.note(seen, consumer.poll(200));
                return seen.size() >= count;
            });
        } finally {
            trial.put(fact, seen);
        }
    }

    static void liteAssign(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        MessageQueue queue = producer.send(trial.message("a", "k", "body 0")).getMessageQueue();
        for (int at = 1; at < 10; at++) {
            if (at == 6) {
                Thread.sleep(50);
                trial.facts.put("between", System.currentTimeMillis());
                Thread.sleep(50);
            }
            producer.send(trial.message("a", "k", "body " + at), queue);
        }
        DefaultLitePullConsumer consumer = trial.litePull(trial.group, "");
        trial.start(consumer);
        Collection<MessageQueue> queues = consumer.fetchMessageQueues(trial.topic);
        trial.facts.put("queues", queues.size());
        consumer.assign(Collections.singletonList(queue));
        consumer.seekToBegin(queue);
        poll(trial, "from the beginning", consumer, 10);
        consumer.seek(queue, 7);
        poll(trial, "from seven", consumer, 3);
        consumer.commitSync();
        RocketMQTrial.until("committed offset", () -> Long.valueOf(10).equals(consumer.committed(queue)));
        trial.facts.put("committed", consumer.committed(queue));
        trial.facts.put("offset between", consumer.offsetForTimestamp(queue, (Long) trial.facts.get("between")));
        consumer.seekToEnd(queue);
        producer.send(trial.message("a", "k", "last"), queue);
        poll(trial, "from the end", consumer, 1);
    }

    static void pull(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        MessageQueue queue = producer.send(trial.message("a", "k", "body 0")).getMessageQueue();
        for (int at = 1; at < 10; at++) {
            producer.send(trial.message(at % 2 == 0 ? "a" : "b", "k", "body " + at), queue);
        }
        DefaultMQPullConsumer consumer = trial.configured(new DefaultMQPullConsumer(trial.group), "");
        consumer.start();
        pulled(trial, "four", consumer.pull(queue, "*", 0, 4));
        pulled(trial, "only b", consumer.pull(queue, "b", 0, 32));
        pulled(trial, "nothing of this tag", consumer.pull(queue, "nothing", 0, 32));
        pulled(trial, "at the end", consumer.pull(queue, "*", 10, 32));
        pulled(trial, "far beyond the end", consumer.pull(queue, "*", 1000, 32));
        Thread later = new Thread(() -> {
            try {
                Thread.sleep(1000);
                Message message = trial.message("a", "k", "awaited");
                message.putUserProperty("sent", String.valueOf(System.currentTimeMillis()));
                producer.send(message, queue);
            } catch (Exception error) {
                trial.facts.put("failure of the other thread", String.valueOf(error));
            }
        });
        later.start();
        pulled(trial, "awaited", consumer.pullBlockIfNotFound(queue, "*", 10, 32));
        // What a closing client sends last may be lost on its way out, on every server; this waits for the answer.
        consumer.getDefaultMQPullConsumerImpl().getOffsetStore().updateConsumeOffsetToBroker(queue, 6, false);
        consumer.shutdown();
        DefaultMQPullConsumer next = trial.configured(new DefaultMQPullConsumer(trial.group), "-next");
        next.start();
        trial.facts.put("offset", next.fetchConsumeOffset(queue, true));
        next.shutdown();
    }

    private static void pulled(RocketMQTrial trial, String fact, PullResult result) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("status", result.getPullStatus().name());
        facts.put("next", result.getNextBeginOffset());
        facts.put("min", result.getMinOffset());
        facts.put("max", result.getMaxOffset());
        List<Map<String, Object>> seen = new ArrayList<>();
        if (result.getMsgFoundList() != null) {
            RocketMQTrial.note(seen, result.getMsgFoundList());
        }
        facts.put("seen", seen);
        trial.facts.put(fact, facts);
    }

    static void retry(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        List<Map<String, Object>> sent = new ArrayList<>();
        for (String body : new String[] {"in vain", "at once", "good"}) {
            Message message = trial.message("tag", "key", body);
            message.putUserProperty("own", ODD_TEXT);
            sent.add(RocketMQTrial.sent(producer.send(message)));
        }
        trial.facts.put("sent", sent);
        DefaultMQPushConsumer consumer = trial.push(trial.group, "");
        consumer.setMaxReconsumeTimes(2);
        consumer.subscribe(trial.topic, "*");
        List<Map<String, Object>> seen = new ArrayList<>();
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            RocketMQTrial.note(seen, messages);
            String body = new String(messages.get(0).getBody(), StandardCharsets.UTF_8);
            context.setDelayLevelWhenNextConsume(body.equals("at once") ? -1 : 1);
            return body.equals("good") ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS
                    : ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        trial.start(consumer);
        trial.until("seen", seen, 5);
        DefaultLitePullConsumer dead = trial.litePull(trial.group + "-dead", "-dead");
        trial.start(dead);
        String topic = "%DLQ%" + trial.group;
        RocketMQTrial.until("the dead letters' topic", () -> {
            try {
                return !dead.fetchMessageQueues(topic).isEmpty();
            } catch (MQClientException error) {
                return false;
            }
        });
        Collection<MessageQueue> queues = dead.fetchMessageQueues(topic);
        trial.facts.put("dead queues", queues.size());
        dead.assign(queues);
        for (MessageQueue each : queues) {
            dead.seekToBegin(each);
        }
        poll(trial, "dead", dead, 2);
        trial.put("seen", seen);
    }

    // ---- filters

    static void tags(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        MessageQueue queue = producer.send(trial.message("A", "k", "A 0")).getMessageQueue();
        // "Aa" and "BB" have one hash in Java: what the server cannot tell apart, the client does.
        for (String tag : new String[] {"B", "C", "Aa", "BB", "A", "B", "BB", "C"}) {
            producer.send(trial.message(tag, "k", tag + " " + tag), queue);
        }
        producer.send(new Message(trial.topic, "no tag".getBytes(StandardCharsets.UTF_8)), queue);
        producer.send(trial.message("C", "k", "the end"), queue);
        List<Map<String, Object>> seen = trial.consume(trial.topic, "A || C || BB");
        RocketMQTrial.until("the end", () -> bodies(seen).contains("the end"));
        trial.put("seen", seen);
    }

    static void sql(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        MessageQueue queue = producer.send(trial.message("x", "k", "none")).getMessageQueue();
        for (int at = 0; at < 10; at++) {
            Message message = trial.message(at % 2 == 0 ? "even" : "odd", "k", "number " + at);
            message.putUserProperty("number", String.valueOf(at));
            message.putUserProperty("word", at % 3 == 0 ? "third" : "other's");
            producer.send(message, queue);
        }
        Message end = trial.message("end", "k", "the end");
        end.putUserProperty("end", "true");
        producer.send(end, queue);
        Map<String, String> expressions = new LinkedHashMap<>();
        expressions.put("between", "number BETWEEN 2 AND 5");
        expressions.put("and", "number > 3 AND TAGS = 'even' AND word IS NOT NULL");
        expressions.put("in", "(TAGS IN ('odd', 'none') AND number <> 7) OR number = 0");
        expressions.put("quote", "word = 'other''s' AND NOT (number >= 5)");
        for (Map.Entry<String, String> each : expressions.entrySet()) {
            DefaultMQPushConsumer consumer = trial.push(trial.group + each.getKey(), "-" + each.getKey());
            List<Map<String, Object>> seen = trial.noting(consumer);
            consumer.subscribe(trial.topic, MessageSelector.bySql("end IS NOT NULL OR (" + each.getValue() + ")"));
            trial.start(consumer);
            RocketMQTrial.until("the end of " + each.getKey(), () -> bodies(seen).contains("the end"));
            trial.facts.put(each.getKey(), bodies(seen));
        }
        DefaultMQPushConsumer wrong = trial.push(trial.group + "wrong", "-wrong");
        trial.noting(wrong);
        wrong.subscribe(trial.topic, MessageSelector.bySql("number >"));
        trial.facts.put("wrong", RocketMQTrial.refusal(() -> {
            wrong.start();
            return "started";
        }));
        wrong.shutdown();
    }

    // ---- calls and looking up

    static void request(RocketMQTrial trial) throws Exception {
        DefaultMQProducer asking = trial.producer();
        DefaultMQProducer answering = trial.started(
                trial.configured(new DefaultMQProducer(trial.group + "-answers"), "-answers"));
        asking.send(trial.message("warm", "k", "the topic exists"));
        DefaultMQPushConsumer consumer = trial.push(trial.group, "-answers");
        consumer.subscribe(trial.topic, "ask");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            try {
                for (MessageExt each : messages) {
                    String body = "answer to " + new String(each.getBody(), StandardCharsets.UTF_8);
                    answering.send(MessageUtil.createReplyMessage(each, body.getBytes(StandardCharsets.UTF_8)));
                }
            } catch (Exception error) {
                trial.facts.put("failure of the answering side", String.valueOf(error));
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        trial.start(consumer);
        Message answer = asking.request(trial.message("ask", "k", "question"), 30_000);
        trial.facts.put("answer", new String(answer.getBody(), StandardCharsets.UTF_8));
        trial.facts.put("properties", new LinkedHashMap<>(answer.getProperties()));
        CountDownLatch called = new CountDownLatch(1);
        asking.request(trial.message("ask", "k", "another"), new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                trial.facts.put("called back", new String(message.getBody(), StandardCharsets.UTF_8));
                called.countDown();
            }

            @Override
            public void onException(Throwable error) {
                trial.facts.put("called back", String.valueOf(error));
                called.countDown();
            }
        }, 30_000);
        called.await(40, TimeUnit.SECONDS);
        trial.facts.put("nobody", RocketMQTrial.refusal(() -> asking.request(trial.message("nobody", "k", "?"), 1500)));
    }

    static void trace(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.started(
                trial.configured(new DefaultMQProducer(trial.group + "-producer", null, true, null), ""));
        SendResult sent = producer.send(trial.message("traced", trial.topic + "-key", "traced"));
        trial.facts.put("sent", RocketMQTrial.sent(sent));
        DefaultMQPushConsumer consumer = trial.tuned(
                trial.configured(new DefaultMQPushConsumer(
                        trial.group, null, new AllocateMessageQueueAveragely(), true, null), "-consumer"));
        List<Map<String, Object>> seen = trial.noting(consumer);
        consumer.subscribe(trial.topic, "*");
        trial.start(consumer);
        trial.until("seen", seen, 1);
        long began = System.currentTimeMillis() - 60_000;
        for (String key : new String[] {sent.getMsgId(), trial.topic + "-key"}) {
            RocketMQTrial.until("trace of " + key, () -> {
                List<Map<String, Object>> found = new ArrayList<>();
                try {
                    QueryResult result =
                            producer.queryMessage(TRACE_TOPIC, key, 32, began, System.currentTimeMillis() + 60_000);
                    RocketMQTrial.note(found, result.getMessageList());
                } catch (MQClientException error) {
                    return false;
                }
                List<String> kinds = new ArrayList<>();
                for (Map<String, Object> each : found) {
                    for (String record : String.valueOf(each.get("body")).split("\u0002")) {
                        kinds.add(record.split("\u0001")[0]);
                    }
                }
                Collections.sort(kinds);
                trial.facts.put(key.equals(sent.getMsgId()) ? "by id" : "by key", kinds);
                trial.put("records", found);
                return kinds.containsAll(Arrays.asList("Pub", "SubBefore", "SubAfter"));
            });
        }
    }

    static void query(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        long began = System.currentTimeMillis();
        List<SendResult> results = new ArrayList<>();
        results.add(producer.send(trial.message("a", "one both", "first")));
        MessageQueue queue = results.get(0).getMessageQueue();
        results.add(producer.send(trial.message("a", "two both", "second"), queue));
        results.add(producer.send(trial.message("a", "three", "third"), queue));
        List<Map<String, Object>> sent = new ArrayList<>();
        List<Map<String, Object>> byId = new ArrayList<>(), byUniqueId = new ArrayList<>();
        for (SendResult each : results) {
            sent.add(RocketMQTrial.sent(each));
            RocketMQTrial.note(byId, Collections.singletonList(producer.viewMessage(trial.topic, each.getOffsetMsgId())));
            List<MessageExt> found = new ArrayList<>();
            RocketMQTrial.until("message " + each.getMsgId(), () -> {
                try {
                    MessageExt message = producer.viewMessage(trial.topic, each.getMsgId());
                    if (message != null) {
                        found.add(message);
                    }
                } catch (MQClientException none) {
                    return false;
                }
                return !found.isEmpty();
            });
            RocketMQTrial.note(byUniqueId, found);
        }
        trial.facts.put("sent", sent);
        trial.put("by offset id", byId);
        trial.put("by unique id", byUniqueId);
        for (String key : new String[] {"both", "three"}) {
            List<Map<String, Object>> found = new ArrayList<>();
            QueryResult result =
                    producer.queryMessage(trial.topic, key, 32, began - 10_000, System.currentTimeMillis() + 10_000);
            RocketMQTrial.note(found, result.getMessageList());
            trial.put("by key " + key, found);
        }
        trial.facts.put("no such key", RocketMQTrial.refusal(() -> producer.queryMessage(trial.topic, "nothing", 32, 0,
                System.currentTimeMillis()).getMessageList().size()));
        trial.facts.put("not in this time", RocketMQTrial.refusal(() -> producer.queryMessage(trial.topic, "both", 32,
                began - 7_200_000, began - 3_600_000).getMessageList().size()));
        trial.facts.put("max", producer.maxOffset(queue));
        trial.facts.put("min", producer.minOffset(queue));
        trial.facts.put("at the beginning of time", producer.searchOffset(queue, 0));
        trial.facts.put("in the future", producer.searchOffset(queue, began + 3_600_000));
        trial.facts.put("began", began);
        trial.facts.put("earliest", producer.earliestMsgStoreTime(queue));
    }

    static void namespace(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.configured(new DefaultMQProducer(trial.group + "-producer"), "");
        producer.setNamespace("space");
        trial.started(producer);
        trial.facts.put("sent", RocketMQTrial.sent(producer.send(trial.message("a", "k", "in a space"))));
        DefaultMQPushConsumer consumer = trial.push(trial.group, "-consumer");
        consumer.setNamespace("space");
        consumer.subscribe(trial.topic, "*");
        List<Map<String, Object>> seen = new ArrayList<>();
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            RocketMQTrial.note(seen, messages);
            context.setDelayLevelWhenNextConsume(1);
            return messages.get(0).getReconsumeTimes() == 0
                    ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        trial.start(consumer);
        trial.until("seen", seen, 2);
        DefaultMQPushConsumer outside = trial.push(trial.group + "-outside", "-outside");
        List<Map<String, Object>> plain = trial.noting(outside);
        outside.subscribe("space%" + trial.topic, "*");
        trial.start(outside);
        trial.until("outside", plain, 1);
    }

    /** Clients up to 4.4 send to a second port, two below the broker's, unless told otherwise. */
    static void vip(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.configured(new DefaultMQProducer(trial.group + "-producer"), "");
        producer.setVipChannelEnabled(true);
        trial.started(producer);
        SendResult sent = producer.send(trial.message("a", "k", "by the second port"));
        trial.facts.put("sent", RocketMQTrial.sent(sent));
        RocketMQTrial.until("the end to move", () -> producer.maxOffset(sent.getMessageQueue()) > 0);
        trial.facts.put("max", producer.maxOffset(sent.getMessageQueue()));
        DefaultMQPushConsumer consumer = trial.push(trial.group, "-consumer");
        consumer.setVipChannelEnabled(true);
        List<Map<String, Object>> seen = trial.noting(consumer);
        consumer.subscribe(trial.topic, "*");
        trial.start(consumer);
        trial.until("seen", seen, 1);
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(trial.topic);
        trial.facts.put("queues", queues.size());
    }
}
