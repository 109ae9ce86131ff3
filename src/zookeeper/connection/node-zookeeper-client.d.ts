// The parts of node-zookeeper-client 1.1.3 that `opening-messages.ts` uses. The library's published types have none of them.
declare module 'node-zookeeper-client/lib/jute/index.js' {
  class Record {
    private readonly specification: unknown;
  }

  const jute: {
    readonly PROTOCOL_VERSION: number;
    readonly XID_AUTHENTICATION: number;
    readonly OP_CODES: { readonly AUTH: number };
    /** Each takes the fields of its record in their order. */
    readonly protocol: {
      readonly RequestHeader: new (xid: number, type: number) => Record;
      readonly AuthPacket: new (type: number, scheme: string, auth: Buffer) => Record;
      readonly ConnectRequest: new (
        protocolVersion: number,
        lastZxidSeen: Buffer,
        timeOut: number,
        sessionId: Buffer,
        passwd: Buffer,
      ) => Record;
    };
    readonly Request: new (header: Record | null, payload: Record) => { toBuffer(): Buffer };
  };
  export default jute;
}
