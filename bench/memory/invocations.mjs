// A function in a separate process, which is loaded at its start and invoked by messages: `invocations.mjs <bundle>`.
// JavaScript, because Node's compiler for types takes memory.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { handler } = await import(pathToFileURL(process.argv[2] ?? '').href);

/** Longer than any invocation takes. */
const TIMEOUT_MS = 60_000;

/** @param {any} event */
async function invoke(event) {
  const begunAt = performance.now();
  const context = {
    awsRequestId: '6f3d7c2e-0000-4000-8000-000000000001',
    functionName: 'measured',
    getRemainingTimeInMillis: () => begunAt + TIMEOUT_MS - performance.now(),
  };
  const cpu = process.cpuUsage();
  const answer = await handler(event, context);
  const ms = performance.now() - begunAt;
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({
    ms,
    cpuMs: (user + system) / 1000,
    peakKilobytes: peakKilobytes(),
    answer: answer ?? null,
  });
}

/** The figure of `process.resourceUsage` includes what the program that started this one had. */
function peakKilobytes() {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

process.on('message', (event) => void invoke(event));
process.on('disconnect', () => process.exit());
process.send?.('loaded');
