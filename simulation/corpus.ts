import { readFileSync, writeFileSync } from 'node:fs';
import type { Random } from '../lab/random.ts';
import { lineageOf, textOf, type Lineage } from './lineage.ts';

/** The plans that have reached something that no plan before them had. Further plans cross two of them. */
export class Corpus {
  readonly #kept: Kept[] = [];
  /** How many runs have reached each feature. */
  readonly #counts = new Map<string, number>();

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
    return this.#counts.size;
  }

  /** Crosses two plans that have reached what few runs reach. Undefined before any plan has reached anything. */
  crossing(random: Random): Lineage | undefined {
    const [plan, mate] = [this.#rarest(random), this.#rarest(random)];
    // Each crossing leaves about half of the plan, so nothing is left of older ones.
    return plan && mate && ([...plan, ...mate.slice(-1)].slice(-longest) as readonly number[] as Lineage);
  }

  /** Returns the one of a few kept plans whose features are the rarest together. */
  #rarest(random: Random): Lineage | undefined {
    let rarest = { lineage: undefined as Lineage | undefined, rarity: 0 };
    for (let tries = 0; tries < 8 && this.#kept.length > 0; tries += 1) {
      const { lineage, reached } = this.#kept[random.whole(this.#kept.length)] as Kept;
      const rarity = [...reached].reduce((sum, feature) => sum + 1 / (this.#counts.get(feature) ?? 1), 0);
      if (rarity > rarest.rarity) rarest = { lineage, rarity };
    }
    return rarest.lineage;
  }

  /** Keeps the plan if its run has reached something new. */
  ran(lineage: Lineage, reached: ReadonlySet<string>): void {
    const before = this.features;
    for (const feature of reached) this.#counts.set(feature, (this.#counts.get(feature) ?? 0) + 1);
    if (this.features > before) this.#kept.push({ lineage, reached });
  }

  /** Writes the plans that were kept. */
  write(file: string): void {
    writeFileSync(file, `${this.#kept.map(({ lineage }) => textOf(lineage)).join('\n')}\n`);
  }
}

interface Kept {
  readonly lineage: Lineage;
  readonly reached: ReadonlySet<string>;
}

const longest = 4;

function refuse(word: string): never {
  throw new RangeError(`Expected the corpus to have plans such as 17~5003, got ${JSON.stringify(word)}`);
}
