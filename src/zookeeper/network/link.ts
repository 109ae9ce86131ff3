/** One connection to a server, as a socket of Node.js. */
export interface Link {
  readonly destroyed: boolean;
  /** The error that the link ended with. */
  readonly errored: Error | null;
  /** True if the link has no room. The event 'drain' follows. */
  readonly writableNeedDrain: boolean;
  /** The IP address of the server, while the link is connected. */
  readonly remoteAddress?: string | undefined;
  write(chunk: Uint8Array): boolean;
  /** Ends the link. The event 'close' follows in a later turn. */
  destroy(error?: Error): unknown;
  /** From now on, the link does not keep the process alive. */
  unref?(): unknown;
  /** Over TLS, 'secureConnect' follows 'connect' after the handshake. After the event 'error', the event 'close' follows. */
  on(event: 'connect' | 'secureConnect' | 'drain' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
}
