import { readFileSync } from 'node:fs';
import { fold, type History } from '../lab/judge/folded-history.ts';
import type { CallKind, HistoryEvent, Role } from '../lab/judge/history.ts';

/** @throws Error with the line, the field, and the value that was expected */
export function readHistory(file: string): History {
  return parseHistory(readFileSync(file, 'utf8'));
}

export function parseHistory(text: string): History {
  const events = text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseEvent(line, index + 1)]));
  return fold(events.sort((a, b) => a.t - b.t));
}

interface Shape {
  readonly expected: string;
  readonly is: (value: unknown) => boolean;
}

const text: Shape = { expected: 'a string', is: (value) => typeof value === 'string' };
const number: Shape = { expected: 'a finite number', is: (value) => Number.isFinite(value) };
const flag: Shape = { expected: 'true or false', is: (value) => typeof value === 'boolean' };
const digits: Shape = {
  expected: 'a string of decimal digits',
  is: (value) => typeof value === 'string' && /^\d+$/.test(value),
};
const texts = listOf(text);
const listPart: Shape = {
  expected: 'a part of a list',
  is: (value) => isRecord(value) && number.is(value['part']) && listOf(number).is(value['numbers']),
};
const call = { client: text, id: text };
const kinds: readonly CallKind[] = [
  'plain',
  'long',
  'timed',
  'aborted',
  'try',
  're-entrant',
  'downgrade',
  'handler',
  'many',
];
const roles: readonly Role[] = ['owner', 'writer', 'reader', 'lease'];

const shapes: { readonly [type in HistoryEvent['type']]: Readonly<Record<string, Shape>> } = {
  run: {
    seed: number,
    minutes: number,
    sessionTimeoutMs: number,
    paths: texts,
    clients: texts,
    leases: optional(recordOf(number)),
    peers: optional(texts),
  },
  call: {
    ...call,
    path: text,
    kind: oneOf(...kinds),
    flow: text,
    role: optional(oneOf(...roles)),
    weight: optional(number),
    timeoutMs: optional(number),
  },
  granted: { ...call, path: text, hold: text, token: digits, valid: flag, session: optional(text) },
  refused: { ...call, outcome: oneOf('none', 'aborted', 'error'), error: optional(text) },
  look: { ...call, valid: flag },
  guarded: { ...call, zxid: digits },
  read: { ...call, value: text, answeredAt: number },
  list: {
    ...call,
    part: number,
    numbers: listOf(number),
    answeredAt: number,
    append: optional(number),
    to: optional(number),
  },
  appended: { ...call, append: number, outcome: oneOf('ok', 'fail', 'info') },
  leader: { ...call, shown: text, valid: flag },
  lost: { ...call, reason: text },
  write: { ...call, write: text, valid: flag },
  written: { ...call, write: text, accepted: flag, valid: flag },
  releasing: { ...call, valid: flag },
  released: { ...call, outcome: oneOf('released', 'lost') },
  started: { client: text, incarnation: number },
  session: { client: text, sessionId: text },
  state: { client: text, state: text },
  warning: { client: text, what: oneOf('unhandledRejection', 'uncaughtException', 'warning'), error: text },
  left: { client: text },
  register: { path: text, write: text, token: digits, accepted: flag, largest: digits },
  fault: { fault: text, kind: text, target: text, clients: texts, isStopped: flag },
  healed: { fault: text },
  end: { left: recordOf(texts), watches: number, emptyAfterMs: recordOf(number), lists: optional(recordOf(listPart)) },
};

function parseEvent(line: string, at: number): HistoryEvent {
  const event = parseObject(line, at);
  const { type } = event;
  if (typeof type !== 'string' || !Object.hasOwn(shapes, type))
    throw new Error(`line ${at}: Expected \`type\` to be one of ${Object.keys(shapes).join(', ')}, got ${show(type)}`);
  for (const [field, { expected, is }] of Object.entries({ t: number, ...shapes[type as HistoryEvent['type']] })) {
    if (!is(event[field]))
      throw new Error(`line ${at}: Expected \`${field}\` of \`${type}\` to be ${expected}, got ${show(event[field])}`);
  }
  return event as unknown as HistoryEvent;
}

function parseObject(line: string, at: number): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    if (isRecord(value)) return value;
  } catch {
    // The error below names the line.
  }
  throw new Error(`line ${at}: Expected a JSON object, got ${line.slice(0, 80)}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf({ expected, is }: Shape): Shape {
  return { expected: `a list, each ${expected}`, is: (value) => Array.isArray(value) && value.every(is) };
}

function recordOf({ expected, is }: Shape): Shape {
  return {
    expected: `an object, each value ${expected}`,
    is: (value) => isRecord(value) && Object.values(value).every(is),
  };
}

function optional({ expected, is }: Shape): Shape {
  return { expected: `${expected} or absent`, is: (value) => value === undefined || is(value) };
}

function oneOf(...words: readonly string[]): Shape {
  return { expected: `one of ${words.join(', ')}`, is: (value) => words.includes(value as string) };
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
