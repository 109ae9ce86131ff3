/**
 * What the rooms above keep for one client, or for one session, and for as long as that lives: one object of each
 * class, made when it is first asked for. So
 * their owner knows nothing of them, and no module keeps a map of owners.
 *
 * @example
 * const limits = client.companions.of(UsedLimits);
 */
export class Companions<Owner> {
  readonly #owner: Owner;
  readonly #byClass = new Map<Companion<Owner, unknown>, unknown>();

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  of<T>(companion: Companion<Owner, T>): T {
    const known = this.#byClass.get(companion);
    if (known !== undefined) return known as T;
    const made = new companion(this.#owner);
    this.#byClass.set(companion, made);
    return made;
  }
}

type Companion<Owner, T> = new (owner: Owner) => T;
