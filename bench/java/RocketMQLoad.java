import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Loads a RocketMQ broker through the official client, and prints what it measured as one JSON line. */
public class RocketMQLoad {
    private static final int WARM_UP_SHARE = 5;

    interface Sender {
        SendStatus send(int nth) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        String mode = args[0], nameServer = args[1], topic = args[2];
        int[] numbers = Arrays.stream(args).skip(3).mapToInt(Integer::parseInt).toArray();
        switch (mode) {
            case "send" -> send(nameServer, topic, numbers[0], numbers[1], numbers[2]);
            case "transaction" -> transaction(nameServer, topic, numbers[0], numbers[1], numbers[2]);
            case "consume" -> consume(nameServer, topic, numbers[0], numbers[1]);
            case "latency" -> latency(nameServer, topic, numbers[0], numbers[1], numbers[2]);
            case "delay" -> delay(nameServer, topic, numbers[0], numbers[1], numbers[2], numbers[3]);
            default -> throw new IllegalArgumentException(mode);
        }
        System.exit(0);
    }

    /** THREADS that each send and wait, BYTES in a message, COUNT messages after a warm-up. */
    static void send(String nameServer, String topic, int threads, int bytes, int count) throws Exception {
        DefaultMQProducer producer = started(new DefaultMQProducer("load_" + System.nanoTime()), nameServer);
        byte[] body = body(bytes);
        report(threads, count, nth -> producer.send(new Message(topic, "tag", "key" + nth, body)).getSendStatus());
        producer.shutdown();
    }

    /** The same with transactional messages that commit at once. */
    static void transaction(String nameServer, String topic, int threads, int bytes, int count) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("load_" + System.nanoTime());
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        started(producer, nameServer);
        byte[] body = body(bytes);
        report(threads, count, nth ->
            producer.sendMessageInTransaction(new Message(topic, "tag", "key" + nth, body), null).getSendStatus());
        producer.shutdown();
    }

    private static void report(int threads, int count, Sender sender) throws Exception {
        int warmUp = Math.max(count / WARM_UP_SHARE, 1);
        AtomicInteger next = new AtomicInteger(), failed = new AtomicInteger();
        AtomicLong began = new AtomicLong();
        long[] micros = new long[count];
        CountDownLatch done = new CountDownLatch(threads);
        for (int thread = 0; thread < threads; thread++) {
            new Thread(() -> {
                for (int nth; (nth = next.getAndIncrement()) < warmUp + count; ) {
                    if (nth == warmUp) began.set(System.nanoTime());
                    long start = System.nanoTime();
                    try {
                        if (sender.send(nth) != SendStatus.SEND_OK) failed.incrementAndGet();
                    } catch (Exception error) {
                        failed.incrementAndGet();
                    }
                    if (nth >= warmUp) micros[nth - warmUp] = (System.nanoTime() - start) / 1000;
                }
                done.countDown();
            }).start();
        }
        done.await();
        double seconds = (System.nanoTime() - began.get()) / 1e9;
        Arrays.sort(micros);
        System.out.printf("{\"rate\":%.0f,\"p50_us\":%d,\"p99_us\":%d,\"failed\":%d}%n",
            count / seconds, micros[count / 2], micros[(int) (count * 0.99)], failed.get());
    }

    /** A new group takes COUNT messages that are there already. */
    static void consume(String nameServer, String topic, int threads, int count) throws Exception {
        AtomicInteger seen = new AtomicInteger();
        AtomicLong first = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = consumer(nameServer, topic, threads, (messages, context) -> {
            first.compareAndSet(0, System.nanoTime());
            if (seen.addAndGet(messages.size()) >= count) done.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        done.await();
        System.out.printf("{\"rate\":%.0f}%n", seen.get() / ((System.nanoTime() - first.get()) / 1e9));
        consumer.shutdown();
    }

    /** From send to listener, at RATE messages a second, each with its time of sending. */
    static void latency(String nameServer, String topic, int rate, int bytes, int count) throws Exception {
        DefaultMQProducer producer = started(new DefaultMQProducer("load_" + System.nanoTime()), nameServer);
        int warmUp = Math.max(rate * 3, count / WARM_UP_SHARE);
        long[] micros = new long[count];
        AtomicInteger seen = new AtomicInteger(), failed = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        send(producer, topic, bytes, -1);
        DefaultMQPushConsumer consumer = consumer(nameServer, topic, 8, (messages, context) -> {
            long now = System.nanoTime();
            for (MessageExt message : messages) {
                int nth = Integer.parseInt(message.getUserProperty("nth"));
                if (nth < warmUp) continue;
                micros[nth - warmUp] = (now - Long.parseLong(message.getUserProperty("sent"))) / 1000;
                if (seen.incrementAndGet() == count) done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        Thread.sleep(2000);
        int threads = 8;
        AtomicInteger next = new AtomicInteger();
        long began = System.nanoTime();
        for (int thread = 0; thread < threads; thread++) {
            new Thread(() -> {
                for (int nth; (nth = next.getAndIncrement()) < warmUp + count; ) {
                    long due = began + nth * 1_000_000_000L / rate;
                    while (System.nanoTime() < due) LockSupport.parkNanos(due - System.nanoTime());
                    try {
                        send(producer, topic, bytes, nth);
                    } catch (Exception error) {
                        failed.incrementAndGet();
                    }
                }
            }).start();
        }
        done.await();
        Arrays.sort(micros);
        System.out.printf("{\"p50_us\":%d,\"p99_us\":%d,\"failed\":%d}%n",
            micros[count / 2], micros[(int) (count * 0.99)], failed.get());
        consumer.shutdown();
        producer.shutdown();
    }

    private static void send(DefaultMQProducer producer, String topic, int bytes, int nth) throws Exception {
        Message message = new Message(topic, body(bytes));
        message.putUserProperty("nth", String.valueOf(nth));
        message.putUserProperty("sent", String.valueOf(System.nanoTime()));
        producer.send(message);
    }

    /** COUNT messages spread evenly over SPREAD seconds that begin AFTER seconds from now, and how late they came. */
    static void delay(String nameServer, String topic, int count, int after, int spread, int bytes) throws Exception {
        DefaultMQProducer producer = started(new DefaultMQProducer("load_" + System.nanoTime()), nameServer);
        producer.send(new Message(topic, body(bytes)));
        long[] late = new long[count];
        AtomicInteger seen = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = consumer(nameServer, topic, 8, (messages, context) -> {
            long now = System.currentTimeMillis();
            for (MessageExt message : messages) {
                String due = message.getUserProperty("due");
                if (due == null) continue;
                int nth = seen.getAndIncrement();
                if (nth < count) late[nth] = now - Long.parseLong(due);
                if (nth + 1 == count) done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        long began = System.currentTimeMillis();
        AtomicInteger next = new AtomicInteger(), failed = new AtomicInteger();
        CountDownLatch sent = new CountDownLatch(32);
        for (int thread = 0; thread < 32; thread++) {
            new Thread(() -> {
                for (int nth; (nth = next.getAndIncrement()) < count; ) {
                    long due = began + after * 1000L + spread * 1000L * nth / count;
                    Message message = new Message(topic, body(bytes));
                    message.setDeliverTimeMs(due);
                    message.putUserProperty("due", String.valueOf(due));
                    try {
                        if (producer.send(message).getSendStatus() != SendStatus.SEND_OK) failed.incrementAndGet();
                    } catch (Exception error) {
                        failed.incrementAndGet();
                    }
                }
                sent.countDown();
            }).start();
        }
        sent.await();
        System.out.printf("{\"scheduled_s\":%.1f}%n", (System.currentTimeMillis() - began) / 1e3);
        System.out.flush();
        done.await();
        Arrays.sort(late);
        System.out.printf("{\"early_ms\":%d,\"p50_ms\":%d,\"p99_ms\":%d,\"late_ms\":%d,\"failed\":%d}%n",
            late[0], late[count / 2], late[(int) (count * 0.99)], late[count - 1], failed.get());
        consumer.shutdown();
        producer.shutdown();
    }

    private static <P extends DefaultMQProducer> P started(P producer, String nameServer) throws Exception {
        producer.setNamesrvAddr(nameServer);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        return producer;
    }

    private static DefaultMQPushConsumer consumer(
        String nameServer, String topic, int threads, MessageListenerConcurrently listener) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("load_" + System.nanoTime());
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(listener);
        consumer.start();
        return consumer;
    }

    private static byte[] body(int bytes) {
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        return body;
    }
}
