import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/** What clients of RocketMQ 5 can do besides: NAMESRV PREFIX [NAME,NAME…]. */
public class RocketMQModernClients {
    public static void main(String[] arguments) throws Exception {
        Map<String, RocketMQTrial.Body> trials = RocketMQClients.trials();
        // 5.3.3 takes the answer to its own send for the reply: it cannot ask, whatever the server does.
        trials.remove("request");
        trials.put("timer", RocketMQModernClients::timer);
        trials.put("recall", RocketMQModernClients::recall);
        trials.put("auto-batch", RocketMQModernClients::autoBatch);
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
}
