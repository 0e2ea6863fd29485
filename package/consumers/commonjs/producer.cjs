const { Publisher } = require('posthaste/client');

/** @param {string} queueUrl the stack output `IngressQueueUrl` */
exports.publishOrder = async (queueUrl, total = 0) => {
  await new Publisher({ queueUrl }).publish({ queue: 'orders', data: { total } });
};
