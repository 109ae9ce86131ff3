import type { Granted } from './folded-history.ts';

/** Whether two grants are one hold: of one flow, or of one znode. Whether the znode's flows may share it, `strangers` asks. */
export function isOneOwner(a: Granted, b: Granted): boolean {
  return a.flow === b.flow || a.granted.hold === b.granted.hold;
}

export function nameOf({ id, path, granted }: Granted): string {
  return `${id} (${path}, token ${granted.token})`;
}
