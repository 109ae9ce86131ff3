import { expect } from 'chai';
import fc from 'fast-check';
import { Reader, Writer } from '../../src/zookeeper/wire/wire.ts';

const ints = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const longs = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const texts = fc.string({ unit: 'grapheme', maxLength: 200 });
const buffers = fc.uint8Array({ maxLength: 600 });

type Field =
  | { readonly is: 'int'; readonly value: number }
  | { readonly is: 'long'; readonly value: bigint }
  | { readonly is: 'flag'; readonly value: boolean }
  | { readonly is: 'text'; readonly value: string }
  | { readonly is: 'bytes'; readonly value: Uint8Array }
  | { readonly is: 'texts'; readonly value: readonly string[] };

const fields: fc.Arbitrary<Field> = fc.oneof(
  fc.record({ is: fc.constant('int' as const), value: ints }),
  fc.record({ is: fc.constant('long' as const), value: longs }),
  fc.record({ is: fc.constant('flag' as const), value: fc.boolean() }),
  fc.record({ is: fc.constant('text' as const), value: texts }),
  fc.record({ is: fc.constant('bytes' as const), value: buffers }),
  fc.record({ is: fc.constant('texts' as const), value: fc.array(texts, { maxLength: 8 }) }),
);

function write(to: Writer, field: Field): void {
  switch (field.is) {
    case 'int':
      return void to.int(field.value);
    case 'long':
      return void to.long(field.value);
    case 'flag':
      return void to.flag(field.value);
    case 'text':
      return void to.text(field.value);
    case 'bytes':
      return void to.bytes(field.value);
    case 'texts':
      to.int(field.value.length);
      for (const value of field.value) to.text(value);
      return;
  }
}

function read(from: Reader, field: Field): unknown {
  const value = from[field.is]();
  return Buffer.isBuffer(value) ? new Uint8Array(value) : value;
}

function frameOf(record: readonly Field[]): Buffer {
  const writer = new Writer();
  for (const field of record) write(writer, field);
  return writer.frame();
}

describe('Writer and Reader', () => {
  it('read what was written, for any fields in any order', () => {
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 20 }), (record) => {
        const reader = new Reader(frameOf(record), 4);
        expect(record.map((field) => read(reader, field))).to.deep.equal(record.map(({ value }) => value));
      }),
    );
  });

  describe('behind a chroot', () => {
    const chroot = Buffer.from('/äpp');

    for (const [path, onServers] of [
      ['/', '/äpp'],
      ['/locks', '/äpp/locks'],
      ['/äpp', '/äpp/äpp'],
    ] as const)
      it(`write ${path} as ${onServers}, and read it back`, () => {
        const frame = new Writer(chroot).path(path).paths([path]).text(path).frame();
        const raw = new Reader(frame, 4);
        expect([raw.path(), raw.int(), raw.path(), raw.text()]).to.deep.equal([onServers, 1, onServers, path]);
        expect(new Reader(frame, 4, chroot).path()).to.equal(path);
      });

    for (const path of ['/', '/äp', '/äpple', '/other/äpp', ''])
      it(`refuse to read "${path}", which is not below it`, () => {
        const frame = new Writer().text(path).frame();
        expect(() => new Reader(frame, 4, chroot).path()).to.throw(
          RangeError,
          `The path ${path} is not below the chroot /äpp`,
        );
      });

    it('show only the start of a long path that is not below the chroot', () => {
      const frame = new Writer().text('x'.repeat(1_000_000)).frame();
      expect(() => new Reader(frame, 4, chroot).path())
        .to.throw(RangeError, 'is not below the chroot /äpp')
        .with.property('message')
        .with.length.below(300);
    });

    it('leave paths unchanged without a chroot', () => {
      const frame = new Writer().path('/').path('/locks').frame();
      const reader = new Reader(frame, 4);
      expect([reader.path(), reader.path()]).to.deep.equal(['/', '/locks']);
    });
  });

  it('put the length of all that follows in front', () => {
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 20 }), (record) => {
        const frame = frameOf(record);
        expect(frame.readInt32BE(0)).to.equal(frame.length - 4);
      }),
    );
  });

  it('put frames one behind the other, and forget a frame whose record throws', () => {
    const writer = new Writer();
    const chroot = Buffer.from('/app');
    const add = (...record: readonly Field[]): number =>
      writer.addFrame({ write: (to) => record.forEach((field) => write(to, field)) }, chroot);
    fc.assert(
      fc.property(fc.array(fc.array(fields, { maxLength: 6 }), { maxLength: 8 }), (records) => {
        for (const record of records) {
          add(...record);
          const broken = {
            write: (to: Writer) =>
              void to
                .int(1)
                .path('/')
                .text(undefined as never),
          };
          expect(() => writer.addFrame(broken, chroot)).to.throw(TypeError);
        }
        expect(writer.frames()).to.deep.equal(Buffer.concat(records.map(frameOf)));
        expect(writer.isEmpty).to.equal(true);
      }),
    );
  });

  it('measure a text in bytes, not in characters', () => {
    for (const text of ['/lock', '/замок', '/鍵', '/🔒', '/é']) {
      const frame = new Writer().text(text).frame();
      expect(frame.readInt32BE(4)).to.equal(Buffer.byteLength(text));
      expect(frame.toString('utf8', 8)).to.equal(text);
      expect(new Reader(frame, 4).text()).to.equal(text);
    }
  });

  it('write big-endian, as a server does', () => {
    const frame = new Writer().int(1).long(2n).flag(true).frame();
    expect(frame.toString('hex')).to.equal('0000000d' + '00000001' + '0000000000000002' + '01');
  });

  it("read a server's null, of length -1, as an empty value", () => {
    const nulls = new Writer().int(-1).int(-1).int(-1).int(7).frame();
    const reader = new Reader(nulls, 4);
    expect([reader.text(), [...reader.bytes()], reader.texts(), reader.int()]).to.deep.equal(['', [], [], 7]);
  });

  it('throw a RangeError for a record that is cut short at any place', () => {
    const long = fc.array(fields, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(long, fc.nat(), (record, place) => {
        const frame = frameOf(record);
        const cut = frame.subarray(0, 4 + (place % (frame.length - 4)));
        const reader = new Reader(cut, 4);
        expect(() => record.forEach((field) => read(reader, field))).to.throw(RangeError);
      }),
    );
  });

  it('refuse a length that the frame cannot hold, and a negative length other than -1, before anything is allocated', () => {
    for (const length of [2 ** 31 - 1, 5, -2, -(2 ** 31)]) {
      const frame = new Writer().int(length).int(0).frame();
      for (const what of ['text', 'bytes', 'texts'] as const) {
        const before = process.memoryUsage().arrayBuffers;
        expect(() => new Reader(frame, 4)[what](), `${what} of length ${length}`).to.throw(
          RangeError,
          `A record of length ${length}`,
        );
        expect(process.memoryUsage().arrayBuffers - before).to.be.below(1_000_000);
      }
    }
  });

  it('refuse a list of more texts than its frame has room for before they read the first one', () => {
    const reader = new Reader(new Writer().int(3).int(0).int(0).frame(), 4);
    expect(() => reader.texts()).to.throw(RangeError, 'A record of length 3 is cut short');
    expect(reader.int(), 'nothing was read after the count').to.equal(0);
  });

  it('return a copy of the bytes, so that the frame can be freed', () => {
    const frame = new Writer().bytes(Buffer.from('data')).frame();
    const bytes = new Reader(frame, 4).bytes();
    frame.fill(0);
    expect(bytes.toString()).to.equal('data');
  });
});
