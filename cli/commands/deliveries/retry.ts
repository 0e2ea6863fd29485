import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { retryDelivery } from '../../../api-client/operations.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, findAddress, EXAMPLE_ADDRESS } from './delivery-options.ts';
import { addWaiting, printStarted, type FollowOptions } from './follow-delivery.ts';

type Options = DeploymentOptions & FollowOptions;

const MORE = `
An open delivery makes its next attempt now. An ended one starts another round
with all retries of its policy. The webhook-id stays the same. The API refuses
a retry while an attempt is in progress, and when the message's data is no
longer kept. After Ctrl-C during --wait, the delivery continues.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`;

/** `posthaste retry` */
export function addRetry(command: Command, terminal: Terminal): void {
  addWaiting(addDeliveryAddress(command)).action(
    async (queue: string, message: string, subscription: string, options: Options) => {
      const api = await openApiToWrite(options, terminal);
      const started = await api.call(
        retryDelivery,
        deliveryPath(await findAddress(api, queue, message, subscription)),
      );
      await printStarted(api, started, options, terminal);
    },
  );
  onDeployment(command, {
    json: 'the delivery after the change; with --wait at its end',
    more: MORE,
    examples: [`retry ${EXAMPLE_ADDRESS}`, `retry ${EXAMPLE_ADDRESS} --wait`],
  });
}
