import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;

/** HOST:PORT GROUP TOPIC. A push consumer that says what it gets, and takes no message that says "bad". Until it is killed. */
public final class RocketMQGrpcListener {
    public static void main(String[] arguments) throws Exception {
        ClientConfiguration configuration = ClientConfiguration.newBuilder().setEndpoints(arguments[0]).enableSsl(false)
                .setRequestTimeout(Duration.ofSeconds(10)).build();
        MessageListener listener = given -> {
            String body = StandardCharsets.UTF_8.decode(given.getBody().duplicate()).toString();
            System.out.println("GOT " + body + " " + given.getDeliveryAttempt());
            return body.equals("bad") ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        };
        PushConsumer consumer = ClientServiceProvider.loadService().newPushConsumerBuilder()
                .setClientConfiguration(configuration).setConsumerGroup(arguments[1]).setMessageListener(listener)
                .setSubscriptionExpressions(Map.of(arguments[2], FilterExpression.SUB_ALL)).build();
        System.out.println("READY");
        Thread.sleep(Long.MAX_VALUE);
        consumer.close();
    }
}
