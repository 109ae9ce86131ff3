import {
  asleep,
  copyOf,
  isOver,
  isProven,
  isSilent,
  type Life,
  overdueAt,
  type Owed,
  silentAt,
  watched,
} from './life.js';
import { divisors } from '../network/timeout-parts.js';
import { firstBeatAt, isActive, pulseAfter } from './proof-schedule.js';
import { learn, type ClockEvent } from './session-clock.js';
import type { SessionEnd } from './session-owner.js';
import { reached } from '../../support/reached.js';

/** The life of a session after one more fact, and the orders to carry out in the same turn. No I/O, timer or clock. */
export function step(life: Life, fact: Fact, now: number): Step {
  switch (fact.is) {
    case 'granted':
      return granted(life, fact, now);
    case 'resumed':
      return resumed(life, now);
    case 'answered':
      return answered(life, fact);
    case 'ponged':
      return served({ ...life, answeredSentAt: Math.max(life.answeredSentAt, fact.sentAt) });
    case 'sent':
      return still(watched(life, fact, now));
    case 'beaten':
      return beaten(life, fact, now);
    case 'cut':
      return cut(life, now);
    case 'tick':
      return tick(asleep(life, now), fact, now);
    case 'polled':
      return polled(life, fact, now);
    case 'looked':
      return looked(life, now);
    case 'held': {
      const held = needed(life);
      held.holds += 1;
      // From now on, a silent connection is given up sooner, and heartbeats go on.
      return still(activated(held, fact, now));
    }
    case 'freed': {
      const freed = neededNoMore(life, now);
      freed.holds -= 1;
      return still(freed);
    }
    case 'needed':
      return still(activated(needed(life), fact, now));
    case 'needed-no-more':
      return still(neededNoMore(life, now));
    case 'proof-wanted':
      // Between two heartbeats, the pause until the next one stays as it is. Otherwise each further proof would postpone
      // the heartbeat that carries the write before it past a ping of the leader.
      return isActive(life, now, life.proof.timeoutMs) ? does(life, { do: 'prove', as: 'extra' }) : beat(life, now);
    case 'attach-wanted':
      return attach(life, now);
    case 'attach-failed':
      return attachFailed(life, now);
    case 'close':
      return close(life, now);
    case 'end':
      return end(life, fact.why, now);
  }
}

/** The events of a session. Times are monotonic milliseconds. */
export type Fact =
  /** A ConnectResponse, and an answer without an error in its header. */
  | Exclude<ClockEvent, { is: 'disconnected' }>
  /** All listeners know that the session is connected. */
  | { readonly is: 'resumed' }
  /** The server answered a ping. */
  | { readonly is: 'ponged'; readonly sentAt: number }
  /** An order was carried out that sent a request. */
  | ({ readonly is: 'sent' } & Owed)
  /** The write of a heartbeat was answered, or has failed. It was sent in this epoch. */
  | ({ readonly is: 'beaten'; readonly isAnswered: boolean; readonly epoch: number } & Owed)
  /** The connection has ended. */
  | { readonly is: 'cut' }
  /** It is `wakeAt`, or later. */
  | ({ readonly is: 'tick'; readonly hasZnodes: boolean } & Owed)
  /** After the order `poll`: all answers that have arrived were read. */
  | ({ readonly is: 'polled' } & Owed)
  /** Somebody asks whether the session is alive. */
  | { readonly is: 'looked' }
  /** A lock is held, or is held no more. */
  | ({ readonly is: 'held' } & Owed)
  | { readonly is: 'freed' }
  /** The next event may let a waiter be granted, or may not any more. */
  | ({ readonly is: 'needed' } & Owed)
  | { readonly is: 'needed-no-more' }
  | { readonly is: 'proof-wanted' }
  | { readonly is: 'attach-wanted' }
  /** The attach has ended without another connection, and the old one still stands. */
  | { readonly is: 'attach-failed' }
  | { readonly is: 'close' }
  | { readonly is: 'end'; readonly why: SessionEnd };

export type Order =
  /** A quorum write, and a sync on its answer. The answer to the write of a heartbeat is the fact `beaten`. */
  | { readonly do: 'prove'; readonly as: 'heartbeat' | 'extra' }
  | { readonly do: 'sync' | 'ping' }
  /** The requests in flight are answered before the connections are exchanged, for at most `drainMs`. */
  | { readonly do: 'attach'; readonly drainMs: number }
  /** The attach is proven, or has failed: its callers go on. */
  | { readonly do: 'end-attach' }
  | { readonly do: 'poll' }
  | { readonly do: 'drop'; readonly silentMs: number }
  /** Tells the listeners of a change. */
  | { readonly do: 'tell' }
  | { readonly do: 'resume'; readonly isAttach: boolean }
  | { readonly do: 'suspend' }
  /** The connected server has answered for the first time. */
  | { readonly do: 'tell-served' }
  | { readonly do: 'tell-overdue' }
  /** The holds are lost, because the client closes. */
  | { readonly do: 'lose' }
  | { readonly do: 'ask-to-close' }
  /** Without a connection, a session that has no znodes need not be closed. It expires by itself, and blocks no queue. */
  | { readonly do: 'leave-if-empty' }
  /** The holds are lost, and the connection is abandoned. */
  | { readonly do: 'end'; readonly why: SessionEnd };

export interface Step {
  readonly life: Life;
  readonly orders: readonly Order[];
}

function granted(before: Life, fact: Extract<Fact, { is: 'granted' }>, now: number): Step {
  const proof = learn(before.proof, fact);
  const life = { ...before, epoch: before.epoch + 1, answeredSentAt: fact.sentAt, proof };
  // The request of a session that attached was held back, and follows now.
  if (life.state.at === 'closing') reached('connected while it closes');
  if (life.state.at === 'closing' && life.attach !== 'none') return withoutAttach(life);
  if (life.state.at === 'closing') return does(life, { do: 'ask-to-close' });
  // After a stall, the answer was read before the timer of the deadline ran. No listener may see this connection.
  if (life.holds > 0 && now >= overdueAt(life)) {
    reached('granted a session whose deadline has passed');
    return passDeadline(life, now);
  }
  const isAttach = life.attach === 'dialling';
  const pulseAt = pulseAfter(life, now, proof.timeoutMs);
  return does(
    { ...life, state: { at: 'connected', pulseAt }, attach: isAttach ? 'proving' : 'none' },
    { do: 'tell' },
    { do: 'resume', isAttach },
  );
}

/** Decided after the listeners know of the connection, because they may need a proof. */
function resumed(life: Life, now: number): Step {
  if (life.state.at !== 'connected' || life.attach === 'dialling') return still(life);
  // A quiet session that reconnects writes nothing. Otherwise the restart of a server would cost one transaction for
  // each client. The answer to the ping shows that this server accepts the client's account.
  const isQuiet = isProven(life) && !isActive(life, now, life.proof.timeoutMs);
  return isQuiet && life.attach === 'none' ? does(life, { do: 'ping' }) : beat(life, now);
}

function answered(before: Life, fact: Extract<Fact, { is: 'answered' }>): Step {
  const life = copyOf(before);
  life.answeredSentAt = Math.max(before.answeredSentAt, fact.sentAt);
  life.proof = learn(before.proof, fact, before.terms.tickTimeMs);
  return isProven(life) === isProven(before) ? served(life) : served(life, { do: 'tell' });
}

function served(life: Life, ...orders: Order[]): Step {
  if (life.servedEpoch === life.epoch || life.state.at !== 'connected') return { life, orders };
  return does({ ...life, servedEpoch: life.epoch }, ...orders, { do: 'tell-served' });
}

/** Also after an error, because an error that leaves the connection open must not stop the heartbeats. */
function beaten(before: Life, fact: Extract<Fact, { is: 'beaten' }>, now: number): Step {
  // The present connection has its own first heartbeat, which may follow an attach that ended this one.
  if (fact.epoch !== before.epoch) {
    reached('a heartbeat of an earlier connection answered');
    return still(before);
  }
  const life = fact.isAnswered ? { ...before, beatAt: now } : before;
  const next = watched(pulsing(life, pulseAfter(life, now, life.proof.timeoutMs)), fact, now);
  return life.attach === 'proving' ? withoutAttach(next) : still(next);
}

function cut(before: Life, now: number): Step {
  if (before.attach === 'proving') reached('cut before an attach was proven');
  const life = { ...before, proof: learn(before.proof, { is: 'disconnected' }) };
  if (life.state.at === 'closing') return withoutAttach(life, { do: 'leave-if-empty' });
  if (life.state.at !== 'connected') return withoutAttach(life);
  const suspended: Life = { ...life, state: { at: 'suspended' } };
  return withoutAttach(watched(suspended, { owedSince: undefined }, now), { do: 'tell' }, { do: 'suspend' });
}

function tick(life: Life, fact: Extract<Fact, { is: 'tick' }>, now: number): Step {
  const { state } = life;
  const { timeoutMs } = life.proof;
  if (state.at === 'connected' && now >= state.pulseAt) {
    // A session whose first proof was refused tries again.
    if (!isProven(life) || life.attach !== 'none' || isActive(life, now, timeoutMs)) return beat(life, now);
    // A sync shows that the server still reaches its leader. A server without a leader answers pings for a while.
    return does(pulsing(life, pulseAfter(life, now, timeoutMs)), { do: fact.hasZnodes ? 'sync' : 'ping' });
  }
  // After a stall, the answers may lie unread in the socket. So they are read before the session is judged.
  if (isSilent(life, fact, now) || now >= overdueAt(life)) return does(life, { do: 'poll' });
  return still(watched(life, fact, now));
}

function polled(before: Life, fact: Owed, now: number): Step {
  const { life, orders } = looked(before, now);
  const next = watched(life, fact, now);
  const { owedSince } = fact;
  if (life.state.at === 'ended' || owedSince === undefined || !isSilent(life, fact, now)) return { life: next, orders };
  reached('a silent connection given up');
  return { life: next, orders: [...orders, { do: 'drop', silentMs: silentAt(life, owedSince) - owedSince }] };
}

function looked(life: Life, now: number): Step {
  return !isOver(life) && now >= overdueAt(life) ? passDeadline(life, now) : still(life);
}

/** If the attach takes long, the proof begins on the present connection. */
function attach(life: Life, now: number): Step {
  const { state, proof } = life;
  if (state.at !== 'connected' || life.attach !== 'none') return still(life);
  const { timeoutMs } = proof;
  const pulseAt = state.pulseAt === Infinity ? Infinity : now + timeoutMs / divisors.slowAttach;
  return does({ ...pulsing(life, pulseAt), attach: 'dialling' }, { do: 'attach', drainMs: timeoutMs / divisors.drain });
}

/** Heartbeats on the old connection give the proof: for one timeout, in which the session does not attach again. */
function attachFailed(before: Life, now: number): Step {
  const { state, attach } = before;
  reached('an attach failed, and the old connection was kept');
  if (attach !== 'dialling') return still(before);
  if (state.at !== 'connected') return withoutAttach(before);
  const noAttachUntil = now + before.proof.timeoutMs;
  const life: Life = { ...before, attach: 'proving', neededAt: now, noAttachUntil };
  return state.pulseAt === Infinity ? still(life) : beat(life, now);
}

/**
 * The state changes before the holds are lost, because a listener of a loss may look at the session. If its deadline has
 * passed, it would end, and its znodes would stay until its timeout.
 */
function close(life: Life, now: number): Step {
  if (isOver(life)) return still(life);
  const closing: Life = { ...asleep(life, now), state: { at: 'closing' } };
  const orders: Order[] = [{ do: 'lose' }, { do: 'tell' }];
  return does(closing, ...orders, { do: life.state.at === 'connected' ? 'ask-to-close' : 'leave-if-empty' });
}

function end(life: Life, why: SessionEnd, now: number): Step {
  if (life.state.at === 'ended') return still(life);
  return withoutAttach({ ...asleep(life, now), state: { at: 'ended', why } }, { do: 'end', why });
}

function passDeadline(life: Life, now: number): Step {
  if (life.holds === 0) reached('a deadline passed without a hold');
  if (life.holds > 0) return end(life, 'lost', now);
  return does({ ...life, state: { at: 'overdue' } }, { do: 'tell' }, { do: 'tell-overdue' });
}

function beat(life: Life, now: number): Step {
  return does({ ...pulsing(life, Infinity), beatAt: now }, { do: 'prove', as: 'heartbeat' });
}

function pulsing(life: Life, pulseAt: number): Life {
  const { state } = life;
  return state.at === 'connected' && state.pulseAt !== pulseAt
    ? { ...life, state: { at: 'connected', pulseAt } }
    : life;
}

function needed(before: Life): ReturnType<typeof copyOf> {
  const life = copyOf(before);
  life.needs += 1;
  return life;
}

function neededNoMore(before: Life, now: number): ReturnType<typeof copyOf> {
  const life = copyOf(before);
  life.needs -= 1;
  life.neededAt = now;
  return life;
}

/**
 * The session may just have become active: the first heartbeat may be due earlier than the next quiet pulse. While it
 * attaches, the heartbeat waits for the new connection, as `attach` says.
 */
function activated(life: Life, owed: Owed, now: number): Life {
  const { state, proof } = life;
  if (state.at !== 'connected' || state.pulseAt === Infinity || life.attach === 'dialling')
    return watched(life, owed, now);
  return watched(pulsing(life, Math.min(state.pulseAt, firstBeatAt(life, now, proof.timeoutMs))), owed, now);
}

function withoutAttach(life: Life, ...orders: Order[]): Step {
  return life.attach === 'none' ? { life, orders } : does({ ...life, attach: 'none' }, { do: 'end-attach' }, ...orders);
}

function does(life: Life, ...orders: Order[]): Step {
  return { life, orders };
}

function still(life: Life): Step {
  return { life, orders: nothing };
}

const nothing: readonly Order[] = [];
