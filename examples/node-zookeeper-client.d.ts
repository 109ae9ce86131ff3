// The parts of node-zookeeper-client that the examples use. In an application, the package's own types serve.
declare module 'node-zookeeper-client' {
  export interface Client {
    connect(): void;
    close(): void;
    addAuthInfo(scheme: string, auth: Buffer): void;
    create(path: string, data: Buffer, callback: (error: Error | null) => void): void;
    getData(path: string, callback: (error: Error | null, data: Buffer, stat?: { version: number }) => void): void;
  }

  const zookeeper: {
    createClient(connectionString: string, options: { sessionTimeout?: number; retries: number }): Client;
  };
  export default zookeeper;
}
