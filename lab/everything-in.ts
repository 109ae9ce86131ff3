/** Every string, number and byte that a reader of the value can reach. */
export function everythingIn(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value === 'function') return '\n';
  if (typeof value !== 'object' || value === null) return `${String(value)}\n`;
  if (seen.has(value)) return '';
  seen.add(value);
  if (value instanceof Uint8Array) return `${Buffer.from(value).toString('latin1')}\n`;
  const names = new Set<string>();
  for (
    let proto: object | null = value;
    proto !== null && proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto) as object | null
  )
    for (const name of Object.getOwnPropertyNames(proto)) names.add(name);
  return [...names]
    .filter((name) => name !== 'constructor')
    .map((name) => `${name} ${everythingIn((value as Record<string, unknown>)[name], seen)}`)
    .join('');
}
