import { text } from 'node:stream/consumers';
import { getHeapSnapshot } from 'node:v8';

/**
 * The strings that can be reached from the errors in the heap of this process: by their fields, public and private, and
 * by the fields of what these contain. Needs `--heap-snapshot-string-limit`, because V8 cuts longer strings off.
 */
export async function stringsOfErrors(): Promise<string[]> {
  const example = Object.assign(new Error(), { isTheExample: true });
  const heap = new Heap(JSON.parse(await text(getHeapSnapshot())) as Snapshot);
  const found = heap.objects().find((object) => heap.field(object, 'isTheExample') !== undefined);
  const prototype = found === undefined ? undefined : heap.field(found, '__proto__');
  if (prototype === undefined) throw new Error('The snapshot does not have the error of the cause', { cause: example });
  const isError = (object: number): boolean => {
    const proto = heap.field(object, '__proto__');
    return proto !== undefined && (proto === prototype || isError(proto));
  };
  const reached = new Set(heap.objects().filter(isError));
  for (const node of reached) for (const next of heap.contentOf(node)) reached.add(next);
  return [...reached].filter((node) => heap.isString(node)).map((node) => heap.textOf(node));
}

/** A heap snapshot of V8. A node is the index of its first number. */
class Heap {
  readonly #snapshot: Snapshot;
  readonly #at: Readonly<Record<'type' | 'name' | 'edge_count', number>>;
  readonly #types: readonly string[];
  readonly #edgeTypes: readonly string[];
  /** The index of each node's first edge. */
  readonly #edges = new Map<number, number>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    const { node_fields, node_types, edge_fields, edge_types } = snapshot.snapshot.meta;
    const at = (field: string): number => node_fields.indexOf(field);
    this.#at = { type: at('type'), name: at('name'), edge_count: at('edge_count') };
    [this.#types] = node_types;
    [this.#edgeTypes] = edge_types;
    if (edge_fields.join() !== 'type,name_or_index,to_node') throw new Error(`Unknown edges: ${edge_fields.join()}`);
    let edge = 0;
    for (let node = 0; node < snapshot.nodes.length; node += node_fields.length) {
      this.#edges.set(node, edge);
      edge += this.#numberIn(node, 'edge_count') * numbersOfEdge;
    }
  }

  objects(): number[] {
    return [...this.#edges.keys()].filter((node) => this.#typeOf(node) === 'object');
  }

  isString(node: number): boolean {
    return this.#typeOf(node)?.endsWith('string') === true;
  }

  field(node: number, name: string): number | undefined {
    return this.#edgesOf(node).find((edge) => edge.type === 'property' && edge.name === name)?.to;
  }

  /** The values of an object's fields, or of an array's elements. */
  contentOf(node: number): number[] {
    if (this.#typeOf(node) !== 'object') return [];
    return this.#edgesOf(node)
      .filter(({ type, name }) => type === 'element' || (type === 'property' && name !== '__proto__'))
      .map(({ to }) => to)
      .filter((to) => this.#typeOf(to) === 'object' || this.isString(to));
  }

  textOf(node: number): string {
    const parts = new Map(this.#edgesOf(node).map(({ name, to }) => [name, to]));
    const [first, second, parent] = ['first', 'second', 'parent'].map((name) => parts.get(name));
    if (first !== undefined && second !== undefined) return this.textOf(first) + this.textOf(second);
    // A part of another string keeps all of that string in the heap.
    if (parent !== undefined) return this.textOf(parent);
    return this.#snapshot.strings[this.#numberIn(node, 'name')] ?? '';
  }

  #edgesOf(node: number): Edge[] {
    const from = this.#edges.get(node) ?? 0;
    const { edges, strings } = this.#snapshot;
    return Array.from({ length: this.#numberIn(node, 'edge_count') }, (_, index) => {
      const [type = 0, name = 0, to = 0] = edges.slice(
        from + index * numbersOfEdge,
        from + (index + 1) * numbersOfEdge,
      );
      const typeName = this.#edgeTypes[type];
      return { type: typeName, name: typeName === 'element' ? undefined : strings[name], to };
    });
  }

  #typeOf(node: number): string | undefined {
    return this.#types[this.#numberIn(node, 'type')];
  }

  #numberIn(node: number, field: 'type' | 'name' | 'edge_count'): number {
    return this.#snapshot.nodes[node + this.#at[field]] ?? 0;
  }
}

const numbersOfEdge = 3;

interface Edge {
  readonly type: string | undefined;
  readonly name: string | undefined;
  readonly to: number;
}

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}
