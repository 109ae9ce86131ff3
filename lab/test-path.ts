import { randomUUID } from 'node:crypto';

/** A path that no other test uses, like `/test-1b4e28ba/orders`. Its parent does not exist yet. */
export function testPath(name: string): string {
  return `/test-${randomUUID().slice(0, 8)}/${name}`;
}
