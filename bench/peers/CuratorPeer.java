import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Apache Curator, measured as the other peers are: a line of `name owners sessions locks durationMs` in, a line of JSON out. */
public class CuratorPeer {
  static final List<CuratorFramework> clients = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    Scanner in = new Scanner(System.in);
    System.out.println("ready");
    while (in.hasNext()) {
      System.out.println(run(args[0], in.next(), in.nextInt(), in.nextInt(), in.nextInt(), in.nextLong()));
    }
    for (CuratorFramework client : clients) client.close();
    System.exit(0);
  }

  static String run(String connectString, String name, int owners, int sessions, int locks, long durationMs) throws Exception {
    while (clients.size() < sessions) {
      CuratorFramework client = CuratorFrameworkFactory.newClient(connectString, 30_000, 15_000, new ExponentialBackoffRetry(100, 3));
      client.start();
      client.blockUntilConnected();
      clients.add(client);
    }
    List<InterProcessMutex> mutexes = new ArrayList<>();
    for (int index = 0; index < Math.max(sessions, locks); index++) {
      mutexes.add(new InterProcessMutex(clients.get(index % sessions), "/bench/curator-" + name + "-" + index % locks));
    }
    for (InterProcessMutex mutex : mutexes) {
      mutex.acquire();
      mutex.release();
    }
    long[] cycles = new long[owners];
    AtomicLong releasedAt = new AtomicLong();
    ConcurrentLinkedQueue<Double> handOvers = new ConcurrentLinkedQueue<>();
    long cpu = cpuNanos();
    long until = System.nanoTime() + durationMs * 1_000_000;
    ExecutorService threads = Executors.newFixedThreadPool(owners);
    List<Future<?>> all = new ArrayList<>();
    for (int index = 0; index < owners; index++) {
      int owner = index;
      all.add(threads.submit(() -> {
        InterProcessMutex mutex = mutexes.get(owner % mutexes.size());
        while (System.nanoTime() < until) {
          mutex.acquire();
          if (locks == 1 && releasedAt.get() != 0) handOvers.add((System.nanoTime() - releasedAt.get()) / 1e6);
          releasedAt.set(System.nanoTime());
          mutex.release();
          if (System.nanoTime() <= until) cycles[owner]++;
        }
        return null;
      }));
    }
    for (Future<?> one : all) one.get();
    threads.shutdown();
    double cpuMs = (cpuNanos() - cpu) / 1e6;
    long sum = Arrays.stream(cycles).sum();
    return "{\"cycles\":" + sum + ",\"tookMs\":" + durationMs + ",\"cpuMs\":" + cpuMs + ",\"perOwner\":" + Arrays.toString(cycles) + ",\"handOversMs\":" + handOvers + "}";
  }

  static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
