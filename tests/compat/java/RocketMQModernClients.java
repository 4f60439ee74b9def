import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageRequestMode;

/** What clients of RocketMQ 5 can do besides: NAMESRV PREFIX [NAME,NAME…]. */
public class RocketMQModernClients {
    public static void main(String[] arguments) throws Exception {
        Map<String, RocketMQTrial.Body> trials = RocketMQClients.trials();
        // 5.3.3 takes the answer to its own send for the reply: it cannot ask, whatever the server does.
        trials.remove("request");
        trials.put("timer", RocketMQModernClients::timer);
        trials.put("recall", RocketMQModernClients::recall);
        trials.put("auto-batch", RocketMQModernClients::autoBatch);
        trials.put("pop", RocketMQModernClients::pop);
        RocketMQTrial.main(arguments, trials);
    }

    static void timer(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        producer.send(trial.message("a", "k", "first"));
        List<Map<String, Object>> seen = trial.consume(trial.topic, "*");
        long now = System.currentTimeMillis();
        List<Message> messages = new ArrayList<>();
        for (String each : new String[] {"deliver at", "milliseconds", "seconds", "in the past"}) {
            messages.add(trial.message("a", "k", each));
        }
        messages.get(0).setDeliverTimeMs(now + 6000);
        messages.get(1).setDelayTimeMs(4000);
        messages.get(2).setDelayTimeSec(3);
        messages.get(3).setDeliverTimeMs(now - 60_000);
        trial.facts.put("began", now);
        for (Message each : messages) {
            producer.send(each);
        }
        Message late = trial.message("a", "k", "too late");
        late.setDelayTimeSec(41L * 24 * 3600);
        trial.facts.put("too late", RocketMQTrial.refusal(() -> producer.send(late)));
        trial.until("seen", seen, 5);
    }

    static void recall(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        producer.send(trial.message("a", "k", "first"));
        List<Map<String, Object>> seen = trial.consume(trial.topic, "*");
        Message recalled = trial.message("a", "k", "recalled");
        recalled.setDelayTimeSec(6);
        SendResult result = producer.send(recalled);
        trial.facts.put("sent", RocketMQTrial.sent(result));
        trial.facts.put("handle", result.getRecallHandle());
        trial.facts.put("answer", producer.recallMessage(trial.topic, result.getRecallHandle()));
        Message kept = trial.message("a", "k", "kept");
        kept.setDelayTimeSec(9);
        producer.send(kept);
        trial.facts.put("nonsense", RocketMQTrial.refusal(() -> producer.recallMessage(trial.topic, "nonsense")));
        trial.until("seen", seen, 2);
    }

    static void autoBatch(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.configured(new DefaultMQProducer(trial.group + "-producer"), "");
        producer.setAutoBatch(true);
        trial.started(producer);
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int at = 0; at < 10; at++) {
            Map<String, Object> result = RocketMQTrial.sent(producer.send(trial.message("a", "k", "body " + at)));
            result.put("body", "body " + at);
            sent.add(result);
        }
        trial.facts.put("sent", sent);
        trial.until("seen", trial.consume(trial.topic, "*"), 10);
    }

    /** Two push consumers that pop: the server divides the work, and a message that failed comes again. */
    static void pop(RocketMQTrial trial) throws Exception {
        DefaultMQProducer producer = trial.producer();
        SendResult first = producer.send(trial.message("a", "k", "first"));
        MQClientAPIImpl calls =
                producer.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
        String broker = producer.getDefaultMQProducerImpl()
                .getMqClientFactory()
                .findBrokerAddressInPublish(first.getMessageQueue().getBrokerName());
        calls.setMessageRequestMode(broker, trial.topic, trial.group, MessageRequestMode.POP, 0, 5000);
        List<Map<String, Object>> seen = new ArrayList<>();
        AtomicInteger failures = new AtomicInteger();
        for (String suffix : new String[] {"-one", "-two"}) {
            DefaultMQPushConsumer consumer = trial.push(trial.group, suffix);
            consumer.setClientRebalance(false);
            consumer.setPopInvisibleTime(10_000);
            consumer.subscribe(trial.topic, "a || b");
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                RocketMQTrial.note(seen, messages);
                for (MessageExt each : messages) {
                    if (each.getTags().equals("b") && each.getReconsumeTimes() == 0) {
                        failures.incrementAndGet();
                        return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                    }
                }
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
            trial.start(consumer);
        }
        for (int at = 0; at < 20; at++) {
            producer.send(trial.message("a", "k", "body " + at));
        }
        producer.send(trial.message("c", "k", "not wanted"));
        producer.send(trial.message("b", "k", "fails once"));
        trial.until("seen", seen, 23);
        trial.facts.put("failures", failures.get());
    }
}
