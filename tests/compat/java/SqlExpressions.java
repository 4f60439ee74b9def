import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.expression.BooleanExpression;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.MQFilterException;
import org.apache.rocketmq.filter.parser.SelectorParser;

/**
 * Reads lines of hexadecimal words: an expression, then the properties of any number of messages. Answers each with
 * "refused", or a letter for each message: t(rue), f(alse), n(ull), x for an exception.
 */
public class SqlExpressions {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(answer(line.split(" "))).append('\n');
        }
        System.out.print(out);
    }

    private static String answer(String[] words) {
        BooleanExpression expression;
        try {
            expression = SelectorParser.parse(text(words[0].substring(1)));
        } catch (MQFilterException e) {
            return "refused";
        }
        StringBuilder answers = new StringBuilder();
        for (int i = 1; i < words.length; i++) {
            answers.append(evaluate(expression, properties(text(words[i].substring(1)))));
        }
        return answers.toString();
    }

    private static char evaluate(BooleanExpression expression, Map<String, Object> properties) {
        EvaluationContext context = new EvaluationContext() {
            @Override
            public Object get(String name) {
                return properties.get(name);
            }

            @Override
            public Map<String, Object> keyValues() {
                return properties;
            }
        };
        try {
            Object answer = expression.evaluate(context);
            return answer == null ? 'n' : Boolean.TRUE.equals(answer) ? 't' : 'f';
        } catch (Throwable e) {
            return 'x';
        }
    }

    private static Map<String, Object> properties(String text) {
        Map<String, Object> properties = new HashMap<>();
        for (String pair : text.split("\u0002")) {
            int at = pair.indexOf('\u0001');
            if (at >= 0) {
                properties.put(pair.substring(0, at), pair.substring(at + 1));
            }
        }
        return properties;
    }

    private static String text(String hexadecimal) {
        byte[] bytes = new byte[hexadecimal.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hexadecimal.substring(2 * i, 2 * i + 2), 16);
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
