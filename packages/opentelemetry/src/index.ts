/** @module @zookeeper-fair-lock/opentelemetry */

export { instrument, type InstrumentOptions } from './instrument.js';
