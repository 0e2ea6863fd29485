import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { resolveApi } from '../../cli/api/api-access.ts';
import { startSigningProxy } from '../../cli/commands/proxy/proxy.ts';
import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { type Endpoints, toClientOptions } from '../../local/endpoints.ts';
import { localFolder } from '../../local/install/paths.mjs';
import { Problem } from '../../local/install/problem.mjs';
import { runGroup } from '../../local/install/process-group.mjs';
import { step } from '../../local/install/progress.mjs';
import { startLocalSystem } from '../../local/local-system.ts';
import { eventually } from '../support/eventually.ts';
import { pythonWithPackages, type Python } from '../support/python-packages.ts';
import { startReceiver } from '../support/receiver.ts';
import { apiCheckPackages } from './python-packages.ts';

/**
 * Checks the deployed API on a separate local AWS with two clients: python-zaqarclient of OpenStack, and schemathesis,
 * which generates requests from the served OpenAPI document and validates every response against it.
 */

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = join(localFolder, 'api-check-run');

/** Short times, to save waiting. The API requires signatures, as in an AWS account. */
const settings = { apiAuthorization: 'iam', attemptTimeoutSeconds: '3', subscriptionCacheSeconds: '0' };

type Check = { label: string; args: readonly string[]; env?: Record<string, string> };

/** @throws Problem with the whole output of the check, if it fails */
async function run(python: Python, { label, args, env = {} }: Check, signal: AbortSignal): Promise<void> {
  const log = join(folder, `${label.replaceAll(/\W+/g, '-')}.log`);
  rmSync(log, { force: true });
  const { code } = await step(label, () =>
    runGroup(python.executable, [...args], { env: { ...python.env, ...env }, cwd: folder, log, signal }),
  );
  if (code !== 0) throw new Problem(`${label} found problems.\n${readFileSync(log, 'utf8')}`);
}

const schemathesis = ['-m', 'schemathesis.cli', '--config-file', join(here, 'schemathesis.toml'), 'run'];

async function checkAll(endpoints: Endpoints, python: Python, signal: AbortSignal): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey, ...resources } = endpoints;
  const client = toClientOptions({ endpoint, region, accessKeyId, secretAccessKey });
  const receiver = await startReceiver();
  const proxy = await startSigningProxy(
    await resolveApi({ ...resources, name: 'the API under check', client }, process.env),
  );
  try {
    const zaqar = [join(here, 'zaqar_client.py'), proxy.url, receiver.url('')];
    await run(python, { label: 'python-zaqarclient', args: zaqar }, signal);
    const known = await createKnownResources(proxy.url, receiver.url('/known'));
    const env = { POSTHASTE_RECEIVER: receiver.url(''), POSTHASTE_KNOWN: JSON.stringify(known) };
    const asked = [`${proxy.url}/v2/openapi.json`, '--url', proxy.url];
    await run(python, { label: 'schemathesis', args: [...schemathesis, ...asked], env }, signal);
  } finally {
    await proxy.close();
    await receiver.close();
  }
}

/** The exit status. */
async function checkApi(signal: AbortSignal): Promise<number> {
  try {
    const python = await pythonWithPackages(apiCheckPackages, signal);
    const { endpoints, emulator } = await startLocalSystem({ folder, settings, signal });
    try {
      await checkAll(endpoints, python, signal);
    } finally {
      await emulator.stop();
    }
    process.stdout.write('The API behaves as its OpenAPI document says.\n');
    return 0;
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    if (!(error instanceof Problem)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** Ids of existing resources, by the names of path parameters. */
type KnownResources = { queue: string; subscription: string; message: string; recovery: string };

const PAST_MS = 60 * 60 * 1000;

/** Creates a queue, a subscription, a message with a delivery, and a recovery, so that requests can refer to them. */
async function createKnownResources(api: string, subscriber: string): Promise<KnownResources> {
  const queue = 'known-orders';
  const at = `${api}/v2/queues/${queue}`;
  const post = async <T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T> => {
    const response = await fetch(`${at}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return schema.parse(await response.json());
  };
  const { subscription_id: subscription } = await post(
    '/subscriptions',
    { subscriber },
    z.object({ subscription_id: z.string() }),
  );
  const posted = { messages: [{ id: 'known-order', type: 'order.created', body: { total: 1 } }] };
  const { ids } = await post('/messages', posted, z.object({ ids: z.tuple([z.string()]) }));
  const [message] = ids;
  await eventually('the known delivery', async () => {
    const { status } = await fetch(`${at}/messages/${message}/deliveries/${subscription}`);
    return status === 200 ? true : undefined;
  });
  const now = Date.now();
  const window = { since: new Date(now - PAST_MS), until: new Date(now) };
  const { id: recovery } = await post('/recoveries', window, z.object({ id: z.string() }));
  return { queue, subscription, message, recovery };
}

process.exitCode = await untilInterrupted(checkApi);
