/**
 * A set that lists its texts in the order of Java's HashSet. A server keeps children and ephemeral znodes in such a
 * set, so its clients see them neither sorted nor in the order of their creation. An application that relies on one of
 * these orders must fail in its tests, too.
 */
export class JavaHashSet {
  readonly #hashes = new Map<string, number>();
  #capacity: number;
  #listed: readonly string[] | undefined;

  /** @param capacity a power of two */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#hashes.size;
  }

  add(text: string): void {
    if (this.#hashes.has(text)) return;
    const hash = javaHash(text);
    this.#hashes.set(text, hash ^ (hash >>> 16));
    // The table grows when it is three quarters full, and never shrinks.
    if (this.#hashes.size > this.#capacity * 0.75) this.#capacity *= 2;
    this.#listed = undefined;
  }

  delete(text: string): void {
    if (this.#hashes.delete(text)) this.#listed = undefined;
  }

  list(): readonly string[] {
    this.#listed ??= inBuckets([...this.#hashes], this.#capacity);
    return this.#listed;
  }

  /** The order of a clone, which has the smallest table that is large enough. */
  listOfClone(): readonly string[] {
    let capacity = 1;
    while (capacity < Math.floor(this.size / 0.75 + 1)) capacity *= 2;
    const inOrder = this.list().map((text): [string, number] => [text, this.#hashes.get(text) ?? 0]);
    return inBuckets(inOrder, capacity);
  }
}

/** Returns the hash code of Java's `String.hashCode`. */
export function javaHash(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return hash;
}

/**
 * Sorted by bucket. Within a bucket, which is a linked list, texts keep the order of their insertion, because the sort
 * is stable.
 */
function inBuckets(entries: [string, number][], capacity: number): readonly string[] {
  const mask = capacity - 1;
  return entries.sort(([, a], [, b]) => (a & mask) - (b & mask)).map(([text]) => text);
}
