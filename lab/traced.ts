import { tracingChannel } from 'node:diagnostics_channel';
import type { AcquireMessage, HoldMessage, ReleaseMessage, SessionMessage, TransactionMessage } from '../src/index.ts';

/** The messages of each tracing channel. */
export interface Messages {
  acquire: AcquireMessage;
  hold: HoldMessage;
  release: ReleaseMessage;
  session: SessionMessage;
  transaction: TransactionMessage;
}

export type ChannelName = keyof Messages;

export type TracedEvent = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

export const channelNames = ['acquire', 'hold', 'release', 'session', 'transaction'] as const;

/** Everything that was published from its creation to its disposal. */
export class Recording implements Disposable {
  /** Such as `acquire start`. */
  readonly events: string[] = [];
  readonly messages: { readonly [Name in ChannelName]: Messages[Name][] } = {
    acquire: [],
    hold: [],
    release: [],
    session: [],
    transaction: [],
  };
  readonly #stops: (() => void)[] = [];

  /** @param seen called at each event, before it is recorded */
  constructor(seen: (channel: ChannelName, event: TracedEvent, message: object) => void = () => undefined) {
    for (const name of channelNames) {
      const channel = tracingChannel<unknown, object>(`zookeeper-fair-lock:${name}`);
      const on = (event: TracedEvent) => (message: object) => {
        seen(name, event, message);
        this.events.push(`${name} ${event}`);
        if (event === 'start') (this.messages[name] as object[]).push(message);
      };
      const subscribers = {
        start: on('start'),
        end: on('end'),
        asyncStart: on('asyncStart'),
        asyncEnd: on('asyncEnd'),
        error: on('error'),
      };
      channel.subscribe(subscribers);
      this.#stops.push(() => channel.unsubscribe(subscribers));
    }
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}
