import type { Ensemble } from '../../../lab/ensemble/ensemble.ts';
import { xids } from '../../../lab/wire/opcodes.ts';
import { WireClient, type Transport } from '../../../lab/wire/wire-client.ts';

const eventNames = ['', 'created', 'deleted', 'dataChanged', 'childrenChanged'];
const connected = 3;

/** One client's connection to one member of an ensemble. The ensemble's clock alone moves it. */
export class MemberClient extends WireClient {
  constructor(ensemble: Ensemble, member: number) {
    super(toMember(ensemble, member));
  }

  /** True if the server has ended the connection without a ConnectResponse. */
  get isRefusedSilently(): boolean {
    return this.response === undefined && this.isClosed;
  }

  /** The newest zxid in an answer. */
  get lastZxid(): number {
    return this.answers.reduce((newest, { zxid }) => Math.max(newest, zxid), 0);
  }

  create(path: string, flags = 0): number {
    return this.send({ op: 'create2', path, flags });
  }

  exists(path: string, watch = false): number {
    return this.send({ op: 'exists', path, watch });
  }

  sync(): number {
    return this.send({ op: 'sync', path: '/' });
  }

  ping(): void {
    this.send({ op: 'ping' });
  }

  /** `ok`, the error of the answer, or undefined if there is no answer. */
  answer(xid: number): string | undefined {
    return this.answers.find((one) => one.xid === xid)?.result;
  }

  get pongs(): number {
    return this.answers.filter(({ xid }) => xid === xids.ping).length;
  }

  /** As `deleted /path`. */
  get events(): string[] {
    return this.answers.flatMap(({ event }) =>
      event ? `${eventNames[event.type] ?? ''}${event.state === connected ? ' ' : '?'}${event.path ?? ''}` : [],
    );
  }
}

export function toMember(ensemble: Ensemble, member: number): Transport {
  return (arrived, ended) => {
    let receive: (chunk: Buffer) => void = () => undefined;
    let leave: () => void = () => undefined;
    const isAccepted = ensemble.accept(member, {
      write: arrived,
      destroy: ended,
      onData: (listener) => void (receive = listener),
      onClose: (listener) => void (leave = listener),
    });
    if (!isAccepted) ended();
    return {
      write: (bytes) => receive(bytes),
      destroy: () => {
        ended();
        leave();
      },
    };
  };
}
