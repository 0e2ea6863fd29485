import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Posthaste } from '../../infra/index.ts';
import { EventSources, PAYMENTS_TOPIC, SHOP_SOURCE } from './event-sources.ts';

/**
 * Posthaste in the shop's stack. The event target and the topic subscription grant this rule and this topic access
 * to the ingress queue, and nothing else.
 */
export class ShopStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const { ingressQueue } = new Posthaste(this, 'Webhooks', {
      ingressRoutes: { [SHOP_SOURCE]: 'orders', [PAYMENTS_TOPIC]: 'payments' },
    });
    new EventSources(this, 'Events', { ingress: ingressQueue });
  }
}
