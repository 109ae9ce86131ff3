// The parts of node-zookeeper-client 1.1.3 that `connection.ts` uses. The library's published types are partly wrong.
declare module 'node-zookeeper-client' {
  export interface ConnectionManager {
    state: number;
    socket: Socket | undefined;
    xid: number;
    zxid: Buffer;
    sessionId: Buffer;
    sessionPassword: Buffer;
    sessionTimeout: number;
    packetQueue: { queue: unknown[] };
    connect(): void;
    close(): void;
    setState(state: number): void;
    onSocketConnected(): void;
    onSocketData(chunk: Buffer): void;
    onSocketDrain(): void;
    onSocketClosed(): void;
    onSocketError(error: Error): void;
    onSocketTimeout(): void;
    on(event: 'state', listener: (state: number) => void): this;
  }

  /** The part of a socket that the library uses. `network.ts` makes it. */
  export interface Socket {
    readonly destroyed: boolean;
    readonly writableNeedDrain: boolean;
    write(chunk: Uint8Array): boolean;
    destroy(error?: Error): unknown;
  }

  export interface Client {
    readonly connectionManager: ConnectionManager;
    connect(): void;
    addAuthInfo(scheme: string, auth: Buffer): void;
  }

  const zookeeper: {
    createClient(
      connectionString: string,
      options: { sessionTimeout: number; retries: number; sessionId?: Buffer; sessionPassword?: Buffer },
    ): Client;
  };
  export default zookeeper;
}
