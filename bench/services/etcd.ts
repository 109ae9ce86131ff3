import { etcdMetrics, startEtcd } from '../../lab/programs/etcd-server.ts';
import type { Place } from '../places.ts';
import { metricSum } from './figures.ts';
import { address, placesOf, sum, type Service, type ServiceOptions, type Traffic } from './service.ts';

/** One etcd, and a cluster of three. */
export async function startEtcdServers({ links }: ServiceOptions): Promise<Service> {
  const [single, three] = await Promise.all([startEtcd(1), startEtcd(3)]);
  const [port = 0] = single.ports;
  return {
    addresses: { ...(await placesOf(port, links)), ensemble: three.ports.map(address) },
    traffic: async (place: Place) => sum(await Promise.all((place === 'ensemble' ? three.ports : [port]).map(count))),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([single, three].map((cluster) => cluster[Symbol.asyncDispose]()));
    },
  };
}

async function count(port: number): Promise<Traffic> {
  const metrics = await etcdMetrics(port);
  return {
    requests: metricSum(metrics, 'grpc_server_msg_received_total'),
    bytes: metricSum(metrics, 'etcd_network_client_grpc_received_bytes_total'),
  };
}
