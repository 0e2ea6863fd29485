import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { bounds } from './bounds.ts';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number.ts';
import { type HostileRequest, type HostileResult, runHostile } from './campaign.ts';
import type { Latencies } from './neighbours.ts';
import { HEALTHY_ANSWER_MS } from './receivers.ts';

const MB = 1024 * 1024;

/** The result as text: what was measured, how, and the figures. */
const report = (result: HostileResult, { seed, attemptTimeoutMs }: HostileRequest): string => {
  const { kinds, broken, seconds } = result;
  return [
    `Every kind alone: the deliver function in a separate process gets ten deliveries to it at once, no retries, attempt`,
    `timeout ${attemptTimeoutMs / 1000} s; ten more if these finish within a second. Time: the longest from the queue to the record.`,
    `Memory: the peak of the process beyond its idle memory (limit ${bounds.memory / MB} MB).`,
    '',
    ...table(kinds, {
      kind: ({ kind }) => kind,
      'what it does': ({ what }) => what,
      outcome: ({ outcomes }) => outcomes.join(' | '),
      attempts: ({ attempts }) => String(attempts),
      'time s': ({ longestMs }) => (longestMs / 1000).toFixed(2),
      'memory MB': ({ memory }) => (memory / MB).toFixed(0),
    }),
    '',
    ...neighbourhood(result, seed),
    '',
    ...(broken.length === 0
      ? ['All within the limits.']
      : ['Violated limits:', ...broken.map((what) => `  ${what}`)]),
    `${seconds} s.`,
  ].join('\n');
};

const neighbourhood = ({ model, beside }: HostileResult, seed: number): string[] => [
  `Beside healthy deliveries: ${model.healthyDeliveries} of them to ${model.healthySubscribers} subscribers that respond after ${HEALTHY_ANSWER_MS} ms, and some to hostile ones of`,
  `${model.kinds.length} kinds, in an order by seed ${seed}, all within ${model.handedOverMs / 1000} s. The model of AWS: the delivery queue hands out ten at a time to`,
  `${model.deliverConcurrency} environments (deliverConcurrency); one is free again when the slowest of its ten has finished. Failures are retried by the default`,
  `policy, through a retry queue with ${model.retryConcurrency} environments. The environments share ${model.processes} processes, and so the processor. The control run`,
  `takes place at the same time, with as many separate environments. Times from the queue to the record (to the request, in brackets).`,
  '',
  ...table(beside, {
    '': ({ ofEach }) => `beside ${ofEach} of each`,
    'p50 ms': (crowd) => quantileText(crowd.beside, 'p50'),
    'p99 ms': (crowd) => quantileText(crowd.beside, 'p99'),
    'control p50': ({ control }) => quantileText(control, 'p50'),
    'control p99': ({ control }) => quantileText(control, 'p99'),
    multiple: ({ slowdown }) => slowdown.toFixed(2),
    limit: ({ atMost }) => atMost.toFixed(1),
    environments: ({ mostBusy }) => String(mostBusy),
    'hostile attempts': ({ hostileAttempts }) => String(hostileAttempts),
  }),
];

const quantileText = ({ done, waited }: Latencies, quantile: 'p50' | 'p99'): string =>
  `${done[quantile]} (${waited[quantile]})`;

/** `columns`: by title, what a cell shows. */
const table = <Item>(items: readonly Item[], columns: Record<string, (item: Item) => string>): string[] => {
  const head = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((shown) => shown(item)));
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
};

const USAGE =
  'usage: npm run hostile -- [--seed S (0 to 4294967295)] [--timeout SECONDS (of an attempt, 2 to 30, 15 by default)] [--json]';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command and returns the exit status. */
const hostile = async ({ json, ...request }: HostileRequest & { json: boolean }): Promise<number> => {
  const interruption: { signal?: AbortSignal } = {};
  try {
    const result = await untilInterrupted((signal) => {
      interruption.signal = signal;
      return runHostile(request, say, signal);
    });
    const text = json ? JSON.stringify({ ...request, ...result }) : report(result, request);
    process.stdout.write(`${text}\n`);
    return result.broken.length === 0 ? 0 : 1;
  } catch (error) {
    // An interruption stops the child processes; errors of calls that wait for them are not reported.
    if (interruption.signal?.aborted !== true) throw error;
    say('Interrupted.');
    return INTERRUPTED;
  }
};

const readArguments = (): (HostileRequest & { json: boolean }) | undefined => {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        timeout: { type: 'string', default: '15' },
        json: { type: 'boolean', default: false },
      },
    });
    const seed = wholeNumber(values.seed, 0, 0xffffffff);
    const timeout = wholeNumber(values.timeout, 2, 30);
    if (seed === undefined || timeout === undefined) return undefined;
    return { seed, attemptTimeoutMs: timeout * 1000, json: values.json };
  } catch {
    // parseArgs throws for unknown arguments.
    return undefined;
  }
};

const request = readArguments();
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = await hostile(request);
}
