/**
 * The objects that higher layers keep for one client, or for one session, as long as it lives: one object of each
 * class, created when first needed. The owner knows none of these classes, and no module keeps a map of owners.
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
