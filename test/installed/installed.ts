import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { type Endpoints, readEndpoints } from '../../local/endpoints.ts';
import { projectRoot } from '../../local/install/paths.mjs';
import { inSeconds } from '../../local/install/progress.mjs';
import { awsEnvironment, environmentWithoutAws } from '../../local/local-aws.ts';
import { buildPackage } from '../../package/build.ts';
import { runProgram } from '../../package/run-program.ts';

/** At most ten lines, as in docs/client.md. */
const PRODUCER = `import { Publisher } from 'posthaste/client';

const publisher = new Publisher({ queueUrl: process.env.INGRESS_QUEUE_URL });
await publisher.publish({ queue: 'orders', type: 'order.created', data: { order: 17 } });
`;

const RECEIVER = `import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from 'posthaste/verify';

const server = createServer(async (request, response) => {
  const { body } = verifyWebhook(await text(request), request.headers, process.env.SECRET ?? '');
  response.end();
  console.log(body);
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'));
`;

const PORT = '9417';

const folder = mkdtempSync(join(tmpdir(), 'posthaste-installed-'));

/** As a terminal has it: on the Node that runs this, without npm's variables and the packages of the repository. */
const environment = {
  ...Object.fromEntries(Object.entries(environmentWithoutAws()).filter(([name]) => !name.startsWith('npm_'))),
  PATH: [
    dirname(process.execPath),
    ...(process.env['PATH'] ?? '').split(delimiter).filter((one) => !one.includes('node_modules')),
  ].join(delimiter),
};

const initSchema = z.object({ next: z.array(z.string()) });
const subscriptionSchema = z.object({ secret: z.string() });

/** From an empty folder and the tarball to a verified webhook. Prints how long each step takes. */
async function main(): Promise<void> {
  const { filename: tarball } = await timed('npm run package', buildPackage);
  await timed('npm install of the tarball', () => run('npm', 'install', '--no-audit', '--no-fund', tarball));
  const answer = await timed('npx posthaste init', () => posthaste('init', '--yes', '--json'));
  const { next } = initSchema.parse(JSON.parse(answer));
  for (const command of next.filter((line) => line.startsWith('npm install')))
    await timed(command, () => run('sh', '-c', `${command} --no-audit --no-fund`));
  const command = next.find((line) => line.includes('start --app')) ?? '';
  const app = running('sh', ['-c', `exec ${command}`]);
  try {
    await timed(command, () => app.line('Posthaste is running.'));
    await timed('a webhook from posthaste/client to posthaste/verify', publishAndReceive);
    await timed('a worker by the commands of its Containerfile', () => startContained(tarball));
  } finally {
    await timed('Ctrl-C', app.interrupt);
  }
  await nothingIsLeft();
}

async function publishAndReceive(): Promise<void> {
  const endpoints = endpointsOfApp();
  const created = await posthaste('subscription', 'create', 'orders', `http://127.0.0.1:${PORT}/`, '--json');
  const { secret } = subscriptionSchema.parse(JSON.parse(created));
  writeFileSync(join(folder, 'receiver.mjs'), RECEIVER);
  const receiver = running('node', ['receiver.mjs'], { PORT, SECRET: secret });
  try {
    await receiver.line('listening');
    writeFileSync(join(folder, 'producer.mjs'), PRODUCER);
    const { endpoint, ingressQueueUrl: INGRESS_QUEUE_URL } = endpoints;
    const env = { ...environment, ...awsEnvironment(endpoint, endpoints), INGRESS_QUEUE_URL };
    await runProgram('node', ['producer.mjs'], { cwd: folder, env });
    await receiver.line('{"order":17}');
  } finally {
    await receiver.interrupt();
  }
}

/** Builds and starts the worker's image, with a folder in place of the container: no engine is needed. */
async function startContained(tarball: string): Promise<void> {
  const container = readContainerfile();
  // Not in the app's folder, where npm would install.
  const app = mkdtempSync(join(tmpdir(), 'posthaste-installed-'));
  copyFileSync(tarball, join(app, 'posthaste.tgz'));
  for (const command of container.run)
    await runProgram('sh', ['-c', command], { cwd: app, env: environment });
  const endpoints = endpointsOfApp();
  const printed = await posthaste('worker', '--print-env');
  const variables = printed.split('\n').map((line) => /^(\w+)=(.*)$/.exec(line)?.slice(1) ?? []);
  const env = {
    ...container.env,
    ...(Object.fromEntries(variables) as Record<string, string>),
    ...awsEnvironment(endpoints.endpoint, endpoints),
  };
  const [program = '', ...args] = container.entrypoint;
  const onLoopback = ['--health-host', '127.0.0.1', '--health-port', PORT];
  const worker = running(program, [...args, ...onLoopback], env, app);
  const ready = (): Promise<Response | undefined> =>
    fetch(`http://127.0.0.1:${PORT}/ready`).catch(() => undefined);
  while ((await ready())?.ok !== true) {
    if (worker.hasEnded()) throw new Error('The worker ended before it was ready.');
    await setTimeout(100);
  }
  if ((await worker.interrupt()) !== 0) throw new Error('The worker did not end with 0.');
  rmSync(app, { recursive: true });
}

/** Its instructions that a build and a start run. */
function readContainerfile(): { run: string[]; env: Record<string, string>; entrypoint: string[] } {
  const text = readFileSync(join(projectRoot, 'examples/worker/Containerfile'), 'utf8');
  const after = (instruction: string): string[] =>
    text
      .split('\n')
      .flatMap((line) => (line.startsWith(`${instruction} `) ? [line.slice(instruction.length + 1)] : []));
  return {
    run: after('RUN'),
    env: Object.fromEntries(
      after('ENV').map((line) => [
        line.slice(0, line.indexOf('=')),
        line.slice(line.indexOf('=') + 1).replace(/^"(.*)"$/, '$1'),
      ]),
    ),
    entrypoint: z.array(z.string()).parse(JSON.parse(after('ENTRYPOINT')[0] ?? '[]')),
  };
}

const endpointsFile = join(folder, '.posthaste/endpoints.json');

function endpointsOfApp(): Endpoints {
  const endpoints = readEndpoints(endpointsFile);
  if (endpoints === undefined) throw new Error('There is no endpoints.json.');
  return endpoints;
}

async function nothingIsLeft(): Promise<void> {
  if (existsSync(endpointsFile)) throw new Error('The start has left endpoints.json.');
  const processes = await run('ps', '-A', '-ww', '-o', 'args=');
  const left = processes.split('\n').filter((one) => one.includes(folder));
  if (left.length > 0) throw new Error(`These processes are left:\n${left.join('\n')}`);
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const start = performance.now();
  const result = await work();
  process.stdout.write(`${inSeconds(performance.now() - start).padStart(8)}  ${what}\n`);
  return result;
}

function run(program: string, ...args: string[]): Promise<string> {
  return runProgram(program, args, { cwd: folder, env: environment });
}

function posthaste(...args: string[]): Promise<string> {
  return run('npx', 'posthaste', ...args);
}

/** Starts a program in a process group, as a terminal does. `line`: the first line with this text, seen or to come. */
function running(program: string, args: string[], env: NodeJS.ProcessEnv = {}, cwd = folder) {
  const child = spawn(program, args, {
    cwd,
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const seen: string[] = [];
  lines.on('line', (line) => seen.push(line));
  const line = async (text: string): Promise<void> => {
    while (!seen.some((one) => one.includes(text))) {
      if (child.exitCode !== null) throw new Error(`${program} ended without "${text}":\n${seen.join('\n')}`);
      await Promise.race([once(lines, 'line'), exit]);
    }
  };
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  /** Returns the exit status. */
  const interrupt = async (): Promise<number | null> => {
    if (!hasEnded()) process.kill(-Number(child.pid), 'SIGINT');
    await exit;
    return child.exitCode;
  };
  return { line, hasEnded, interrupt };
}

// A step that waits for ever fails.
void setTimeout(600_000, undefined, { ref: false }).then(() => process.exit(1));
await main();
rmSync(folder, { recursive: true });
