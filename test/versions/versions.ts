/** `npm run test:versions -- COMMIT`: the code of a commit and of this checkout on the same tables and queues. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import assert, { AssertionError } from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildEndpoints, parseResources, toClientOptions } from '../../local/endpoints.ts';
import { startEmulator } from '../../local/emulator.ts';
import { localAws } from '../../local/local-aws.ts';
import { deploy, LAPTOP } from '../../local/local-system.ts';
import { type System, systemAt } from '../chaos/deployed-system.ts';
import { type Chance, seededChance } from '../support/chance.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { runInterruptible } from '../support/interruptible.ts';
import { runFolder } from '../support/run-folder.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { checkoutOf } from './checkout.ts';
import { type Context, deadLetters, findFaults, findImbalance, findOpen, readLogs } from './invariants.ts';
import {
  type Api,
  apiOf,
  type Listener,
  operate,
  publish,
  type Published,
  QUEUE_NAMES,
  subscribeAll,
  subscribeByPull,
} from './traffic.ts';
import { type Fleet, keepFunctions, runBeside, setReceiving, type Version } from './two-versions.ts';

const USAGE = 'usage: npm run test:versions -- COMMIT [--messages N (30 to 2000, 240 by default)] [--seed S]';

type Request = { commit: string; messages: number; seed: number };

const settings = {
  ...LAPTOP,
  deliverConcurrency: '2',
  retryConcurrency: '2',
  apiAuthorization: 'none',
  attemptTimeoutSeconds: '5',
  schedulerThreshold: '4',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '15',
  local: 'true',
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function parseRequest(args: readonly string[]): Request | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        messages: { type: 'string', default: '240' },
        seed: { type: 'string', default: '1' },
      },
    });
    const [commit] = positionals;
    const messages = wholeNumber(values.messages, 30, 2_000);
    const seed = wholeNumber(values.seed, 0, 4_294_967_290);
    if (commit === undefined || messages === undefined || seed === undefined) return undefined;
    return { commit, messages, seed };
  } catch {
    return undefined;
  }
}

/** Deploys the commit, upgrades to this checkout, and lets both versions work. Returns the number of faults. */
async function run(request: Request, signal: AbortSignal): Promise<number> {
  const folder = runFolder('versions');
  mkdirSync(folder, { recursive: true });
  const checkout = await checkoutOf(request.commit, signal);
  await using stack = new AsyncDisposableStack();
  const emulator = await startEmulator({ folder, signal });
  stack.defer(() => emulator.stop());
  const deployment = { emulator, context: settings, folder, signal };
  const { functions } = parseResources(await deploy({ ...deployment, checkout }));
  const account = { ...emulator.keys, endpoint: emulator.endpoint, region: localAws.region };
  const kept = await keepFunctions(toClientOptions(account), functions);
  const endpoints = buildEndpoints(emulator, await deploy(deployment));
  const fleets = await runBeside(systemAt(endpoints).lambda, endpoints.functions, kept);
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const startedAt = Date.now();
  const faults = await work(request, { system: systemAt(endpoints), fleets, receiver, signal });
  for (const fault of faults.slice(0, 40)) say(fault);
  say(`${faults.length} faults; ${Math.round((Date.now() - startedAt) / 1000)} s of work.`);
  await stack.disposeAsync();
  if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
  else say(`The logs are in ${folder}.`);
  return faults.length;
}

type Setup = {
  system: System;
  fleets: Record<Version, Fleet>;
  receiver: Receiver;
  signal: AbortSignal;
};

/** Both versions together; then the old one alone, as after going back; then both, and the new one alone. Each that is alone finishes all. */
const PHASES: readonly (readonly Version[])[] = [['old', 'new'], ['old'], ['old', 'new'], ['new']];

/** How long the last deliveries may take. */
const PATIENCE_MS = 120_000;

/** Sends traffic through all phases, and returns what is wrong at the end, a line for each fault. */
async function work(request: Request, setup: Setup): Promise<string[]> {
  const { system, fleets, receiver, signal } = setup;
  const chance = seededChance(request.seed);
  const running = { versions: PHASES[0] ?? [] };
  const api = apiOf(system.lambda, () => fleets[chance.pick(running.versions)]);
  const requests: Record<string, number> = {};
  const listeners = await subscribeAll(api, receiver, {
    chance: seededChance(request.seed + 1),
    onRequest: (by) => {
      const name = `${by} while ${running.versions.join(' and ')}`;
      requests[name] = (requests[name] ?? 0) + 1;
    },
  });
  const pull = await subscribeByPull(api, chance);
  const leaving = listeners.find(({ queue }) => queue === 'leaving');
  assert(leaving !== undefined);
  const context = { system, listeners, pull, published: [] as Published[], cancelled: new Set<string>() };
  const disturbance = disturbanceOf(setup, { api, chance, running, context });
  const count = Math.ceil(request.messages / PHASES.length / PARTS);
  const publishAndDisturb = async (): Promise<void> => {
    const first = context.published.length + 1;
    context.published.push(...(await publish(api, chance, { first, count })));
    await disturbance.disturb();
  };
  const unfinished: string[] = [];
  for (const versions of PHASES) {
    if (!versions.includes('new')) await receiveAll(context, signal);
    running.versions = versions;
    await receiveOnlyBy(setup, versions);
    say(`${versions.join(' and ')}, after ${context.published.length} messages`);
    for (let part = 0; part < PARTS; part++) await publishAndDisturb();
    if (!context.cancelled.has(leaving.subscriptionId)) await leave(api, context, leaving);
    unfinished.push(...(await settleAlone(context, setup, versions)));
  }
  say(`Requests: ${JSON.stringify(requests)}`);
  say(`Calls: ${JSON.stringify(disturbance.calls)}`);
  return [...disturbance.refusals, ...unfinished, ...(await faultsAtTheEnd(context, fleets))];
}

async function receiveOnlyBy({ system, fleets }: Setup, versions: readonly Version[]): Promise<void> {
  for (const version of ['old', 'new'] as const)
    await setReceiving(system.lambda, fleets[version], versions.includes(version));
}

/** Where one version is alone, waits until every delivery has ended. Returns what does not end. */
async function settleAlone(
  context: Context,
  { fleets, signal }: Setup,
  [alone, ...others]: readonly Version[],
): Promise<string[]> {
  if (alone === undefined || others.length > 0) return [];
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const open = await findOpen(context);
    if (open.length === 0) return [];
    if (Date.now() > deadline) return open.map((one) => `not ended by ${alone} alone: ${one}`);
    say(`${open.length} open with ${alone} alone, such as ${open.at(-1)}`);
    await context.pull.receive(['ack', 'nack']);
    await reconcile(context.system.lambda, fleets[alone]);
    await pause(1_000, undefined, { signal });
  }
}

/** As posthaste upgrade --check asks for before going back: an earlier version does not find what waits. */
async function receiveAll({ pull, published }: Context, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  const waits = ({ queue, messageId }: Published) => queue === 'shelf' && !pull.acknowledged.has(messageId);
  while (Date.now() < deadline && published.some(waits)) {
    await pull.receive(['ack', 'nack']);
    await pause(200, undefined, { signal });
  }
}

/** Times in a phase that messages are published, and operators and the subscriber by pull call the API. */
const PARTS = 8;
const CALLS = 3;

function disturbanceOf(
  { system, fleets }: Setup,
  {
    api,
    chance,
    running,
    context,
  }: { api: Api; chance: Chance; running: { versions: readonly Version[] }; context: Context },
) {
  const calls: Record<string, number> = {};
  const refusals: string[] = [];
  const call = async (): Promise<void> => {
    const name = await operate(api, chance, context);
    calls[name] = (calls[name] ?? 0) + 1;
    await context.pull.receive();
  };
  const disturb = async (): Promise<void> => {
    for (let time = 0; time < CALLS; time++) {
      await call().catch((error: unknown) => void refusals.push(messageOf(error)));
    }
    await reconcile(system.lambda, fleets[chance.pick(running.versions)]);
  };
  return { calls, refusals, disturb };
}

/** Deletes a subscription, with what waits for it. */
async function leave(api: Api, { cancelled }: Context, { queue, subscriptionId }: Listener): Promise<void> {
  await api({ method: 'DELETE', path: `/v2/queues/${queue}/subscriptions/${subscriptionId}` });
  cancelled.add(subscriptionId);
}

async function faultsAtTheEnd(context: Context, fleets: Record<Version, Fleet>): Promise<string[]> {
  const { system } = context;
  const faults = [...(await findFaults(context)), ...(await deadLetters(system))];
  for (const version of ['old', 'new'] as const) {
    const api = apiOf(system.lambda, () => fleets[version]);
    for (const queue of QUEUE_NAMES) {
      const fault = await findImbalance(api, queue).catch(messageOf);
      if (fault !== undefined) faults.push(`${version}: ${fault}`);
    }
    const { lines, errors } = await readLogs(system, fleets[version]);
    say(`Lines logged by the ${version} version: ${lines}`);
    faults.push(...errors.map((error) => `${version}: ${error}`));
  }
  return faults;
}

/** A refusal of the API as a fault. */
function messageOf(error: unknown): string {
  if (!(error instanceof AssertionError)) throw error;
  return error.message;
}

async function reconcile(lambda: LambdaClient, { functions }: Fleet): Promise<void> {
  await lambda.send(new InvokeCommand({ FunctionName: functions.reconcile }));
}

const request = parseRequest(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  const work = async (signal: AbortSignal) => ((await run(request, signal)) === 0 ? 0 : 1);
  process.exitCode = await runInterruptible(work, { failed: 1, say });
}
