import type { IHttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { metricNames } from '../../shared/config/metrics.ts';
import type { PosthasteProps } from '../posthaste-props.ts';
import type { AdministerOptions } from './api/administration-api.ts';
import { posthasteMetrics } from './monitoring/posthaste-metrics.ts';
import { Monitoring } from './monitoring/monitoring.ts';
import { Pipeline } from './pipeline.ts';
import { State } from './state/state.ts';

/**
 * The whole of Posthaste, for use inside another stack (docs/construct.md).
 * @throws SettingsError naming each invalid property with its value and rule
 */
export class Posthaste extends Construct {
  /** Producers send messages to it; rules and topics may target it. */
  readonly ingressQueue: IQueue;
  /** The administration API. */
  readonly api: IHttpApi;
  /** Messages, deliveries and recoveries. Retained when the stack is deleted, except with `local`. */
  readonly deliveriesTable: ITableV2;
  /** The bus of the events for operators. Rules on it may notify them. */
  readonly operatorEvents: IEventBus;
  readonly state: State;
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, props: PosthasteProps = {}) {
    super(scope, id);
    this.state = new State(this, 'State', props);
    this.pipeline = new Pipeline(this, 'Pipeline', { state: this.state });
    new Monitoring(this, 'Monitoring', { pipeline: this.pipeline });
    this.ingressQueue = this.pipeline.queues.ingress.sqs;
    this.api = this.pipeline.administration.api;
    this.deliveriesTable = this.state.deliveries.table;
    this.operatorEvents = this.pipeline.operatorEvents.bus;
  }

  /**
   * Allows publishing: sending messages to the ingress queue, and nothing else.
   * @throws SettingsError for everyone, and for a service without a condition
   */
  grantPublish(grantee: IGrantable): Grant {
    return this.pipeline.queues.ingress.grantSend(grantee);
  }

  /**
   * Allows calling the API with AWS signatures, for all queues or some of them.
   * @throws SettingsError with `apiAuthorization: 'jwt'`, and for what is no name of a queue
   */
  grantAdminister(grantee: IGrantable, options?: AdministerOptions): Grant {
    return this.pipeline.administration.grantAdminister(grantee, options);
  }

  /** Deliveries that succeeded. @default sum over 5 minutes */
  metricDelivered(options?: MetricOptions): Metric {
    return this.metric(metricNames.deliveriesDelivered, options);
  }

  /** Deliveries that ended without success when the retry policy ended. @default sum over 5 minutes */
  metricExhausted(options?: MetricOptions): Metric {
    return this.metric(metricNames.deliveriesExhausted, options);
  }

  /**
   * Age of the oldest wake-up in the retry queue, in seconds. Up to `schedulerThreshold` is the planned delay of
   * the retry: beyond that, retries are late. @default maximum over 5 minutes
   */
  metricOldestRetry(options?: MetricOptions): Metric {
    return this.pipeline.queues.retry.metricAgeOfOldest(options);
  }

  private metric(...[name, options]: Parameters<ReturnType<typeof posthasteMetrics>>): Metric {
    return posthasteMetrics(this.state.settings.deployment)(name, options);
  }
}
