/** How much lies in the deployment's SQS queues. */
export interface QueueDepths {
  /** Messages by the queue's name, waiting, delayed and in flight together; SQS counts approximately. @throws when one cannot be asked */
  approximate(): Promise<Record<string, number>>;
}
