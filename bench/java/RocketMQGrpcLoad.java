import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.java.message.MessageViewImpl;

/** Loads a RocketMQ broker through the official gRPC client, and prints what it measured as one JSON line. */
public class RocketMQGrpcLoad {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final int WARM_UP_SHARE = 5;
    private static final int BATCH = 32;
    private static final int QUEUES = 8;

    interface Work {
        void run() throws Exception;
    }

    interface Step {
        void run(int nth) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        String mode = args[0], address = args[1], topic = args[2];
        int[] numbers = Arrays.stream(args).skip(3).mapToInt(Integer::parseInt).toArray();
        switch (mode) {
            case "send" -> send(address, topic, numbers[0], numbers[1], numbers[2]);
            case "consume" -> consume(address, topic, numbers[0], numbers[1], numbers[2]);
            case "redelivery" -> redelivery(address, topic, numbers[0], numbers[1], numbers[2]);
            default -> throw new IllegalArgumentException(mode);
        }
        System.exit(0);
    }

    /** THREADS that each send and wait, BYTES in a message, COUNT messages after a warm-up. */
    static void send(String address, String topic, int threads, int bytes, int count) throws Exception {
        Producer producer = producer(address, topic);
        int warmUp = Math.max(count / WARM_UP_SHARE, 1);
        AtomicLong began = new AtomicLong();
        long[] micros = new long[count];
        int failed = each(threads, warmUp + count, nth -> {
            if (nth == warmUp) began.set(System.nanoTime());
            long start = System.nanoTime();
            producer.send(message(topic, bytes, nth));
            if (nth >= warmUp) micros[nth - warmUp] = (System.nanoTime() - start) / 1000;
        });
        double seconds = (System.nanoTime() - began.get()) / 1e9;
        Arrays.sort(micros);
        System.out.printf("{\"rate\":%.0f,\"p50_us\":%d,\"p99_us\":%d,\"failed\":%d}%n",
            count / seconds, micros[count / 2], micros[(int) (count * 0.99)], failed);
    }

    /** THREADS that each receive and acknowledge message by message, of COUNT that were sent before. */
    static void consume(String address, String topic, int threads, int bytes, int count) throws Exception {
        SimpleConsumer consumer = known(address, topic);
        Producer producer = producer(address, topic);
        int failed = each(threads, count, nth -> producer.send(message(topic, bytes, nth)));
        int warmUp = count / WARM_UP_SHARE;
        AtomicInteger seen = new AtomicInteger(), refused = new AtomicInteger();
        AtomicLong began = new AtomicLong();
        inThreads(threads, () -> {
            while (seen.get() < count) {
                for (MessageView message : consumer.receive(BATCH, Duration.ofSeconds(60))) {
                    if (acknowledged(consumer, message)) {
                        if (seen.incrementAndGet() == warmUp) began.set(System.nanoTime());
                    } else {
                        refused.incrementAndGet();
                    }
                }
            }
        });
        double seconds = (lastAcknowledged.get() - began.get()) / 1e9;
        System.out.printf("{\"rate\":%.0f,\"failed\":%d}%n", (count - warmUp) / seconds, failed + refused.get());
    }

    private static final AtomicLong lastAcknowledged = new AtomicLong();

    private static boolean acknowledged(SimpleConsumer consumer, MessageView message) {
        try {
            consumer.ack(message);
            lastAcknowledged.accumulateAndGet(System.nanoTime(), Math::max);
            return true;
        } catch (Exception error) {
            return false;
        }
    }

    /**
     * COUNT messages are sent, RATE of them in a second, received and left alone; how late after its deadline each comes
     * again. The deadline is reckoned from when the broker says that it gave the message; the way back to the client counts.
     */
    static void redelivery(String address, String topic, int count, int rate, int invisibleMs) throws Exception {
        SimpleConsumer consumer = known(address, topic);
        Producer producer = producer(address, topic);
        Map<String, Long> due = new ConcurrentHashMap<>(), late = new ConcurrentHashMap<>();
        AtomicInteger failed = new AtomicInteger();
        Thread sending = new Thread(() -> {
            long began = System.nanoTime();
            for (int nth = 0; nth < count; nth++) {
                long turn = began + nth * 1_000_000_000L / rate;
                while (System.nanoTime() < turn) LockSupport.parkNanos(turn - System.nanoTime());
                producer.sendAsync(message(topic, 100, nth)).whenComplete((sent, error) -> {
                    if (error != null) failed.incrementAndGet();
                });
            }
        });
        sending.start();
        inThreads(8, () -> {
            while (late.size() + failed.get() < count) {
                for (MessageView message : consumer.receive(BATCH, Duration.ofMillis(invisibleMs))) {
                    long now = System.currentTimeMillis();
                    String id = message.getMessageId().toString();
                    long given = ((MessageViewImpl) message).getTransportDeliveryTimestamp().orElseThrow();
                    Long deadline = due.putIfAbsent(id, given + invisibleMs);
                    if (deadline != null) {
                        late.putIfAbsent(id, now - deadline);
                        consumer.ackAsync(message);
                    }
                }
            }
        });
        long[] sorted = late.values().stream().mapToLong(Long::longValue).sorted().toArray();
        System.out.printf("{\"p50_ms\":%d,\"p99_ms\":%d,\"late_ms\":%d,\"failed\":%d}%n",
            sorted[sorted.length / 2], sorted[(int) (sorted.length * 0.99)], sorted[sorted.length - 1], failed.get());
    }

    /** A consumer whose group the broker has met in every queue: from here on it is given all that comes. */
    private static SimpleConsumer known(String address, String topic) throws Exception {
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration(address))
            .setConsumerGroup("load_" + System.nanoTime()).setAwaitDuration(Duration.ofSeconds(2))
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).build();
        List<CompletableFuture<List<MessageView>>> met = new ArrayList<>();
        for (int nth = 0; nth < QUEUES; nth++) met.add(consumer.receiveAsync(1, Duration.ofSeconds(10)));
        for (CompletableFuture<List<MessageView>> each : met) each.join();
        return consumer;
    }

    private static int each(int threads, int count, Step step) throws Exception {
        AtomicInteger next = new AtomicInteger(), failed = new AtomicInteger();
        inThreads(threads, () -> {
            for (int nth; (nth = next.getAndIncrement()) < count; ) {
                try {
                    step.run(nth);
                } catch (Exception error) {
                    failed.incrementAndGet();
                }
            }
        });
        return failed.get();
    }

    private static void inThreads(int threads, Work work) throws Exception {
        CountDownLatch done = new CountDownLatch(threads);
        for (int thread = 0; thread < threads; thread++) {
            new Thread(() -> {
                try {
                    work.run();
                } catch (Exception error) {
                    error.printStackTrace();
                } finally {
                    done.countDown();
                }
            }).start();
        }
        done.await();
    }

    private static Producer producer(String address, String topic) throws Exception {
        return PROVIDER.newProducerBuilder().setClientConfiguration(configuration(address)).setTopics(topic).build();
    }

    private static ClientConfiguration configuration(String address) {
        return ClientConfiguration.newBuilder().setEndpoints(address).enableSsl(false)
            .setRequestTimeout(Duration.ofSeconds(10)).build();
    }

    private static Message message(String topic, int bytes, int nth) {
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        return PROVIDER.newMessageBuilder().setTopic(topic).setTag("tag").setKeys("key" + nth).setBody(body).build();
    }
}
