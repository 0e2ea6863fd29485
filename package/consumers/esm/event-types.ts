// Written by posthaste event-types types: change the catalogue instead.

/** The data of each event type, for `new Publisher<EventTypes>(…)` of posthaste/client. */
export type EventTypes = {
  /** An order was placed.
   * Its items follow. */
  'order.created': {
    /** In cents. */
    total: number;
    currency: 'EUR' | 'USD';
    /** @deprecated */
    coupon?: string | null;
    items: {
      sku: string;
      'unit-price'?: number;
    }[];
    labels?: Record<string, string>;
  };
  /** @deprecated */
  'order.closed': null;
  'order.noted': unknown;
};
