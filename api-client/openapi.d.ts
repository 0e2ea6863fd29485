export interface paths {
    "/v2/queues/{queue}/messages": {
        /** Lists the messages that a queue accepted, newest first, with the states of their deliveries */
        get: operations["listMessages"];
        /**
         * Publishes messages
         * @description Publishes all messages or none. Creates the queue if it does not exist. The headers `traceparent` and `tracestate` (W3C Trace Context) go with the messages.
         */
        post: operations["postMessages"];
    };
    "/v2/queues/{queue}/messages/{message}": {
        /** Shows a message with the states of its deliveries, and its data while that is stored */
        get: operations["getMessage"];
    };
    "/v2/queues/{queue}/messages/{message}/body": {
        /**
         * Erases the data of a message
         * @description Permanent. Pending retries of the message are cancelled.
         */
        delete: operations["eraseBody"];
    };
    "/v2/queues": {
        /** Lists queues by name */
        get: operations["listQueues"];
    };
    "/v2/queues/{queue}": {
        /** Shows the metadata of a queue */
        get: operations["getQueue"];
        /** Creates a queue, or replaces its metadata */
        put: operations["putQueue"];
        /**
         * Deletes a queue with its subscriptions
         * @description Cancels its pending deliveries. Until the time in the header `restorable-until` it can be restored.
         */
        delete: operations["deleteQueue"];
        /** Changes the metadata of a queue with a JSON patch (RFC 6902) */
        patch: operations["patchQueue"];
    };
    "/v2/queues/{queue}/subscriptions": {
        /** Lists the subscriptions of a queue */
        get: operations["listSubscriptions"];
        /**
         * Creates a subscription
         * @description Only this response contains the signing secret. Creates the queue if it does not exist. If `confirmation` is `owed`, the confirmation request could not be sent: PATCH the subscription with the same `subscriber` to send it again.
         */
        post: operations["subscribe"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}": {
        /** Shows a subscription */
        get: operations["getSubscription"];
        /**
         * Deletes a subscription, and cancels its pending deliveries
         * @description Until the time in the header `restorable-until` it can be restored.
         */
        delete: operations["unsubscribe"];
        /**
         * Changes the given fields of a subscription; `options` are replaced as a whole
         * @description If the new `subscriber` has another origin (scheme, host or port), stored headers with credentials are dropped: send them in `options` of the same request. The subscription also gets a new signing secret, which only this response contains, unless `secret` is `keep`.
         */
        patch: operations["updateSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/enable": {
        /** Enables a subscription: it receives messages again */
        post: operations["enableSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/disable": {
        /** Disables a subscription: it receives nothing until it is enabled */
        post: operations["disableSubscription"];
    };
    "/v2/archived-queues": {
        /** Lists deleted queues that can be restored, by name */
        get: operations["listArchivedQueues"];
    };
    "/v2/queues/{queue}/restore": {
        /**
         * Restores a deleted queue with its subscriptions, their ids and secrets
         * @description A recovery then sends what the deletion cancelled.
         */
        post: operations["restoreQueue"];
    };
    "/v2/queues/{queue}/archived-subscriptions": {
        /** Lists deleted subscriptions of a queue that can be restored */
        get: operations["listArchivedSubscriptions"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/restore": {
        /**
         * Restores a deleted subscription, with its id and secrets
         * @description A recovery then sends what the deletion cancelled.
         */
        post: operations["restoreSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/pause": {
        /**
         * Pauses a subscription: it gets no requests, and its deliveries wait
         * @description New messages and due retries wait on record, and spend no attempts. The `ttl` of a message goes on counting. What has waited for the retention is cancelled; an event comes a day before.
         */
        post: operations["pauseSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/resume": {
        /**
         * Ends the pause of a subscription, and sends what waits in the order of acceptance
         * @description Does not enable it. A repeat changes the rate at which the rest is sent.
         */
        post: operations["resumeSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/waiting": {
        /**
         * Counts the deliveries that wait for the end of a pause, or to be received by pull
         * @description Looks at 10000 waiting deliveries at most.
         */
        get: operations["countWaitingOfSubscription"];
    };
    "/v2/queues/{queue}/pause": {
        /**
         * Pauses all subscriptions of a queue: they get no requests, and their deliveries wait
         * @description New messages and due retries wait on record, and spend no attempts. The `ttl` of a message goes on counting. What has waited for the retention is cancelled; an event comes a day before.
         */
        post: operations["pauseQueue"];
    };
    "/v2/queues/{queue}/resume": {
        /**
         * Ends the pause of a queue, and sends what waits in the order of acceptance
         * @description Subscriptions that are paused themselves stay paused. A repeat changes the rate at which the rest is sent.
         */
        post: operations["resumeQueue"];
    };
    "/v2/queues/{queue}/waiting": {
        /**
         * Counts the deliveries that wait for the end of the pause of a queue
         * @description Looks at 10000 waiting deliveries at most. Those that wait for a subscription are not among them.
         */
        get: operations["countWaitingOfQueue"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/confirm": {
        /** Confirms a subscription: the target of the link that the subscriber received */
        get: operations["followConfirmation"];
        /** Confirms a subscription without its link, or revokes its confirmation */
        put: operations["setConfirmation"];
        /** Confirms a subscription: the target of the link that the subscriber received */
        post: operations["confirmSubscription"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/test": {
        /**
         * Sends a test message to a subscription, and shows the result
         * @description Waits up to 3 s for the first attempt. The filter and event types of the subscription are ignored.
         */
        post: operations["testSubscription"];
    };
    "/v2/queues/{queue}/export": {
        /**
         * Exports the subscriptions of a queue as JSON lines
         * @description Credentials are redacted, in headers and in `auth`.
         */
        get: operations["exportSubscriptions"];
    };
    "/v2/credentials/{queue}": {
        /**
         * Exports the subscriptions of a queue as JSON lines, with their credentials
         * @description Outside `/v2/queues`, so that it needs a separate permission. Each call is in the audit trail.
         */
        post: operations["exportCredentials"];
    };
    "/v2/queues/{queue}/import": {
        /**
         * Imports subscriptions from JSON lines, as an export writes them
         * @description Only this response contains the signing secrets of imported subscriptions. If a line failed with `internal`, send it again.
         */
        post: operations["importSubscriptions"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/secret/rotate": {
        /**
         * Gives a subscription a new signing secret
         * @description The previous secret also signs for another `graceSeconds`, so that the subscriber has time to switch.
         */
        post: operations["rotateSecret"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/jwks.json": {
        /**
         * The public keys that verify the v1a signatures of a subscription, as a JWK set
         * @description RFC 7517 and RFC 8037. The keys in force, the current one first. Needs no authorisation. 404 if there is none.
         */
        get: operations["getPublicKeys"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/receive": {
        /**
         * Receives waiting deliveries of a pull subscription, the longest waiting first
         * @description Each is leased: it counts as failed unless it is acknowledged within `lease_seconds`. The answer can have fewer deliveries than wait; during a pause it has none.
         */
        post: operations["operatePullReceive"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/ack": {
        /** Acknowledges a received delivery: it is delivered */
        post: operations["operatePullAck"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/nack": {
        /** Refuses a received delivery: a failed attempt, retried by the policy */
        post: operations["operatePullNack"];
    };
    "/v2/pull/{queue}/{subscription}/receive": {
        /**
         * Receives waiting deliveries of a pull subscription, the longest waiting first
         * @description Each is leased: it counts as failed unless it is acknowledged within `lease_seconds`. The answer can have fewer deliveries than wait; during a pause it has none.
         */
        post: operations["pullReceive"];
    };
    "/v2/pull/{queue}/{subscription}/ack": {
        /** Acknowledges a received delivery: it is delivered */
        post: operations["pullAck"];
    };
    "/v2/pull/{queue}/{subscription}/nack": {
        /** Refuses a received delivery: a failed attempt, retried by the policy */
        post: operations["pullNack"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/pull-token": {
        /**
         * Gives a pull subscription a token, by which its subscriber receives
         * @description The token is for this subscription only. The previous one is valid for another `graceSeconds`.
         */
        post: operations["rotatePullToken"];
    };
    "/v2/queues/{queue}/messages/{message}/explain": {
        /**
         * Explains for each subscription of the queue what became of a message
         * @description Deleted subscriptions that have a delivery of the message follow after the others. A page can be shorter than `limit`.
         */
        get: operations["explainMessage"];
    };
    "/v2/queues/{queue}/deliveries": {
        /** Lists the deliveries of a queue that have not succeeded, newest first */
        get: operations["listDeliveries"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries": {
        /** Lists the deliveries of a message, one for each subscription */
        get: operations["listDeliveriesOfMessage"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries/{subscription}": {
        /** Shows one delivery with its attempts, past and planned */
        get: operations["getDelivery"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries/{subscription}/payload": {
        /**
         * Shows what a subscription gets of a message
         * @description Rendered by the options of the subscription as they are now, whether or not it was sent. `body` is absent while the message is not stored, and where it cannot be rendered: `fault` says why.
         */
        get: operations["getPayload"];
    };
    "/v2/queues/{queue}/subscriptions/{subscription}/deliveries": {
        /**
         * Lists all deliveries of a subscription, delivered ones too, newest message first
         * @description Looks through the messages of the queue, so a page may be short, or empty, and still have a link to the next.
         */
        get: operations["listDeliveriesOfSubscription"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries/{subscription}/retry": {
        /**
         * Retries a delivery now
         * @description Makes the next attempt of an open delivery now. Reopens a failed delivery for another round of attempts.
         */
        post: operations["retryDelivery"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries/{subscription}/send": {
        /**
         * Sends a message to one subscription now, whether or not it matched
         * @description Gives an ended delivery another round of attempts, also a delivered one. Makes a delivery where the message was filtered or is older than the subscription. Needs the body of the message.
         */
        post: operations["sendDelivery"];
    };
    "/v2/queues/{queue}/messages/{message}/deliveries/{subscription}/cancel": {
        /** Cancels a delivery: no further attempt is made */
        post: operations["cancelDelivery"];
    };
    "/v2/queues/{queue}/books": {
        /**
         * Reconciliation report: the messages accepted in a window, and the outcomes of their deliveries
         * @description Counted from the stored records. A long window is split into pages: follow `links` and add up the counts.
         */
        get: operations["readBooks"];
    };
    "/v2/queues/{queue}/statistics": {
        /**
         * Counts and durations of a queue over time, for charts
         * @description Counted about as it happens, by best effort; the reconciliation report counts exactly. The window is widened to whole steps; at most 400 steps and 8 days. Percentiles are within 12 %.
         */
        get: operations["readStatistics"];
    };
    "/v2/queues/{queue}/recoveries": {
        /** Lists recoveries, newest first */
        get: operations["listRecoveries"];
        /** Starts a recovery: replays each failed delivery of a window once */
        post: operations["startRecovery"];
    };
    "/v2/queues/{queue}/recoveries/{recovery}": {
        /** Shows the progress of a recovery */
        get: operations["getRecovery"];
        /** Stops a recovery; deliveries that it has already replayed continue */
        delete: operations["stopRecovery"];
    };
    "/v2/queues/{queue}/recoveries/{recovery}/outcomes": {
        /**
         * Counts, per subscription, what became of the deliveries that a recovery reopened
         * @description Counted from the records of the deliveries, in their present state. Many deliveries are split into pages: follow `links` and add up the counts of each subscription. `known` is false for a recovery of an earlier version of Posthaste, which did not store its deliveries. Records that cannot be read are not counted.
         */
        get: operations["readRecoveryOutcomes"];
    };
    "/v2/event-types": {
        /** Lists event types by name */
        get: operations["listEventTypes"];
    };
    "/v2/event-types/{type}": {
        /** Shows an event type */
        get: operations["getEventType"];
        /** Creates an event type, or replaces it as a whole */
        put: operations["putEventType"];
        /** Deletes an event type */
        delete: operations["deleteEventType"];
    };
    "/v2/queues/{queue}/event-types": {
        /**
         * Lists the event types that a queue sees, by name
         * @description A page may be short; follow its link.
         */
        get: operations["listEventTypesOfQueue"];
    };
    "/v2/queues/{queue}/event-types/{type}": {
        /** Shows an event type that a queue sees */
        get: operations["getEventTypeOfQueue"];
    };
    "/v2/webhooks.json": {
        /** Shows all event types as the webhooks of an OpenAPI 3.1 document */
        get: operations["describeWebhooks"];
    };
    "/v2/queues/{queue}/portal-links": {
        /** Makes a link to the page of a customer, who manages the endpoints of this queue */
        post: operations["createPortalLink"];
    };
    "/v2/queues/{queue}/portal-links/{session}": {
        /** Ends all links and sessions of a session id at once */
        delete: operations["endPortalSessions"];
    };
    "/v2/portal/session": {
        /**
         * Shows what a session may do
         * @description Authorised by `authorization: Bearer` and the session.
         */
        get: operations["getPortalSession"];
        /**
         * Opens a link: exchanges its token for a session
         * @description A link can be opened once. Needs no authorisation.
         */
        post: operations["openPortalLink"];
    };
    "/v2/openapi.json": {
        /** Shows this OpenAPI document */
        get: operations["describe"];
    };
    "/": {
        /** Lists the versions of the API */
        get: operations["listVersions"];
    };
    "/v2/ping": {
        /** Checks that the API responds */
        get: operations["ping"];
    };
    "/v2/health": {
        /** Checks the tables and SQS queues, and counts waiting messages and overdue retries */
        get: operations["health"];
    };
    "/v2": {
        /** Lists all paths, with their methods */
        get: operations["home"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        RetryPolicy: {
            retries_with_no_delay?: number;
            minimum_delay_retries?: number;
            minimum_delay?: number;
            maximum_delay?: number;
            maximum_delay_retries?: number;
            /** @enum {string} */
            retry_backoff_function?: "linear" | "arithmetic" | "geometric" | "exponential" | "capped_exponential";
            ignore_subscription_override?: boolean;
            backoff_retries?: number;
            backoff_exponent?: number;
            /** @enum {string} */
            jitter?: "none" | "full" | "equal";
            retry_on_status?: number[];
        };
        MetadataPatch: ({
            /** @constant */
            op: "add";
            path: string;
            value: unknown;
        } | {
            /** @constant */
            op: "replace";
            path: string;
            value: unknown;
        } | {
            /** @constant */
            op: "test";
            path: string;
            value: unknown;
        } | {
            /** @constant */
            op: "remove";
            path: string;
        } | {
            /** @constant */
            op: "move";
            from: string;
            path: string;
        } | {
            /** @constant */
            op: "copy";
            from: string;
            path: string;
        })[];
        SubscriptionOptions: {
            _retry_policy?: ("quick" | "default" | "standard-webhooks" | "patient") | components["schemas"]["RetryPolicy"];
            post_headers?: {
                [key: string]: string;
            };
            /** @description A template of the request body, in which "$zaqar_message$" is replaced by the message. */
            post_data?: string;
            raw_delivery?: boolean;
            /** @description The timeout of an attempt in seconds, if less than that of the deployment. */
            attempt_timeout?: number;
            /** @description Maximum number of attempts a second. */
            max_per_second?: number;
            /** @description Adds 429 to retry_on_status of the retry policy. */
            retry_throttled?: boolean;
            /** @description Slow all requests down to what the subscriber takes; a 429 is retried. */
            adapt_to_throttling?: boolean;
            /** @description While the subscriber is down, send one probe at a time; the other deliveries wait. */
            hold_while_down?: boolean;
            /** @description Receives only messages of these types. */
            event_types?: string[];
            filter?: components["schemas"]["ContentFilter"];
            /** @description How requests authenticate at the subscriber. Secret values are shown as `***`. */
            auth?: {
                /** @constant */
                type: "header";
                name: string;
                value: string;
                /** @description In PEM: authorities that are trusted in place of the public ones, for the subscriber and `token_url`. */
                ca?: string;
            } | {
                /** @constant */
                type: "basic";
                username: string;
                password: string;
                /** @description In PEM: authorities that are trusted in place of the public ones, for the subscriber and `token_url`. */
                ca?: string;
            } | {
                /** @constant */
                type: "mtls";
                /** @description In PEM: the certificate of the client, then its intermediates, if any. */
                certificate: string;
                /** @description In PEM, not encrypted. */
                private_key: string;
                /** @description In PEM: authorities that are trusted in place of the public ones, for the subscriber and `token_url`. */
                ca?: string;
            } | {
                /** @constant */
                type: "oauth2_client_credentials";
                /**
                 * Format: uri
                 * @description The token endpoint: https, not at a private address.
                 */
                token_url: string;
                client_id: string;
                client_secret?: string;
                /** @description In PEM, for `private_key_jwt`. */
                private_key?: string;
                /** @description The `kid` of `private_key` at the server. */
                key_id?: string;
                /** @description In PEM, of `private_key`: the server knows it by its thumbprint (`x5t`, `x5t#S256`). */
                certificate?: string;
                /** @description The audience of what `private_key` signs. By default `token_url`. */
                issuer?: string;
                /** @description Separated by blanks. */
                scope?: string;
                audience?: string;
                /** @description In PEM: authorities that are trusted in place of the public ones, for the subscriber and `token_url`. */
                ca?: string;
            };
        };
        /** @description Matches the data of a message, with the syntax of Amazon EventBridge event patterns. */
        ContentFilter: {
            $or?: components["schemas"]["ContentFilter"][];
        } & {
            [key: string]: ((string | number | boolean | null) | ({
                prefix: string;
            } | {
                suffix: string;
            } | {
                "anything-but": (string | number | boolean | null) | (string | number | boolean | null)[] | {
                    prefix: string | string[];
                } | {
                    suffix: string | string[];
                };
            } | {
                numeric: [
                    "=" | "<" | "<=" | ">" | ">=",
                    number
                ] | [
                    ">" | ">=",
                    number,
                    "<" | "<=",
                    number
                ];
            } | {
                exists: boolean;
            }))[] | components["schemas"]["ContentFilter"];
        };
        Error: {
            error: {
                /** @enum {string} */
                code: "invalid_request" | "invalid_json" | "invalid_retry_policy" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "conflict" | "inactive" | "too_large" | "too_many_requests" | "internal";
                message: string;
                fields?: {
                    field: string;
                    message: string;
                }[];
            };
        };
        GatewayError: {
            message: string;
        };
        MessageSummary: {
            queue: string;
            id: string;
            type?: string;
            /** Format: date-time */
            acceptedAt: string;
            duplicates: number;
            matched: number;
            filtered: number;
            /** @constant */
            unfinished?: true;
            eventFault?: {
                /** @enum {string} */
                reason: "unknown_event_type" | "event_invalid";
                path?: string;
                detail?: string;
            };
            bodyKept: boolean;
            /** Format: date-time */
            erasedAt?: string;
            deliveries?: {
                pending: number;
                retrying: number;
                delivered: number;
                rejected: number;
                exhausted: number;
                cancelled: number;
            };
        };
        Links: {
            /** @constant */
            rel: "next";
            href: string;
        }[];
        Message: {
            queue: string;
            id: string;
            type?: string;
            /** Format: date-time */
            acceptedAt: string;
            duplicates: number;
            matched: number;
            filtered: number;
            /** @constant */
            unfinished?: true;
            deliveries: {
                pending: number;
                retrying: number;
                delivered: number;
                rejected: number;
                exhausted: number;
                cancelled: number;
            };
            /** @constant */
            deliveriesAtLeast?: true;
            eventFault?: {
                /** @enum {string} */
                reason: "unknown_event_type" | "event_invalid";
                path?: string;
                detail?: string;
            };
            bodyKept: boolean;
            /** Format: date-time */
            erasedAt?: string;
            /** @constant */
            queueDeleted?: true;
            body?: unknown;
        };
        QueueMetadata: {
            _retry_policy?: components["schemas"]["RetryPolicy"];
            /** @description The ttl of posted messages that have none, in seconds. */
            _default_message_ttl?: number;
            /** @description The delay of posted messages that have none, in seconds. */
            _default_message_delay?: number;
            /** @description The largest size of a post, in bytes. */
            _max_messages_post_size?: number;
            /** @description Whether new subscribers must confirm before they receive messages. */
            _confirm_subscriptions?: boolean;
            /** @description The timeout of an attempt in seconds, if less than the setting `attemptTimeoutSeconds`. */
            _attempt_timeout?: number;
            /** @description The most subscriptions, if less than the setting `maxSubscriptionsPerQueue`. */
            _max_subscriptions?: number;
            /** @description How long messages and deliveries stay on record, at most the setting `retentionDays`. */
            _retention_days?: number;
            /** @description `adapt_to_throttling` of the subscriptions that do not set it. */
            _adapt_to_throttling?: boolean;
            /** @description `hold_while_down` of the subscriptions that do not set it. */
            _hold_while_down?: boolean;
            /**
             * @description Which message bodies are kept, in place of the setting `retainMessages`.
             * @enum {string}
             */
            _retain_messages?: "failed" | "all";
            /**
             * @description How messages are checked against the catalogue, in place of the setting `eventValidation`.
             * @enum {string}
             */
            _event_validation?: "off" | "warn" | "reject";
        } & {
            [key: string]: unknown;
        };
        Pause: {
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until?: string;
            /** @enum {string} */
            by: "subscription" | "queue";
        };
        Subscription: {
            id: string;
            source: string;
            name?: string;
            subscriber: string;
            ttl: number | null;
            age: number;
            options: components["schemas"]["ShownOptions"];
            disabled?: {
                /** @enum {string} */
                reason: "manual" | "gone" | "disable_requested" | "failing";
                /** Format: date-time */
                at: string;
            };
            failing?: {
                /** Format: date-time */
                since: string;
                failures: number;
            };
            /** Format: date-time */
            certificateExpiresAt?: string;
            /** Format: date-time */
            previousSecretExpiresAt?: string;
            backPressure?: {
                /** @enum {string} */
                reason: "receiver_throttled" | "circuit_open";
                /** Format: date-time */
                since: string;
                perSecond?: number;
            };
            paused?: components["schemas"]["Pause"];
            confirmed: boolean;
            /** @enum {string} */
            confirmation?: "asked" | "owed";
        };
        ShownOptions: {
            _retry_policy?: components["schemas"]["RetryPolicy"];
            post_headers?: {
                [key: string]: string;
            };
            post_data?: string;
            raw_delivery?: boolean;
            attempt_timeout?: number;
            max_per_second?: number;
            retry_throttled?: boolean;
            adapt_to_throttling?: boolean;
            hold_while_down?: boolean;
            event_types?: string[];
            filter?: unknown;
            auth?: {
                type: string;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        ChangedSubscription: {
            id: string;
            source: string;
            name?: string;
            subscriber: string;
            ttl: number | null;
            age: number;
            options: components["schemas"]["ShownOptions"];
            disabled?: {
                /** @enum {string} */
                reason: "manual" | "gone" | "disable_requested" | "failing";
                /** Format: date-time */
                at: string;
            };
            failing?: {
                /** Format: date-time */
                since: string;
                failures: number;
            };
            /** Format: date-time */
            certificateExpiresAt?: string;
            /** Format: date-time */
            previousSecretExpiresAt?: string;
            backPressure?: {
                /** @enum {string} */
                reason: "receiver_throttled" | "circuit_open";
                /** Format: date-time */
                since: string;
                perSecond?: number;
            };
            paused?: components["schemas"]["Pause"];
            confirmed: boolean;
            /** @enum {string} */
            confirmation?: "asked" | "owed";
            secret?: string;
            warnings?: {
                field: string;
                message: string;
            }[];
        };
        StoppedSubscription: {
            id: string;
            source: string;
            name?: string;
            subscriber: string;
            ttl: number | null;
            age: number;
            options: components["schemas"]["ShownOptions"];
            disabled?: {
                /** @enum {string} */
                reason: "manual" | "gone" | "disable_requested" | "failing";
                /** Format: date-time */
                at: string;
            };
            failing?: {
                /** Format: date-time */
                since: string;
                failures: number;
            };
            /** Format: date-time */
            certificateExpiresAt?: string;
            /** Format: date-time */
            previousSecretExpiresAt?: string;
            backPressure?: {
                /** @enum {string} */
                reason: "receiver_throttled" | "circuit_open";
                /** Format: date-time */
                since: string;
                perSecond?: number;
            };
            paused?: components["schemas"]["Pause"];
            confirmed: boolean;
            /** @enum {string} */
            confirmation?: "asked" | "owed";
            requests_end_within_seconds: number;
        };
        Delivery: {
            queue: string;
            messageId: string;
            subscriptionId: string;
            /** @enum {string} */
            status: "pending" | "retrying" | "delivered" | "rejected" | "exhausted" | "cancelled";
            reason?: string;
            /** Format: date-time */
            acceptedAt?: string;
            attempts: components["schemas"]["Attempt"][];
            /** Format: date-time */
            nextAttemptAt?: string;
            nextAttempt?: components["schemas"]["NextAttempt"];
            inFlight?: {
                /** Format: date-time */
                since: string;
                /** Format: date-time */
                until: string;
            };
            lateResults?: components["schemas"]["Attempt"][];
            policy: components["schemas"]["PolicyInForce"] | null;
        };
        Attempt: {
            number: number;
            round: number;
            /** @enum {string} */
            phase: "initial" | "immediate" | "pre_backoff" | "backoff" | "post_backoff" | "manual";
            /** @enum {string} */
            by?: "same_invocation" | "sqs_delay" | "scheduler" | "reconcile";
            /** Format: date-time */
            dueAt?: string;
            waited?: {
                /** @enum {string} */
                reason: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused" | "lag";
                ms: number;
            }[];
            /** Format: date-time */
            startedAt: string;
            durationMs: number;
            /** @enum {string} */
            outcome: "delivered" | "failed" | "rejected";
            statusCode?: number;
            error?: string;
            snippet?: string;
            lost?: number;
        };
        NextAttempt: {
            number: number;
            /** @enum {string} */
            phase: "initial" | "immediate" | "pre_backoff" | "backoff" | "post_backoff" | "manual";
            /** Format: date-time */
            dueAt: string;
            /** @enum {string} */
            by: "same_invocation" | "sqs_delay" | "scheduler" | "pull" | "subscription_pause" | "queue_pause";
            /** @enum {string} */
            waiting?: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused";
            /** Format: date-time */
            waitingSince?: string;
            waited?: {
                /** @enum {string} */
                reason: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused" | "lag";
                ms: number;
            }[];
        };
        PolicyInForce: {
            retries_with_no_delay: number;
            minimum_delay_retries: number;
            minimum_delay: number;
            maximum_delay: number;
            maximum_delay_retries: number;
            /** @enum {string} */
            retry_backoff_function: "linear" | "arithmetic" | "geometric" | "exponential" | "capped_exponential";
            ignore_subscription_override: boolean;
            backoff_retries: number;
            backoff_exponent: number;
            /** @enum {string} */
            jitter: "none" | "full" | "equal";
            retry_on_status: number[];
        };
        Explanation: {
            subscriptionId: string;
            name?: string;
            subscriber?: string;
            /** @enum {string} */
            verdict: "pending" | "retrying" | "delivered" | "rejected" | "exhausted" | "cancelled" | "rate_limited" | "receiver_throttled" | "circuit_open" | "paused" | "filtered" | "unconfirmed" | "disabled" | "expired" | "added_later" | "not_sent_yet" | "deleted";
            certain: boolean;
            detail?: string;
            rule?: {
                /** @enum {string} */
                by: "event_types" | "filter";
                path?: string;
            };
            delivery?: components["schemas"]["DeliverySummary"];
        };
        DeliverySummary: {
            queue: string;
            messageId: string;
            subscriptionId: string;
            /** @enum {string} */
            status: "pending" | "retrying" | "delivered" | "rejected" | "exhausted" | "cancelled";
            reason?: string;
            /** Format: date-time */
            acceptedAt: string;
            attemptCount: number;
            lastAttempt?: {
                number: number;
                /** Format: date-time */
                startedAt: string;
                /** @enum {string} */
                outcome: "delivered" | "failed" | "rejected";
                statusCode?: number;
                error?: string;
            };
            /** Format: date-time */
            nextAttemptAt?: string;
            inFlight?: {
                /** Format: date-time */
                since: string;
                /** Format: date-time */
                until: string;
            };
            /** @enum {string} */
            waiting?: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused";
            /** Format: date-time */
            waitingSince?: string;
            waited?: {
                /** @enum {string} */
                reason: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused" | "lag";
                ms: number;
            }[];
        };
        DeliveryDetail: {
            queue: string;
            messageId: string;
            subscriptionId: string;
            /** @enum {string} */
            status: "pending" | "retrying" | "delivered" | "rejected" | "exhausted" | "cancelled";
            reason?: string;
            /** Format: date-time */
            acceptedAt?: string;
            attempts: components["schemas"]["Attempt"][];
            /** Format: date-time */
            nextAttemptAt?: string;
            nextAttempt?: components["schemas"]["NextAttempt"];
            inFlight?: {
                /** Format: date-time */
                since: string;
                /** Format: date-time */
                until: string;
            };
            lateResults?: components["schemas"]["Attempt"][];
            policy: components["schemas"]["PolicyInForce"];
            /** @enum {string} */
            policySource: "delivery" | "subscription" | "queue" | "defaults";
            planned: {
                number: number;
                /** @enum {string} */
                phase: "initial" | "immediate" | "pre_backoff" | "backoff" | "post_backoff" | "manual";
                /** Format: date-time */
                dueAt: string;
            }[];
        };
        Recovery: {
            id: string;
            queue: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until: string;
            /** @enum {string} */
            by?: "acceptance" | "failure";
            subscription?: string;
            /** @enum {string} */
            status?: "rejected" | "exhausted" | "cancelled";
            /** @enum {string} */
            state: "running" | "completed" | "stopped";
            found: number;
            reopened: number;
            skipped: {
                [key: string]: number;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        EventType: {
            name: string;
            description?: string;
            schema?: {
                [key: string]: unknown;
            };
            example?: unknown;
            group?: string;
            deprecated?: boolean;
            queues?: string[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            changed_at: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listMessages: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                since?: string;
                until?: string;
                /** @description Whether to read the records of a deleted queue, until they expire. */
                deleted?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages. */
            200: {
                content: {
                    "application/json": {
                        messages: components["schemas"]["MessageSummary"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    postMessages: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    messages: {
                        /** @description The producer's id. A message with the same id is a duplicate. By default a new id. */
                        id?: string;
                        /** @description The event type, by which subscriptions can select messages. */
                        type?: string;
                        /** @description The data of the message: any JSON value. */
                        body?: unknown;
                        /** @description Seconds after which the message is no longer delivered. */
                        ttl?: number;
                        /** @description Seconds before the first attempt. */
                        delay?: number;
                    }[];
                };
            };
        };
        responses: {
            /** @description The messages are in the ingress queue. */
            201: {
                content: {
                    "application/json": {
                        resources: string[];
                        ids: string[];
                        /**
                         * @description The queue, perhaps made by this request, has no active subscription: the messages match none.
                         * @constant
                         */
                        noSubscription?: true;
                    };
                };
            };
        };
    };
    getMessage: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The message. */
            200: {
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    eraseBody: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The data is erased. */
            204: {
                content?: never;
            };
        };
    };
    listQueues: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                /** @description Whether to include the metadata of the queues. */
                detailed?: boolean;
                /** @description Whether the first page contains the number of all queues. */
                with_count?: boolean;
                name?: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of queues. */
            200: {
                content: {
                    "application/json": {
                        queues: {
                            name: string;
                            href: string;
                            metadata?: components["schemas"]["QueueMetadata"];
                            paused?: components["schemas"]["Pause"];
                        }[];
                        links: components["schemas"]["Links"];
                        count?: number;
                    };
                };
            };
        };
    };
    getQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                content: {
                    "application/json": components["schemas"]["QueueMetadata"];
                };
            };
        };
    };
    putQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    _retry_policy?: ("quick" | "default" | "standard-webhooks" | "patient") | components["schemas"]["RetryPolicy"];
                    /** @description The ttl of posted messages that have none, in seconds. */
                    _default_message_ttl?: number;
                    /** @description The delay of posted messages that have none, in seconds. */
                    _default_message_delay?: number;
                    /** @description The largest size of a post, in bytes. */
                    _max_messages_post_size?: number;
                    /** @description Whether new subscribers must confirm before they receive messages. */
                    _confirm_subscriptions?: boolean;
                    /** @description The timeout of an attempt in seconds, if less than the setting `attemptTimeoutSeconds`. */
                    _attempt_timeout?: number;
                    /** @description The most subscriptions, if less than the setting `maxSubscriptionsPerQueue`. */
                    _max_subscriptions?: number;
                    /** @description How long messages and deliveries stay on record, at most the setting `retentionDays`. */
                    _retention_days?: number;
                    /** @description `adapt_to_throttling` of the subscriptions that do not set it. */
                    _adapt_to_throttling?: boolean;
                    /** @description `hold_while_down` of the subscriptions that do not set it. */
                    _hold_while_down?: boolean;
                    /**
                     * @description Which message bodies are kept, in place of the setting `retainMessages`.
                     * @enum {string}
                     */
                    _retain_messages?: "failed" | "all";
                    /**
                     * @description How messages are checked against the catalogue, in place of the setting `eventValidation`.
                     * @enum {string}
                     */
                    _event_validation?: "off" | "warn" | "reject";
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The queue is created. */
            201: {
                content?: never;
            };
            /** @description The queue existed; its metadata is replaced. */
            204: {
                content?: never;
            };
        };
    };
    deleteQueue: {
        parameters: {
            query?: {
                /** @description Whether to leave no archive: the deletion cannot be undone. */
                now?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The queue is deleted, or did not exist. */
            204: {
                content?: never;
            };
        };
    };
    patchQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody: {
            content: {
                "application/json-patch+json": components["schemas"]["MetadataPatch"];
                "application/openstack-messaging-v2.0-json-patch": components["schemas"]["MetadataPatch"];
                "application/json": components["schemas"]["MetadataPatch"];
            };
        };
        responses: {
            /** @description The metadata after the patch. */
            200: {
                content: {
                    "application/json": components["schemas"]["QueueMetadata"];
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                match?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions. */
            200: {
                content: {
                    "application/json": {
                        subscriptions: components["schemas"]["Subscription"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    subscribe: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A name for people. It need not be unique. */
                    name?: string & (unknown & unknown);
                    /**
                     * Format: uri
                     * @description The URL that receives the messages: http or https, not at a private address. Or `pull:`, and a name if wanted: the subscriber receives by the routes of `pull`.
                     */
                    subscriber: string;
                    /** @description Seconds after which the subscription expires. By default never. */
                    ttl?: number;
                    options?: components["schemas"]["SubscriptionOptions"];
                };
            };
        };
        responses: {
            /** @description The id and the signing secret of the subscription. */
            201: {
                content: {
                    "application/json": {
                        subscription_id: string;
                        secret?: string;
                        /** @enum {string} */
                        confirmation?: "asked" | "owed";
                        warnings?: {
                            field: string;
                            message: string;
                        }[];
                    };
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The current subscription. */
            200: {
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    unsubscribe: {
        parameters: {
            query?: {
                /** @description Whether to leave no archive: the deletion cannot be undone. */
                now?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The subscription is deleted, or did not exist. */
            204: {
                content?: never;
            };
        };
    };
    updateSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The new name; null removes it. */
                    name?: (string & (unknown & unknown)) | null;
                    /**
                     * Format: uri
                     * @description The URL that receives the messages: http or https, not at a private address. Or `pull:`, and a name if wanted: the subscriber receives by the routes of `pull`.
                     */
                    subscriber?: string;
                    /** @description Seconds from now after which the subscription expires; null for never. */
                    ttl?: number | null;
                    options?: components["schemas"]["SubscriptionOptions"];
                    /**
                     * @description Keeps the signing secret although the new `subscriber` has another origin. By default it is replaced.
                     * @constant
                     */
                    secret?: "keep";
                };
            };
        };
        responses: {
            /** @description The current subscription, and its signing secret if that is new. */
            200: {
                content: {
                    "application/json": components["schemas"]["ChangedSubscription"];
                };
            };
        };
    };
    enableSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The current subscription. */
            200: {
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    disableSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The current subscription, and within how many seconds its last request ends. */
            200: {
                content: {
                    "application/json": components["schemas"]["StoppedSubscription"];
                };
            };
        };
    };
    listArchivedQueues: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of deleted queues. */
            200: {
                content: {
                    "application/json": {
                        queues: {
                            name: string;
                            /** Format: date-time */
                            deletedAt: string;
                            /** Format: date-time */
                            restorableUntil: string;
                        }[];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    restoreQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Undoes the last deletion up to this time, where the queue was deleted more than once. By default now.
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description The queue is restored. */
            200: {
                content: {
                    "application/json": {
                        name: string;
                        /** @enum {string} */
                        state: "restored" | "restoring";
                    };
                };
            };
            /** @description The queue has many subscriptions; it appears once all are back. */
            202: {
                content: {
                    "application/json": {
                        name: string;
                        /** @enum {string} */
                        state: "restored" | "restoring";
                    };
                };
            };
        };
    };
    listArchivedSubscriptions: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of deleted subscriptions. */
            200: {
                content: {
                    "application/json": {
                        subscriptions: {
                            id: string;
                            name?: string;
                            subscriber: string;
                            /** Format: date-time */
                            deletedAt: string;
                            /** Format: date-time */
                            restorableUntil: string;
                        }[];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    restoreSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The restored subscription. */
            200: {
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    pauseSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description When the pause ends by itself. By default never.
                     */
                    until?: string;
                    /** @description After how many seconds it ends, in place of `until`. */
                    for_seconds?: number;
                };
            };
        };
        responses: {
            /** @description The current subscription, and within how many seconds its last request ends. */
            200: {
                content: {
                    "application/json": components["schemas"]["StoppedSubscription"];
                };
            };
        };
    };
    resumeSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description How many of the waiting deliveries become due a second. By default `max_per_second`, else 100. */
                    per_second?: number;
                };
            };
        };
        responses: {
            /** @description The current subscription. */
            200: {
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    countWaitingOfSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description How many wait. */
            200: {
                content: {
                    "application/json": {
                        count: number;
                        /** @description Whether more wait than were counted. */
                        more: boolean;
                        /**
                         * Format: date-time
                         * @description When the message was accepted whose delivery waits longest.
                         */
                        oldest_accepted_at?: string;
                        paused?: components["schemas"]["Pause"];
                    };
                };
            };
        };
    };
    pauseQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description When the pause ends by itself. By default never.
                     */
                    until?: string;
                    /** @description After how many seconds it ends, in place of `until`. */
                    for_seconds?: number;
                };
            };
        };
        responses: {
            /** @description The pause, and within how many seconds the last request ends. */
            200: {
                content: {
                    "application/json": {
                        name: string;
                        paused?: components["schemas"]["Pause"];
                        requests_end_within_seconds: number;
                    };
                };
            };
        };
    };
    resumeQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description How many of the waiting deliveries become due a second. By default `max_per_second`, else 100. */
                    per_second?: number;
                };
            };
        };
        responses: {
            /** @description The queue, without a pause. */
            200: {
                content: {
                    "application/json": {
                        name: string;
                        paused?: components["schemas"]["Pause"];
                    };
                };
            };
        };
    };
    countWaitingOfQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description How many wait. */
            200: {
                content: {
                    "application/json": {
                        count: number;
                        /** @description Whether more wait than were counted. */
                        more: boolean;
                        /**
                         * Format: date-time
                         * @description When the message was accepted whose delivery waits longest.
                         */
                        oldest_accepted_at?: string;
                        paused?: components["schemas"]["Pause"];
                    };
                };
            };
        };
    };
    followConfirmation: {
        parameters: {
            query: {
                /** @description The token of the confirmation link. */
                token: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The subscription is confirmed. */
            200: {
                content: {
                    "application/json": {
                        /** @constant */
                        confirmed: true;
                    };
                };
            };
        };
    };
    setConfirmation: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description true confirms the subscription. false revokes the confirmation: it receives nothing until confirmed. */
                    confirmed: boolean;
                };
            };
        };
        responses: {
            /** @description The subscription is in the requested state. */
            204: {
                content?: never;
            };
        };
    };
    confirmSubscription: {
        parameters: {
            query: {
                /** @description The token of the confirmation link. */
                token: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The subscription is confirmed. */
            200: {
                content: {
                    "application/json": {
                        /** @constant */
                        confirmed: true;
                    };
                };
            };
        };
    };
    testSubscription: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The type of the test message. By default posthaste.test. */
                    type?: string;
                    /** @description The data of the test message: any JSON value. */
                    data?: unknown;
                };
            };
        };
        responses: {
            /** @description The first attempt has ended, or the delivery ended without one. */
            200: {
                content: {
                    "application/json": {
                        delivery: components["schemas"]["Delivery"];
                    };
                };
            };
            /** @description The first attempt has not finished yet. */
            202: {
                content: {
                    "application/json": {
                        delivery: components["schemas"]["Delivery"];
                    };
                };
            };
        };
    };
    exportSubscriptions: {
        parameters: {
            query?: {
                marker?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions. The header `link` leads to the next page, if any. */
            200: {
                content: {
                    "application/jsonl": string;
                };
            };
        };
    };
    exportCredentials: {
        parameters: {
            query?: {
                marker?: string;
                /** @description Whether the lines have the signing secrets, which an import keeps. */
                secrets?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions. The header `link` leads to the next page, if any. */
            200: {
                content: {
                    "application/jsonl": string;
                };
            };
        };
    };
    importSubscriptions: {
        parameters: {
            query?: {
                /** @description Whether to replace existing subscriptions that have other content. By default they are refused. */
                replace?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: {
            content: {
                "application/jsonl": string;
            };
        };
        responses: {
            /** @description The result of each line. */
            200: {
                content: {
                    "application/json": {
                        imported: number;
                        replaced: number;
                        unchanged: number;
                        subscriptions: {
                            line: number;
                            /** @enum {string} */
                            result: "imported" | "replaced" | "unchanged";
                            subscription_id: string;
                            secret?: string;
                            /** @enum {string} */
                            confirmation?: "asked" | "owed";
                            warnings?: {
                                field: string;
                                message: string;
                            }[];
                        }[];
                        failed: {
                            error: {
                                /** @enum {string} */
                                code: "invalid_request" | "invalid_json" | "invalid_retry_policy" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "conflict" | "inactive" | "too_large" | "too_many_requests" | "internal";
                                message: string;
                                fields?: {
                                    field: string;
                                    message: string;
                                }[];
                            };
                            line: number;
                        }[];
                    };
                };
            };
        };
    };
    rotateSecret: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The new secret: must be whsec_ and the base64 of 24 to 64 bytes, or whsk_ and the base64 of an ed25519 private key (its 32 bytes, or these and the 32 of its public key). By default a secret is generated. */
                    secret?: string;
                    /**
                     * @description The scheme of a generated secret. By default v1.
                     * @enum {string}
                     */
                    type?: "v1" | "v1a";
                    /**
                     * @description Seconds for which the previous secret keeps signing.
                     * @default 86400
                     */
                    graceSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The new secret; for scheme `v1a` the public key instead. No later response contains the secret. */
            200: {
                content: {
                    "application/json": {
                        secret?: string;
                        publicKey?: string;
                        /**
                         * Format: date-time
                         * @description When the previous secret stops signing. Absent if there was none.
                         */
                        previousExpiresAt?: string;
                    };
                };
            };
        };
    };
    getPublicKeys: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                content: {
                    "application/json": {
                        keys: {
                            /** @constant */
                            kty: "OKP";
                            /** @constant */
                            crv: "Ed25519";
                            /** @description The public key, base64url. */
                            x: string;
                            /** @description The thumbprint of the key (RFC 7638). */
                            kid: string;
                            /** @constant */
                            use: "sig";
                            /** @constant */
                            alg: "EdDSA";
                        }[];
                    };
                };
            };
        };
    };
    operatePullReceive: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Most deliveries in the answer.
                     * @default 10
                     */
                    max?: number;
                    /**
                     * @description Seconds until a received delivery that was not acknowledged has failed.
                     * @default 60
                     */
                    lease_seconds?: number;
                };
            };
        };
        responses: {
            /** @description The received deliveries; none if none waits. */
            200: {
                content: {
                    "application/json": {
                        deliveries: {
                            /** @description Names this receive of the delivery, for `ack` and `nack`. */
                            receipt: string;
                            messageId: string;
                            attempt: number;
                            /** Format: date-time */
                            leaseUntil: string;
                            /** @description The signed headers of the webhook request. */
                            headers: {
                                [key: string]: string;
                            };
                            /** @description The body of the webhook request; its UTF-8 bytes are signed. */
                            body: string;
                        }[];
                        paused?: components["schemas"]["Pause"];
                    };
                };
            };
        };
    };
    operatePullAck: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    receipt: string;
                };
            };
        };
        responses: {
            /** @description It is recorded as delivered, now or before. */
            204: {
                content?: never;
            };
        };
    };
    operatePullNack: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    receipt: string;
                    /** @description Why, for the record of the attempt. */
                    error?: string;
                };
            };
        };
        responses: {
            /** @description It is recorded as failed, now or before. */
            204: {
                content?: never;
            };
        };
    };
    pullReceive: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Most deliveries in the answer.
                     * @default 10
                     */
                    max?: number;
                    /**
                     * @description Seconds until a received delivery that was not acknowledged has failed.
                     * @default 60
                     */
                    lease_seconds?: number;
                };
            };
        };
        responses: {
            /** @description The received deliveries; none if none waits. */
            200: {
                content: {
                    "application/json": {
                        deliveries: {
                            /** @description Names this receive of the delivery, for `ack` and `nack`. */
                            receipt: string;
                            messageId: string;
                            attempt: number;
                            /** Format: date-time */
                            leaseUntil: string;
                            /** @description The signed headers of the webhook request. */
                            headers: {
                                [key: string]: string;
                            };
                            /** @description The body of the webhook request; its UTF-8 bytes are signed. */
                            body: string;
                        }[];
                        paused?: components["schemas"]["Pause"];
                    };
                };
            };
        };
    };
    pullAck: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    receipt: string;
                };
            };
        };
        responses: {
            /** @description It is recorded as delivered, now or before. */
            204: {
                content?: never;
            };
        };
    };
    pullNack: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    receipt: string;
                    /** @description Why, for the record of the attempt. */
                    error?: string;
                };
            };
        };
        responses: {
            /** @description It is recorded as failed, now or before. */
            204: {
                content?: never;
            };
        };
    };
    rotatePullToken: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Seconds for which the previous token stays valid.
                     * @default 86400
                     */
                    graceSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The token. No later response contains it. */
            200: {
                content: {
                    "application/json": {
                        /** @description For the routes under `/v2/pull`, as `authorization: Bearer phpull_…`. */
                        token: string;
                        /**
                         * Format: date-time
                         * @description When the previous token stops being valid. Absent if there was none.
                         */
                        previousExpiresAt?: string;
                    };
                };
            };
        };
    };
    explainMessage: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                subscription?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions. */
            200: {
                content: {
                    "application/json": {
                        message: components["schemas"]["MessageSummary"];
                        subscriptions: components["schemas"]["Explanation"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                since?: string;
                until?: string;
                /** @description Whether to read the records of a deleted queue, until they expire. */
                deleted?: boolean;
                status?: "pending" | "retrying" | "rejected" | "exhausted" | "cancelled";
                subscription?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                content: {
                    "application/json": {
                        deliveries: components["schemas"]["DeliverySummary"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    listDeliveriesOfMessage: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                content: {
                    "application/json": {
                        deliveries: components["schemas"]["Delivery"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                content: {
                    "application/json": components["schemas"]["DeliveryDetail"];
                };
            };
        };
    };
    getPayload: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The payload. */
            200: {
                content: {
                    "application/json": {
                        body?: string;
                        fault?: string;
                    };
                };
            };
        };
    };
    listDeliveriesOfSubscription: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                since?: string;
                until?: string;
                /** @description Whether to read the records of a deleted queue or subscription, until they expire. */
                deleted?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                content: {
                    "application/json": {
                        deliveries: {
                            queue: string;
                            messageId: string;
                            subscriptionId: string;
                            /** @enum {string} */
                            status: "pending" | "retrying" | "delivered" | "rejected" | "exhausted" | "cancelled";
                            reason?: string;
                            /** Format: date-time */
                            acceptedAt: string;
                            attemptCount: number;
                            lastAttempt?: {
                                number: number;
                                /** Format: date-time */
                                startedAt: string;
                                /** @enum {string} */
                                outcome: "delivered" | "failed" | "rejected";
                                statusCode?: number;
                                error?: string;
                            };
                            /** Format: date-time */
                            nextAttemptAt?: string;
                            inFlight?: {
                                /** Format: date-time */
                                since: string;
                                /** Format: date-time */
                                until: string;
                            };
                            /** @enum {string} */
                            waiting?: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused";
                            /** Format: date-time */
                            waitingSince?: string;
                            waited?: {
                                /** @enum {string} */
                                reason: "rate_limited" | "receiver_throttled" | "circuit_open" | "pull" | "paused" | "lag";
                                ms: number;
                            }[];
                            messageType?: string;
                            durationMs?: number;
                            deliveredAfterMs?: number;
                        }[];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            202: {
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    sendDelivery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            202: {
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    cancelDelivery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id that the response to the post contained, or the producer's id of the message. */
                message: string;
                /** @description The id of the subscription. */
                subscription: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    readBooks: {
        parameters: {
            query?: {
                marker?: string;
                since?: string;
                until?: string;
                /** @description Whether to read the records of a deleted queue or subscription, until they expire. */
                deleted?: boolean;
                subscription?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The counts of the window, or of one page of it. */
            200: {
                content: {
                    "application/json": {
                        queue: string;
                        /** Format: date-time */
                        since: string;
                        /** Format: date-time */
                        until: string;
                        books: {
                            accepted: number;
                            duplicates: number;
                            matched: number;
                            unmatched: number;
                            unfinished: number;
                            filtered: number;
                            delivered: number;
                            rejected: number;
                            exhausted: number;
                            cancelled: number;
                            pending: number;
                        };
                        balances: boolean;
                        /** Format: date-time */
                        countedUntil?: string;
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    readStatistics: {
        parameters: {
            query?: {
                since?: string;
                until?: string;
                step?: 60 | 300 | 900 | 3600 | 86400;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The steps of the window, and its total. */
            200: {
                content: {
                    "application/json": {
                        queue: string;
                        /** @description Whether the setting `queueStatistics` is on. */
                        enabled: boolean;
                        /** Format: date-time */
                        since: string;
                        /** Format: date-time */
                        until: string;
                        stepSeconds: number;
                        /** @description Without empty steps. */
                        points: {
                            /** Format: date-time */
                            at: string;
                            messages: number;
                            matched: number;
                            filtered: number;
                            attempts: number;
                            attemptsFailed: number;
                            attemptsRejected: number;
                            delivered: number;
                            rejected: number;
                            exhausted: number;
                            cancelled: number;
                            /** @description Milliseconds from the acceptance of a message to the end of the successful attempt. */
                            timeToDelivery?: {
                                count: number;
                                p50: number;
                                p95: number;
                                p99: number;
                            };
                            /** @description Milliseconds that attempts took. */
                            response?: {
                                count: number;
                                p50: number;
                                p95: number;
                                p99: number;
                            };
                        }[];
                        total: {
                            messages: number;
                            matched: number;
                            filtered: number;
                            attempts: number;
                            attemptsFailed: number;
                            attemptsRejected: number;
                            delivered: number;
                            rejected: number;
                            exhausted: number;
                            cancelled: number;
                            /** @description Milliseconds from the acceptance of a message to the end of the successful attempt. */
                            timeToDelivery?: {
                                count: number;
                                p50: number;
                                p95: number;
                                p99: number;
                            };
                            /** @description Milliseconds that attempts took. */
                            response?: {
                                count: number;
                                p50: number;
                                p95: number;
                                p99: number;
                            };
                        };
                    };
                };
            };
        };
    };
    listRecoveries: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of recoveries. */
            200: {
                content: {
                    "application/json": {
                        recoveries: components["schemas"]["Recovery"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    startRecovery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Start of the window, inclusive.
                     */
                    since: string;
                    /**
                     * Format: date-time
                     * @description End of the window, exclusive. A time in the future means now.
                     */
                    until: string;
                    /**
                     * @description What the window is of: the acceptance of messages (the default), or the failure, the time at which a delivery ended.
                     * @enum {string}
                     */
                    by?: "acceptance" | "failure";
                    /** @description Recovers only deliveries to this subscription. */
                    subscription?: string;
                    /**
                     * @description Recovers only deliveries with this status.
                     * @enum {string}
                     */
                    status?: "rejected" | "exhausted" | "cancelled";
                };
            };
        };
        responses: {
            /** @description The recovery. It runs in the background. */
            202: {
                content: {
                    "application/json": components["schemas"]["Recovery"];
                };
            };
        };
    };
    getRecovery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the recovery. */
                recovery: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The recovery. */
            200: {
                content: {
                    "application/json": components["schemas"]["Recovery"];
                };
            };
        };
    };
    stopRecovery: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the recovery. */
                recovery: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The recovery is stopped, or had already ended. */
            204: {
                content?: never;
            };
        };
    };
    readRecoveryOutcomes: {
        parameters: {
            query?: {
                marker?: string;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The id of the recovery. */
                recovery: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The counts, or one page of them. */
            200: {
                content: {
                    "application/json": {
                        known: boolean;
                        subscriptions: {
                            subscriptionId: string;
                            total: number;
                            delivered: number;
                            failed: number;
                            open: number;
                            /** Format: date-time */
                            nextAttemptAt?: string;
                        }[];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    listEventTypes: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                /** @description Whether to include the schemas and examples of the types. */
                detailed?: boolean;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of types. */
            200: {
                content: {
                    "application/json": {
                        event_types: components["schemas"]["EventType"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    getEventType: {
        parameters: {
            query?: never;
            path: {
                /** @description The name of the event type: at most 128 of A-Z a-z 0-9 _ -, in parts joined by dots. */
                type: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The type. */
            200: {
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
        };
    };
    putEventType: {
        parameters: {
            query?: never;
            path: {
                /** @description The name of the event type: at most 128 of A-Z a-z 0-9 _ -, in parts joined by dots. */
                type: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description For people, in Markdown. */
                    description?: string;
                    /** @description JSON Schema 2020-12 of the data of its messages. References stay inside it. */
                    schema?: {
                        [key: string]: unknown;
                    };
                    /** @description Data of a message. It must fit the schema. */
                    example?: unknown;
                    group?: string;
                    deprecated?: boolean;
                    /** @description The queues that see the type. By default all. */
                    queues?: string[];
                };
            };
        };
        responses: {
            /** @description The type existed and is replaced. */
            200: {
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
            /** @description The type is created. */
            201: {
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
        };
    };
    deleteEventType: {
        parameters: {
            query?: never;
            path: {
                /** @description The name of the event type: at most 128 of A-Z a-z 0-9 _ -, in parts joined by dots. */
                type: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The type is deleted, or did not exist. */
            204: {
                content?: never;
            };
        };
    };
    listEventTypesOfQueue: {
        parameters: {
            query?: {
                /** @description Maximum number of items on a page. */
                limit?: number;
                marker?: string;
                /** @description Whether to include the schemas and examples of the types. */
                detailed?: boolean;
            };
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description A page of types. */
            200: {
                content: {
                    "application/json": {
                        event_types: components["schemas"]["EventType"][];
                        links: components["schemas"]["Links"];
                    };
                };
            };
        };
    };
    getEventTypeOfQueue: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The name of the event type: at most 128 of A-Z a-z 0-9 _ -, in parts joined by dots. */
                type: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description The type. */
            200: {
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
        };
    };
    describeWebhooks: {
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                content: {
                    "application/json": {
                        openapi: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    createPortalLink: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What the customer may do besides seeing endpoints, their health, event types and charts. */
                    capabilities: ("manage" | "secrets" | "test" | "deliveries" | "retry")[];
                    /** @description The event types that endpoints may choose. By default all. */
                    event_types?: string[];
                    /**
                     * @description Seconds until which the link must be opened. The session lasts 8 hours from then on.
                     * @default 3600
                     */
                    expires_in?: number;
                    /** @description Names the sessions of this link, to end them and in the audit trail. By default a random one. */
                    session_id?: string;
                };
            };
        };
        responses: {
            /** @description The link. No later response contains it. */
            201: {
                content: {
                    "application/json": {
                        /** @description Opens the page once. */
                        url: string;
                        session_id: string;
                        /**
                         * Format: date-time
                         * @description Until when the link can be opened.
                         */
                        expires_at: string;
                    };
                };
            };
        };
    };
    endPortalSessions: {
        parameters: {
            query?: never;
            path: {
                /** @description 1 to 64 of A-Z a-z 0-9 _ . - */
                queue: string;
                /** @description The session id of the link. */
                session: string;
            };
        };
        requestBody?: never;
        responses: {
            /** @description They are ended, or did not exist. */
            204: {
                content?: never;
            };
        };
    };
    getPortalSession: {
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                content: {
                    "application/json": {
                        session?: string;
                        session_name: string;
                        queue: string;
                        capabilities: ("manage" | "secrets" | "test" | "deliveries" | "retry")[];
                        event_types?: string[];
                        /** Format: date-time */
                        expires_at: string;
                        title: string;
                        accent?: string;
                        limits: {
                            endpoints: number;
                            hosts?: string[];
                            per_second?: number;
                        };
                        response_bodies: boolean;
                    };
                };
            };
        };
    };
    openPortalLink: {
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            /** @description The session. */
            200: {
                content: {
                    "application/json": {
                        session?: string;
                        session_name: string;
                        queue: string;
                        capabilities: ("manage" | "secrets" | "test" | "deliveries" | "retry")[];
                        event_types?: string[];
                        /** Format: date-time */
                        expires_at: string;
                        title: string;
                        accent?: string;
                        limits: {
                            endpoints: number;
                            hosts?: string[];
                            per_second?: number;
                        };
                        response_bodies: boolean;
                    };
                };
            };
        };
    };
    describe: {
        requestBody?: never;
        responses: {
            /** @description The OpenAPI 3.1 document. */
            200: {
                content: {
                    "application/json": {
                        openapi: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    listVersions: {
        requestBody?: never;
        responses: never;
    };
    ping: {
        requestBody?: never;
        responses: {
            /** @description The API responds. */
            204: {
                content?: never;
            };
        };
    };
    health: {
        requestBody?: never;
        responses: {
            /** @description All checks pass. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "failing";
                        checks: {
                            /** @enum {string} */
                            subscriptionsTable: "ok" | "failing";
                            /** @enum {string} */
                            deliveriesTable: "ok" | "failing";
                            /** @enum {string} */
                            queues: "ok" | "failing";
                        };
                        /** @description Waiting messages by queue, approximate. */
                        queues?: {
                            [key: string]: number;
                        };
                        /** @description Delayed messages by queue, approximate. */
                        delayed?: {
                            [key: string]: number;
                        };
                        /** @description Overdue retries, counted up to 1,000. */
                        overdue?: number;
                        /** @description How long messages stay on record at most. */
                        retentionDays: number;
                    };
                };
            };
        };
    };
    home: {
        requestBody?: never;
        responses: {
            /** @description All resources. */
            200: {
                content: {
                    "application/json": {
                        resources: {
                            [key: string]: {
                                "href-template": string;
                                hints: {
                                    allow: string[];
                                };
                            };
                        };
                    };
                };
            };
        };
    };
}
