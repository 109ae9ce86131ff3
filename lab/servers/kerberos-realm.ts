import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { keepPort, giveUpPort, onFreshPorts, PortTakenError } from './free-port.ts';
import { whenProcessEnds } from './process-end.ts';
import { ServerProcess } from './server-process.ts';

const startLimitMs = 30_000;
const pollMs = 25;

/** A realm of Kerberos with a KDC of its own on 127.0.0.1. All its files are in one folder, and none of the system's. */
export class KerberosRealm implements AsyncDisposable {
  static readonly realm = 'LOCK.TEST';
  readonly #directory: string;
  readonly #port: number;
  readonly #forget: () => void;
  #kdc: ServerProcess | undefined;
  #files = 0;

  /** Resolves when the KDC gives tickets. */
  static start(): Promise<KerberosRealm> {
    return onFreshPorts(1, async ([port = 0]) => {
      const realm = new KerberosRealm(port);
      try {
        await realm.#run('kdb5_util', ['create', '-s', '-r', KerberosRealm.realm, '-P', 'master']);
        await realm.addPrincipal('probe');
        await realm.startKdc();
      } catch (error) {
        await realm.stop();
        throw error;
      }
      return realm;
    });
  }

  private constructor(port: number) {
    this.#port = port;
    this.#directory = mkdtempSync(join(tmpdir(), 'kerberos-'));
    this.#forget = whenProcessEnds(() => this.#removeData());
    writeFileSync(this.configFile, krb5Conf(port));
    writeFileSync(this.#file('kdc.conf'), kdcConf(port, this.#directory));
  }

  /** The krb5.conf for clients and servers of this realm. */
  get configFile(): string {
    return this.#file('krb5.conf');
  }

  async addPrincipal(principal: string): Promise<void> {
    await this.#run('kadmin.local', ['-q', `addprinc -randkey ${principal}`]);
  }

  /** Resolves with the path of a file with new keys of the principal. Its older keys do not work any more. */
  async keytab(principal: string): Promise<string> {
    const file = this.newFile('keytab');
    await this.#run('kadmin.local', ['-q', `ktadd -k ${file} ${principal}`]);
    return file;
  }

  /** Resolves with the path of a ticket cache in which the principal is logged in, for `seconds`. */
  async login(principal: string, keytab: string, seconds = 3_600): Promise<string> {
    const cache = this.newFile('cache');
    await this.#run('kinit', ['-k', '-t', keytab, '-c', cache, '-l', `${seconds}s`, principal]);
    return cache;
  }

  /** True if the KDC gives a ticket for the service to the principal that is logged in. */
  async givesTicket(cache: string, service: string): Promise<boolean> {
    return this.#run('kvno', ['-q', '-c', cache, service]).then(
      () => true,
      () => false,
    );
  }

  /** A path in the folder of the realm, without a file. */
  newFile(kind: string): string {
    this.#files += 1;
    return this.#file(`${this.#files}.${kind}`);
  }

  async startKdc(): Promise<void> {
    const kdc = await ServerProcess.spawn(this.#directory, [
      'env',
      ...Object.entries(this.#environment).map(([name, value]) => `${name}=${value}`),
      pathOf('krb5kdc'),
      '-n',
    ]);
    this.#kdc = kdc;
    const keytab = await this.keytab('probe');
    const deadline = performance.now() + startLimitMs;
    while (performance.now() < deadline) {
      const serves = await this.login('probe', keytab).then(
        () => true,
        () => false,
      );
      if (kdc.hasEnded) throw await startFailure(kdc);
      if (serves) return;
      await delay(pollMs);
    }
    throw new Error(`The KDC at port ${this.#port} gave no ticket within ${startLimitMs} ms:\n${kdc.logTail()}`);
  }

  /** The KDC's port refuses connections until `startKdc`. */
  async killKdc(): Promise<void> {
    keepPort(this.#port);
    await this.#kdc?.kill();
  }

  /** The KDC accepts connections, and answers nothing until `resumeKdc`. */
  pauseKdc(): void {
    this.#kdc?.pause();
  }

  resumeKdc(): void {
    this.#kdc?.resume();
  }

  async stop(): Promise<void> {
    await this.#kdc?.kill();
    giveUpPort(this.#port);
    this.#removeData();
    this.#forget();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(command: string, args: readonly string[]): Promise<void> {
    await execute(pathOf(command), args, { env: { ...process.env, ...this.#environment } });
  }

  get #environment(): Readonly<Record<string, string>> {
    return { KRB5_CONFIG: this.configFile, KRB5_KDC_PROFILE: this.#file('kdc.conf') };
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }

  #removeData(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** The Debian packages of a KDC and its tools, and those that the npm package `kerberos` is compiled with. */
export const kerberosPackages = ['krb5-kdc', 'krb5-admin-server', 'krb5-user', 'libkrb5-dev', 'g++', 'make', 'python3'];

const execute = promisify(execFile);

/** Debian puts a part of the tools into a folder that is not in every PATH. */
function pathOf(command: string): string {
  return join(['kinit', 'kvno'].includes(command) ? '/usr/bin' : '/usr/sbin', command);
}

async function startFailure(kdc: ServerProcess): Promise<Error> {
  const log = kdc.logTail();
  const message = `The KDC ended while starting (${await kdc.ended}):\n${log}`;
  return /Address already in use/.test(log) ? new PortTakenError(message) : new Error(message);
}

/** No lookup in DNS, and only TCP: the tests send no packet to another machine, and lose none. */
function krb5Conf(port: number): string {
  const { realm } = KerberosRealm;
  return `[libdefaults]
  default_realm = ${realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  ${realm} = {
    kdc = 127.0.0.1:${port}
  }
`;
}

function kdcConf(port: number, directory: string): string {
  mkdirSync(join(directory, 'kdc'));
  return `[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:${port}
[realms]
  ${KerberosRealm.realm} = {
    database_name = ${directory}/kdc/principal
    key_stash_file = ${directory}/kdc/stash
    acl_file = ${directory}/kdc/kadm5.acl
  }
[logging]
  kdc = STDERR
  default = STDERR
`;
}
