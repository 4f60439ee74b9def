import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/** Reads bodies with the classes of RocketMQ 4 and writes them again: one line in, one line out. */
public class OldRocketMQClasses {
    private static final String COMMON = "org.apache.rocketmq.common.";
    private static final List<String> PLACES = List.of(
        COMMON + "protocol.body.", COMMON + "protocol.heartbeat.", COMMON + "protocol.route.", COMMON + "admin.",
        COMMON + "protocol.header.", COMMON + "subscription.", COMMON, COMMON + "message.", COMMON + "protocol.");

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(answer(find(words[0]), new BigInteger(words[1], 16).toByteArray()));
        }
    }

    private static String answer(Class<?> kind, byte[] data) {
        if (kind == null) {
            return "unknown";
        }
        try {
            byte[] written = RemotingSerializable.encode(RemotingSerializable.decode(data, kind));
            return new BigInteger(1, written).toString(16);
        } catch (Throwable error) {
            return "refused " + error.toString().replace('\n', ' ');
        }
    }

    private static Class<?> find(String name) {
        for (String place : PLACES) {
            try {
                return Class.forName(place + name);
            } catch (ClassNotFoundException notHere) {
                continue;
            }
        }
        return null;
    }
}
