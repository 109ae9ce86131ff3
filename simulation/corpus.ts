import { readFileSync, writeFileSync } from 'node:fs';
import type { Random } from '../lab/random.ts';
import { lineageOf, textOf, type Lineage } from './lineage.ts';

/** The plans that have reached something that no plan before them had. Further plans are mutants of them. */
export class Corpus {
  readonly #kept: Lineage[] = [];
  readonly #features = new Set<string>();

  /** The plans of the file, without their comments. */
  static read(file: string): Lineage[] {
    const words = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.replace(/ *#.*/, ''));
    return words.filter((word) => word !== '').map((word) => lineageOf(word) ?? refuse(word));
  }

  get size(): number {
    return this.#kept.length;
  }

  get features(): number {
    return this.#features.size;
  }

  /** Every third plan is a fresh one. Of those that are kept, the latest are mutated more often. */
  next(random: Random): Lineage {
    const number = 1 + random.whole(2 ** 30);
    const parent = this.#kept[Math.floor(this.#kept.length * Math.sqrt(random.next()))];
    return parent === undefined || parent.length > longest || random.chance(1 / 3) ? [number] : [...parent, number];
  }

  /** Keeps the plan if its run has reached something new. */
  ran(lineage: Lineage, reached: ReadonlySet<string>): void {
    const before = this.#features.size;
    for (const feature of reached) this.#features.add(feature);
    if (this.#features.size > before) this.#kept.push(lineage);
  }

  /** Writes the plans that were kept. */
  write(file: string): void {
    writeFileSync(file, `${this.#kept.map(textOf).join('\n')}\n`);
  }
}

const longest = 12;

function refuse(word: string): never {
  throw new RangeError(`Expected the corpus to have plans such as 17~5003, got ${JSON.stringify(word)}`);
}
