// One cold start in a separate process: `one-start.mjs <bundle> <event> <result>`. JavaScript, because Node would load its
// compiler for types.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [bundle = '', eventFile = '', resultFile = ''] = process.argv.slice(2);
const event = JSON.parse(readFileSync(eventFile, 'utf8'));

const context = {
  awsRequestId: '6f3d7c2e-0000-4000-8000-000000000001',
  functionName: 'cold',
  getRemainingTimeInMillis: () => 30_000,
};

/** Milliseconds; processor time is that of all threads, including compiler and collector. */
function now() {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() };
}

/** @param {{ cpuMs: number, wallMs: number }} from */
function since(from) {
  const to = now();
  return { cpuMs: to.cpuMs - from.cpuMs, wallMs: to.wallMs - from.wallMs };
}

const beforeLoad = now();
const { handler } = await import(pathToFileURL(bundle).href);
const load = since(beforeLoad);
const beforeFirst = now();
const answer = await handler(event, context);
const first = since(beforeFirst);
writeFileSync(resultFile, JSON.stringify({ load, first, answer: answer ?? null }));
process.exit();
