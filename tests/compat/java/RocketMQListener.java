import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * NAME_SERVER TOPIC (side-by-side|in-order) TIME GROUP=FIRST|LAST|TIMESTAMP…
 * Consumers, one for each group, that say what they get: GOT GROUP QUEUE BODY. Until it is killed.
 */
public final class RocketMQListener {
    public static void main(String[] arguments) throws Exception {
        for (int at = 4; at < arguments.length; at++) {
            String[] words = arguments[at].split("=");
            listen(arguments[0], arguments[1], arguments[2].equals("in-order"), arguments[3], words[0], words[1]);
        }
        System.out.println("READY");
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void listen(String nameServer, String topic, boolean inOrder, String time, String group, String where)
            throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf("CONSUME_FROM_" + where + (where.equals("TIMESTAMP") ? "" : "_OFFSET")));
        consumer.setConsumeTimestamp(time);
        consumer.setConsumeThreadMin(inOrder ? 4 : 1);
        consumer.setConsumeThreadMax(inOrder ? 4 : 1);
        consumer.subscribe(topic, "*");
        if (inOrder) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                say(group, messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                say(group, messages);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
    }

    private static void say(String group, List<MessageExt> messages) {
        for (MessageExt each : messages) {
            String body = new String(each.getBody(), StandardCharsets.UTF_8);
            System.out.println("GOT " + group + " " + each.getQueueId() + " " + body);
        }
    }
}
