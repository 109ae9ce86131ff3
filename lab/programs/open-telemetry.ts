import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, trace } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader, type MetricData } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { instrument, type InstrumentOptions } from '../../packages/opentelemetry/src/index.ts';

/** The real OpenTelemetry SDK, with everything that `instrument` gives it. */
export class Telemetry implements AsyncDisposable {
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
  readonly stop: () => void;
  readonly #reader = new ManualReader();
  readonly #spans = new InMemorySpanExporter();
  readonly #exporter: PrometheusExporter | undefined;

  private constructor(options: InstrumentOptions, exporter: PrometheusExporter | undefined) {
    this.#exporter = exporter;
    this.tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#spans)] });
    this.meterProvider = new MeterProvider({ readers: exporter ? [this.#reader, exporter] : [this.#reader] });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    this.stop = instrument({ meterProvider: this.meterProvider, tracerProvider: this.tracerProvider, ...options });
  }

  /** @param port of the Prometheus exporter, if there shall be one */
  static async start(options: InstrumentOptions = {}, port?: number): Promise<Telemetry> {
    if (port === undefined) return new Telemetry(options, undefined);
    const exporter = new PrometheusExporter({ host: '127.0.0.1', port, preventServerStart: true });
    const telemetry = new Telemetry(options, exporter);
    await exporter.startServer();
    return telemetry;
  }

  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  /** Runs `job` inside a span of the application. */
  async inSpan<T>(name: string, job: () => Promise<T>): Promise<T> {
    const span = this.tracerProvider.getTracer('application').startSpan(name);
    try {
      return await context.with(trace.setSpan(context.active(), span), job);
    } finally {
      span.end();
    }
  }

  /** The points of one instrument now, by their attributes as JSON. */
  async points(name: string): Promise<Map<string, Point>> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    const all: MetricData[] = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    const found = all.find(({ descriptor }) => descriptor.name === name);
    return new Map(
      (found?.dataPoints ?? []).map(({ attributes, value }) => [
        JSON.stringify(Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)))),
        value as Point,
      ]),
    );
  }

  /** The instruments that have a point now, with their units. */
  async instruments(): Promise<Map<string, string>> {
    const { resourceMetrics } = await this.#reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    return new Map(all.map(({ descriptor: { name, unit } }) => [name, unit]));
  }

  /** The spans that have ended and the metrics, as exporters send them now. */
  async exported(): Promise<object[]> {
    const { resourceMetrics } = await this.#reader.collect();
    const spans = this.spans.map(({ name, attributes, status, events, links }) => {
      return { name, attributes, status, events, links };
    });
    return [...spans, ...resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    context.disable();
    await this.#exporter?.stopServer();
    await this.meterProvider.shutdown();
    await this.tracerProvider.shutdown();
  }
}

export type Point = number | { readonly count: number; readonly sum: number };

class ManualReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}
