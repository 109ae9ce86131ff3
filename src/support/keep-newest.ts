/** Sets an entry as the newest of a map, and deletes the oldest one if there are more than `most`. */
export function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  // Deleted first, so that the newest entry is the last of the map.
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as Key);
}
