import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { observer } from '../src/support/reached.ts';

/** Counts how often the runs reach the points that the library marks by `reached`. */
export class Points {
  /** All points of the library. */
  readonly all: readonly string[] = pointsIn(new URL('../src/', import.meta.url));
  readonly #counts = new Map<string, number>();
  #run = new Features();

  constructor() {
    observer.note = (point) => {
      this.#counts.set(point, (this.#counts.get(point) ?? 0) + 1);
      this.#run.add(point);
    };
  }

  /** Returns the features of the run that ends now. */
  endRun(): ReadonlySet<string> {
    const { found } = this.#run;
    this.#run = new Features();
    return found;
  }

  get missed(): readonly string[] {
    return this.all.filter((point) => !this.#counts.has(point));
  }

  /** One line a point, the rarest first. */
  table(): string {
    const lines = this.all.map((point) => [this.#counts.get(point) ?? 0, point] as const).sort(([a], [b]) => a - b);
    return lines.map(([count, point]) => `${String(count).padStart(9)}  ${point}`).join('\n');
  }
}

/** The features of one run: each point, in powers of two how often, and each two that followed one another. */
class Features {
  readonly found = new Set<string>();
  readonly #counts = new Map<string, number>();
  #last = '';

  add(point: string): void {
    const count = (this.#counts.get(point) ?? 0) + 1;
    this.#counts.set(point, count);
    if (Number.isInteger(Math.log2(count))) this.found.add(`${point} × ${count}`);
    this.found.add(`${this.#last} → ${point}`);
    this.#last = point;
  }
}

function pointsIn(source: URL): string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) => {
    const text = readFileSync(fileURLToPath(new URL(file, source)), 'utf8');
    return [...text.matchAll(/\breached\('([^']+)'\)/g)].map(([, point = '']) => point);
  });
}
