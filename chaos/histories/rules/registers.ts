import type { Call } from '../operation.ts';
import type { Broken } from './broken.ts';

/**
 * The promises of a register with fencing tokens:
 * - no write is accepted after the register accepted one with a larger token;
 * - no write is refused whose token is the largest that anybody sent until then;
 * - a read finds a write that was accepted, and that no other accepted write replaced before the read began.
 */
export function registers(calls: readonly Call[]): Broken[] {
  const writes = calls.filter(({ f }) => f === 'write').map(writeOf);
  const accepted = writes.filter(({ type }) => type === 'ok');
  return [
    ...accepted.flatMap((write) => {
      const newer = accepted.find((other) => other.to < write.from && other.token > write.token);
      if (newer === undefined) return [];
      const text = `write ${write.number} was accepted after write ${newer.number}, whose token is larger`;
      return [{ rule: 'fencing', text, index: write.to }];
    }),
    ...writes.flatMap((write) => {
      if (write.type !== 'fail' || writes.some((other) => other.from < write.to && other.token > write.token))
        return [];
      return [
        { rule: 'refusal', text: `write ${write.number} was refused, but has the largest token`, index: write.to },
      ];
    }),
    ...calls.filter(({ f }) => f === 'read').flatMap((call) => judgeRead(call, writes, accepted)),
  ];
}

interface Write {
  readonly number: string;
  readonly token: bigint;
  readonly type: Call['from']['type'];
  readonly from: number;
  readonly to: number;
}

function writeOf({ from, to }: Call): Write {
  const { index, token, value } = from;
  return {
    number: String(value),
    token: BigInt(token ?? 0),
    type: to?.type ?? 'info',
    from: index,
    to: to?.index ?? Infinity,
  };
}

function judgeRead({ from, to }: Call, writes: readonly Write[], accepted: readonly Write[]): Broken[] {
  if (to?.type !== 'ok') return [];
  const { value, index } = to;
  const tell = (text: string): Broken[] => [{ rule: 'read', text: `the read found ${String(value)}, ${text}`, index }];
  const found = writes.find(({ number }) => number === String(value));
  if (value !== null && (found === undefined || found.type === 'fail' || found.from > index))
    return tell('which no write had put there');
  const since = found?.to ?? -1;
  const later = accepted.find((write) => write.from > since && write.to < from.index);
  return later ? tell(`although write ${later.number} had replaced it before`) : [];
}
