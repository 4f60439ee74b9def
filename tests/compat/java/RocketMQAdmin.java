import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * RocketMQ's mqadmin, one command for each line of input (arguments with tabs between them), answered with a line of JSON
 * of what it printed. "@clients NAMESRV TOPIC" starts a producer and a consumer to look at and sends ten messages, "@seen"
 * tells how many the consumer has had, and "@group NAMESRV TOPIC GROUP" lets a consumer of a group come and go.
 * One process for all commands, because a Java machine for each takes seconds.
 */
public class RocketMQAdmin {
    private static final List<Map<String, Object>> SEEN = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            ByteArrayOutputStream captured = new ByteArrayOutputStream();
            PrintStream out = new PrintStream(captured, true, "UTF-8");
            System.setOut(out);
            System.setErr(out);
            String[] words = line.split("\t");
            Map<String, Object> answer = new LinkedHashMap<>();
            if (words[0].equals("@clients")) {
                answer.put("sent", clients(words[1], words[2]));
            } else if (words[0].equals("@seen")) {
                answer.put("seen", seen());
            } else if (words[0].equals("@group")) {
                consumer(words[1], words[2], words[3], new ArrayList<>()).shutdown();
            } else {
                MQAdminStartup.main0(words, null);
            }
            answer.put("out", captured.toString("UTF-8"));
            answers.println(RocketMQTrial.json(answer));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static List<Map<String, Object>> clients(String nameServer, String topic) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(topic + "-producers", null, true, null);
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(topic + "-producers");
        producer.setSendMsgTimeout(20_000);
        producer.setHeartbeatBrokerInterval(1000);
        producer.start();
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int at = 0; at < 10; at++) {
            byte[] body = ("body " + at).getBytes(StandardCharsets.UTF_8);
            Message message = new Message(topic, "tag" + at % 2, "key" + at % 5, body);
            message.putUserProperty("number", String.valueOf(at));
            sent.add(RocketMQTrial.sent(producer.send(message)));
        }
        consumer(nameServer, topic, topic + "-consumers", SEEN);
        RocketMQTrial.until("ten messages", () -> seen() == 10);
        return sent;
    }

    private static int seen() {
        synchronized (SEEN) {
            return SEEN.size();
        }
    }

    private static DefaultMQPushConsumer consumer(
            String nameServer, String topic, String group, List<Map<String, Object>> seen) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(group);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPersistConsumerOffsetInterval(500);
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.subscribe(topic, "tag0 || tag1");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            RocketMQTrial.note(seen, messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return consumer;
    }
}
