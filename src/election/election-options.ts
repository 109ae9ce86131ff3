import { hostName, markIn } from '../internals/znode/znode-data.js';
import { latchDriver, standardDriver } from '../driver/standard-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { checkAcquireOptions, copyOfData, type AcquireOptions } from '../mutex/acquire-options.js';
import { checkedMutexOptions, type CheckedMutexOptions } from '../mutex/mutex-options.js';
import { expected, expectOneOf, expectOptions } from '../support/validate.js';

/** Options of {@link LeaderElection}. */
export interface LeaderElectionOptions {
  /** The name of this candidate, for `leader()` and `participants()` of all clients. @default host name and process id */
  readonly id?: string | undefined;
  /**
   * Which of Curator's two elections this one takes part in: `latch` with LeaderLatch, `selector` with LeaderSelector.
   * All candidates of one path must use the same.
   * @default 'latch'
   */
  readonly protocol?: 'latch' | 'selector' | undefined;
}

/** Options of {@link LeaderElection.campaign}. */
export type CampaignOptions = Omit<AcquireOptions, 'data'>;

/** Options of {@link LeaderElection.lead}. */
export interface LeadOptions extends CampaignOptions {
  /**
   * Campaigns again when the job has fulfilled, and when the term was lost, until the signal aborts or the job rejects.
   * @default false
   */
  readonly requeue?: boolean | undefined;
}

export interface CheckedElection {
  readonly id: string;
  readonly protocol: 'latch' | 'selector';
  readonly driver: LockDriver;
  readonly mutex: CheckedMutexOptions;
  /** The id, as the candidates' znodes have it. */
  readonly data: Buffer;
}

/** @throws TypeError or RangeError for a bad option */
export function checkedElection(options: LeaderElectionOptions): CheckedElection {
  const { id = `${hostName()}-${process.pid}`, protocol = 'latch' } = expectOptions('LeaderElection', options, [
    'id',
    'protocol',
  ]);
  expectOneOf('protocol', protocol, ['latch', 'selector']);
  if (typeof id !== 'string') throw new TypeError(expected('id', 'a string', id));
  const data = copyOfData(Buffer.from(id), undefined, 'id');
  if (markIn(data) !== undefined)
    throw new RangeError(expected('id', 'another text, because this one in a znode asks its owner to release', id));
  const driver = protocol === 'latch' ? latchDriver : standardDriver;
  const mutex = checkedMutexOptions({ driver }, { isOwnDriver: true });
  // Objects of the two protocols on one path are not one lock.
  return { id, protocol, driver, data, mutex: { ...mutex, rules: { ...mutex.rules, driver } } };
}

export function checkCampaignOptions(options: CampaignOptions = {}): CampaignOptions {
  refuseData('campaign', options);
  return checkAcquireOptions('campaign', options);
}

export function checkLeadOptions(options: LeadOptions = {}): LeadOptions {
  refuseData('lead', options);
  const checked: LeadOptions = checkAcquireOptions('lead', options, ['requeue']);
  const requeue: unknown = checked.requeue;
  if (requeue !== undefined && typeof requeue !== 'boolean')
    throw new TypeError(expected('requeue', 'true or false', requeue));
  return checked;
}

function refuseData(what: string, options: unknown): void {
  if (typeof options === 'object' && options !== null && 'data' in options)
    throw new TypeError(
      `Unexpected option \`data\` of ${what}: the znode of a candidate has its id. Set \`id\` of the LeaderElection`,
    );
}
