package org.apache.curator.test;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Takes the place of Curator's class of this name in Curator's own tests: the server is the embedded ZooKeeper, in a
 * process of its own, which ends with this one. The property `embedded` is the command that starts it.
 */
public class TestingServer implements Closeable {
  /** Data are in memory: a server that is started in the folder of a stopped one goes on with its process. */
  private static final Map<File, TestingServer> stopped = new ConcurrentHashMap<>();
  private final int port;
  private final File folder;
  private Process process;
  private BufferedReader answers;
  private Writer commands;

  public TestingServer() throws Exception { this(-1, true); }
  public TestingServer(boolean start) throws Exception { this(-1, start); }
  public TestingServer(int port) throws Exception { this(port, true); }
  public TestingServer(int port, boolean start) throws Exception { this(port, null, start); }
  public TestingServer(int port, File folder) throws Exception { this(port, folder, true); }
  public TestingServer(InstanceSpec spec, boolean start) throws Exception {
    this(spec.getPort(), spec.getDataDirectory(), start);
  }

  public TestingServer(int port, File folder, boolean start) throws Exception {
    this.port = port > 0 ? port : InstanceSpec.getRandomPort();
    this.folder = folder != null ? folder : Files.createTempDirectory("curator").toFile();
    this.folder.deleteOnExit();
    if (start) start();
  }

  public int getPort() { return port; }
  public File getTempDirectory() { return folder; }
  public String getConnectString() { return "127.0.0.1:" + port; }

  public void start() throws Exception {
    TestingServer before = stopped.remove(folder);
    if (before != null && before != this) {
      process = before.process;
      answers = before.answers;
      commands = before.commands;
    }
    if (process != null) {
      tell("restart");
      return;
    }
    String containers = System.getProperty("znode.container.checkIntervalMs", "60000");
    String faults = System.getProperty("zookeeper.serverCnxnFactory", "").endsWith("ChaosMonkeyCnxnFactory") ? "\nfaults" : "";
    String[] command = (System.getProperty("embedded") + "\n" + port + "\n" + containers + faults).split("\n");
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    answers = new BufferedReader(new InputStreamReader(process.getInputStream()));
    commands = new OutputStreamWriter(process.getOutputStream());
    if (answers.readLine() == null) throw new IOException("The embedded ZooKeeper did not start");
  }

  public void restart() throws Exception { start(); }

  public void stop() throws IOException {
    if (process == null) return;
    tell("stop");
    stopped.put(folder, this);
  }

  @Override
  public void close() throws IOException {
    if (process == null) return;
    commands.close();
    process = null;
  }

  private void tell(String command) throws IOException {
    commands.write(command + "\n");
    commands.flush();
    answers.readLine();
  }
}
