import { isKindName } from './kinds/all-kinds.ts';
import { toReceivers, type FromReceivers, type ToReceivers } from './messages.ts';
import {
  startHealthyReceiver,
  startHostileReceivers,
  trustedCertificate,
  type HostileReceivers,
} from './receivers.ts';

/** Receivers in a process of their own, so that what they do costs the function nothing. */

const tell = (message: FromReceivers): void => {
  process.send?.(message);
};

let hostile: HostileReceivers | undefined;

const follow = async (message: ToReceivers): Promise<void> => {
  switch (message.kind) {
    case 'start_healthy': {
      const { origin } = await startHealthyReceiver();
      tell({ kind: 'listening', origins: { healthy: origin }, trustedCertificate });
      return;
    }
    case 'start_hostile':
      hostile = await startHostileReceivers(message.names.filter(isKindName));
      tell({ kind: 'listening', origins: Object.fromEntries(hostile.origins), trustedCertificate });
      return;
    case 'count':
      tell({ kind: 'connections', counts: Object.fromEntries(hostile?.connections() ?? []) });
      return;
  }
};

process.on('message', (message) => void follow(toReceivers.parse(message)));
// Whoever started it has gone.
process.on('disconnect', () => process.exit());
