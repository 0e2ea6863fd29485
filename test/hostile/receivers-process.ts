import { isKindName } from './kinds/all-kinds.ts';
import { toReceivers, type FromReceivers, type ToReceivers } from './messages.ts';
import {
  startHealthyReceiver,
  startHostileReceivers,
  trustedCertificate,
  type HostileReceivers,
} from './receivers.ts';

/** The receivers in a separate process, so that they use no CPU or memory of the function. */

const report = (message: FromReceivers): void => {
  process.send?.(message);
};

let hostile: HostileReceivers | undefined;

const follow = async (message: ToReceivers): Promise<void> => {
  switch (message.kind) {
    case 'start_healthy':
      report({ kind: 'listening', origins: { healthy: await startHealthyReceiver() }, trustedCertificate });
      return;
    case 'start_hostile':
      hostile = await startHostileReceivers(message.names.filter(isKindName));
      report({ kind: 'listening', origins: Object.fromEntries(hostile.origins), trustedCertificate });
      return;
    case 'count':
      report({ kind: 'connections', counts: Object.fromEntries(hostile?.connections() ?? []) });
      return;
  }
};

process.on('message', (message) => void follow(toReceivers.parse(message)));
// The parent process has exited.
process.on('disconnect', () => process.exit());
