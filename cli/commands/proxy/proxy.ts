import type { Command } from 'commander';
import { once } from 'node:events';
import { findApi } from '../../api/api-access.ts';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { startSigningProxy } from './signing-proxy.ts';

type Options = DeploymentOptions & { port?: number };

const MORE = `
Signs requests with your credentials and forwards them to the API of the
deployment. It listens on 127.0.0.1 and refuses requests from web pages of
other origins. Every program on this machine can use it, so stop it with Ctrl-C
when you are done.
`;

/** `posthaste proxy` */
export function addProxy(command: Command, terminal: Terminal): void {
  command
    .option('--port <N>', 'port on 127.0.0.1 (default: a free port)', wholeNumberOf(1, 65_535))
    .action(async ({ port, json, ...choice }: Options) => {
      const access = await findApi(choice, terminal.env);
      await terminal.untilInterrupted(async (signal) => {
        const proxy = await startSigningProxy(access, port);
        try {
          if (json === true) terminal.print(JSON.stringify({ url: proxy.url }));
          else terminal.print(`Proxy for the API of ${access.name}: ${proxy.url}\nPress Ctrl-C to stop.`);
          if (!signal.aborted) await once(signal, 'abort');
        } finally {
          await proxy.close();
        }
      });
    });
  onDeployment(command, {
    json: 'url',
    more: MORE,
    examples: ['proxy --port 8888    # then: curl http://127.0.0.1:8888/v2/queues'],
  });
}
