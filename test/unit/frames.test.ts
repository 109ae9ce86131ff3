import { expect } from 'chai';
import fc from 'fast-check';
import { FrameSplitter, longestFrame, refuseCutOff, TooLongError } from '../../src/zookeeper/wire/frames.ts';

const bodies = fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 12 });
const cuts = fc.array(fc.nat(), { maxLength: 40 });

function frame(body: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** The same bytes in pieces, some of them empty. */
function cutAt(stream: Buffer, places: readonly number[]): Buffer[] {
  const at = places.map((place) => place % (stream.length + 1)).sort((a, b) => a - b);
  return [0, ...at].map((start, index) => stream.subarray(start, at[index] ?? stream.length));
}

function split(splitter: FrameSplitter, chunks: readonly Buffer[]): Buffer[] {
  return chunks.flatMap((chunk) => [...splitter.push(chunk)]);
}

describe('FrameSplitter', () => {
  it('finds the same frames wherever the stream is cut', () => {
    fc.assert(
      fc.property(bodies, cuts, (written, places) => {
        const frames = written.map(frame);
        const chunks = cutAt(Buffer.concat(frames), places);
        expect(split(new FrameSplitter(), chunks)).to.deep.equal(frames);
      }),
    );
  });

  it('finds them byte by byte, each with the byte that completes it', () => {
    fc.assert(
      fc.property(bodies, (written) => {
        const splitter = new FrameSplitter();
        for (const whole of written.map(frame)) {
          const each = [...whole].map((byte) => [...splitter.push(Buffer.of(byte))]);
          expect(each.pop()).to.deep.equal([whole]);
          expect(each.flat()).to.deep.equal([]);
        }
      }),
    );
  });

  it('keeps the beginning of a frame that follows a complete one', () => {
    const [first, second] = [frame(Buffer.from('first')), frame(Buffer.from('second'))];
    const splitter = new FrameSplitter();
    expect([...splitter.push(Buffer.concat([first, second.subarray(0, 2)]))]).to.deep.equal([first]);
    expect([...splitter.push(second.subarray(2))]).to.deep.equal([second]);
  });

  it('does not read the next frame before the last one was handled', () => {
    const frames = new FrameSplitter().push(Buffer.concat([frame(Buffer.from('good')), Buffer.from('HTTP/1.1')]));
    expect(frames.next().value).to.deep.equal(frame(Buffer.from('good')));
    expect(() => frames.next()).to.throw(RangeError, 'is not ZooKeeper');
  });

  it('names the protocol that may answer there, if the first bytes show it', () => {
    const guess = (...bytes: readonly [Buffer]): string => {
      try {
        return String([...new FrameSplitter().push(...bytes)].length);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(guess(Buffer.from('HTTP/1.1 400 Bad Request'))).to.equal(
      'A frame of 1213486160 bytes is not ZooKeeper\'s: the answer begins with the text "HTTP". Is this the clientPort of a ZooKeeper server?',
    );
    expect(guess(Buffer.from('SSH-2.0-OpenSSH'))).to.contain('begins with the text "SSH-"');
    expect(guess(Buffer.of(21, 3, 1, 0, 2, 2, 10))).to.contain('the answer is TLS. If this is the secureClientPort');
    expect(guess(Buffer.of(22, 3, 3, 0, 90))).to.contain('the answer is TLS');
    for (const bytes of [
      Buffer.of(21, 4, 1, 0, 2),
      Buffer.of(0x7f, 0xff, 0xff, 0xff),
      Buffer.of(0xff, 0xff, 0xff, 0xff),
    ])
      expect(guess(bytes)).to.match(/^A frame of -?\d+ bytes is not ZooKeeper's$/);
  });

  it('throws for a length that no server sends, as soon as the length has arrived', () => {
    const impossible = fc.oneof(fc.integer({ max: -1 }), fc.integer({ min: 128 * 1024 * 1024 + 1, max: 2 ** 31 - 1 }));
    fc.assert(
      fc.property(impossible, cuts, (length, places) => {
        const bytes = Buffer.alloc(4);
        bytes.writeInt32BE(length);
        expect(() => split(new FrameSplitter(), cutAt(bytes, places))).to.throw(
          RangeError,
          `A frame of ${length} bytes`,
        );
      }),
    );
  });

  it('gives the start of a frame that is too long to be read, and the whole frames around it', () => {
    const [before, long, after] = [10, longestFrame + 1, 20].map((length) => frame(Buffer.alloc(length, length)));
    const stream = Buffer.concat([before, long, long, after] as Buffer[]);
    for (const places of [
      [],
      [16, 17, 33, 34],
      [20, long?.length ?? 0],
      [14 + (long?.length ?? 0) + 3, stream.length - 1],
    ]) {
      const frames = split(new FrameSplitter(), cutAt(stream, places));
      expect(frames.map((each) => each.length)).to.deep.equal([14, 20, 20, 24]);
      expect(frames[3]).to.deep.equal(after);
      expect(() => refuseCutOff(frames[1] as Buffer)).to.throw(TooLongError, `${longestFrame + 1} bytes`);
      refuseCutOff(frames[3] as Buffer);
    }
  });

  it('applies one limit to the first frame, and another one to later frames in the same chunk', () => {
    const [short, long] = [frame(Buffer.alloc(10)), frame(Buffer.alloc(11))];
    expect(() => [...new FrameSplitter(10).push(long)]).to.throw(RangeError, 'A frame of 11 bytes');
    const splitter = new FrameSplitter(10);
    const frames = splitter.push(Buffer.concat([short, long]));
    expect(frames.next().value).to.deep.equal(short);
    splitter.longest = 11;
    expect(frames.next().value).to.deep.equal(long);
  });

  it('joins a long frame once, not at every chunk', () => {
    const whole = frame(Buffer.alloc(4 * 1024 * 1024, 7));
    const chunks = Array.from({ length: whole.length / 4096 }, (_, index) =>
      whole.subarray(index * 4096, (index + 1) * 4096),
    );
    const concat = Buffer.concat.bind(Buffer);
    let joined = 0;
    Buffer.concat = (list, length) => {
      joined += 1;
      return concat(list, length);
    };
    try {
      const frames = split(new FrameSplitter(), [...chunks, whole.subarray(chunks.length * 4096)]);
      expect(frames.map((each) => each.length)).to.deep.equal([whole.length]);
      expect(joined).to.equal(1);
    } finally {
      Buffer.concat = concat;
    }
  });
});
