export const settings = {
  apiAuthorization: 'none',
  // Short, so that what a crash left behind heals soon: visibility is six times the function's timeout, this + 15 s.
  attemptTimeoutSeconds: '2',
  schedulerThreshold: '4',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
};
