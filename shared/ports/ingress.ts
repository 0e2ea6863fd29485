/** The ingress queue, as one who publishes sees it. */
export interface Ingress {
  /** @throws when some could not be sent: those already sent stay sent, and the caller repeats all under the same ids. */
  publish(
    messages: readonly { body: string; attributes?: Record<string, string>; delaySeconds?: number }[],
  ): Promise<void>;
}
