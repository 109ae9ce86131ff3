// The parts of node-zookeeper-client 1.1.3 that `opening-messages.ts` and the examples use. The library's published types
// are partly wrong.
declare module 'node-zookeeper-client' {
  export interface ConnectionManager {
    state: number;
    socket: { write(message: Uint8Array): boolean };
    sessionTimeout: number;
    sessionId: Buffer;
    sessionPassword: Buffer;
    readonly zxid: Buffer;
    /** Writes the ConnectRequest, and queues the AuthPackets. */
    onSocketConnected(): void;
    /** Writes what is queued. */
    onSocketDrain(): void;
  }

  export interface Client {
    readonly connectionManager: ConnectionManager;
    connect(): void;
    addAuthInfo(scheme: string, auth: Buffer): void;
  }

  const zookeeper: {
    createClient(connectionString: string, options: { sessionTimeout?: number; retries: number }): Client;
  };
  export default zookeeper;
}
