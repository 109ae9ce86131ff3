// One process of instrumented.mjs. Arguments: `none`, `sdk` or `instrumented`, and the part of the traces that is sampled.
// Each message is a number of seconds, and is answered by the rates of that time.
import { setInterval } from 'node:timers';
import { InterProcessMutex, LockClient } from '../dist/zookeeper-fair-lock.js';
import { cycles } from './cycles.mjs';

const [variant, ratio] = process.argv.slice(2);
if (variant !== 'none') await startOpenTelemetry(Number(ratio), variant === 'instrumented');
const client = await LockClient.connect(process.env.ZOOKEEPER_CONNECT);
const lockOf = (owner) => new InterProcessMutex(client, `/instrumented/spread-${owner}`);
process.on('message', async (seconds) => process.send(await cycles(lockOf, seconds)));
process.on('disconnect', () => process.exit(0));
process.send('ready');

async function startOpenTelemetry(ratio, isInstrumented) {
  const [{ instrument }, metrics, traces, { AsyncLocalStorageContextManager }, { context, ROOT_CONTEXT }] =
    await Promise.all([
      import('../packages/opentelemetry/dist/index.js'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/api'),
    ]);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // As the first request that an application traces.
  context.with(ROOT_CONTEXT, () => undefined);
  const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.CUMULATIVE);
  const spans = new traces.InMemorySpanExporter();
  setInterval(() => (exporter.reset(), spans.reset()), 1_000).unref();
  const meterProvider = new metrics.MeterProvider({
    readers: [new metrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000 })],
  });
  const tracerProvider = new traces.BasicTracerProvider({
    sampler: new traces.TraceIdRatioBasedSampler(ratio),
    spanProcessors: [new traces.BatchSpanProcessor(spans)],
  });
  if (isInstrumented) instrument({ meterProvider, tracerProvider });
}
