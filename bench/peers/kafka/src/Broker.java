import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/**
 * One node of Kafka, broker and controller at once, inside this process.
 *
 * <p>Kafka keeps what it forwards, which none of the others does. So that they are not compared with a disk, its log is
 * in memory where the system has a folder there, is never flushed, and has no second copy.
 */
final class Broker {
    /** A folder in memory, and the room that it must have: for the log, and what comes until that is shortened. */
    private static final Path MEMORY = Path.of("/dev/shm");
    private static final long ROOM_MIN = 6L << 30;

    private static final String CONFIGURATION =
            """
            process.roles=broker,controller
            node.id=1
            listeners=PLAINTEXT://%1$s:%2$d,CONTROLLER://%1$s:%3$d
            controller.listener.names=CONTROLLER
            controller.quorum.voters=1@%1$s:%3$d

            # One copy. Nothing flushes it: log.flush.interval.messages and .ms have no bound by default.
            log.dirs=%4$s
            num.partitions=1
            default.replication.factor=1
            min.insync.replicas=1
            auto.create.topics.enable=false

            # A gigabyte is kept, and what is beyond is looked for every second: memory is short. A consumer that falls
            # further behind goes on at the end of the log.
            log.retention.bytes=1073741824
            log.segment.bytes=268435456
            log.initial.task.delay.ms=1000
            log.retention.check.interval.ms=1000
            log.segment.delete.delay.ms=1000

            # Large messages, and the system's own socket buffers, which grow as they need to.
            message.max.bytes=%5$d
            socket.request.max.bytes=%5$d
            socket.send.buffer.bytes=-1
            socket.receive.buffer.bytes=-1
            """;

    private Broker() {}

    /** Starts it, and returns when it has the topics. It ends with this process, and its log with it. */
    static void start(String host, int port, List<String> topics) throws Exception {
        String prefix = "weft-bench-kafka-" + ProcessHandle.current().pid() + "-";
        boolean isInMemory = Files.isWritable(MEMORY) && MEMORY.toFile().getUsableSpace() >= ROOM_MIN;
        Path folder =
                isInMemory ? Files.createTempDirectory(MEMORY, prefix) : Files.createTempDirectory(prefix);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
        new Formatter()
                .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
                .setNodeId(1)
                .setClusterId(Uuid.randomUuid().toString())
                .setControllerListenerName("CONTROLLER")
                .setMetadataLogDirectory(folder.toString())
                .addDirectory(folder.toString())
                .run();
        var configuration = new Properties();
        configuration.load(new StringReader(
                CONFIGURATION.formatted(host, port, freePort(host), folder, Roles.REQUEST_LEN_MAX)));
        new KafkaRaftServer(KafkaConfig.fromProps(configuration, false), Time.SYSTEM).startup();
        try (var admin = Admin.create(Map.of("bootstrap.servers", host + ":" + port))) {
            var wanted = topics.stream().map(name -> new NewTopic(name, Optional.empty(), Optional.empty()));
            admin.createTopics(wanted.toList()).all().get();
        }
    }

    private static int freePort(String host) throws IOException {
        try (var probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(host, 0));
            return probe.getLocalPort();
        }
    }

    /** Deletes the log of a broker that still runs: an orderly stop would take seconds, for a log that nobody needs. */
    private static void delete(Path folder) {
        // A broker that misses its log halts the process, in the middle of this.
        Exit.setHaltProcedure((status, message) -> {});
        // It may also write or delete a file meanwhile.
        for (int attempt = 0; attempt < 10 && Files.exists(folder); attempt++) {
            try (var paths = Files.walk(folder)) {
                paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            } catch (IOException | UncheckedIOException error) {
                // The next attempt finds what is left.
            }
        }
    }
}
