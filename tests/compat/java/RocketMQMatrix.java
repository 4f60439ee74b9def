import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Writes and reads what every client of the matrix writes and reads:
 * write NAMESRV TOPIC NAME COUNT TEXT, or read NAMESRV GROUP COUNT TOPIC…
 */
public class RocketMQMatrix {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            write(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]), arguments[5]);
        } else {
            for (int at = 4; at < arguments.length; at++) {
                read(arguments[1], arguments[2] + at, Integer.parseInt(arguments[3]), arguments[at]);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void write(String nameServer, String topic, String name, int count, String text) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(topic + "-writer");
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(20_000);
        producer.start();
        for (int at = 0; at < count; at++) {
            byte[] body = (name + " " + at + " " + text).getBytes(StandardCharsets.UTF_8);
            Message message = new Message(topic, "tag" + at % 3, "key" + at % 4 + " second", body);
            message.putUserProperty("number", String.valueOf(at));
            message.putUserProperty("odd", text);
            if (at % 2 == 0) {
                message.putUserProperty(MessageConst.PROPERTY_SHARDING_KEY, "shard");
            }
            producer.send(message);
        }
        Message plain = new Message(topic, "plain".getBytes(StandardCharsets.UTF_8));
        plain.setKeys("only-key");
        producer.send(plain);
        producer.shutdown();
    }

    private static void read(String nameServer, String group, int count, String topic) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.start();
        long deadline = System.currentTimeMillis() + 60_000;
        for (int seen = 0; seen < count && System.currentTimeMillis() < deadline; ) {
            for (MessageExt message : consumer.poll(200)) {
                Map<String, Object> facts = new LinkedHashMap<>();
                facts.put("topic", topic);
                facts.put("body", new String(message.getBody(), StandardCharsets.UTF_8));
                facts.put("tags", message.getTags());
                facts.put("keys", message.getKeys());
                facts.put("properties", message.getProperties());
                facts.put("timestamp", message.getBornTimestamp());
                facts.put("partition", message.getQueueId());
                facts.put("offset", message.getQueueOffset());
                System.out.println(RocketMQTrial.json(facts));
                seen++;
            }
        }
        consumer.shutdown();
    }
}
