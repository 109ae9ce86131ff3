import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** The subscriptions of one `instrument` to the tracing channels. */
export class Subscriptions {
  readonly #stops: (() => void)[] = [];

  /** Only the two events that an observer needs are subscribed to. */
  add<Message extends object, Note>(channel: string, observer: Observer<Message, Note>): void {
    // On the message, because a WeakMap makes work for the garbage collector with each entry.
    const note = Symbol(channel);
    type Noted = Message & { [note]?: Note | undefined };
    this.#on(`tracing:zookeeper-fair-lock:${channel}:start`, (message) => {
      (message as Noted)[note] = observer.began(message as Message);
    });
    this.#on(`tracing:zookeeper-fair-lock:${channel}:asyncEnd`, (message) => {
      observer.ended(message as Message, (message as Noted)[note]);
      // A hold keeps its messages, and a note keeps the context of the caller's request.
      (message as Noted)[note] = undefined;
    });
  }

  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #on(name: string, listener: (message: unknown) => void): void {
    subscribe(name, listener);
    this.#stops.push(() => void unsubscribe(name, listener));
  }
}

/** Gets the start and the end of each operation of a channel, with the same message. */
export interface Observer<Message, Note> {
  /** Returns what it needs at the end. */
  began(message: Message): Note | undefined;
  /** Also called for an operation whose start was not seen: then there is no note. */
  ended(message: Message, note: Note | undefined): void;
}
