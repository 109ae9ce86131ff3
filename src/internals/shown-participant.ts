import { isUtf8 } from 'node:buffer';
import { showByJson } from '../support/shown.js';

/** The same participant, with a `toJSON` by which `console.log` and `JSON.stringify` show its data as text. */
export function shownParticipant<T extends DatedData>(participant: T): T {
  return Object.assign(new ShownParticipant(), participant);
}

interface DatedData {
  readonly data: Buffer;
  readonly createdAt: Date;
}

class ShownParticipant {
  toJSON(this: DatedData): object {
    const { data, createdAt, ...others } = this;
    return {
      ...others,
      data: isUtf8(data) ? data.toString() : `0x${data.toString('hex')}`,
      createdAt: createdAt.toISOString(),
    };
  }

  static {
    showByJson(this, 'Participant');
  }
}
