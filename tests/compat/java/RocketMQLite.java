import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * HOST:PORT GROUP TOPIC. A producer and a consumer of lite topics that do what each line of the input says, and say what
 * came of it. A message that begins with "bad" is taken at its second attempt.
 */
public final class RocketMQLite {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[2];
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration configuration = ClientConfiguration.newBuilder().setEndpoints(arguments[0]).enableSsl(false)
                .setRequestTimeout(Duration.ofSeconds(5)).build();
        MessageListener listener = given -> {
            String body = StandardCharsets.UTF_8.decode(given.getBody().duplicate()).toString();
            say("GOT " + given.getLiteTopic().orElse("?") + " " + body + " " + given.getDeliveryAttempt());
            boolean failed = body.startsWith("bad") && given.getDeliveryAttempt() < 2;
            return failed ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        };
        LitePushConsumer consumer = provider.newLitePushConsumerBuilder().setClientConfiguration(configuration)
                .setConsumerGroup(arguments[1]).bindTopic(topic).setMessageListener(listener).build();
        Producer producer = provider.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build();
        say("READY");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                obey(line.split(" "), topic, provider, producer, consumer);
                say("DONE " + line);
            } catch (Exception failure) {
                say("FAILED " + line + " " + failure.getClass().getSimpleName());
            }
        }
        producer.close();
        consumer.close();
        say("CLOSED");
        System.exit(0);
    }

    private static void obey(String[] words, String topic, ClientServiceProvider provider, Producer producer,
            LitePushConsumer consumer) throws Exception {
        switch (words[0]) {
            case "SUBSCRIBE":
                consumer.subscribeLite(words[1]);
                break;
            case "UNSUBSCRIBE":
                consumer.unsubscribeLite(words[1]);
                break;
            case "NAMES":
                say("NAMES " + String.join(",", new java.util.TreeSet<>(consumer.getLiteTopicSet())));
                break;
            default:
                producer.send(provider.newMessageBuilder().setTopic(topic).setLiteTopic(words[1]).setKeys(words[2])
                        .setBody(words[2].getBytes(StandardCharsets.UTF_8)).build());
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
    }
}
