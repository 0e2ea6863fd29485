import type { SQS } from '@aws-sdk/client-sqs';
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import type { Publisher } from '../../../client/publisher.ts';
import { variables } from '../../../shared/config/resources.ts';
import { apiClient, type ApiAccess, resolveApi } from '../../api/api-access.ts';
import { type Deployment, type DeploymentChoice, findDeployment } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import type { Sleep, Terminal } from '../../terminal.ts';
import type { Receiver } from './receivers.ts';
import { type DeployedStacks, readStacks } from './stacks.ts';

/** What is known of a deployment without changing anything. */
export type OpenDeployment = {
  deployment: Deployment;
  /** The setting `deployment`, which begins the names of stacks and alarms. */
  name: string;
  /** The settings of the functions by their variables, as workers get them. */
  settings: Readonly<Record<string, string>>;
  isLocal: boolean;
  access: ApiAccess;
  /** Ends the run. */
  signal: AbortSignal;
  /** Read once. */
  stacks: () => Promise<DeployedStacks>;
};

/** What the checks of one run work with. */
export type World = OpenDeployment & {
  api: ApiClient;
  sqs: SQS;
  publisher: Publisher;
  receiver: Receiver;
  /** Begins the names of all queues of this run. */
  prefix: string;
  undo: UndoList;
  /** Deliveries of the check on load; undefined: it is not wanted. */
  load: number | undefined;
};

/** @throws Problem with advice when there is no deployment */
export async function openDeployment(
  choice: DeploymentChoice,
  { env }: Pick<Terminal, 'env'>,
  signal: AbortSignal,
): Promise<OpenDeployment> {
  const deployment = await findDeployment(choice);
  const access = await resolveApi(deployment, env);
  const { workerEnvironment = '{}' } = deployment;
  const settings = z.record(z.string(), z.string()).parse(JSON.parse(workerEnvironment));
  let stacks: Promise<DeployedStacks> | undefined;
  return {
    deployment,
    name: settings[variables.deployment] ?? deployment.name,
    settings,
    // The local AWS may also be given by its URLs alone.
    isLocal: access.isLocal || /^(?:127\.|localhost$)/.test(new URL(access.apiUrl).hostname),
    access,
    signal,
    stacks: () => (stacks ??= readStacks(deployment)),
  };
}

export async function createWorld(
  opened: OpenDeployment,
  given: Pick<World, 'sqs' | 'receiver' | 'load'>,
  sleep: Sleep,
): Promise<World> {
  const { Publisher } = await import('../../../client/publisher.ts');
  return {
    ...opened,
    ...given,
    api: apiClient(opened.access, sleep),
    publisher: new Publisher({ queueUrl: opened.deployment.ingressQueueUrl, client: given.sqs }),
    prefix: `accept-${randomBytes(4).toString('hex')}`,
    undo: createUndoList(),
  };
}

/** Something made by a run. `command`: removes it by hand, if the run cannot. */
type Undo = { what: string; command: string; remove: () => Promise<unknown> };

/** What could not be removed. */
type LeftOver = Pick<Undo, 'what' | 'command'> & { reason: string };

/** What a run has made, to be removed in the reverse order at its end, however it ends. */
export function createUndoList() {
  const made: Undo[] = [];
  return {
    /** What is on the list already is not added again. */
    add: (undo: Undo): void => {
      if (!made.some(({ what }) => what === undo.what)) made.push(undo);
    },
    /** Removes everything, also what comes after a failure. */
    removeAll: async (): Promise<{ removed: number; left: LeftOver[] }> => {
      const left: LeftOver[] = [];
      let removed = 0;
      for (let undo = made.pop(); undo !== undefined; undo = made.pop()) {
        const { what, command, remove } = undo;
        try {
          await remove();
          removed += 1;
        } catch (error) {
          left.push({ what, command, reason: failureText(error) });
        }
      }
      return { removed, left };
    },
  };
}

type UndoList = ReturnType<typeof createUndoList>;
