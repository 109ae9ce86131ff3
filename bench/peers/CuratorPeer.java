import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Apache Curator, measured like the other peers. Reads lines of `addresses name kind owners sessions locks durationMs maxLeases writerPauseMs`, and prints a line of JSON for each. */
public class CuratorPeer {
  static final Map<String, List<CuratorFramework>> clientsOf = new HashMap<>();

  interface Lock {
    Hold acquire() throws Exception;
  }

  interface Hold {
    void release() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Scanner in = new Scanner(System.in);
    System.out.println("ready");
    while (in.hasNext()) {
      System.out.println(run(in.next(), in.next(), in.next(), in.nextInt(), in.nextInt(), in.nextInt(), in.nextLong(), in.nextInt(), in.nextLong()));
    }
    for (List<CuratorFramework> clients : clientsOf.values()) for (CuratorFramework client : clients) client.close();
    System.exit(0);
  }

  static String run(String addresses, String name, String kind, int owners, int sessions, int paths, long durationMs, int maxLeases, long writerPauseMs) throws Exception {
    List<CuratorFramework> clients = clientsOf.computeIfAbsent(addresses, ignored -> new ArrayList<>());
    String[] servers = addresses.split(",");
    while (clients.size() < sessions) {
      String connectString = servers[clients.size() % servers.length];
      CuratorFramework client = CuratorFrameworkFactory.newClient(connectString, 30_000, 15_000, new ExponentialBackoffRetry(100, 3));
      client.start();
      client.blockUntilConnected();
      clients.add(client);
    }
    List<Lock> locks = new ArrayList<>();
    for (int index = 0; index < Math.max(sessions, paths); index++) {
      locks.add(open(kind, clients.get(index % sessions), "/bench/curator-" + name + "-" + index % paths, maxLeases));
    }
    for (Lock lock : locks) lock.acquire().release();
    boolean handsOver = kind.equals("mutex") && paths == 1;
    long[] cycles = new long[owners];
    AtomicLong releasedAt = new AtomicLong();
    ConcurrentLinkedQueue<Double> handOvers = new ConcurrentLinkedQueue<>();
    List<Double> writerWaits = new ArrayList<>();
    long cpu = cpuNanos();
    long until = System.nanoTime() + durationMs * 1_000_000;
    ExecutorService threads = Executors.newFixedThreadPool(owners + 1);
    List<Future<?>> all = new ArrayList<>();
    for (int index = 0; index < owners; index++) {
      int owner = index;
      all.add(threads.submit(() -> {
        Lock lock = locks.get(owner % locks.size());
        while (System.nanoTime() < until) {
          Hold hold = lock.acquire();
          if (handsOver && releasedAt.get() != 0) handOvers.add((System.nanoTime() - releasedAt.get()) / 1e6);
          releasedAt.set(System.nanoTime());
          hold.release();
          if (System.nanoTime() <= until) cycles[owner]++;
        }
        return null;
      }));
    }
    if (kind.equals("readers")) {
      all.add(threads.submit(() -> {
        InterProcessMutex lock = new InterProcessReadWriteLock(clients.get(0), "/bench/curator-" + name + "-0").writeLock();
        while (System.nanoTime() + writerPauseMs * 1_000_000 < until) {
          Thread.sleep(writerPauseMs);
          long askedAt = System.nanoTime();
          lock.acquire();
          writerWaits.add((System.nanoTime() - askedAt) / 1e6);
          lock.release();
        }
        return null;
      }));
    }
    for (Future<?> one : all) one.get();
    threads.shutdown();
    double cpuMs = (cpuNanos() - cpu) / 1e6;
    long sum = Arrays.stream(cycles).sum();
    return "{\"cycles\":" + sum + ",\"tookMs\":" + durationMs + ",\"cpuMs\":" + cpuMs + ",\"perOwner\":" + Arrays.toString(cycles)
      + ",\"handOversMs\":" + handOvers + ",\"writerWaitsMs\":" + writerWaits + "}";
  }

  static Lock open(String kind, CuratorFramework client, String path, int maxLeases) {
    if (kind.equals("leases")) {
      InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, maxLeases);
      return () -> {
        Lease lease = semaphore.acquire();
        return () -> semaphore.returnLease(lease);
      };
    }
    InterProcessMutex mutex = kind.equals("readers") ? new InterProcessReadWriteLock(client, path).readLock() : new InterProcessMutex(client, path);
    return () -> {
      mutex.acquire();
      return mutex::release;
    };
  }

  static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
