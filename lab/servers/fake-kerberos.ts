import type { Kerberos, KerberosContext, KerberosOptions } from '../../packages/kerberos/src/kerberos.ts';

/** The package `kerberos`, whose tokens are texts such as `ticket`. Its calls wait for `answer` if `isSilent`. */
export class FakeKerberos implements Kerberos {
  /** The calls so far, with their arguments. */
  readonly calls: string[] = [];
  options: KerberosOptions | undefined;
  isSilent = false;
  /** The reason why a call fails. */
  failure: string | undefined;
  readonly #waiting: (() => void)[] = [];

  async initializeClient(service: string, options: KerberosOptions): Promise<KerberosContext> {
    this.options = options;
    await this.#call(`initialize ${service}`);
    const context = {
      contextComplete: false,
      step: async (token: string) => {
        await this.#call(`step ${fromBase64(token)}`);
        if (token === '') return toBase64('ticket');
        context.contextComplete = fromBase64(token) === '`proof';
        return null;
      },
      wrap: async (message: string) => {
        await this.#call(`wrap ${Buffer.from(message, 'base64').toString('hex')}`);
        return toBase64('choice');
      },
    };
    return context;
  }

  /** Ends the calls that wait. */
  answer(): void {
    for (const end of this.#waiting.splice(0)) end();
  }

  async #call(text: string): Promise<void> {
    this.calls.push(text);
    if (this.isSilent) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.failure !== undefined) throw new Error(this.failure);
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function fromBase64(token: string): string {
  return Buffer.from(token, 'base64').toString();
}
