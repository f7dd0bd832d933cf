import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;
import org.apache.kafka.common.serialization.ByteBufferSerializer;

/**
 * Kafka behind the roles of the benchmark: its broker as the router, its own Java client at both ends.
 *
 * <p>Flags, output and way of measuring are those of bench/roles, which is Rust; the contract is in bench/README.md.
 */
final class Roles {
    /** The largest request: a message of 64 MiB, and what is around it. */
    static final int REQUEST_LEN_MAX = 65 << 20;

    private static final String THROUGHPUT = "test.thr", PING = "test.ping", PONG = "test.pong", BUSY = "test.busy";

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** How many messages may pass between two reads of the clock: of a subscriber, of a publisher. */
    private static final int MARK_EVERY = 256, PUTS_PER_CLOCK = 64;

    /** What comes before every warm-up: a JVM has to compile its code, which other programs are before they start. */
    private static final double COMPILATION_SECONDS = 4;

    /** What a sleep may take longer than it should; the rest of a wait is spent awake. */
    private static final long SLEEP_SLACK_NS = 120_000;

    /** Messages of a session to itself before it counts as busy. */
    private static final int BUSY_MESSAGES = 16;

    private interface Role {
        /** What it prints at its end, as fields of a JSON object. */
        String play(Flags flags) throws Exception;
    }

    private static final Map<String, Role> ROLES = Map.of(
            "router", Roles::route,
            "sub-thr", Roles::subscribe,
            "sub-first", Roles::subscribeFirst,
            "pub-thr", Roles::publish,
            "ping", Roles::ping,
            "pong", Roles::pong,
            "sessions", Roles::open);

    public static void main(String[] words) {
        // Kafka's own words go to standard error, where only errors are wanted.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "error");
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> end(error));
        try {
            Role role = words.length == 0 ? null : ROLES.get(words[0]);
            if (role == null) {
                throw new UsageError("no role, or one that is not known");
            }
            endWithStdin();
            String fields = role.play(new Flags(words));
            System.out.printf("{\"role\": \"%s\"%s}%n", words[0], fields);
            System.exit(0);
        } catch (Exception error) {
            end(error);
        }
    }

    private static void end(Throwable error) {
        System.err.println("error: " + error);
        System.exit(error instanceof UsageError ? 2 : 1);
    }

    private static void endWithStdin() {
        var reader = new Thread(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException error) {
                // That is an end, too.
            }
            System.exit(0);
        });
        reader.setDaemon(true);
        reader.start();
    }

    /** Tells whoever started this process that the other side may start. */
    private static void ready() {
        System.err.println("ready");
    }

    // --- roles ------------------------------------------------------------------------------------------------------

    private static String route(Flags flags) throws Exception {
        String[] address = flags.address("listen").split(":");
        flags.finish();
        Broker.start(address[0], Integer.parseInt(address[1]), List.of(THROUGHPUT, PING, PONG, BUSY));
        return hold();
    }

    /** Counts messages over all sessions, and reports the rate inside the window. */
    private static String subscribe(Flags flags) throws Exception {
        String address = flags.address("connect");
        var window = new Window(flags.number("warmup", 1) + COMPILATION_SECONDS, flags.number("duration", 3));
        int size = flags.count("size", 1), sessions = flags.count("sessions", 1);
        flags.finish();
        int few = Math.min(MARK_EVERY, Math.max(1, (1 << 20) / Math.max(1, size)));
        int every = sessions > 1 ? Math.min(few, Math.max(8, MARK_EVERY / sessions)) : few;
        for (int at = 0; at < sessions; at++) {
            var consumer = consumer(address, THROUGHPUT, sessions);
            start(() -> {
                for (long count = 0; ; ) {
                    for (var record : consumer.poll(PATIENCE)) {
                        if (++count % every == 0) {
                            window.add(every);
                        }
                    }
                }
            });
        }
        ready();
        return String.format(Locale.ROOT, ", \"msgs_per_s\": %.3f", window.rate());
    }

    /** Is ready when it has received a message. */
    private static String subscribeFirst(Flags flags) {
        String address = flags.address("connect");
        flags.finish();
        if (consumer(address, THROUGHPUT, 1).poll(PATIENCE).isEmpty()) {
            throw new IllegalStateException("no message came");
        }
        ready();
        return "";
    }

    /** Sends the same payload for a time, from a thread for each session: as fast as it can, or so many a second. */
    private static String publish(Flags flags) throws Exception {
        String address = flags.address("connect");
        var payload = ByteBuffer.allocate(flags.count("size", 8));
        double duration = flags.number("duration", 5), rate = flags.number("rate", 0);
        int sessions = flags.count("sessions", 1);
        flags.finish();
        var done = new CountDownLatch(sessions);
        for (int at = 0; at < sessions; at++) {
            // One that is sent by the clock waits for no others.
            var producer = rate > 0 ? prompt(address, THROUGHPUT) : bulk(address, payload.capacity(), sessions);
            start(() -> {
                flood(producer, payload.duplicate(), duration, rate / sessions);
                done.countDown();
            });
        }
        ready();
        done.await();
        return ", \"size\": " + payload.capacity();
    }

    private static void flood(
            KafkaProducer<ByteBuffer, ByteBuffer> producer, ByteBuffer payload, double duration, double rate) {
        var record = new ProducerRecord<ByteBuffer, ByteBuffer>(THROUGHPUT, 0, null, payload);
        int burst = rate > 0 || payload.capacity() > 1 << 16 ? 1 : PUTS_PER_CLOCK;
        long start = System.nanoTime(), due = start;
        while (System.nanoTime() - start < duration * 1e9) {
            if (rate > 0) {
                sleepUntil(due);
                due += (long) (1e9 / rate);
            }
            for (int at = 0; at < burst; at++) {
                producer.send(record);
            }
        }
    }

    private static void sleepUntil(long due) {
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            if (left > SLEEP_SLACK_NS) {
                LockSupport.parkNanos(left - SLEEP_SLACK_NS);
            }
        }
    }

    /** Sends every ping back from the thread that received it. */
    private static String pong(Flags flags) {
        String address = flags.address("connect");
        flags.finish();
        var producer = prompt(address, PONG);
        var consumer = consumer(address, PING, 1);
        ready();
        while (true) {
            for (var record : consumer.poll(PATIENCE)) {
                producer.send(new ProducerRecord<>(PONG, 0, null, record.value()));
            }
        }
    }

    /** Measures round trips back to back. */
    private static String ping(Flags flags) {
        String address = flags.address("connect");
        int size = flags.count("size", 64), count = flags.count("count", 10_000);
        int warmup = flags.count("warmup", 1000);
        flags.finish();
        var producer = prompt(address, PING);
        var consumer = consumer(address, PONG, 1);
        var record = new ProducerRecord<ByteBuffer, ByteBuffer>(PING, 0, null, ByteBuffer.allocate(size));
        long[] samples = new long[count];
        long start = System.nanoTime();
        for (int at = -warmup; at < count; at++) {
            long sent = System.nanoTime();
            producer.send(record);
            if (consumer.poll(PATIENCE).isEmpty()) {
                throw new IllegalStateException("nobody answers");
            }
            long now = System.nanoTime();
            if (at >= 0) {
                samples[at] = now - sent;
            } else if (now - start < COMPILATION_SECONDS * 1e9) {
                // Not compiled yet: the warm-up begins again.
                at = -warmup - 1;
            }
        }
        Arrays.sort(samples);
        var output = new StringBuilder(", \"size\": " + size + ", \"count\": " + count);
        for (int percent : new int[] {50, 90, 99}) {
            double sample = samples[Math.max(1, (count * percent + 99) / 100) - 1] / 1000.0;
            output.append(String.format(Locale.ROOT, ", \"p%d_us\": %.3f", percent, sample));
        }
        return output.toString();
    }

    /** Holds sessions. Busy ones have received what they have published. */
    private static String open(Flags flags) throws Exception {
        String address = flags.address("connect");
        int sessions = flags.count("sessions", 1);
        boolean isBusy = flags.on("busy");
        flags.finish();
        var held = new ArrayList<AutoCloseable>();
        for (int at = 0; at < sessions; at++) {
            var consumer = consumer(address, BUSY, sessions);
            held.add(consumer);
            if (isBusy) {
                var producer = prompt(address, BUSY);
                held.add(producer);
                for (int sent = 0; sent < BUSY_MESSAGES; sent++) {
                    producer.send(new ProducerRecord<>(BUSY, 0, null, ByteBuffer.allocate(64)));
                }
                // The next session begins at the end of the log.
                for (int received = 0; received < BUSY_MESSAGES; ) {
                    int count = consumer.poll(PATIENCE).count();
                    if (count == 0) {
                        throw new IllegalStateException("the messages of a busy session did not come");
                    }
                    received += count;
                }
            }
        }
        return hold();
    }

    /** Waits for the end of standard input, which is that of the process. */
    private static String hold() throws InterruptedException {
        ready();
        Thread.currentThread().join();
        return "";
    }

    private static void start(Runnable work) {
        new Thread(work).start();
    }

    // --- clients ----------------------------------------------------------------------------------------------------

    /** A consumer of all that comes to a topic from now on, without a group; one of so many in this process. */
    private static KafkaConsumer<ByteBuffer, ByteBuffer> consumer(String address, String topic, int sessions) {
        var settings = settings(address);
        // What came over TCP needs no second checksum.
        settings.put("check.crcs", false);
        settings.put("max.poll.records", 1 << 16);
        // Together they would fill the memory. A message that is larger comes alone.
        settings.put("max.partition.fetch.bytes", Math.max((8 << 20) / sessions, 64 << 10));
        var reads = new ByteBufferDeserializer();
        var consumer = new KafkaConsumer<>(settings, reads, reads);
        var partition = new TopicPartition(topic, 0);
        consumer.assign(List.of(partition));
        consumer.seekToEnd(List.of(partition));
        // Asks the broker: what comes after its answer will be received.
        consumer.position(partition);
        return consumer;
    }

    /** A producer that sends as much as it can: batches as large as in the published studies. */
    private static KafkaProducer<ByteBuffer, ByteBuffer> bulk(String address, int size, int sessions) {
        int memory = Math.max((64 << 20) / sessions, 4 * size);
        return producer(address, THROUGHPUT, Map.of("linger.ms", 5, "batch.size", 400_000, "buffer.memory", memory));
    }

    /** A producer that sends every message at once. */
    private static KafkaProducer<ByteBuffer, ByteBuffer> prompt(String address, String topic) {
        return producer(address, topic, Map.of("linger.ms", 0));
    }

    private static KafkaProducer<ByteBuffer, ByteBuffer> producer(
            String address, String topic, Map<String, Integer> more) {
        var settings = settings(address);
        // Nothing is confirmed, as in the published studies; a broker that is slow is waited for all the same.
        settings.put("acks", "0");
        settings.put("max.request.size", REQUEST_LEN_MAX);
        settings.putAll(more);
        var writes = new ByteBufferSerializer();
        var producer = new KafkaProducer<>(settings, writes, writes);
        producer.partitionsFor(topic);
        return producer;
    }

    private static Map<String, Object> settings(String address) {
        return new HashMap<>(Map.of(
                "bootstrap.servers", address,
                // The system's own, which grow as they need to.
                "send.buffer.bytes", -1,
                "receive.buffer.bytes", -1,
                // Nobody looks at them.
                "metric.reporters", "",
                "enable.metrics.push", false));
    }

    // --- figures and flags ------------------------------------------------------------------------------------------

    /** Finds the first and the last message of a time that begins some time after the first message. */
    private static final class Window {
        private final double warmup, duration;
        private final CountDownLatch closed = new CountDownLatch(1);
        private long since, count, first;
        private boolean isWaiting = true, isInside;
        private double rate;

        Window(double warmup, double duration) {
            this.warmup = warmup;
            this.duration = duration;
        }

        /** So many have come. */
        synchronized void add(int more) {
            long now = System.nanoTime();
            double passed = (now - since) / 1e9;
            count += more;
            if (isWaiting) {
                isWaiting = false;
                since = now;
            } else if (isInside && passed >= duration && closed.getCount() > 0) {
                rate = (count - first) / passed;
                closed.countDown();
            } else if (!isInside && passed >= warmup) {
                isInside = true;
                since = now;
                first = count;
            }
        }

        double rate() throws InterruptedException {
            if (!closed.await((long) (warmup + duration + 30), TimeUnit.SECONDS)) {
                throw new IllegalStateException("too few messages came to fill the window");
            }
            return rate;
        }
    }

    /** A wrong command line: status 2. */
    private static final class UsageError extends RuntimeException {
        UsageError(String message) {
            super(message);
        }
    }

    /** The words after the role; each role takes its own. */
    private static final class Flags {
        private final Map<String, String> words = new HashMap<>();

        Flags(String[] line) {
            for (int at = 1; at < line.length; at++) {
                boolean hasValue = at + 1 < line.length && !line[at + 1].startsWith("--");
                words.put(line[at], hasValue ? line[++at] : "");
            }
            // They mean nothing here.
            List.of("--mode", "--priority", "--express").forEach(words::remove);
        }

        boolean on(String name) {
            return words.remove("--" + name) != null;
        }

        double number(String name, double fallback) {
            String text = words.remove("--" + name);
            try {
                return text == null ? fallback : Double.parseDouble(text);
            } catch (NumberFormatException error) {
                throw new UsageError("--" + name + " " + text + " is no number");
            }
        }

        int count(String name, int fallback) {
            return (int) number(name, fallback);
        }

        /** The host and the port of an endpoint. */
        String address(String name) {
            String endpoint = words.remove("--" + name);
            if (endpoint == null || !endpoint.startsWith("tcp/")) {
                throw new UsageError("--" + name + " tcp/ADDRESS:PORT is missing");
            }
            return endpoint.substring("tcp/".length());
        }

        void finish() {
            if (!words.isEmpty()) {
                throw new UsageError("unexpected arguments " + words);
            }
        }
    }
}
