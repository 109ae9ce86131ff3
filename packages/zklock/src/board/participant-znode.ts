import { isUtf8 } from 'node:buffer';
import { seenIn } from '../../../../src/internals/known-holder.js';
import { isMarkedIdle, type Mark, markIn, withoutMark } from '../../../../src/internals/znode/znode-data.js';
import type { Stat } from '../../../../src/zookeeper/wire/operations.js';
import { sessionName } from '../../../../src/zookeeper/wire/wire-session.js';
import { hasMarkedUuid } from '../../../../src/driver/names.js';
import type { ParticipantName } from './participant-name.js';

/** The znode of a participant, as the servers showed it last. */
export class ParticipantZnode {
  readonly path: string;
  readonly name: ParticipantName;
  /** The time at which a look first showed that it holds the lock; undefined if the grant was not seen. */
  heldSince: number | undefined;
  /** True if the last look showed that it holds the lock. */
  isHolder = false;
  /** The time since which the servers refuse to show the znode. Its content is then what was read before, if anything was. */
  unreadableSince: number | undefined;
  /** True for a permit of a semaphore whose grant was seen. */
  isGranted = false;
  #content: Content | undefined;

  constructor(path: string, name: ParticipantName) {
    this.path = path;
    this.name = name;
  }

  /** Undefined until the first answer. */
  get content(): Content | undefined {
    return this.#content;
  }

  /** True if the servers have shown the znode, or refused to. */
  get isKnown(): boolean {
    return this.#content !== undefined || this.unreadableSince !== undefined;
  }

  /** Returns true if the new content differs from the last one in anything that is shown. */
  read(data: Buffer, stat: Stat): boolean {
    const before = this.#content;
    const next = contentOf(this.path, data, stat, before);
    this.#content = next;
    return (
      before?.czxid !== next.czxid ||
      before.data !== next.data ||
      before.isIdle !== next.isIdle ||
      before.mark !== next.mark
    );
  }
}

/** The content of a participant's znode. */
export interface Content {
  readonly czxid: bigint;
  /** Written as in the servers' logs; undefined for a znode that no session owns. */
  readonly sessionId: string | undefined;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /**
   * The owner's data as text, or in hexadecimal after `0x`. Cut if it is long. Undefined if a mark had replaced it before
   * the first read.
   */
  readonly data: string | undefined;
  /** The length of the owner's data, in bytes. */
  readonly dataBytes: number | undefined;
  /** Undefined as `data` is. */
  readonly isIdle: boolean | undefined;
  /** The request that another client has written over the owner's data. */
  readonly mark: Mark | undefined;
  /** By the servers' clock. */
  readonly createdAtMs: number;
}

/** Longer data are cut, because any client may write a megabyte into each znode. */
const mostDataBytes = 512;

function contentOf(path: string, data: Buffer, stat: Stat, before: Content | undefined): Content {
  const mark = stat.mzxid > stat.czxid ? markIn(data) : undefined;
  // A mark replaces the owner's data, so the data that were seen before are still shown.
  if (mark !== undefined && before?.czxid === stat.czxid) return { ...before, mark };
  const mayBeIdle = hasMarkedUuid(path.slice(path.lastIndexOf('/') + 1));
  const isIdle = mayBeIdle && isMarkedIdle(data);
  const own = isIdle ? withoutMark(data) : data;
  return {
    czxid: stat.czxid,
    sessionId: stat.ephemeralOwner === 0n ? undefined : sessionName(stat.ephemeralOwner),
    ...seenIn(path, { data: own, stat }).said,
    ...(mark === undefined
      ? { data: textOf(own), dataBytes: own.length, isIdle }
      : { data: undefined, dataBytes: undefined, isIdle: mayBeIdle ? undefined : false }),
    mark,
    createdAtMs: stat.createdAtMs,
  };
}

function textOf(data: Buffer): string {
  if (data.length <= mostDataBytes) return isUtf8(data) ? data.toString() : `0x${data.toString('hex')}`;
  const start = data.subarray(0, mostDataBytes);
  // The cut may split a character, so the whole data decide whether they are text.
  return isUtf8(data) ? `${start.toString().replace(/\uFFFD$/, '')}…` : `0x${start.toString('hex')}…`;
}

/** A znode that the servers refuse to show. */
export interface Unreadable {
  readonly error: unknown;
  /** The time of the first refusal, by the clock of this process, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** The number of looks at the znode since then, if the refusal was no `NO_AUTH`. */
  looks: number;
}
