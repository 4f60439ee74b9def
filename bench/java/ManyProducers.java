import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Many producers at once, each with its own connection: BOOTSTRAP TOPIC PRODUCERS RECORDS BYTES. Prints records a second. */
public class ManyProducers {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("acks", "all");
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        int producers = Integer.parseInt(arguments[2]);
        int records = Integer.parseInt(arguments[3]) / producers;
        byte[] body = new byte[Integer.parseInt(arguments[4])];
        new java.util.Random(1).nextBytes(body);
        List<KafkaProducer<byte[], byte[]>> clients = new ArrayList<>();
        for (int index = 0; index < producers; index++) {
            KafkaProducer<byte[], byte[]> client = new KafkaProducer<>(settings);
            client.send(new ProducerRecord<>(arguments[1], body)).get();
            clients.add(client);
        }
        AtomicLong refused = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        long began = System.nanoTime();
        for (KafkaProducer<byte[], byte[]> client : clients) {
            Thread thread = new Thread(() -> {
                for (int sent = 0; sent < records; sent++) {
                    client.send(new ProducerRecord<>(arguments[1], body), (where, error) -> {
                        if (error != null) refused.incrementAndGet();
                    });
                }
                client.flush();
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        double seconds = (System.nanoTime() - began) / 1e9;
        for (KafkaProducer<byte[], byte[]> client : clients) client.close();
        if (refused.get() > 0) throw new IllegalStateException(refused.get() + " records were refused");
        System.out.println(records * (long) producers / seconds);
    }
}
