/** Returns a copy in random order. `random` is a function such as Math.random. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  const taken: T[] = [];
  while (left.length > 0) taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}
