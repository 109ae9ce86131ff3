import type { ListPart } from '../lab/judge/history.ts';

/** The list in the data of a znode, which is empty at first. */
export function listIn(text: string): ListPart {
  return text === '' ? { part: 0, numbers: [] } : (JSON.parse(text) as ListPart);
}

export function textOf(list: ListPart): string {
  return JSON.stringify(list);
}
