import type { Socket } from 'node:net';
import { FrameSplitter, RecordWriter } from '../wire/record.ts';
import { withError, type Frame, type FrameDecoder } from './zk-frame.ts';

/**
 * The action on a frame. `drop` discards the frame. `cut` destroys both sockets before the frame, `cut-inside` in the
 * middle of it, `cut-after` behind it. `hold` keeps the frame and all later frames of its direction until `speak()`,
 * `delayUntil` until a promise settles. `replaceWith` sends other bytes in its place, with their length in front.
 * `refuse` is for requests: the server does not carry it out, and its answer, in its turn, is this error.
 */
export type FrameAction =
  | 'pass'
  | 'drop'
  | 'cut'
  | 'cut-inside'
  | 'cut-after'
  | 'hold'
  | { readonly delayUntil: Promise<unknown> }
  | { readonly replaceError: number }
  | { readonly refuse: number }
  | { readonly replaceWith: Buffer };

export interface LaneEvents {
  judge(frame: Frame): FrameAction;
  arrived(frame: Frame): void;
}

interface Ends {
  readonly from: Frame['from'];
  readonly source: Socket;
  readonly target: Socket;
}

type FrameItem = { readonly is: 'frame'; readonly frame: Frame; readonly bytes: Buffer; readonly judged: boolean };
type Item = FrameItem | { readonly is: 'end' };

/** One direction of a link: its frames and then its end, in order. */
export class ZkLane {
  readonly #ends: Ends;
  readonly #decoder: FrameDecoder;
  readonly #events: LaneEvents;
  readonly #cutLink: () => void;
  readonly #splitter = new FrameSplitter();
  readonly #stops = new Set<'held' | 'delayed' | 'ended'>();
  readonly #queue: Item[] = [];

  constructor(ends: Ends, decoder: FrameDecoder, events: LaneEvents, cutLink: () => void) {
    this.#ends = ends;
    this.#decoder = decoder;
    this.#events = events;
    this.#cutLink = cutLink;
    ends.source.on('data', (chunk) => this.#receive(chunk));
    // Queued like a frame, because a silent link does not report a closed socket either.
    ends.source.once('close', () => this.#take({ is: 'end' }));
  }

  hold(): void {
    this.#stops.add('held');
  }

  release(): void {
    this.#continue('held');
  }

  end(): void {
    this.#stops.add('ended');
  }

  #receive(chunk: Buffer): void {
    for (const arrived of this.#splitter.push(chunk)) {
      const body = arrived.subarray(4);
      const frame = this.#decoder.decode(this.#ends.from, body);
      const bytes = frame.body === body ? arrived : new RecordWriter().bytes(frame.body).body();
      this.#take({ is: 'frame', frame, bytes, judged: false });
      this.#events.arrived(frame);
    }
  }

  #take(item: Item): void {
    this.#queue.push(item);
    this.#flow();
  }

  #continue(stop: 'held' | 'delayed'): void {
    this.#stops.delete(stop);
    this.#flow();
  }

  #flow(): void {
    while (this.#stops.size === 0) {
      const item = this.#queue.shift();
      if (item === undefined) return;
      this.#forward(item);
    }
  }

  #forward(item: Item): void {
    const { target } = this.#ends;
    if (item.is === 'end') {
      target.destroySoon();
      return;
    }
    const { frame, bytes } = item;
    const action = item.judged ? 'pass' : this.#events.judge(frame);
    if (action === 'pass') target.write(bytes);
    else if (action === 'drop') return;
    else if (action === 'cut') this.#cutLink();
    else if (action === 'cut-inside') this.#cutInside(bytes);
    else if (action === 'cut-after') this.#cutAfter(bytes);
    else if (action === 'hold') this.#stopBefore(item, 'held');
    else if ('refuse' in action) target.write(this.#decoder.refuse(frame, action.refuse));
    else if ('replaceError' in action) target.write(withError(frame, action.replaceError));
    else if ('replaceWith' in action) target.write(action.replaceWith);
    else this.#delay(item, action.delayUntil);
  }

  #cutInside(bytes: Buffer): void {
    this.end();
    this.#ends.target.write(bytes.subarray(0, Math.floor(bytes.length / 2)), this.#cutLink);
  }

  #cutAfter(bytes: Buffer): void {
    this.end();
    this.#ends.target.end(bytes, this.#cutLink);
  }

  #delay(item: FrameItem, until: Promise<unknown>): void {
    this.#stopBefore(item, 'delayed');
    const proceed = () => this.#continue('delayed');
    until.then(proceed, proceed);
  }

  #stopBefore(item: FrameItem, stop: 'held' | 'delayed'): void {
    this.#stops.add(stop);
    this.#queue.unshift({ ...item, judged: true });
  }
}
