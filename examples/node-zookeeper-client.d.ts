// The parts of node-zookeeper-client that the examples also use. In an application, the package's own types serve.
declare module 'node-zookeeper-client' {
  interface Client {
    close(): void;
    create(path: string, data: Buffer, callback: (error: Error | null) => void): void;
    getData(path: string, callback: (error: Error | null, data: Buffer, stat?: { version: number }) => void): void;
  }
}
