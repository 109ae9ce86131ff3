import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.leader.*;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Java Curator as a peer, which executes commands line by line. Input: `id owner verb arguments`. Output: `{"id":…,"value":…}` or
 * `{"id":…,"error":…}`, and `{"event":…}` at any time. An owner is a thread; the threads of one process share one instance of each
 * lock, and one session.
 */
public class JavaPeer {
  static CuratorFramework client;
  static final Map<String, ExecutorService> owners = new HashMap<>();
  static final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
  static final Map<String, InterProcessSemaphoreV2> semaphores = new ConcurrentHashMap<>();
  static final Map<String, InterProcessReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();
  static final Map<String, InterProcessLock> otherLocks = new ConcurrentHashMap<>();
  static final Map<String, Deque<Lease>> leases = new ConcurrentHashMap<>();
  static final Map<String, Latch> latches = new ConcurrentHashMap<>();
  static final Map<String, Selector> selectors = new ConcurrentHashMap<>();

  public static void main(String[] args) throws Exception {
    client = CuratorFrameworkFactory.newClient(args[0], Integer.parseInt(args[1]), 15_000, new ExponentialBackoffRetry(100, 3));
    client.start();
    client.blockUntilConnected();
    // Debian's jars do not name their version.
    String version = String.valueOf(CuratorFramework.class.getPackage().getImplementationVersion());
    say("{\"event\":\"ready\",\"version\":" + quoted(version) + "}");
    Scanner in = new Scanner(System.in);
    while (in.hasNextLine()) {
      String[] words = in.nextLine().split(" ");
      ExecutorService owner = owners.computeIfAbsent(words[1], (name) -> Executors.newSingleThreadExecutor());
      owner.execute(() -> answer(words[0], words[1], words[2], Arrays.copyOfRange(words, 3, words.length)));
    }
    client.close();
    System.exit(0);
  }

  static void answer(String id, String owner, String verb, String[] args) {
    try {
      say("{\"id\":" + id + ",\"value\":" + run(owner, verb, args) + "}");
    } catch (Throwable error) {
      say("{\"id\":" + id + ",\"error\":" + quoted(error.toString()) + "}");
    }
  }

  /** Executes a command, and returns its result as JSON. */
  static String run(String owner, String verb, String[] args) throws Exception {
    switch (verb) {
      case "acquire": return lock(owner, args[0], args[1]).acquire(Long.parseLong(args[2]));
      case "release": lock(owner, args[0], args[1]).release(); return "null";
      case "isOwned": return String.valueOf(isOwned(owner, args[0], args[1]));
      case "participants": return quoted(participants(owner, args[0], args[1]));
      case "work": return work(lock(owner, args[0], args[1]), args[0], owner, Path.of(args[2]), Integer.parseInt(args[3]));
      case "setCount": setCount(args[0], Integer.parseInt(args[1])); return "null";
      case "makeRevocable": makeRevocable(args[0], args[1]); return "null";
      case "leader": return quoted(leaderId(args[0], args[1]));
      case "revoke": Revoker.attemptRevoke(client, args[0]); return "null";
      default: throw new IllegalArgumentException(verb);
    }
  }

  static boolean isOwned(String owner, String kind, String path) {
    return kind.equals("latch") ? latch(owner, path).latch.hasLeadership() : mutex(kind, path).isOwnedByCurrentThread();
  }

  /** The znodes of a mutex; the owners that take part in the election of a latch. */
  static Collection<String> participants(String owner, String kind, String path) throws Exception {
    if (!kind.equals("latch")) return mutex(kind, path).getParticipantNodes();
    List<String> owners = new ArrayList<>();
    for (Participant participant : latch(owner, path).latch.getParticipants()) owners.add(participant.getId());
    return owners;
  }

  static void setCount(String path, int count) throws Exception {
    try (SharedCount shared = new SharedCount(client, path, count)) {
      shared.start();
      shared.setCount(count);
    }
  }

  static void makeRevocable(String kind, String path) {
    mutex(kind, path).makeRevocable((lock) -> say("{\"event\":\"revoked\",\"path\":" + quoted(path) + "}"));
  }

  // --- locks

  interface Lock {
    /** The znode's path if Curator reports it, else true; null if the lock was not acquired in time. A timeout below zero is no limit. */
    String acquire(long timeoutMs) throws Exception;

    void release() throws Exception;
  }

  static Lock lock(String owner, String kind, String path) {
    switch (kind) {
      case "semaphoreMutex": return lockOf(otherLocks.computeIfAbsent(path, (key) -> new InterProcessSemaphoreMutex(client, path)));
      case "latch": return latch(owner, path);
      case "selector": return selectors.computeIfAbsent(owner + " " + path, (key) -> new Selector(owner, path));
      case "multi": return lockOf(otherLocks.computeIfAbsent(path, (key) -> new InterProcessMultiLock(client, List.of(path + "/a", path + "/b"))));
      default: return kind.startsWith("semaphore:") ? leaseOf(owner, kind, path) : lockOf(mutex(kind, path));
    }
  }

  static Lock lockOf(InterProcessLock lock) {
    return new Lock() {
      public String acquire(long timeoutMs) throws Exception {
        if (timeoutMs < 0) lock.acquire();
        else if (!lock.acquire(timeoutMs, TimeUnit.MILLISECONDS)) return "null";
        return lock instanceof Visible ? quoted(((Visible) lock).node()) : "true";
      }

      public void release() throws Exception {
        lock.release();
      }
    };
  }

  /** `semaphore:3` has three leases. With `semaphore:3:2`, one acquire takes two of them, and one release returns both. */
  static Lock leaseOf(String owner, String kind, String path) {
    String[] words = kind.split(":");
    int max = Integer.parseInt(words[1]);
    int quantity = words.length > 2 ? Integer.parseInt(words[2]) : 1;
    InterProcessSemaphoreV2 semaphore = semaphores.computeIfAbsent(path, (key) -> new InterProcessSemaphoreV2(client, path, max));
    Deque<Lease> held = leases.computeIfAbsent(owner + " " + path, (key) -> new ArrayDeque<>());
    return new Lock() {
      public String acquire(long timeoutMs) throws Exception {
        Collection<Lease> taken = timeoutMs < 0 ? semaphore.acquire(quantity) : semaphore.acquire(quantity, timeoutMs, TimeUnit.MILLISECONDS);
        if (taken == null) return "null";
        held.addAll(taken);
        return quoted(path + "/leases/" + taken.iterator().next().getNodeName());
      }

      public void release() {
        for (int lease = 0; lease < quantity; lease++) semaphore.returnLease(held.removeFirst());
      }
    };
  }

  static Latch latch(String owner, String path) {
    return latches.computeIfAbsent(owner + " " + path, (key) -> new Latch(owner, path));
  }

  /** A LeaderLatch as a lock: acquire joins the election and waits until this owner leads, release leaves the election. */
  static class Latch implements Lock {
    final String owner;
    final String path;
    LeaderLatch latch;

    Latch(String owner, String path) {
      this.owner = owner;
      this.path = path;
      this.latch = new LeaderLatch(client, path, owner);
    }

    public String acquire(long timeoutMs) throws Exception {
      if (latch.getState() == LeaderLatch.State.CLOSED) latch = new LeaderLatch(client, path, owner); // it starts only once
      latch.start();
      if (timeoutMs < 0) latch.await();
      else if (!latch.await(timeoutMs, TimeUnit.MILLISECONDS)) {
        latch.close();
        return "null";
      }
      return quoted(latch.getOurPath());
    }

    public void release() throws Exception {
      latch.close();
    }
  }

  /** A LeaderSelector as a lock: acquire waits until this owner leads, release ends the term. */
  static class Selector implements Lock {
    final String owner;
    final String path;
    LeaderSelector selector;
    CountDownLatch entered;
    CountDownLatch left;
    ExecutorService executor;

    Selector(String owner, String path) {
      this.owner = owner;
      this.path = path;
    }

    public String acquire(long timeoutMs) throws Exception {
      entered = new CountDownLatch(1);
      left = new CountDownLatch(1);
      CountDownLatch[] steps = {entered, left};
      executor = Executors.newSingleThreadExecutor();
      selector = new LeaderSelector(client, path, executor, new LeaderSelectorListenerAdapter() {
        public void takeLeadership(CuratorFramework framework) throws Exception {
          steps[0].countDown();
          steps[1].await();
        }
      });
      selector.setId(owner);
      selector.start();
      if (timeoutMs < 0) entered.await();
      else if (!entered.await(timeoutMs, TimeUnit.MILLISECONDS)) {
        selector.close();
        executor.shutdownNow();
        return "null";
      }
      return "true";
    }

    public void release() throws Exception {
      if (!selector.hasLeadership()) throw new IllegalStateException("Not the leader any more");
      left.countDown();
      // Before its thread has ended, `close` would interrupt the release of the selector's mutex.
      executor.shutdown();
      if (!executor.awaitTermination(30, TimeUnit.SECONDS)) throw new IllegalStateException("The term does not end");
      selector.close();
    }
  }

  /** The leader's id, as Java sees it. */
  static String leaderId(String kind, String path) throws Exception {
    if (kind.equals("latch")) return new LeaderLatch(client, path).getLeader().getId();
    return new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
      public void takeLeadership(CuratorFramework framework) {}
    }).getLeader().getId();
  }

  static InterProcessMutex mutex(String kind, String path) {
    if (kind.equals("mutex")) return mutexes.computeIfAbsent(path, Visible::new);
    InterProcessReadWriteLock pair = readWriteLocks.computeIfAbsent(path, (key) -> new InterProcessReadWriteLock(client, path));
    return kind.equals("read") ? pair.readLock() : pair.writeLock();
  }

  static class Visible extends InterProcessMutex {
    Visible(String path) {
      super(client, path);
    }

    String node() {
      return getLockPath();
    }
  }

  // --- work on files that only the lock protects

  /** Works on the files, and returns the number of rounds. Throws if another owner was inside. */
  static String work(Lock lock, String kind, String owner, Path folder, int rounds) throws Exception {
    for (int round = 0; round < rounds; round++) {
      String node = lock.acquire(-1);
      try {
        if (kind.equals("read")) look(folder);
        else if (kind.startsWith("semaphore:")) crowd(folder, "java-" + owner, Integer.parseInt(kind.split(":")[1]));
        else count(folder, node);
      } finally {
        lock.release();
      }
    }
    return String.valueOf(rounds);
  }

  static void count(Path folder, String node) throws Exception {
    int count = Integer.parseInt(Files.readString(folder.resolve("count")));
    String grant = node.startsWith("\"") ? String.valueOf(client.checkExists().forPath(node.substring(1, node.length() - 1)).getCzxid()) : "0";
    Files.writeString(folder.resolve("count"), String.valueOf(count + 1));
    Files.writeString(folder.resolve("grants"), grant + " java\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  static void look(Path folder) throws Exception {
    String before = Files.readString(folder.resolve("count"));
    client.checkExists().forPath("/");
    String after = Files.readString(folder.resolve("count"));
    if (before.isEmpty() || !before.equals(after)) throw new IllegalStateException("a writer was there: " + before + ", then " + after);
  }

  /** The time of a visit. */
  static final long STAY_MS = 20;

  /** The first visitors stay until there are `most`, because on a busy machine short visits might never meet. */
  static void crowd(Path folder, String name, int most) throws Exception {
    Path full = folder.resolve("full");
    Path mine = Files.createFile(folder.resolve("inside").resolve(name));
    int inside;
    do {
      Thread.sleep(STAY_MS);
      inside = folder.resolve("inside").toFile().list().length;
    } while (inside < most && !Files.exists(full));
    if (inside >= most) Files.writeString(full, "");
    Files.delete(mine);
    Files.writeString(folder.resolve("crowds"), inside + " java\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  // --- JSON

  static synchronized void say(String line) {
    System.out.println(line);
  }

  static String quoted(Collection<String> texts) {
    StringJoiner list = new StringJoiner(",", "[", "]");
    for (String text : texts) list.add(quoted(text));
    return list.toString();
  }

  static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + "\"";
  }
}
