import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.curator.framework.*;
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

  public static void main(String[] args) throws Exception {
    client = CuratorFrameworkFactory.newClient(args[0], Integer.parseInt(args[1]), 15_000, new ExponentialBackoffRetry(100, 3));
    client.start();
    client.blockUntilConnected();
    say("{\"event\":\"ready\"}");
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
      case "isOwned": return String.valueOf(mutex(args[0], args[1]).isOwnedByCurrentThread());
      case "participants": return quoted(mutex(args[0], args[1]).getParticipantNodes());
      case "work": return work(lock(owner, args[0], args[1]), args[0], owner, Path.of(args[2]), Integer.parseInt(args[3]));
      case "setCount": setCount(args[0], Integer.parseInt(args[1])); return "null";
      case "makeRevocable": makeRevocable(args[0], args[1]); return "null";
      case "revoke": Revoker.attemptRevoke(client, args[0]); return "null";
      default: throw new IllegalArgumentException(verb);
    }
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
        else if (kind.startsWith("semaphore:")) crowd(folder, "java-" + owner);
        else count(folder, node);
      } finally {
        lock.release();
      }
    }
    return String.valueOf(rounds);
  }

  static void count(Path folder, String node) throws Exception {
    int count = Integer.parseInt(Files.readString(folder.resolve("count")));
    String grant = node.startsWith("\"") ? String.valueOf(client.checkExists().forPath(node.substring(1, node.length() - 1)).getCzxid()) : "?";
    Files.writeString(folder.resolve("count"), String.valueOf(count + 1));
    Files.writeString(folder.resolve("grants"), grant + " java\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  static void look(Path folder) throws Exception {
    String before = Files.readString(folder.resolve("count"));
    client.checkExists().forPath("/");
    String after = Files.readString(folder.resolve("count"));
    if (before.isEmpty() || !before.equals(after)) throw new IllegalStateException("a writer was there: " + before + ", then " + after);
  }

  /** The time of a visit. Leases are acquired one after another: with shorter visits a third owner would never be inside. */
  static final long STAY_MS = 20;

  static void crowd(Path folder, String name) throws Exception {
    Path mine = Files.createFile(folder.resolve("inside").resolve(name));
    Thread.sleep(STAY_MS);
    int inside = folder.resolve("inside").toFile().list().length;
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
