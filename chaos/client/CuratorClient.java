import java.io.FileOutputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Java Curator as a client of a run: threads that take locks until an order stops them, each with a session of its own. An error ends
 * that session, because none of its znodes may stay in a queue.
 *
 * Curator does not know if a lock is valid, and learns late that it is not. So a look here asks the servers: `valid` is true if the znode
 * existed at some moment after `t`. The question is a transaction, which no server answers from its own copy alone. So the znode existed
 * at `t`, too.
 */
public class CuratorClient {
  static final long LOOK_EVERY_MS = 50;
  static final AtomicInteger ids = new AtomicInteger();
  static String client;
  static int incarnation;
  static long seed;
  static String connectString;
  static int sessionTimeoutMs;
  static FileOutputStream file;
  static List<String> plans;
  static volatile boolean isDraining;
  static volatile double keepUntil;

  /** Arguments: `client incarnation seed connectString sessionTimeoutMs file owners kind:path…`; `semaphore-3:path` has three leases. */
  public static void main(String[] args) throws Exception {
    client = args[0];
    incarnation = Integer.parseInt(args[1]);
    seed = Long.parseLong(args[2]);
    connectString = args[3];
    sessionTimeoutMs = Integer.parseInt(args[4]);
    file = new FileOutputStream(args[5], true);
    plans = List.of(args).subList(7, args.length);
    say(now(), "\"type\":\"started\",\"incarnation\":" + incarnation);
    List<Thread> owners = new ArrayList<>();
    for (int index = 0; index < Integer.parseInt(args[6]); index++) {
      Random random = new Random(seed + 1_000L * incarnation + index);
      owners.add(new Thread(() -> own(random)));
    }
    for (Thread owner : owners) owner.start();
    Thread orders = new Thread(CuratorClient::obey);
    orders.setDaemon(true);
    orders.start();
    for (Thread owner : owners) owner.join();
    say(now(), "\"type\":\"left\"");
    System.exit(0);
  }

  /** Reads one order per line: `drain`, or `keep` with a number of milliseconds. The process that sends the orders may die. */
  static void obey() {
    Scanner in = new Scanner(System.in);
    while (in.hasNextLine()) {
      String[] words = in.nextLine().split(" ");
      if (words[0].equals("drain")) isDraining = true;
      else keepUntil = now() + Double.parseDouble(words[1]);
    }
    if (!isDraining) System.exit(1);
  }

  static void own(Random random) {
    while (!isDraining) {
      CuratorFramework framework = CuratorFrameworkFactory.newClient(connectString, sessionTimeoutMs, 3_000, new ExponentialBackoffRetry(100, 3));
      framework.start();
      try {
        if (!framework.blockUntilConnected(5, TimeUnit.SECONDS)) continue;
        List<Side> sides = new ArrayList<>();
        for (String plan : plans) sides.addAll(sidesOf(framework, plan));
        while (!isDraining) {
          once(framework, sides.get(random.nextInt(sides.size())), random);
          Thread.sleep(random.nextInt(20));
        }
      } catch (Exception error) {
        // The event was recorded where the error happened.
      } finally {
        framework.close();
      }
    }
  }

  /** Throws Curator's exception after its session has ended and the event is recorded. */
  static void once(CuratorFramework framework, Side side, Random random) throws Exception {
    String id = client + "." + incarnation + "-" + ids.incrementAndGet();
    long timeoutMs = 500 + random.nextInt(4_000);
    boolean isLong = random.nextInt(5) == 0;
    double lengthMs = isLong ? 100 + random.nextInt(1_500) : random.nextInt(10);
    tell(now(), id, "call", "\"path\":\"" + side.path + "\",\"kind\":\"timed\",\"flow\":\"" + id + "\",\"role\":\"" + side.role + "\",\"timeoutMs\":" + timeoutMs);
    boolean isGranted = false;
    try {
      String node = side.acquire(timeoutMs);
      if (node == null) {
        tell(now(), id, "refused", "\"outcome\":\"none\"");
        return;
      }
      double grantedAt = now();
      double lookedAt = now();
      // The session may have ended before Curator returned.
      Stat stat = isThere(framework, node) ? framework.checkExists().forPath(node) : null;
      if (stat == null) throw new IllegalStateException("gone");
      isGranted = true;
      String token = String.valueOf(java.math.BigInteger.valueOf(stat.getCzxid()).shiftLeft(40));
      tell(grantedAt, id, "granted", "\"path\":\"" + side.path + "\",\"hold\":\"" + node + "\",\"token\":\"" + token + "\",\"valid\":true");
      tell(lookedAt, id, "look", "\"valid\":true");
      work(framework, id, node, grantedAt + lengthMs);
      side.release();
      tell(now(), id, "released", "\"outcome\":\"released\"");
    } catch (Exception error) {
      framework.close();
      if (isGranted) tell(now(), id, "released", "\"outcome\":\"lost\"");
      else tell(now(), id, "refused", "\"outcome\":\"error\",\"error\":\"" + error.getClass().getSimpleName() + "\"");
      throw error;
    }
  }

  static void work(CuratorFramework framework, String id, String node, double until) throws Exception {
    for (;;) {
      double leftMs = Math.max(until, keepUntil) - now();
      if (leftMs <= 0) return;
      Thread.sleep((long) Math.min(leftMs, LOOK_EVERY_MS) + 1);
      double lookedAt = now();
      boolean isThere = isThere(framework, node);
      tell(lookedAt, id, "look", "\"valid\":" + isThere);
      if (!isThere) throw new IllegalStateException("gone");
    }
  }

  static boolean isThere(CuratorFramework framework, String node) throws Exception {
    try {
      framework.transaction().forOperations(framework.transactionOp().check().forPath(node));
      return true;
    } catch (KeeperException.NoNodeException gone) {
      return false;
    }
  }

  // --- locks

  /** A lock in one role, for one thread. */
  static abstract class Side {
    final String path;
    final String role;

    Side(String path, String role) {
      this.path = path;
      this.role = role;
    }

    /** Returns the znode's path, or null if the lock was not granted in time. */
    abstract String acquire(long timeoutMs) throws Exception;

    abstract void release() throws Exception;
  }

  static List<Side> sidesOf(CuratorFramework framework, String plan) throws Exception {
    String kind = plan.substring(0, plan.indexOf(':'));
    String path = plan.substring(plan.indexOf(':') + 1);
    if (kind.equals("mutex")) return List.of(sideOf(new InterProcessMutex(framework, path), path, "owner"));
    if (kind.equals("read-write")) {
      InterProcessReadWriteLock lock = new InterProcessReadWriteLock(framework, path);
      return List.of(sideOf(lock.readLock(), path, "reader"), sideOf(lock.writeLock(), path, "writer"));
    }
    return List.of(leaseOf(framework, path, Integer.parseInt(kind.substring("semaphore-".length()))));
  }

  static Side sideOf(InterProcessMutex mutex, String path, String role) throws Exception {
    // The method is not public, but nothing else returns the path.
    Method node = InterProcessMutex.class.getDeclaredMethod("getLockPath");
    node.setAccessible(true);
    return new Side(path, role) {
      String acquire(long timeoutMs) throws Exception {
        return mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS) ? (String) node.invoke(mutex) : null;
      }

      void release() throws Exception {
        mutex.release();
      }
    };
  }

  static Side leaseOf(CuratorFramework framework, String path, int maxLeases) {
    InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(framework, path, maxLeases);
    return new Side(path, "lease") {
      Lease lease;

      String acquire(long timeoutMs) throws Exception {
        lease = semaphore.acquire(timeoutMs, TimeUnit.MILLISECONDS);
        return lease == null ? null : path + "/leases/" + lease.getNodeName();
      }

      void release() {
        semaphore.returnLease(lease);
      }
    };
  }

  // --- the history

  /** The clock of Node's process.hrtime. */
  static double now() {
    return System.nanoTime() / 1e6;
  }

  static void tell(double t, String id, String type, String fields) {
    say(t, "\"id\":\"" + id + "\",\"type\":\"" + type + "\"," + fields);
  }

  /** Writes one line at once, so that nothing is missing when the process is killed. */
  static synchronized void say(double t, String fields) {
    try {
      file.write(("{\"t\":" + t + ",\"client\":\"" + client + "\"," + fields + "}\n").getBytes(StandardCharsets.UTF_8));
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }
}
