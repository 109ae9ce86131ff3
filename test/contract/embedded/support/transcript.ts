import { machineClock } from '../../../../packages/testing/src/server/test-clock.ts';
import type { Answer } from '../../../../lab/wire/answer.ts';
import { opcodes } from '../../../../lab/wire/opcodes.ts';
import type { RecordReader } from '../../../../lab/wire/record.ts';
import type { Request } from '../../../../lab/wire/request.ts';

/** The values that make the numbers of two servers comparable. */
export interface Scale {
  /** The newest zxid before the sequence. */
  readonly zxid: number;
  /** The root's child version before the sequence. */
  readonly rootVersion: number;
  /** Milliseconds since 1970, by the earlier one of the two clocks. */
  readonly startedAt: number;
  /** The names of the sessions, by their id. */
  readonly sessions: ReadonlyMap<bigint, string>;
}

const createTypes: readonly number[] = [opcodes.create2, opcodes.createContainer, opcodes.createTTL];

/** Describes an answer or an event as one line, which must be equal for both servers. */
export function describeAnswer(answer: Answer, requests: ReadonlyMap<number, Request>, scale: Scale): string {
  const { xid, error } = answer;
  const zxid = relative(answer.zxid, scale);
  const reader = answer.record();
  if (xid === -1)
    return `event ${zxid} ${error} type ${reader.int()} state ${reader.int()} ${JSON.stringify(reader.text())}${rest(reader)}`;
  const head = `#${xid} zxid ${zxid} error ${error}`;
  const request = requests.get(xid);
  if (error !== 0 || reader.isAtEnd || !request) return `${head}${rest(reader)}`;
  return `${head} ${describeBody(reader, request, scale)}${rest(reader)}`;
}

function describeBody(reader: RecordReader, request: Request, scale: Scale): string {
  switch (request.op) {
    case 'bent':
      return describeBody(reader, request.request, scale);
    case 'create':
    case 'sync':
      return shown(reader.text());
    case 'create2':
    case 'createContainer':
    case 'createTTL':
      return `${shown(reader.text())} ${stat(reader, scale)}`;
    case 'exists':
    case 'setData':
    case 'setACL':
      return stat(reader, scale);
    case 'getData':
      return `${shown(reader.bytes()?.toString('hex') ?? null)} ${stat(reader, scale)}`;
    case 'getChildren':
    case 'getEphemerals':
      return shown(reader.texts());
    case 'getChildren2':
      return `${shown(reader.texts())} ${stat(reader, scale)}`;
    case 'getACL':
      return `${shown(reader.vector(() => [reader.int(), reader.text(), reader.text()]))} ${stat(reader, scale)}`;
    case 'whoAmI':
      return shown(reader.vector(() => [reader.text(), reader.text()]));
    case 'getAllChildrenNumber':
    case 'addWatch':
      return String(reader.int());
    case 'multi':
    case 'multiRead':
      return items(reader, scale);
    default:
      return '';
  }
}

function items(reader: RecordReader, scale: Scale): string {
  const results: string[] = [];
  for (;;) {
    const type = reader.int();
    const isDone = reader.flag();
    const error = reader.int();
    results.push(`${type} ${isDone} ${error} ${isDone ? '' : item(type, reader, scale)}`);
    if (isDone) return results.join(' | ');
  }
}

function item(type: number, reader: RecordReader, scale: Scale): string {
  if (type === opcodes.create) return shown(reader.text());
  if (createTypes.includes(type)) return `${shown(reader.text())} ${stat(reader, scale)}`;
  if (type === opcodes.setData) return stat(reader, scale);
  if (type === opcodes.getData) return `${shown(reader.bytes()?.toString('hex') ?? null)} ${stat(reader, scale)}`;
  if (type === opcodes.getChildren) return shown(reader.texts());
  return type === -1 ? String(reader.int()) : '';
}

function stat(reader: RecordReader, scale: Scale): string {
  const [created, modified] = [Number(reader.long()), Number(reader.long())];
  const [createdAt, modifiedAt] = [Number(reader.long()), Number(reader.long())];
  const [version, childVersion, aclVersion] = [reader.int(), reader.int(), reader.int()];
  const owner = reader.long();
  const [dataLength, childCount] = [reader.int(), reader.int()];
  const children = Number(reader.long());
  // ZooKeeper's own znodes were created before all transactions. Only the root among them gets children.
  const isRoot = created === 0 && aclVersion === 0 && childCount !== 0 && childVersion !== -2;
  const times =
    createdAt === 0
      ? 'never'
      : isPlausible(createdAt, modifiedAt, version, scale)
        ? 'good'
        : `${createdAt} ${modifiedAt}`;
  const ownerName = owner === 0n ? '-' : (scale.sessions.get(owner) ?? `0x${owner.toString(16)}`);
  const zxids = [created, modified, children].map((zxid) => relative(zxid, scale)).join(' ');
  return `[${zxids} ${times} v${version} c${childVersion - (isRoot ? scale.rootVersion : 0)} a${aclVersion} ${ownerName} ${dataLength} ${childCount}]`;
}

function isPlausible(createdAt: number, modifiedAt: number, version: number, { startedAt }: Scale): boolean {
  // The embedded server's clock never goes back, and drifts from that of the machine: by 5 ms in three minutes.
  const now = Math.max(Date.now(), machineClock.now());
  const isNow = createdAt >= startedAt - 5 && modifiedAt <= now + 5;
  return isNow && modifiedAt >= createdAt && (version > 0 || modifiedAt === createdAt);
}

function relative(zxid: number, scale: Scale): number {
  return zxid <= 0 ? zxid : Math.max(0, zxid - scale.zxid);
}

function rest(reader: RecordReader): string {
  return reader.isAtEnd ? '' : ' and more';
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
